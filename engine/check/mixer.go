package check

import (
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   180,
	Name:    "mixer_funded",
	Title:   "sender funded by a mixer",
	Open:    true,
	ruleOut: always(verdict.NotChecked, verdict.WhyFundingOutside),
})
