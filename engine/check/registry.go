package check

// Checks is the registry: all checks in the order of results. The rules, the claims of a
// model and the documentation have no other list.
var Checks = []Check{
	reentrancyCheck,
	flashLoanCheck,
	priceMovedCheck,
	sharePriceCheck,
	targetCheck,
	controlCheck,
	approvalCheck,
	delegatecallCheck,
	destroyedCheck,
	tokensCheck,
	sandwichCheck,
	lookalikeCheck,
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
func Listed() (out []*Check) {
	for i := range Checks {
		if c := &Checks[i]; c.Listed() {
			out = append(out, c)
		}
	}
	return out
}
