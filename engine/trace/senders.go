package trace

import (
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// CorrectSenders sets the sender of each inner frame to the account that made the call. That
// follows from the parent: the code of a call runs as the account that was called, the code of
// DELEGATECALL and CALLCODE as the account that asked for it. Some nodes name the address of
// the code instead, or for SELFDESTRUCT repeat the last payment: the latter frame is removed,
// as what it says is about another one. Notes tell of both.
//
// It must not be called on traces of virtual machines that let a caller choose the sender.
func (t *Tree) CorrectSenders() {
	if !slices.ContainsFunc(t.Frames, (*Frame).misattributed) {
		return
	}
	c := senders{paid: map[payment]bool{}}
	c.visit(t.Root, t.Root.From)
	if c.corrected > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("The trace names another sender than the account that made the call (frames: %d): %s.",
			c.corrected, c.first))
	}
	if c.removed > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("SELFDESTRUCT frames that repeat an earlier payment of another account are left out (frames: %d).", c.removed))
	}
	t.Finish()
}

// senders is the state of one correction.
type senders struct {
	paid      map[payment]bool // so far, by the senders that the trace gives and the true ones
	corrected int
	removed   int
	first     string // what the first correction changed
}

type payment struct {
	from, to common.Address
	value    uint256.Int
}

// misattributed reports whether the frame names another sender than the account that made it.
func (f *Frame) misattributed() bool {
	if f.Parent == nil {
		return false
	}
	account, known := f.Parent.running()
	return known && f.From != account
}

// running returns the account as which the frame's code runs, false if it has no address.
func (f *Frame) running() (a common.Address, known bool) {
	switch f.Kind {
	case DelegateCall, CallCode:
		return f.From, true
	case Call, StaticCall, Create, Create2:
		return f.To, f.HasTo
	}
	return a, false
}

// visit corrects the frames below f. claimed is the sender of f that the trace gives.
func (c *senders) visit(f *Frame, claimed common.Address) {
	c.pay(f, claimed)
	account, known := f.running()
	for i := 0; i < len(f.Children); i++ {
		x := f.Children[i]
		said := x.From
		if known && said != account {
			if x.Kind == SelfDestruct && c.paid[payment{said, x.To, x.Value}] {
				f.removeChild(i)
				c.removed++
				i--
				continue
			}
			if x.From = account; c.corrected == 0 {
				c.first = fmt.Sprintf("%s for %s", said.Hex(), account.Hex())
			}
			c.corrected++
		}
		c.visit(x, said)
	}
}

// pay records the payment of a frame.
func (c *senders) pay(f *Frame, claimed common.Address) {
	if f.MovesValue() {
		c.paid[payment{claimed, f.To, f.Value}] = true
		c.paid[payment{f.From, f.To, f.Value}] = true
	}
}

// removeChild removes a child that has no children of its own.
func (f *Frame) removeChild(i int) {
	f.Children = slices.Delete(f.Children, i, i+1)
	for j := range f.Logs {
		if f.Logs[j].Calls > i {
			f.Logs[j].Calls--
		}
	}
	for _, m := range f.Markers {
		if m.After > i {
			m.After--
		}
	}
}
