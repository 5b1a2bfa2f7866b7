package narrate

import (
	"txlens/engine/classify"
	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Text is what a verdict says in sentences.
type Text struct {
	Summary string
	Steps   []string
	Places  []Place // of the Steps, one each
}

// Place is where in the transaction that stands which a step tells of, and what a program
// may know of it.
type Place struct {
	At     int   // twice the number of logs before it, one more for a log itself
	Logs   []int // receipt positions of the logs that it tells of
	Frames []int // indices of the frames that it tells of
	Detail
}

// Kinds of steps that are not those of an act.
const (
	KindCall       = "call"
	KindTransfer   = "transfer"
	KindMint       = "mint"
	KindBurn       = "burn"
	KindWrap       = "wrap"
	KindUnwrap     = "unwrap"
	KindApproval   = "approval"
	KindDeployment = "deployment"
	KindFailure    = "failure"
	KindFee        = "fee"
	KindNote       = "note"
)

// Detail is a step for programs: what kind of thing happened, who did it, and the amounts
// in the order of the sentence.
type Detail struct {
	Kind    string
	Actor   *common.Address // nil where the step is of nobody in particular
	Amounts []verdict.Amount
}

// maxAmounts bounds the amounts of one step.
const maxAmounts = 16

// add makes a step tell of something more of the same kind.
func (d *Detail) add(more *Detail) {
	if d.Kind == "" {
		d.Kind, d.Actor = more.Kind, more.Actor
	}
	for _, x := range more.Amounts {
		if len(d.Amounts) < maxAmounts {
			d.Amounts = append(d.Amounts, x)
		}
	}
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
func Describe(a *facts.Case, v *classify.Verdict) Text {
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
	for i := range n.steps {
		n.steps[i] = once(n.steps[i])
	}
	return Text{once(summary), n.steps, n.places}
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
	n.add(a.opening(), Place{At: -1, Frames: []int{0}, Detail: a.openingDetail()})
	if a.HasTrace() {
		a.tracedSteps(n)
	}
	return n
}
