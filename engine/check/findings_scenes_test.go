package check_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/testkit/recorded"

	"github.com/ethereum/go-ethereum/common"
)

// What a finding is made of beside its sentence, in scenes of one rule each: status and
// severity, who lost, whose rule broke, who gained.

// cast are the names that accounts of the scenes of findings have.
var cast = []string{
	"sender", "tool", "alice", "bob", "carol", "vault", "bank", "router", "pool", "market", "lender", "thief", "partner", "lure", "token", "mkr",
	"dai", "usdc", "safe", "miner", "part", "second", "first", "pair", "apes", "other", "usd", "weth", "farm", "market", "punks", "shop", "x",
	"oracle", "grants", "wallet", "zero", "balancer", "gno", "a", "b", "c", "council", "books", "helper", "factory", "usdt", "queue", "signer",
}

// named are accounts by their names in a scene.
func named(list ...api.Addr) string {
	var out []string
	for _, a := range list {
		i := slices.IndexFunc(cast, func(name string) bool { return who(name) == common.Address(a) })
		if i < 0 {
			out = append(out, a.String())
			continue
		}
		out = append(out, cast[i])
	}
	return strings.Join(out, " ")
}

// roles are the cause, the status, the confidence and the roles of a finding.
func roles(f *api.Finding) string {
	out := fmt.Sprintf("%s %s %s: lost %s", f.Category, f.Status, f.Confidence, named(f.Victim...))
	if f.FaultyContract != nil {
		out += "; faulty " + named(*f.FaultyContract)
	}
	if f.EntryPoint != nil {
		out += "; entered " + named(*f.EntryPoint)
	}
	return out + "; gained " + named(f.Attacker...)
}

// TestRolesOfFindings: one finding of each kind of rule. Where the calls show the cause it is
// confirmed, where it follows from the outcome it is probable. Who lost is no attacker.
func TestRolesOfFindings(t *testing.T) {
	f := func(want string, root *trace.Frame) {
		t.Helper()
		c := judged(t, root)
		var got []string
		for i := range c.Result.Findings {
			got = append(got, roles(&c.Result.Findings[i]))
		}
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("got  %s\nwant %s", s, want)
		}
	}
	deposit := call("vault", "put_1(uint256)", 1, take("dai", "tool", "vault", 1000))
	withdraw := call("vault", "get_1(uint256)", 1, pay("dai", "tool", 1500))

	// By the outcome: probable, and the vault has code that nobody has read.
	f("accounting_error probable low: lost vault; faulty vault; entered vault; gained sender tool", attackBy(deposit, withdraw))
	f("accounting_error probable low: lost vault; faulty vault; entered vault; gained sender tool partner",
		attackBy(deposit, withdraw, pay("dai", "partner", 1500))) // who has the proceeds gained
	f("", attackBy(deposit, call("vault", "get_1(uint256)", 1, pay("dai", "tool", 1000))))

	// Entered again, but what the vault had booked is not known: only possible, and not told.
	again := call("vault", "leave_1()", sends("tool", 5, call("vault", "leave_1()", pay("dai", "tool", 500))), pay("dai", "tool", 500))
	f("", attackBy(again))
	skim := times(3, func(int) *trace.Frame { return call("pair", "skim(address)", "tool", pay("mkr", "tool", 200)) })
	f("token_incompatibility confirmed low: lost pair; faulty pair; entered pair; gained sender tool", attackBy(skim...))
	f("", attackBy(skim[:2]...))

	// Control of a contract that was there before: the outcome, by structure.
	set := call("vault", "initialize(address)", "tool")
	f("access_control probable low: lost vault; faulty vault; entered vault; gained sender tool", attackBy(set, withdraw))
	f("", attackBy(withdraw, set)) // paid before

	// Code of the party runs for the vault.
	code := call("tool", "code_1()", pay("dai", "tool", 700))
	code.Kind = trace.DelegateCall
	f("arbitrary_call confirmed low: lost vault; faulty vault; entered vault; gained sender tool", attackBy(call("vault", "exec_1(address)", "tool", code)))

	// An owner has no code to read: only the party's account of it stays open.
	args := calldata("transferFrom(address,address,uint256)", "alice", "sender", 700)[4:]
	f("arbitrary_call confirmed high: lost alice; faulty router; entered router; gained sender tool",
		attackBy(call("router", "run_9(bytes)", args, take("dai", "alice", "sender", 700))))
	f("", attackBy(call("router", "run_9(bytes)", args, take("dai", "alice", "sender", 700)), pay("mkr", "alice", 300)))

	// A drain: who has the loot gained, too.
	drain := func(more ...*trace.Frame) *trace.Frame {
		return attackBy(all(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), more)...)
	}
	f("phishing_approval confirmed high: lost alice; faulty alice; entered usdc; gained sender tool thief partner", drain())
	f("", drain(pay("mkr", "alice", 5000))) // who was paid sold
	f("phishing_approval confirmed high: lost alice bob; faulty alice; entered usdc; gained sender tool",
		attackBy(permit("usdc", "alice", "tool", top(160)), take("usdc", "alice", "tool", 700), permit("usdc", "bob", "tool", top(160)), take("usdc", "bob", "tool", 900)))
	f("phishing_approval confirmed high: lost alice; faulty alice; entered market; gained sender tool",
		attackBy(call("market", "fill_1(bytes)", recovers("alice"), nft("apes", "alice", "tool", 7), nft("punks", "alice", "tool", 8))))
	// The order is checked by code that the market runs, or by the party itself.
	proxied := call("library", "fill_1(bytes)", recovers("alice"), nft("apes", "alice", "tool", 7), nft("punks", "alice", "tool", 8))
	proxied.Kind = trace.DelegateCall
	f("phishing_approval confirmed high: lost alice; faulty alice; entered market; gained sender tool", attackBy(call("market", "fill_1(bytes)", proxied)))
}

