package check

// AssumeLoan has the rules take every transaction for one with a flash loan.
func AssumeLoan(on bool) { assumeLoan = on }

// Update has tests write the pages that they compare.
var Update = update
