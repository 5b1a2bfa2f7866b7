package narrate

import (
	"txlens/engine/classify"
	"txlens/engine/facts"
)

// Text is what a verdict says in sentences.
type Text struct {
	Summary string
	Steps   []string
	Places  []Place // of the Steps, one each
}

// Place is where in the transaction that stands which a step tells of.
type Place struct {
	At     int   // twice the number of logs before it, one more for a log itself
	Logs   []int // receipt positions of the logs that it tells of
	Frames []int // indices of the frames that it tells of
}

// AtEnd is the place of a step that tells of the whole transaction.
const AtEnd = 1 << 40

// headlineWriter writes the summary of a verdict.
type headlineWriter struct {
	Words
	v *classify.Verdict
}

// stepWriter writes the steps of a verdict.
type stepWriter struct {
	Words
	v *classify.Verdict
}

// Describe writes the summary and the steps of a verdict on a transaction.
func Describe(a *facts.Reading, v *classify.Verdict) Text {
	h, s := &headlineWriter{NewWords(a), v}, &stepWriter{NewWords(a), v}
	var n *narrative
	var summary string
	switch {
	case a.Succeeded:
		summary, n = h.summarise(), s.narrate()
	case v.Attempted:
		summary, n = h.failedSummary(), s.failedSteps()
	default:
		summary, n = h.unconfirmedSummary(), s.unconfirmedSteps()
	}
	return Text{summary, n.steps, n.places}
}

// unconfirmedSummary says what was asked for by a transaction without a receipt.
func (a *headlineWriter) unconfirmedSummary() string {
	if a.HasTrace() {
		return a.trySummary("Attempt") + "; the call trace ends in success, which no receipt confirms"
	}
	return a.trySummary("Attempt") + "; the outcome is not known"
}

// unconfirmedSteps are the call, and what a call trace alone shows of it.
func (a *stepWriter) unconfirmedSteps() *narrative {
	n := &narrative{}
	n.add(a.opening(), Place{At: -1, Frames: []int{0}})
	if a.HasTrace() {
		a.tracedSteps(n)
	}
	return n
}