// disjoint checks that nobody is victim and attacker of one finding, and that the sender is
// one of them.
func disjoint(t *testing.T, c *assemble.Analysis) {
	t.Helper()
	for i := range c.Result.Findings {
		f := &c.Result.Findings[i]
		for _, v := range f.Victim {
			if slices.Contains(f.Attacker, v) {
				t.Errorf("%s of finding %s is victim and attacker", named(v), f.ID)
			}
		}
		if sender := api.AddrOf(c.Evidence.Tx.From); len(f.Attacker) == 0 || !slices.Contains(append(f.Victim, f.Attacker...), sender) {
			t.Errorf("finding %s: the sender is neither victim nor attacker: %s", f.ID, named(f.Attacker...))
		}
	}
}

// priced is the evidence of a scene in which "realUSDC" is known to have six decimals.
func priced(root *trace.Frame) *assemble.Evidence {
	six := uint8(6)
	ev := recorded.OfTree(1, "0x"+strings.Repeat("12", 32), treeOf(root))
	ev.Tokens = map[common.Address]label.Token{who("realUSDC"): {Symbol: "USDC", Decimals: &six}}
	return ev
}

// TestSeverityOfLoss: both sides of each amount, in dollars, from which a theft is graver.
func TestSeverityOfLoss(t *testing.T) {
	f := func(want api.Severity, dollars int64, price *api.Decimal) {
		t.Helper()
		n := int(dollars * 1_000_000)
		root := attackBy(call("vault", "put_1(uint256)", 1, take("realUSDC", "tool", "vault", 1)), call("vault", "get_1(uint256)", 1, pay("realUSDC", "tool", n+1)))
		ev := priced(root)
		if price != nil {
			ev.Prices = map[common.Address]assemble.Price{who("realUSDC"): {USD: *price, Source: "test"}}
		}
		c := assemble.Build(ev)
		if len(c.Result.Findings) != 1 || c.Result.Findings[0].Severity != want {
			t.Errorf("%d dollars: want %s: %+v", dollars, want, c.Result.Findings)
		}
	}
	f(api.SeverityMedium, 1, nil) // theft is a limited loss at least
	f(api.SeverityMedium, 49_999, nil)
	f(api.SeverityHigh, 50_000, nil)
	f(api.SeverityHigh, 999_999, nil)
	f(api.SeverityCritical, 1_000_000, nil)
	cent := &api.Decimal{Unscaled: big.NewInt(1), Scale: 2}
	f(api.SeverityMedium, 4_999_999, cent)
	f(api.SeverityHigh, 5_000_000, cent)
	f(api.SeverityHigh, 99_999_999, cent)
	f(api.SeverityCritical, 100_000_000, cent)
}
