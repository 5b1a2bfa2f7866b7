package flow

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// Tokens of the trades below, in the order of their addresses, and pools.
var (
	dollar  = common.Address{0x10} // 6 decimals, a stablecoin
	euro    = common.Address{0x11} // 6 decimals, a second stablecoin
	wrapped = common.Address{0x20} // 18 decimals
	thing   = common.Address{0x30} // 18 decimals
	poolA   = common.Address{0xa0}
	poolB   = common.Address{0xb0}
	poolC   = common.Address{0xc0}
)

func units(n int64, decimals int) *big.Int {
	return new(big.Int).Mul(big.NewInt(n), api.PowerOfTen(decimals))
}

func numbers(n ...*big.Int) (data []byte) {
	for _, x := range n {
		if x.Sign() < 0 {
			x = new(big.Int).Add(x, new(big.Int).Lsh(big.NewInt(1), 256))
		}
		data = append(data, common.BigToHash(x).Bytes()...)
	}
	return data
}

// moves are the two transfers of a swap in a pool.
func swapMoves(pool, in common.Address, gave *big.Int, out common.Address, got *big.Int) []ethrpc.Log {
	return []ethrpc.Log{logOf(in, topics(evmsig.TopicTransfer, alice, pool), numbers(gave)), logOf(out, topics(evmsig.TopicTransfer, pool, alice), numbers(got))}
}

// swap2 is a swap of the first token for the second in a Uniswap v2 pool.
func swap2(pool, t0 common.Address, gave *big.Int, t1 common.Address, got, reserve0, reserve1 *big.Int) []ethrpc.Log {
	zero := new(big.Int)
	return append(swapMoves(pool, t0, gave, t1, got),
		logOf(pool, topics(evmsig.TopicSync), numbers(reserve0, reserve1)),
		logOf(pool, topics(evmsig.TopicSwapV2, alice, alice), numbers(gave, zero, zero, got)))
}

// root is the price of a Uniswap v3 pool: so many of the second for one of the first.
func root(second, first *big.Int) *big.Int {
	n := new(big.Int).Div(new(big.Int).Lsh(second, 192), first)
	return n.Sqrt(n)
}

// told writes quotes: "thing 2 by trade at a0 against dollar".
func quoted(list []Quote) string {
	names := map[common.Address]string{dollar: "dollar", euro: "euro", wrapped: "wrapped", thing: "thing", {}: "coin"}
	var parts []string
	for _, q := range list {
		parts = append(parts, fmt.Sprintf("%s %s %s", names[q.Token], q.USD, q.By))
	}
	return strings.Join(parts, ", ")
}

func quotesOf(in Input, service map[common.Address]api.Decimal) []Quote {
	return Quotes(QuoteInput{
		Receipt: in.Receipt, Flow: Compute(in), Wrapped: &wrapped,
		Decimals: func(a common.Address) (uint8, bool) {
			switch a {
			case dollar, euro:
				return 6, true
			case wrapped, thing, common.Address{}:
				return 18, true
			}
			return 0, false
		},
		Price:  func(a common.Address) (api.Decimal, bool) { p, ok := service[a]; return p, ok },
		Stable: func(a common.Address) bool { return a == dollar || a == euro },
	})
}

