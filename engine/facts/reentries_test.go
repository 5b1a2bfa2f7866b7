package facts

import (
	"slices"
	"testing"

	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// TestReentries: a call from outside of a contract whose earlier call is running. What a contract
// calls of its own, what runs its code for another, and what failed are none.
func TestReentries(t *testing.T) {
	const sender, vault, thief = 1, 2, 3
	at := func(b byte) common.Address { return common.Address{b} }
	frame := func(kind trace.Kind, from, to byte, inside ...*trace.Frame) *trace.Frame {
		return &trace.Frame{Kind: kind, From: at(from), To: at(to), HasTo: true, Children: inside}
	}
	f := func(want []byte, root *trace.Frame) {
		t.Helper()
		tree := &trace.Tree{Root: root}
		tree.Finish()
		var contracts []common.Address
		for _, b := range want {
			contracts = append(contracts, at(b))
		}
		c := Case{Input: &Input{Tree: tree}}
		if got := c.Reentered(); !slices.Equal(got, contracts) {
			t.Errorf("got %v, want %v", got, contracts)
		}
	}
	f([]byte{vault}, frame(trace.Call, sender, vault, frame(trace.Call, vault, thief, frame(trace.Call, thief, vault))))
	f([]byte{vault}, frame(trace.Call, sender, vault, frame(trace.Call, vault, thief, frame(trace.StaticCall, thief, vault)))) // to read
	f([]byte{vault}, frame(trace.Call, sender, vault, frame(trace.Call, vault, thief, frame(trace.Call, thief, vault), frame(trace.Call, thief, vault))))
	f(nil, frame(trace.Call, sender, vault, frame(trace.Call, vault, vault)))                                                    // itself
	f(nil, frame(trace.Call, sender, vault, frame(trace.Call, vault, thief)))                                                    // not back
	f(nil, frame(trace.Call, sender, vault, frame(trace.Call, vault, thief, frame(trace.DelegateCall, thief, vault))))           // its code for another
	f(nil, frame(trace.StaticCall, sender, vault, frame(trace.StaticCall, vault, thief, frame(trace.StaticCall, thief, vault)))) // nothing changes
	failed := frame(trace.Call, thief, vault)
	failed.Err = "execution reverted"
	f(nil, frame(trace.Call, sender, vault, frame(trace.Call, vault, thief, failed)))
	if got := (&Case{Input: &Input{}}).Reentries(); got != nil {
		t.Errorf("without a call tree: %v", got)
	}
}
