package check

import (
	"math/big"
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// TestSignersAreNotAccused: the account through which the sender acted is an attacker beside it; who
// only signed what the sender brought is none.
func TestSignersAreNotAccused(t *testing.T) {
	ethereum, _ := chain.ByID(1)
	sender, behind, victim := common.Address{1}, common.Address{2}, common.Address{3}
	f := func(kind facts.ActorKind, accused bool) {
		t.Helper()
		root := &trace.Frame{Kind: trace.Call, From: sender, To: victim, HasTo: true, Status: trace.OK}
		c := facts.Read(&facts.Input{Chain: ethereum, Tx: &ethrpc.Transaction{From: sender, To: &victim}, Receipt: &ethrpc.Receipt{}, Succeeded: true,
			Tree: &trace.Tree{Root: root, Frames: []*trace.Frame{root}, Source: trace.SourceDebug}, Flow: &flow.Flow{}})
		c.Actor, c.ActorKind = behind, kind
		got := newInspection(&Input{Case: c}).attackers(&broken{victims: []common.Address{victim}})
		want := []api.Addr{api.AddrOf(sender)}
		if accused {
			want = append(want, api.AddrOf(behind))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", kind, got, want)
		}
	}
	f(facts.ActorUserOp, true)
	f(facts.ActorSafe, true)
	f(facts.ActorDelegated, true)
	f(facts.ActorOrder, false)
	f(facts.ActorFill, false)
	f(facts.ActorSigned, false)
	f(facts.ActorRelayed, false)
	f(facts.ActorContract, false)
}

// TestFindingsAreKeptOnce: one finding a victim and cause, the first of them.
func TestFindingsAreKeptOnce(t *testing.T) {
	l := newInspection(&Input{Case: &facts.Case{Input: &facts.Input{Tree: &trace.Tree{}}}})
	of := func(cause api.Category, victim byte) verdict.Finding {
		return verdict.Finding{Facts: api.Finding{Category: cause, Victim: []api.Addr{{victim}}}}
	}
	f := func(want int, list ...verdict.Finding) {
		t.Helper()
		if got := l.order(list); len(got) != want {
			t.Errorf("%d findings, want %d", len(got), want)
		}
	}
	f(1, of(api.Reentrancy, 1))
	f(1, of(api.Reentrancy, 1), of(api.Reentrancy, 1))
	f(2, of(api.Reentrancy, 1), of(api.Reentrancy, 2))
	f(2, of(api.Reentrancy, 1), of(api.AccessControl, 1))
	f(2, of(api.Reentrancy, 1), of(api.AccessControl, 1), of(api.Reentrancy, 1))
}

// TestEvidenceOfLogs: the evidence of a transfer names its log, and its frame only where the trace
// has logs.
func TestEvidenceOfLogs(t *testing.T) {
	ethereum, _ := chain.ByID(1)
	sender, victim, token := common.Address{1}, common.Address{3}, common.Address{4}
	f := func(logs []trace.Log, want string) {
		t.Helper()
		root := &trace.Frame{Kind: trace.Call, From: sender, To: victim, HasTo: true, Status: trace.OK}
		child := &trace.Frame{Kind: trace.Call, From: victim, To: token, HasTo: true, Status: trace.OK, Parent: root, Index: 1, Depth: 1, Logs: logs}
		root.Children = []*trace.Frame{child}
		c := facts.Read(&facts.Input{Chain: ethereum, Tx: &ethrpc.Transaction{From: sender, To: &victim}, Succeeded: true,
			Receipt: &ethrpc.Receipt{Logs: []ethrpc.Log{{Address: token, Index: 7}}},
			Tree:    &trace.Tree{Root: root, Frames: []*trace.Frame{root, child}, Source: trace.SourceDebug},
			Flow:    &flow.Flow{Transfers: []flow.Transfer{{Token: token, From: victim, To: sender, Amount: big.NewInt(5)}}}})
		l := newInspection(&Input{Case: c})
		if len(l.moves) != 1 {
			t.Fatalf("%d movements", len(l.moves))
		}
		e := l.paid(&l.moves[0], verdict.ComeIntoBeing).Facts
		if e.Frame != want || e.LogIndex == nil || *e.LogIndex != 7 {
			t.Errorf("frame %q, log %v; want frame %q and log 7", e.Frame, e.LogIndex, want)
		}
	}
	f([]trace.Log{{Address: token, Receipt: 0}}, "0.0")
	f(nil, "")
}
