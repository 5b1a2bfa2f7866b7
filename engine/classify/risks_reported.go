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
func riskReported(a *facts.Case) []verdict.Risk {
	return labelled(a, label.Reported, verdict.ReportedAddress, verdict.ReportedBy)
}

// riskSanctioned: an address of the transaction was on a list of sanctioned addresses. The
// list that the table has may be old, so it decides nothing else either.
func riskSanctioned(a *facts.Case) []verdict.Risk {
	return labelled(a, label.Sanctioned, verdict.SanctionedAddress, verdict.SanctionedBy)
}

// labelled raises a flag for the addresses whose labels have a category that warns.
func labelled(a *facts.Case, category string, raised verdict.Flag, why verdict.Form) (risks []verdict.Risk) {
	var at []common.Address
	for addr, l := range a.Labels {
		if l.Category == category {
			at = append(at, addr)
		}
	}
	slices.SortFunc(at, func(x, y common.Address) int { return x.Cmp(y) })
	for _, addr := range at[:min(len(at), maxReported)] {
		source, own := a.Labels[addr].Accuser()
		risks = append(risks, flag(raised, either(own, verdict.ReportedByOwn, why), verdict.Abbreviated(addr), verdict.Stated(source)))
	}
	return risks
}
