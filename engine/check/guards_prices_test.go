package check_test

import (
	"math/big"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Guards of what pools and tokens tell of prices.

// slotBefore is a state diff with one slot of a contract before the transaction.
func slotBefore(contract string, slot int64, n *big.Int) *ethrpc.StateDiff {
	at := func(n *big.Int) map[common.Address]*ethrpc.Account {
		return map[common.Address]*ethrpc.Account{who(contract): {Storage: map[common.Hash]common.Hash{common.BigToHash(big.NewInt(slot)): common.BigToHash(n)}}}
	}
	return &ethrpc.StateDiff{Pre: at(n), Post: at(common.Big1)}
}

// TestPriceFlagGuards: what an event tells of a price, what the storage held before, and who asked.
func TestPriceFlagGuards(t *testing.T) {
	f := func(want bool, diff *ethrpc.StateDiff, inside ...*trace.Frame) {
		t.Helper()
		ev := evidenceOf(attackBy(inside...))
		ev.Diff = diff
		if got := verdict.Flagged(assemble.Build(ev).Triage.Flags, verdict.PriceMoved); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	told := func(x, y int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, x, y)
	}
	const swap = "Swap(address,address,int256,int256,uint160,uint128,int24)"
	root := func(signature string, words ...int) *trace.Frame {
		return emits(call("pair", "move_1()"), signature, []string{"a", "b"}, words...)
	}
	reads := call("bank", "use_1()", view("pair", "getReserves()", 5))

	// Beside two events the first of which is the price at the beginning, one of a price before.
	pack := func(x, y int64) *big.Int {
		return new(big.Int).Or(new(big.Int).Lsh(big.NewInt(y), 112), big.NewInt(x))
	}
	was := func(x, y int64) *ethrpc.StateDiff { return slotBefore("pair", 8, pack(x, y)) }
	f(true, was(1000, 1000), told(1051, 1000), reads)
	f(true, was(1000, 1000), told(1000, 1051), reads)
	f(false, was(1000, 1000), told(1050, 1000), reads)
	f(false, was(0, 1000), told(1051, 1000), reads) // it was empty
	f(false, was(1000, 0), told(1051, 1000), reads) // and so not known
	f(true, was(0, 0), told(1000, 1000), told(1051, 1000), reads)
	f(false, slotBefore("pair", 0, pack(1000, 1000)), told(1051, 1000), reads)  // another slot
	f(false, slotBefore("other", 8, pack(1000, 1000)), told(1051, 1000), reads) // another pair
	f(false, nil, told(1051, 1000), reads)
	f(true, was(1000, 1000), told(1000, 1000), told(1051, 1000), reads)
	f(false, was(1051, 1000), told(1000, 1051), told(1051, 1000), call("bank", "use_1()")) // nobody asked

	// A pool by its square root keeps it, and more, in its first slot.
	sqrt := func(n int64) *ethrpc.StateDiff {
		return slotBefore("pair", 0, new(big.Int).Or(new(big.Int).Lsh(common.Big1, 200), big.NewInt(n)))
	}
	f(true, sqrt(10000), root(swap, 1, 1, 10250, 1, 1), reads)
	f(false, sqrt(10000), root(swap, 1, 1, 10246, 1, 1), reads)
	f(false, slotBefore("pair", 8, big.NewInt(10000)), root(swap, 1, 1, 10250, 1, 1), reads)

	// Events that tell no price are left out, and the others count.
	moved := func(events ...*trace.Frame) {
		t.Helper()
		f(false, nil, all(events, reads)...)
		f(true, nil, all(told(1000, 1000), events, told(1051, 1000), reads)...)
	}
	moved(root(swap, 1, 1, 10000, 1, 1), root(swap, 1, 1))                                                        // no square root
	moved(root(swap, 1, 1, 10000, 1, 1), root(swap, 1, 1, 12000, 1))                                              // too short
	moved(root("Swap_1(address,address)", 1, 1, 10000, 1, 1), root("Swap_1(address,address)", 1, 1, 12000, 1, 1)) // another event
	moved(told(1000, 1000), emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, 2000, 1000, 1))
	moved(told(1000, 1000), told(0, 1000))
	moved(told(1000, 1000), told(1000, 0))

	f(true, nil, told(0, 1000), told(1000, 1000), told(1051, 1000), reads)
	f(true, nil, told(1000, 0), told(1000, 1000), told(1051, 1000), reads)

	// Who runs the code of a pair for its own storage asks nobody.
	f(false, nil, told(1000, 1000), told(1051, 1000), call("bank", "use_1()", of(trace.DelegateCall, view("pair", "getReserves()", 5))))
}

