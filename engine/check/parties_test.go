package check_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Who is of the party and who is not, and what accounts held.

// embeds is a call of the router of which the caller wrote the inner call, with its event.
func embeds(owner, to string, n int) *trace.Frame {
	inner := calldata("transferFrom(address,address,uint256)", owner, to, n)
	return call("router", "run_9(address,bytes)", "dai", inner, moved(take("dai", owner, to, n), owner, to, n))
}

// TestRouterOfAll: the called contract that does for anybody what it did for the sender is not of the
// party: no finding of the transaction accuses it.
func TestRouterOfAll(t *testing.T) {
	const run, mint = "run_9(address,bytes)", "mint(address,uint256)"
	f := func(want string, list ...reply) {
		t.Helper()
		root := embeds("alice", "sender", 700)
		minting := moved(call("mkr", mint, "sender", 5000), "zero", "sender", 5000)
		root.Children = append(root.Children, minting, take("mkr", "sender", "pool", 5000), call("pool", "sold_1()", pay("usd", "sender", 900)))
		c := replied(evidenceOf(root), append(list, reply{"owner()", account("boss")}, open(mint))...)
		disjoint(t, c)
		var got []string
		for i := range c.Triage.Findings {
			got = append(got, roles(&c.Triage.Findings[i].Facts))
		}
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("got  %s\nwant %s", s, want)
		}
	}
	f("arbitrary_call confirmed high: lost alice; faulty router; gained sender", open(run))
	f("access_control confirmed low: lost pool; faulty mkr; gained sender router", reply{run, nil}) // the sender's own tool
}

// TestSafeAttacks: what a Safe gains by the transaction of its owners is gained by the party,
// whoever brought it; what others gain is not.
func TestSafeAttacks(t *testing.T) {
	f := func(want, to string, more ...*trace.Frame) {
		t.Helper()
		c := built(executed("safe", all(embeds("alice", to, 700), more)...))
		disjoint(t, c)
		var got []string
		for i := range c.Triage.Findings {
			got = append(got, roles(&c.Triage.Findings[i].Facts))
		}
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("to %s: got  %s\nwant %s", to, s, want)
		}
	}
	f("arbitrary_call confirmed high: lost alice; faulty router; gained sender safe", "safe")
	f("", "carol")
	f("", "safe", pay("mkr", "alice", 300)) // she was paid
}

// TestCheckOfCoin: the check of a loss of coin sums the coin and its wrapped token where both moved,
// and names the one that moved where one did.
func TestCheckOfCoin(t *testing.T) {
	f := func(want string, inside ...*trace.Frame) {
		t.Helper()
		c := built(attackBy(inside...))
		if len(c.Result.Findings) != 1 || c.Result.Findings[0].Check != want {
			t.Errorf("%+v, want the check %q", c.Result.Findings, want)
		}
	}
	put := func(n uint64, token ...*trace.Frame) *trace.Frame {
		x := call("vault", "put_1(uint256)", 1)
		x.Value.SetUint64(n)
		x.Children = token
		return x
	}
	native := func(n uint64) *trace.Frame { return call("vault", "get_1(uint256)", 1, sends("tool", n)) }
	wrapped := func(n int) *trace.Frame { return call("vault", "get_1(uint256)", 1, pay("weth", "tool", n)) }
	vault, weth := api.AddrOf(who("vault")), api.AddrOf(who("weth"))
	f(fmt.Sprintf("net(%s, native) < 0", vault), put(1000), native(1500))
	f(fmt.Sprintf("net(%s, %s) < 0", vault, weth), put(0, take("weth", "tool", "vault", 1000)), wrapped(1500))
	f(fmt.Sprintf("(net(%s, native) + net(%s, %s)) < 0", vault, vault, weth), put(1000), wrapped(1500))
	f(fmt.Sprintf("(net(%s, native) + net(%s, %s)) < 0", vault, vault, weth), put(0, take("weth", "tool", "vault", 1000)), native(1500))
}

// TestHeldCoin: a loss of coin is a part of the coin that the victim held before, and of the wrapped
// coin where that changed.
func TestHeldCoin(t *testing.T) {
	held := func(name string) common.Hash { // the balance of an account in the first mapping of a token
		a := who(name)
		return crypto.Keccak256Hash(common.LeftPadBytes(a[:], 32), make([]byte, 32))
	}
	f := func(want api.Severity, coin, before, after int64, inside ...*trace.Frame) {
		t.Helper()
		ev := evidenceOf(attackBy(inside...))
		slots := func(n int64) map[common.Hash]common.Hash {
			return map[common.Hash]common.Hash{held("vault"): common.BigToHash(big.NewInt(n))}
		}
		ev.Diff = &ethrpc.StateDiff{
			Pre:  map[common.Address]*ethrpc.Account{who("vault"): {Balance: big.NewInt(coin)}, who("weth"): {Storage: slots(before)}},
			Post: map[common.Address]*ethrpc.Account{who("vault"): {Balance: big.NewInt(coin - 500)}, who("weth"): {Storage: slots(after)}},
		}
		c := assemble.Build(ev)
		if len(c.Result.Findings) != 1 || c.Result.Findings[0].Severity != want {
			t.Errorf("held %d and %d: want %s: %+v", coin, before, want, c.Result.Findings)
		}
	}
	put := call("vault", "put_1(uint256)", 1)
	put.Value.SetUint64(1000)
	get := func(n uint64) *trace.Frame { return call("vault", "get_1(uint256)", 1, sends("tool", n)) }
	f(api.SeverityCritical, 1000, 0, 0, put, get(1500)) // half
	f(api.SeverityHigh, 1001, 0, 0, put, get(1500))
	f(api.SeverityHigh, 5000, 0, 0, put, get(1500)) // a tenth
	f(api.SeverityMedium, 5001, 0, 0, put, get(1500))

	// With the wrapped coin.
	both := call("vault", "get_1(uint256)", 1, sends("tool", 1000), pay("weth", "tool", 500))
	f(api.SeverityCritical, 600, 400, 0, put, call("vault", "get_1(uint256)", 1, sends("tool", 1100), pay("weth", "tool", 400)))
	f(api.SeverityHigh, 600, 4000, 3500, put, both)
	f(api.SeverityMedium, 600, 9000, 8500, put, both)
	f(api.SeverityMedium, 600, 9000, 8400, put, both) // no slot tells what it held of the token

	// What came in and went out again changes nothing.
	through := call("vault", "turn_1()", take("weth", "tool", "vault", 50), pay("weth", "tool", 50))
	f(api.SeverityCritical, 1000, 9000, 9000, put, through, get(1500))
	f(api.SeverityCritical, 1000, 9000, 9000, put, call("vault", "turn_2()", pay("weth", "vault", 50)), get(1500)) // to itself
}
