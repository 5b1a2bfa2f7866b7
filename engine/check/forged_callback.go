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
		{name: "forged_callback", fires: (*attack).forgedCallback, sentence: render(verdict.CauseForgedCallback, ofFaulty), proves: true, alone: true},
	},
})

// forgedCallback: the party called a function that only a pool or a lender may call, on a
// contract that was not waiting for it, and value left somebody.
func (a *attack) forgedCallback() (out []match) {
	for i := range a.f.ExternalCalls {
		d := &a.f.ExternalCalls[i]
		x := a.callFrame(i)
		if !evmsig.Callbacks[d.Selector] || x.Parent != nil && a.onStack(x.Parent.Index, d.Target) {
			continue
		}
		for _, m := range a.f.Inside(d.Frame) {
			if a.f.InAttackerCluster(m.From) || m.Amount.Sign() == 0 || !a.f.Counts(m.Key) || a.f.Net(m.From, m.Key).Sign() >= 0 {
				continue
			}
			if l := a.f.Loses(m.From); l != nil || !a.f.RanCode(m.From) && !a.compensated(m.From) {
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