// TestFakeInputGuards: who asks an address that the party passed, how, and what was lost.
func TestFakeInputGuards(t *testing.T) {
	f := fire(t, "fake_input")
	win := pay("dai", "tool", 5000)
	asks := view("tool", "balanceOf(address)", 5, "vault")
	swap := func(to, passed string, inside ...*trace.Frame) *trace.Frame {
		x := call(to, "swap_9(address)", passed)
		x.Children = inside
		return x
	}
	f("x", attackBy(swap("vault", "tool", of(trace.Call, asks), win)))
	f("", attackBy(swap("vault", "tool", of(trace.DelegateCall, asks), win))) // it ran the code, and asked nobody
	bare := clone(asks)
	bare.Input = bare.Input[:3]
	f("", attackBy(swap("vault", "tool", bare, win)))

	// The party's own contracts may ask each other.
	own := call("tool", "odd_1()", view("part", "balanceOf(address)", 5, "vault"))
	f("", attackBy(creates("part"), swap("vault", "part", own, win)))
	f("x", attackBy(creates("part"), swap("vault", "part", view("part", "balanceOf(address)", 5, "vault"), win)))

	// What a contract asks in the course of a question has no call of the party around it.
	quote := view("oracle", "quote_1(address)", 1, "tool", clone(asks))
	f("x", attackBy(quote, swap("vault", "tool", asks, win)))
	f("", attackBy(quote, win))

	// Whose loss it is; nobody has to gain.
	f("x", attackBy(swap("vault", "tool", asks, pay("dai", "alice", 5000))))
	f("", attackBy(swap("vault", "tool", asks, take("dai", "bob", "alice", 5000))))

	// A token of the party that a pool sells it.
	f("", attackBy(creates("coin"), swap("vault", "coin", view("coin", "balanceOf(address)", 5, "vault"), win),
		pay("usd", "pool", 900), call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, pay("coin", "tool", 700))))

	// Each contract is accused once.
	g := matchesOf(t, "fake_input")
	g(1, attackBy(swap("vault", "tool", asks, asks, win)))
	g(2, attackBy(swap("vault", "tool", asks, win), swap("bank", "tool", asks, win)))
}

// TestQuotesBefore: the price before the first event is in the storage of the pool, beside other numbers
// in the same word.
func TestQuotesBefore(t *testing.T) {
	f := func(want bool, slot int64, before *big.Int, event *trace.Frame) {
		t.Helper()
		ev := evidenceOf(attackBy(event, call("bank", "use_1()", view("pair", "getReserves()", 5))))
		ev.Diff = slotBefore("pair", slot, before)
		if got := verdict.Flagged(assemble.Build(ev).Triage.Flags, verdict.PriceMoved); got != want {
			t.Errorf("slot %d, %x: %v, want %v", slot, before, got, want)
		}
	}
	pack := func(low, high int64, bits uint) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(high), bits)
		return n.Or(n, big.NewInt(low))
	}
	sync := func(x, y int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, x, y)
	}
	root := func(n int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Swap(address,address,int256,int256,uint160,uint128,int24)", []string{"a", "b"}, 1, 1, n, 1, 1)
	}
	reserves := pack(1000, 1000, 112)
	f(true, 8, reserves, sync(1051, 1000))
	f(false, 8, reserves, sync(1050, 1000))
	f(true, 8, reserves, sync(1000, 1051))
	f(false, 8, reserves, sync(1000, 1050))
	stamped := new(big.Int).Or(reserves, new(big.Int).Lsh(big.NewInt(0x7fffffff), 224)) // with the time of the last trade
	f(true, 8, stamped, sync(1051, 1000))
	f(false, 8, stamped, sync(1050, 1000))
	f(false, 7, reserves, sync(2000, 1000)) // another slot

	f(true, 0, big.NewInt(10000), root(10250))
	f(false, 0, big.NewInt(10000), root(10246))
	ticked := pack(10000, 0xffffff, 160) // with the tick
	f(true, 0, ticked, root(10250))
	f(false, 0, ticked, root(10246))
	f(false, 8, big.NewInt(10000), root(20000))
}
