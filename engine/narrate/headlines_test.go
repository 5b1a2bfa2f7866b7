package narrate_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/narrate"
	"txlens/testkit/fixture"
	"txlens/testkit/recorded"
	"txlens/testkit/scene"
	"txlens/testkit/size"

	"github.com/ethereum/go-ethereum/common"
)

// eachSampled reads the recorded transactions: all, or every tenth of a kind at the small
// size.
func eachSampled(t *testing.T, f func(set, hash string, in *facts.Input)) {
	t.Helper()
	readRecorded(t, recorded.Sampled, f)
}

// eachRecorded reads every recorded transaction.
func eachRecorded(t *testing.T, f func(set, hash string, in *facts.Input)) {
	t.Helper()
	readRecorded(t, func(int) bool { return true }, f)
}

// readRecorded reads the recorded transactions whose number within their kind is wanted.
func readRecorded(t *testing.T, wanted func(n int) bool, f func(set, hash string, in *facts.Input)) {
	t.Helper()
	blocks, n := fixture.Blocks(t), 0
	for i := range blocks {
		blk, err := ethrpc.ParseBlock(blocks[i].Header)
		if err != nil {
			t.Fatal(err)
		}
		for j := range blocks[i].Txs {
			if n++; !wanted(n - 1) {
				continue
			}
			in := scene.FromFixture(t, &blocks[i], &blocks[i].Txs[j], blk)
			scene.Around(t, in, &blocks[i], j)
			f("blocks", blocks[i].Txs[j].Hash, in)
		}
	}
	for _, id := range fixture.LabelledChains() {
		list := fixture.LabelledOf(t, id)
		for i := range list {
			if !wanted(i) {
				continue
			}
			f("labelled", list[i].Hash, scene.FromLabelled(t, &list[i]))
		}
	}
	list := fixture.MEVs(t)
	for i := range list {
		f("mev", list[i].Hash, scene.FromMEV(t, &list[i]))
	}
}

// headlines names a file to which TestListHeadlines writes.
var headlines = flag.String("headlines", "", "write the headline of every recorded transaction to this `file`")

