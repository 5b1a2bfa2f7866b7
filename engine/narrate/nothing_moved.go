package narrate

import (
	"txlens/engine/api"
	"txlens/engine/facts"
)

func (a *headlineWriter) zeroTransferHeadline() string {
	if a.IsPoisoning() {
		return "Moved nothing: " + api.Count(
			len(a.Flow.Transfers)+len(a.Flow.Fakes),
			"transfer event",
		) + " between others, as address poisoning makes them, left out"
	}
	if moved := a.movedHeadline(); moved != "" {
		return moved
	}
	if a.Flow != nil && len(a.Flow.Transfers) > 0 {
		t := &a.Flow.Transfers[0]
		s := "Moved " + a.Amount(t.Key(), t.Amount) + " from " + a.Who(t.From) + " to " + a.Who(t.To)
		if n := len(a.Flow.Transfers) - 1; n > 0 {
			s += ", in " + api.Count(n+1, "transfer")
		}
		return s
	}
	if a.EmptyCall() {
		return "Sent " + a.Amount(facts.Leg{}.Key, a.Ordered.Value) + " to " + a.callee() + ", by a call without data"
	}
	if a.Tx.To != nil && *a.Tx.To == a.Sender {
		return "Sent " + a.Amount(facts.Leg{}.Key, a.Tx.Value) + " to itself"
	}
	if a.Tx.To != nil {
		return "Sent " + a.Amount(facts.Leg{}.Key, a.Tx.Value) + " to " + a.Who(*a.Tx.To)
	}
	return "Moved nothing"
}

// rejectionHeadline tells that owners of a Safe used up a nonce.
func (a *headlineWriter) rejectionHeadline() string {
	s := "Rejected a queued transaction by using up its nonce"
	if len(a.Out)+len(a.In) == 0 {
		s += " and moved nothing"
	}
	return s
}
