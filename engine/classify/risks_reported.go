package classify

import (
	"slices"

	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// maxReported bounds the reported addresses that are shown.
const maxReported = 5

// riskReported: a public list reports an address of the transaction for fraud or theft.
// The lists are not reviewed, so they raise this flag and decide nothing else.
func riskReported(a *facts.Reading) (risks []verdict.Risk) {
	var at []common.Address
	for addr, l := range a.Labels {
		if l.Category == label.Reported {
			at = append(at, addr)
		}
	}
	slices.SortFunc(at, func(x, y common.Address) int { return x.Cmp(y) })
	for _, addr := range at[:min(len(at), maxReported)] {
		risks = append(risks, flag(verdict.ReportedAddress, verdict.ReportedBy, verdict.Abbreviated(addr), verdict.Stated(a.Labels[addr].Source)))
	}
	return risks
}