func TestQuotes(t *testing.T) {
	f := func(name, want string, service map[common.Address]api.Decimal, logs ...[]ethrpc.Log) {
		t.Helper()
		var all []ethrpc.Log
		for _, l := range logs {
			all = append(all, l...)
		}
		if got := quoted(quotesOf(withLogs(all...), service)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	big2 := func(a, b int64) (*big.Int, *big.Int) { return units(a, 6), units(b, 18) }
	r0, r1 := big2(2_000_000, 1000)
	buy := swap2(poolA, dollar, units(2000, 6), wrapped, units(1, 18), r0, r1)
	onward := swap2(poolB, wrapped, units(1, 18), thing, units(4000, 18), units(500, 18), units(2_000_000, 18))
	const coin = "dollar 1 dollar, wrapped 2000 trade, coin 2000 coin"
	f("a small trade", coin, nil, buy)
	f("no trade", "", nil, swapMoves(poolA, dollar, units(2000, 6), wrapped, units(1, 18)))

	// What a service says stands.
	f("all known", "", map[common.Address]api.Decimal{dollar: dec(1, 0), wrapped: dec(2010, 0), {}: dec(2010, 0)}, buy)
	f("by a service's price", "thing 0.505 trade", map[common.Address]api.Decimal{wrapped: dec(2020, 0), {}: dec(2020, 0)}, onward)
	f("the coin's price for its wrapped form", "dollar 1 dollar, wrapped 2000 coin", map[common.Address]api.Decimal{{}: dec(2000, 0)}, buy)
	f("a service against the dollar", "", map[common.Address]api.Decimal{{}: dec(1000, 0)}, buy)

	// Guards.
	far0, far1 := big2(40_000, 19)
	f("a trade that moved the pool", "", nil, swap2(poolA, dollar, units(2000, 6), wrapped, units(1, 18), far0, far1))
	f("dust", "", nil, swap2(poolA, dollar, big.NewInt(999), wrapped, units(1, 18), units(999, 0), units(1, 18)))
	there := swap2(poolA, dollar, units(2100, 6), wrapped, units(1, 18), units(2_100_000, 6), r1)
	f("a pool pushed about", "", nil, buy, there)
	f("pools that contradict", "dollar 1 dollar", nil, buy, swap2(poolB, dollar, units(2100, 6), wrapped, units(1, 18), units(2_100_000, 6), r1))
	f("pools that agree", coin, nil, buy, swap2(poolB, dollar, units(2020, 6), wrapped, units(1, 18), units(2_020_000, 6), r1))
	f("an amount that no transfer shows", "", nil, append(swapMoves(poolA, dollar, units(2000, 6), wrapped, big.NewInt(7)), buy[2:]...))

	// Dollars.
	par := swap2(poolC, dollar, units(100, 6), euro, units(100, 6), units(9_000_000, 6), units(9_000_000, 6))
	f("at par", "dollar 1 dollar, euro 1 dollar, wrapped 2000 trade, coin 2000 coin", nil, buy, par)
	off := swap2(poolC, dollar, units(100, 6), euro, units(88, 6), units(9_000_000, 6), units(7_920_000, 6))
	f("off par", "", nil, buy, off)

	f("a route", coin+", thing 0.5 trade", nil, buy, onward)

	// Uniswap v3 and v4.
	three := append(swapMoves(poolA, dollar, units(2000, 6), thing, units(1, 18)),
		logOf(poolA, topics(evmsig.TopicSwapV3, alice, alice), numbers(units(2000, 6), units(-1, 18), root(units(1, 18), units(2000, 6)), big.NewInt(1), big.NewInt(0))))
	f("Uniswap v3", "dollar 1 dollar, thing 2000 trade", nil, three)
	moved := append(swapMoves(poolA, dollar, units(2000, 6), thing, units(1, 18)),
		logOf(poolA, topics(evmsig.TopicSwapV3, alice, alice), numbers(units(2000, 6), units(-1, 18), root(units(1, 18), units(2100, 6)), big.NewInt(1), big.NewInt(0))))
	f("Uniswap v3, moved", "", nil, moved)
	four := append(swapMoves(poolA, dollar, units(2000, 6), thing, units(1, 18)),
		logOf(poolA, topics(evmsig.TopicSwapV4, 7, alice), numbers(units(-2000, 6), units(1, 18), root(units(1, 18), units(2000, 6)), big.NewInt(1), big.NewInt(0), big.NewInt(500))))
	f("Uniswap v4", "dollar 1 dollar, thing 2000 trade", nil, four)
	f("cut short", "", nil, []ethrpc.Log{logOf(poolA, topics(evmsig.TopicSwapV4, 7, alice), 1), logOf(poolA, topics(evmsig.TopicSwapV3), 1), logOf(poolA, topics(evmsig.TopicSwapV2), 1), logOf(poolA, topics(evmsig.TopicSync), 1)})
}

// TestQuoteReach: a price from a trade says nothing of amounts ten times as large.
func TestQuoteReach(t *testing.T) {
	list := quotesOf(withLogs(swap2(poolA, dollar, units(2000, 6), wrapped, units(1, 18), units(2_000_000, 6), units(1000, 18))...), nil)
	for _, q := range list {
		switch {
		case q.By == ByDollar:
			if q.Most != nil {
				t.Errorf("a dollar is one at any amount: %s", q.Most)
			}
		case q.Most == nil || q.Most.Cmp(units(10, 18)) != 0:
			t.Errorf("%s reaches to %v", q.Token, q.Most)
		}
		if q.By == ByTrade && (q.Pool != poolA || q.Against != dollar) {
			t.Errorf("%+v", q)
		}
	}
}

// TestQuotesOfRecordedTransactions: what the recorded trades make of ETH is what it cost
// in those days.
func TestQuotesOfRecordedTransactions(t *testing.T) {
	days := map[uint64][2]int64{15050000: {1000, 1080}, 15537394: {1570, 1640}, 109279678: {1620, 1670}, 109279680: {1620, 1670}}
	priced, traded := 0, 0
	eachRecorded(t, func(r *recorded) {
		in := QuoteInput{Receipt: r.in.Receipt, Flow: Compute(r.in), Wrapped: r.in.Chain.WrappedNative,
			Decimals: func(a common.Address) (uint8, bool) {
				tok, ok := label.LookupToken(r.in.Chain.ID, a)
				if !ok || tok.Decimals == nil {
					return 18, a == (common.Address{})
				}
				return *tok.Decimals, true
			},
			Stable: func(a common.Address) bool { _, ok := label.Stablecoin(r.in.Chain.ID, a); return ok }}
		if q := (&quoter{QuoteInput: in}); len(q.trades()) > 0 {
			traded++
		}
		list := Quotes(in)
		if len(list) > 0 {
			priced++
		}
		for _, q := range list {
			want, known := days[r.in.Block.Number]
			whole := new(big.Int).Quo(q.USD.Unscaled, api.PowerOfTen(q.USD.Scale))
			if known && q.Token == (common.Address{}) && (whole.Cmp(big.NewInt(want[0])) < 0 || whole.Cmp(big.NewInt(want[1])) > 0) {
				t.Errorf("%s: ETH at %s, want %d to %d", r.name, q.USD, want[0], want[1])
			}
		}
	})
	t.Logf("%d transactions hold trades that can be read, %d of them give a price", traded, priced)
	if traded < 25 || priced < 7 {
		t.Errorf("%d trades, %d prices", traded, priced)
	}
}
