package facts

import (
	"bytes"

	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// NoLog is the receipt position of a hit that a call makes, not a log.
const NoLog = -1

// collectCalls makes hits of live calls where nobody has the logs: of those that only a
// pool, a lender or a book of orders answers. Routers have no frame rules: what they do
// shows at the pools below them.
func (a *Case) collectCalls() {
	if a.Tree == nil {
		return
	}
	for _, f := range a.Tree.Frames {
		if f.Status != trace.OK || f.Kind != trace.Call || !f.HasTo || len(f.Input) < 4 {
			continue
		}
		r := a.Registry.frames[[4]byte(f.Input)]
		if r == nil || f.Parent != nil && f.Parent.Kind == trace.Call && f.Parent.To == f.From && SameCall(f.Parent, f) {
			continue
		}
		h := Match{Rule: r, Act: r.Act, Log: NoLog, Frame: f.Index, Emitter: f.To, anyParty: true}
		if h.Slug = a.ProtocolAt(f.To); h.Slug == "" && r.Flags&flagOwn != 0 {
			h.Slug = r.Slug
		}
		a.Matches = append(a.Matches, h)
		if len(a.Matches) == MaxScan {
			break
		}
	}
}

// SameCall: a contract passes a call on as it came.
func SameCall(outer, inner *trace.Frame) bool {
	n := len(outer.Input)
	return n >= 4 && len(inner.Input) == n && [4]byte(outer.Input) == [4]byte(inner.Input)
}

// CallersOf are the contracts without a name that called a pool: they trade, for
// themselves or for whoever called them. Few do in one transaction.
func (a *Case) CallersOf(pools map[common.Address]bool) (who []common.Address) {
	if a.Tree == nil {
		return nil
	}
	for _, f := range a.Tree.Frames {
		if f.Kind != trace.Call || f.Status != trace.OK || !f.HasTo || len(f.Input) < 4 || !pools[f.To] || pools[f.From] {
			continue
		}
		if f.From == a.Sender || a.HasLabel(f.From) || a.IsToken(f.From) || Contains(who, f.From) {
			continue
		}
		if who = append(who, f.From); len(who) == 4 {
			break
		}
	}
	return who
}

// Forwards reports whether target and bytes of a call both stand in the calldata of another.
func Forwards(outer, inner *trace.Frame) bool {
	return len(inner.Input) < len(outer.Input) && bytes.Contains(outer.Input[4:], inner.Input) && bytes.Contains(outer.Input[4:], inner.To[:])
}
