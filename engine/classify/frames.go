package classify

import (
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// noLog is the receipt position of a hit that a call makes, not a log.
const noLog = -1

// collectCalls makes hits of live calls where nobody has the logs: of those that only a
// pool, a lender or a book of orders answers. Routers have no frame rules: what they do
// shows at the pools below them.
func (a *Reading) collectCalls() {
	if a.Tree == nil {
		return
	}
	for _, f := range a.Tree.Frames {
		if f.Status != trace.OK || f.Kind != trace.Call || !f.HasTo || len(f.Input) < 4 {
			continue
		}
		r := a.reg.frames[[4]byte(f.Input)]
		if r == nil || f.Parent != nil && f.Parent.Kind == trace.Call && f.Parent.To == f.From && sameCall(f.Parent, f) {
			continue
		}
		h := hit{rule: r, act: r.act, log: noLog, frame: f.Index, emitter: f.To, anyParty: true}
		if h.slug = a.ProtocolAt(f.To); h.slug == "" && r.flags&flagOwn != 0 {
			h.slug = r.slug
		}
		a.hits = append(a.hits, h)
		if len(a.hits) == maxScan {
			break
		}
	}
}

// sameCall: a contract passes a call on as it came.
func sameCall(outer, inner *trace.Frame) bool {
	return len(outer.Input) >= 4 && [4]byte(outer.Input) == [4]byte(inner.Input) && len(outer.Input) == len(inner.Input)
}

// callersOf are the contracts without a name that called a pool: they trade, for
// themselves or for whoever called them. Few do in one transaction.
func (a *Reading) callersOf(pools map[common.Address]bool) (who []common.Address) {
	if a.Tree == nil {
		return nil
	}
	for _, f := range a.Tree.Frames {
		if f.Kind != trace.Call || f.Status != trace.OK || !f.HasTo || len(f.Input) < 4 || !pools[f.To] || pools[f.From] {
			continue
		}
		if f.From == a.sender || a.known(f.From) || a.isToken(f.From) || contains(who, f.From) {
			continue
		}
		if who = append(who, f.From); len(who) == 4 {
			break
		}
	}
	return who
}