// TestListHeadlines writes what people compare by eye.
func TestListHeadlines(t *testing.T) {
	if *headlines == "" {
		t.Skip("no file is named with -headlines")
	}
	var b bytes.Buffer
	eachSampled(t, func(set, hash string, in *facts.Input) {
		v := scene.Judge(in)
		fmt.Fprintf(&b, "%s %s %s/%s/%s: %s\n", set, hash, *v.TxType, v.SubType, v.Deciding.Act, v.Summary)
		for _, s := range v.Steps {
			fmt.Fprintf(&b, "      - %s\n", s)
		}
	})
	if err := os.WriteFile(*headlines, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestHeadlines reads the headline of every recorded transaction.
func TestHeadlines(t *testing.T) {
	all, moved, called := 0, 0, 0
	eachRecorded(t, func(set, hash string, in *facts.Input) {
		v := scene.Judge(in)
		all++
		if movedValue(in) {
			if moved++; strings.HasPrefix(v.Summary, "Called ") {
				called++
				t.Logf("%s %s: %s", set, hash, v.Summary)
			}
		}
		if strings.Contains(v.Summary, "base units") || bareCall.MatchString(v.Summary) {
			t.Errorf("%s %s: %s", set, hash, v.Summary)
		}
		for _, symbol := range rawUnits.FindAllStringSubmatch(v.Summary, -1) {
			if knownDecimals(v, in, symbol[1]) {
				t.Errorf("%s %s: the decimals are known: %s", set, hash, v.Summary)
			}
		}
		distinctAbbreviations(t, hash, v, in)
		plainSteps(t, hash, v)
	})
	t.Logf("%d headlines; %d of %d that moved value say that a function was called", all, called, moved)
	if all == 0 || called*100 >= moved {
		t.Errorf("%d of %d headlines say no more than that a function was called", called, moved)
	}
}

var (
	bareCall   = regexp.MustCompile(`^Called 0x`)
	rawUnits   = regexp.MustCompile(`raw units? of ([^ ]+)`)
	shortForms = regexp.MustCompile(`0x[0-9a-f]{4}…[0-9a-f]{4}`)
)

// movedValue reports whether tokens moved, or coin that pays for something.
func movedValue(in *facts.Input) bool {
	if in.Flow == nil || !in.Succeeded {
		return false
	}
	for i := range in.Flow.Transfers {
		if t := &in.Flow.Transfers[i]; t.Amount.Sign() > 0 && t.From != t.To {
			return true
		}
	}
	for i := range in.Flow.Moves {
		if m := &in.Flow.Moves[i]; m.Kind == flow.MoveCall && m.From != m.To && m.Amount.Cmp(big.NewInt(1e12)) > 0 {
			return true
		}
	}
	return false
}

// knownDecimals reports whether some token that is written so has known decimals.
func knownDecimals(v *scene.Judged, in *facts.Input, symbol string) bool {
	for i := range in.Flow.Transfers {
		t := &in.Flow.Transfers[i]
		if _, ok := v.Words.Decimals(t.Token); ok && t.ID == nil && v.Words.Symbol(t.Token) == symbol {
			return true
		}
	}
	return false
}

// plainSteps: a step says what happened and not that an event or calldata said so, a
// transaction that failed tried, and each movement of a pool is told once.
func plainSteps(t *testing.T, hash string, v *scene.Judged) {
	t.Helper()
	logs := map[int]string{}
	for i, s := range v.Steps {
		if strings.Contains(s, " recorded: ") || strings.Contains(s, "was told to") || v.Attempted && strings.Contains(s, " called ") {
			t.Errorf("%s: %s", hash, s)
		}
		for _, l := range v.Places[i].Logs {
			if before, ok := logs[l]; ok && v.Places[i].Kind == narrate.KindTransfer {
				t.Errorf("%s: log %d is told twice: %s %s", hash, l, before, s)
			}
			logs[l] = s
		}
	}
}

// distinctAbbreviations: what stands for one address in the text of a transaction stands
// for no other.
func distinctAbbreviations(t *testing.T, hash string, v *scene.Judged, in *facts.Input) {
	t.Helper()
	meant := map[string]common.Address{}
	add := func(a common.Address) {
		s := v.Words.Abbreviate(a)
		if b, ok := meant[s]; ok && a != b {
			t.Errorf("%s: %s stands for %s and %s", hash, s, a, b)
		}
		meant[s] = a
	}
	add(common.Address{})
	add(in.Tx.From)
	for _, f := range in.Tree.Frames {
		add(f.From)
		if f.HasTo {
			add(f.To)
		}
	}
	for i := range in.Flow.Transfers {
		add(in.Flow.Transfers[i].From)
		add(in.Flow.Transfers[i].To)
		add(in.Flow.Transfers[i].Token)
	}
	for _, s := range append([]string{v.Summary}, v.Steps...) {
		for _, short := range shortForms.FindAllString(s, -1) {
			if _, ok := meant[short]; !ok && short == api.AddrOf(common.Address{}).Short() {
				t.Errorf("%s: %s reads like the zero address: %s", hash, short, s)
			}
		}
	}
}

// amountsSaid are the amounts of a headline, as it writes them.
var amountsSaid = regexp.MustCompile(`(?:[0-9][0-9,]*(?:\.[0-9]+)?)(?:e[0-9]+|[MBT])? (?:wei|[A-Za-z0-9.@$_₮/+-]+)`)

// TestHeadlineAmounts recomputes what each account gained and lost from the transfers and
// calls themselves: each amount of the headline of a trade or a transfer is the net change
// of an account, a sum of such changes, or one movement.
func TestHeadlineAmounts(t *testing.T) {
	said := 0
	eachSampled(t, func(set, hash string, in *facts.Input) {
		v := scene.Judge(in)
		if in.Flow == nil || !in.Succeeded || in.Flow.Fee == nil {
			return
		}
		switch v.Deciding.Act {
		case facts.ActSwap, facts.ActTransfer, "pay", "receive", facts.ActStake, facts.ActUnstake, facts.ActAddLiq, facts.ActRemoveLiq,
			facts.ActSupply, facts.ActWithdraw, facts.ActClaim, facts.ActVaultIn, facts.ActVaultOut, facts.ActWrap, facts.ActUnwrap:
		default:
			return
		}
		known := recomputed(v, in)
		moved, _, _ := strings.Cut(v.Summary, "; sandwiched by ") // what the trade got less did not move
		for _, amount := range amountsSaid.FindAllString(moved, -1) {
			number, unit, _ := strings.Cut(amount, " ")
			if !known.units[unit] {
				continue
			}
			said++
			if !known.amounts[number+" "+unit] {
				t.Errorf("%s %s: %s is no movement: %s", set, hash, amount, v.Summary)
			}
		}
		said += known.sides(t, hash, v)
	})
	if said < size.Of(100, 500) {
		t.Errorf("only %d amounts were compared", said)
	}
	t.Logf("%d amounts compared", said)
}

func (r *recomputation) side(n *big.Int) map[string]bool {
	if n.Sign() < 0 {
		return r.lost
	}
	return r.gained
}

type recomputation struct {
	amounts      map[string]bool // as text
	units        map[string]bool
	lost, gained map[string]bool // net amounts of accounts
}

// sides holds the two sides of a plain trade, and the recipient of a plain transfer,
// against the accounts: what is given up was lost by somebody, what is received was
// gained.
func (r *recomputation) sides(t *testing.T, hash string, v *scene.Judged) (compared int) {
	t.Helper()
	m := plainTrade.FindStringSubmatch(v.Summary)
	if m == nil || !r.units[m[2]] || !r.units[m[4]] {
		return 0
	}
	if !r.lost[m[1]+" "+m[2]] || !r.gained[m[3]+" "+m[4]] {
		t.Errorf("%s: the sides are not those of an account: %s", hash, v.Summary)
	}
	return 2
}

var plainTrade = regexp.MustCompile(`^Swapped ([0-9.,]+) ([^ ]+) for ([0-9.,]+) ([^ ,;]+)`)

// recomputed nets every account over the transfers and calls.
func recomputed(v *scene.Judged, in *facts.Input) recomputation {
	r := recomputation{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	nets := map[common.Address]map[flow.TokenKey]*big.Int{}
	add := func(who common.Address, k flow.TokenKey, n *big.Int, sign int64) {
		if nets[who] == nil {
			nets[who] = map[flow.TokenKey]*big.Int{}
		}
		if nets[who][k] == nil {
			nets[who][k] = new(big.Int)
		}
		nets[who][k].Add(nets[who][k], new(big.Int).Mul(n, big.NewInt(sign)))
	}
	keep := func(k flow.TokenKey, n *big.Int, side map[string]bool) {
		text := v.Words.Amount(k, n)
		number, rest, _ := strings.Cut(text, " ")
		unit, _, _ := strings.Cut(rest, " ")
		r.amounts[number+" "+unit], r.units[unit] = true, true
		if side != nil {
			side[number+" "+unit] = true
		}
	}
	for i := range in.Flow.Transfers {
		t := &in.Flow.Transfers[i]
		k := t.Key()
		if t.ID != nil {
			continue
		}
		add(t.From, k, t.Amount, -1)
		add(t.To, k, t.Amount, 1)
		keep(k, t.Amount, nil)
	}
	for i := range in.Flow.Moves {
		if m := &in.Flow.Moves[i]; m.Kind != flow.MoveFee {
			add(m.From, flow.TokenKey{}, m.Amount, -1)
			add(m.To, flow.TokenKey{}, m.Amount, 1)
			keep(flow.TokenKey{}, m.Amount, nil)
		}
	}
	totals := map[flow.TokenKey]*big.Int{}
	for _, list := range nets {
		coin := new(big.Int)
		for k, n := range list {
			keep(k, n, r.side(n))
			if k == (flow.TokenKey{}) || in.Chain.WrappedNative != nil && k.Token == *in.Chain.WrappedNative {
				coin.Add(coin, n)
			}
			if totals[k] == nil {
				totals[k] = new(big.Int)
			}
			if n.Sign() > 0 {
				totals[k].Add(totals[k], n)
			}
		}
		keep(flow.TokenKey{}, coin, r.side(coin))
	}
	for k, n := range totals {
		keep(k, n, r.gained)
	}
	return r
}

// TestHeadlinesOfRecorded: what certain recorded transactions are told as, to the digit.
func TestHeadlinesOfRecorded(t *testing.T) {
	want := map[string]string{
		"0x8f3302868a": "Moved 49.93B raw units of 0xd937…93d3 from 0x6cfd…fef5 to 0x5264…d1cc (execute)",
		"0x05de590e3a": "Minted NFT 1771480 of CK to 0x2ac8…0e3c, receiving 0.008 ETH from CK token",
		"0xbfef3ebfad": `Registered "٨٥٠٤.eth" for 37 days on ENS, paying 0.015737 ETH`,
		"0xeef5e4a5a8": "Minted 4 NFTs of 0x8d58…10f1 to 4 addresses through 0x8d58…10f1 (airdropTokens)",
		"0x216b67f3ad": "Deployed contract 0x05f08b01971cf70bcd4e743a8906790cfb9a8fb8 with 5,587 bytes of code, minting 10,000 NFTs of 0x05f0…8fb8 (0 … 9999) to 0x05f0…8fb8",
		"0x7e6735c143": "Closed an arbitrage over 3 pools (WETH → USDC → FUN → WETH), gaining 0.048296 WETH for 0xacf0…cdac before the fee, right behind the trade of transaction 0x0374cabd… in pool 0x29f0…dcde",
		"0xf4a20bc848": "Wrapped 1.8 ETH to 1.8 WETH through 1inch",
		"0x99066a281b": "Set L1 block attributes (L1 block 17,833,686)",
		"0x2077a54eca": "Liquidated the position of 0x1db6…64ca on Aave v2, repaying 0.910875 WETH of debt and seizing 0.956419 WETH of collateral, with a flash loan of 0.910875 WETH from Balancer V2: Vault",
		"0x578422ff16": "Redeemed principal and yield tokens on Pendle, paying 20,000.97 0x77de…cc39 and 20,000.97 0xae4b…6c83 and receiving 19,995.9 USDC",
		"0xf0be288974": "Swapped 10,719.49 USDT for 25,162.3 DERC on 0x, for 0x2dcd…9cda",
		"0xb71a1339c7": "Added 2.9945 WETH and 2.59531 wstETH as liquidity on Aerodrome, receiving 2.78754 0xa638…51e8",
	}
	eachRecorded(t, func(_, hash string, in *facts.Input) {
		if text, ok := want[hash[:12]]; ok {
			if got := scene.Judge(in).Summary; got != text {
				t.Errorf("%s\n  %s\nwant\n  %s", hash, got, text)
			}
			delete(want, hash[:12])
		}
	})
	for hash := range want {
		t.Errorf("%s is not among the recordings", hash)
	}
}

// TestCalledForDust: a call that only carried coin of no worth got nothing of what its function is
// named after.
func TestCalledForDust(t *testing.T) {
	f := func(signature string, value int64, want string) {
		t.Helper()
		s := scene.New(&scene.Vault, value, scene.Input(signature))
		if got := scene.Judge(s.Facts(t)).Summary; got != want {
			t.Errorf("%s, %d wei: %s, want %s", signature, value, got, want)
		}
	}
	f("getReward()", 0, "Called function 0x3d18b912 of 0x7a17…7a17; no tokens moved")
	f("getReward()", 1, "Called function 0x3d18b912 of 0x7a17…7a17 with 1 wei; no tokens moved")
	f("getReward()", 3, "Called function 0x3d18b912 of 0x7a17…7a17 with 3 wei; no tokens moved")
	f("claim()", 3, "Called function 0x4e71d92d of 0x7a17…7a17 with 3 wei; no tokens moved")
}
