package narrate

import (
	"math/big"
	"strconv"
	"strings"
	"txlens/engine/api"
	"txlens/engine/classify"
	"txlens/engine/facts"
	"txlens/engine/flow"
)

// bribeHeadline says what the place in the block cost beside the fee.
func (a *headlineWriter) bribeHeadline(o *classify.Opinion, via string) string {
	if len(o.Matches) == 0 {
		return "Paid the block producer " + a.Amount(flow.TokenKey{}, a.ProducerPayment())
	}
	s := a.swapHeadline(via)
	if rest, tip := a.tip(a.Out); tip == nil || len(rest) == 0 {
		s += ", paying the block producer " + a.Amount(flow.TokenKey{}, a.ProducerPayment())
	}
	if o.Act == facts.ActBackrun {
		s += a.behind()
	}
	return s
}

// behind says which trade the transaction stands right behind; empty where that is not
// known.
func (a *headlineWriter) behind() string {
	f := a.FollowedTrade()
	if f == nil {
		return ""
	}
	return ", right behind the trade of transaction " + f.Tx.Hex()[:10] + "… in pool " + a.Who(f.Pool)
}

// legHeadline says which side of whose trade this is.
func (a *headlineWriter) legHeadline(via string) string {
	w := a.Sandwich
	which := "Back"
	if w.Front {
		which = "Front"
	}
	n := strconv.Itoa(len(w.Victims)) + " trades"
	if len(w.Victims) == 1 {
		n = "the trade of transaction " + w.Victims[0].Hex()[:10] + "…"
	}
	return which + " leg of a sandwich around " + n + " in pool " + a.Who(w.Pool) + a.bothSides(w) + ": " + a.legTrade(w, via)
}

// legTrade tells the trade of a leg in the pool of the sandwich, apart from what else the
// transaction traded.
func (a *headlineWriter) legTrade(w *facts.Sandwich, via string) string {
	paid, got := a.TradeOf(w, a.Tx.Hash)
	if paid == nil || got == nil {
		return lowerFirst(a.swapHeadline(via))
	}
	s := "swapped " + a.Amount(paid.Key, paid.Amount) + " for " + a.Amount(got.Key, got.Amount) + on("on", via)
	if other := len(a.Find(facts.ActSwap)) - len(a.v.Deciding.Matches); other > 0 {
		s += ", beside " + api.Count(other, "other trade")
	}
	return s
}

// sandwiched says who traded around the transaction's own trade, and what that cost.
func (a *headlineWriter) sandwiched() string {
	w := a.Sandwich
	if w == nil || w.Leg {
		return ""
	}
	s := "; sandwiched by " + a.Who(w.Searcher)
	if w.Loss != nil {
		s += ", got " + a.Amount(w.Loss.Key, w.Loss.Amount) + " less"
	}
	return s
}

// bothSides says what a sandwich cost its victims and brought its searcher.
func (a *headlineWriter) bothSides(w *facts.Sandwich) string {
	var parts []string
	if w.Loss != nil {
		victims := "the trade"
		if len(w.Victims) > 1 {
			victims = "the trades"
		}
		parts = append(parts, victims+" got "+a.Amount(w.Loss.Key, w.Loss.Amount)+" less")
	}
	switch {
	case w.Profit == nil:
	case w.Profit.Amount.Sign() < 0:
		parts = append(parts, "both legs lost "+a.Amount(w.Profit.Key, new(big.Int).Neg(w.Profit.Amount))+" there")
	default:
		parts = append(parts, "both legs gained "+a.Amount(w.Profit.Key, w.Profit.Amount)+" before fees")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}
