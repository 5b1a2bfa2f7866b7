package narrate

import (
	"strconv"
	"txlens/engine/classify"
	"txlens/engine/facts"
	"txlens/engine/flow"
)

// sumBribe says what the place in the block cost beside the fee.
func (a *headlineWriter) sumBribe(o *classify.Opinion, via string) string {
	if len(o.Matches) == 0 {
		return "Paid the block producer " + a.Amount(flow.TokenKey{}, a.ProducerPayment())
	}
	s := a.sumSwap(via)
	if rest, tip := a.tip(a.Out); tip == nil || len(rest) == 0 {
		s += ", paying the block producer " + a.Amount(flow.TokenKey{}, a.ProducerPayment())
	}
	if o.Act == facts.ActBackrun {
		s += " to stand right after a trade in the same pool"
	}
	return s
}

// sumLeg says which side of whose trade this is.
func (a *headlineWriter) sumLeg(via string) string {
	w := a.Sandwich
	which := "Back"
	if w.Front {
		which = "Front"
	}
	n := strconv.Itoa(len(w.Victims)) + " trades"
	if len(w.Victims) == 1 {
		n = "the trade of transaction " + w.Victims[0].Hex()[:10] + "…"
	}
	return which + " leg of a sandwich around " + n + " in pool " + a.Who(w.Pool) + ": " + lowerFirst(a.sumSwap(via))
}
