package check

import (
	"slices"
	"sync"
)

// registry holds all checks in the order of results. The rules, the claims of a
// model and the documentation have no other list.
var registry = []Check{
	reentrancyCheck,
	flashLoanCheck,
	priceMovedCheck,
	sharePriceCheck,
	targetCheck,
	controlCheck,
	approvalCheck,
	reportedSpenderCheck,
	delegatecallCheck,
	destroyedCheck,
	tokensCheck,
	sandwichCheck,
	lookalikeCheck,
	airdropCheck,
	badDebtCheck,
	caughtCheck,
	drainedCheck,
	mixerCheck,
	conservationCheck,
	productCheck,
	minimumCheck,
	solvencyCheck,
	signatureCheck,
	outcomeCheck,
}

// Listed are the checks of which results have a line.
func Listed() []*Check { return slices.Clone(listed()) }

var listed = sync.OnceValue(func() (out []*Check) {
	for i := range registry {
		if c := &registry[i]; c.Listed() {
			out = append(out, c)
		}
	}
	return out
})
