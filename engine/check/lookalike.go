package check

import (
	"txlens/engine/verdict"
)

var lookalikeCheck = Check{
	Name:    "lookalike_address",
	Title:   "poisoned look-alike address",
	Flags:   []verdict.Flag{verdict.AddressPoisoning},
	ruleOut: always(verdict.Clean, verdict.WhyNoImitation),
}
