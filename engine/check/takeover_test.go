package check_test

import (
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/testkit/recorded"

	"github.com/ethereum/go-ethereum/common"
)

// Slots of control of the standards.
const (
	adminSlot = "0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103"
	codeSlot  = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
	freeSlot  = "0x0000000000000000000000000000000000000000000000000000000000000003"
)

// TestTakenWithoutMovement: a stranger who writes who controls a contract, by a call that is
// open to anybody, has broken a rule although nothing moved.
func TestTakenWithoutMovement(t *testing.T) {
	f := func(want bool, slot, from, to, fn string, answers ...string) {
		t.Helper()
		root := attackBy(call("box", fn, to))
		ev := recorded.OfTree(1, "0x"+strings.Repeat("12", 32), treeOf(root))
		word := func(name string) map[common.Hash]common.Hash {
			a := who(name)
			return map[common.Hash]common.Hash{common.HexToHash(slot): common.BytesToHash(a[:])}
		}
		ev.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{who("box"): {Storage: word(from)}}, Post: map[common.Address]*ethrpc.Account{who("box"): {Storage: word(to)}}}
		c := assemble.Build(ev)
		for range min(2, 2*len(answers)) {
			for _, q := range c.Triage.Questions {
				owner := who("owner")
				v := check.View{Question: q, Reverted: true}
				switch s := evmsig.Func(fn); {
				case s.Begins(q.Data):
					v.Reverted = answers[0] != "open"
				case evmsig.SelOwner.Begins(q.Data) && len(answers) > 1:
					v.Reverted, v.Output = false, common.LeftPadBytes(owner[:], 32)
				}
				ev.Views = append(ev.Views, v)
			}
			c = assemble.Build(ev)
		}
		got := *c.Result.TxType == api.TypeExploit
		if got != want || got && (c.Result.Findings[0].Category != api.AccessControl || c.Result.Findings[0].Severity != api.SeverityCritical || len(c.Result.Risks) == 0) {
			t.Errorf("exploit %v, want %v: %s", got, want, c.Result.Summary)
		}
	}
	f(true, adminSlot, "owner", "tool", "setAdmin_1(address)", "open")
	f(false, adminSlot, "owner", "tool", "setAdmin_1(address)", "closed") // its administrator did it
	f(false, adminSlot, "zero", "tool", "setAdmin_1(address)", "open")    // whoever sets it up
	f(false, adminSlot, "owner", "alice", "setAdmin_1(address)", "open")  // to somebody else
	f(true, freeSlot, "owner", "tool", "setOwner_1(address)", "open", "owner")
	f(false, freeSlot, "bidder", "tool", "bid_1(address)", "open", "owner") // no owner stood there
	f(true, codeSlot, "old code", "new code", "upgrade_1(address)", "open")
	f(false, codeSlot, "old code", "new code", "upgrade_1(address)", "closed")
	f(false, codeSlot, "old code", "new code", "upgrade_1(address)") // nobody answers: an upgrade
	f(false, adminSlot, "owner", "tool", "setAdmin_1(address)")
	f(false, codeSlot, "zero", "new code", "upgrade_1(address)", "open") // the first code
}

// TestNamesOfInitialisers: what initialises a contract by its name, and what only begins so.
func TestNamesOfInitialisers(t *testing.T) {
	for name, want := range map[string]bool{
		"initialize": true, "init": true, "initWallet": true, "__Ownable_init": false, "_initialize": true, "Initialize": true,
		"initiateWithdrawal": false, "initiate": false, "reinitialize": false, "": false,
	} {
		if check.Initialiser(name) != want {
			t.Errorf("%q: %v, want %v", name, !want, want)
		}
	}
}
