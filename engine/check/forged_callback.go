package check

import (
	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by functions that only a pool or a lender may call.
var _ = register(&Check{
	order:  310,
	Name:   "forged_callback",
	Title:  "function for pools and lenders that anybody may call",
	Causes: []api.Category{api.AccessControl},
	rules: []rule{
		{name: "forged_callback", fires: (*inspection).forgedCallback, sentence: render(verdict.CauseForgedCallback, ofFaulty), proves: true, alone: true},
	},
})

// forgedCallback: the party called a function that only a pool or a lender may call, on a
// contract that was not waiting for it, and value left somebody.
func (l *inspection) forgedCallback() (out []match) {
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		x := l.callFrame(i)
		if !evmsig.Callbacks[d.Selector] || x.Parent != nil && l.onStack(x.Parent.Index, d.Target) {
			continue
		}
		for _, m := range l.f.Inside(d.Frame) {
			if l.f.InAttackerCluster(m.From) || m.Amount.Sign() == 0 || !l.f.Counts(m.Key) || l.f.Net(m.From, m.Key).Sign() >= 0 {
				continue
			}
			if loss := l.f.Loses(m.From); loss != nil || !l.f.RanCode(m.From) && !l.compensated(m.From) {
				out = append(
					out,
					match{
						grade:    decisive,
						category: api.AccessControl,
						faulty:   d.Target,
						victims:  []common.Address{m.From},
						calls:    []int{i},
						position: facts.Position{Key: m.Key, Amount: m.Amount},
					},
				)
				break
			}
		}
	}
	return out
}
