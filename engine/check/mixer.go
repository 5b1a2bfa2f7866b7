package check

import (
	"txlens/engine/verdict"
)

var mixerCheck = Check{
	Name:    "mixer_funded",
	Title:   "sender funded by a mixer",
	Open:    true,
	ruleOut: always(verdict.NotChecked, verdict.WhyFundingOutside),
}
