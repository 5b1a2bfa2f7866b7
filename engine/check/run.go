package check

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"

	"txlens/engine/api"
	"txlens/engine/classify"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Input is the case that was classified, and what came to be known beside them.
// Nothing in them is changed.
type Input struct {
	*facts.Case
	Verdict *classify.Verdict // never nil
	Prices  map[common.Address]api.Decimal
	Views   []View // answers to the Questions of an earlier report
	Asked   bool   // the asker wants a triage: questions may cost a little more
}

// Report is what came of it.
type Report struct {
	Findings   []verdict.Finding // in the order of the calls; one of several is Primary
	Flags      []verdict.Risk    // risk flags beside those of the Verdict
	Outcomes   []Outcome         // of all checks, in their order
	Questions  []Question        // whose answers would decide more; none that is answered
	Exploit    bool              // a finding makes the transaction one
	Loss       verdict.Sentence  // then who lost how much; it says nothing when no movement shows it
	Unusual    verdict.Sentence  // the one line of what calls for a closer look and is no finding; nothing: there is none
	Dealings   *verdict.Dealings // what the party gave and took, where a rule fired; nil elsewhere
	Amplifiers []api.Amplifier   // what makes an attack larger or easier, whether or not there was one
	Fired      []Fired           // rules of outcomes that fired, each once, the cause first

	matches []match // each place where one fired
}

var asked = regexp.MustCompile(
	`(?i)\b(triag\w*|exploit\w*|hack\w*|attack\w*|drain\w*|stolen|stole|theft|thief|rug(ged|pull)?|root.?cause|vulnerab\w*|post.?mortem|incident|malicious|security|suspicious|reentran\w*|re-entran\w*|findings?)\b`,
)

// Asked reports whether the words of the asker want a triage.
func Asked(context string) bool { return asked.MatchString(context) }

// Bounds of what is looked at, since each detector sets payments against payments:
// beyond them, the checks say so.
const (
	maxFrames   = 20_000
	maxPayments = 5_000
)

// Run makes all checks of a transaction. A panic is the caller's to keep apart.
func Run(f *Input) *Report {
	l := newInspection(f)
	r := &Report{}
	l.fireRules()
	r.Fired, r.Dealings, r.matches = l.fired(), l.dealings(), l.matches
	l.flag()
	r.Flags, r.Findings = l.raised, l.order(l.findings())
	r.Questions = l.open()
	if r.Unusual = l.unusual(); r.Unusual.Form == 0 {
		r.Unusual = l.poisoningBatch()
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; exploits(f) && !r.Exploit {
			r.Exploit, r.Loss = true, l.lossOf(common.Address(f.Facts.Victim[0]))
			if f.Headline.Form != 0 {
				r.Loss = f.Headline
			}
			r.Unusual = verdict.Sentence{}
		}
	}
	if !r.Exploit {
		l.raised = verdict.Add(l.raised, maxFlags, l.closer()...)
		r.Flags = l.raised
	}
	r.Amplifiers = l.amplifiers()
	r.Outcomes = l.outcomes(r.Findings)
	return r
}

// maxFlags bounds the risk flags of the checks.
const maxFlags = 12

// flag raises the risk flags that need the trace, the state diff or the state around the
// transaction; those of the receipt alone are raised by the classification.
func (l *inspection) flag() {
	for _, c := range checks() {
		if c.flag != nil && (c.own || l.usable()) {
			l.raised = verdict.Add(l.raised, maxFlags, c.flag(l)...)
		}
	}
}

// findings are those of all checks, in their order.
func (l *inspection) findings() (out []verdict.Finding) {
	for _, c := range checks() {
		if c.find == nil || !c.own && !l.usable() {
			continue
		}
		l.found = out
		out = append(out, c.find(l)...)
	}
	return out
}

// outcomes are the results of all checks that have one. What a finding or a flag reports
// is found.
func (l *inspection) outcomes(found []verdict.Finding) []Outcome {
	list := listed()
	out := make([]Outcome, 0, len(list))
	for _, c := range list {
		o := Outcome{Check: c}
		switch {
		case !l.Succeeded:
			o.Outcome = ruled(verdict.NotApplicable, verdict.WhyFailed)
		case slices.ContainsFunc(found, func(f verdict.Finding) bool { return c.Contradicted(f.Facts.Category) }), l.flagged(c.Flags...):
			o.Result = verdict.Found
		default:
			o.Outcome = c.ruleOut(l)
		}
		out = append(out, o)
	}
	return out
}

// flagged reports whether one of the risk flags is raised.
func (l *inspection) flagged(flags ...verdict.Flag) bool {
	return verdict.Flagged(l.raised, flags...) || verdict.Flagged(l.Verdict.Risks, flags...)
}

// lossOf says what an account has less of than before.
func (l *inspection) lossOf(a common.Address) verdict.Sentence {
	var parts verdict.List
	for _, k := range l.losses(a) {
		if len(parts) < 3 {
			shown := k
			if assets := l.assets(a, k); len(assets) == 1 {
				shown = assets[0]
			}
			parts = append(parts, amount(shown, new(big.Int).Neg(l.net(a, k))))
		}
	}
	if len(parts) == 0 {
		return verdict.Sentence{}
	}
	return verdict.Say(verdict.LostAssets, verdict.Who(a), parts)
}

// exploits is the condition of the type: of medium severity, shown, and with a loss candidate;
// no detector names one of the sender's own as victim.
func exploits(f *verdict.Finding) bool {
	return f.Facts.Severity.Rank() >= api.SeverityMedium.Rank() && f.Facts.Status.Rank() >= api.Probable.Rank() && len(f.Facts.Victim) > 0
}

// usable reports whether there is a whole execution to look at.
func (l *inspection) usable() bool {
	return l.f != nil && l.Tree.Source != trace.SourceReceipt && len(l.Tree.Frames) <= maxFrames &&
		len(l.moves) <= maxPayments
}

// full reports whether there is a whole execution, of which no frame is missing.
func (l *inspection) full() bool {
	return l.usable() && l.Tree.Whole()
}

// order sorts findings by their first place and keeps one a victim and cause. A rule
// that broke first stands first: effects of it are caused by it.
func (l *inspection) order(list []verdict.Finding) []verdict.Finding {
	slices.SortStableFunc(list, func(a, b verdict.Finding) int { return l.place(&a) - l.place(&b) })
	var out []verdict.Finding
	for _, f := range list {
		if slices.ContainsFunc(out, func(o verdict.Finding) bool {
			return o.Facts.Category == f.Facts.Category && slices.Equal(o.Facts.Victim, f.Facts.Victim)
		}) {
			continue
		}
		out = append(out, f)
	}
	for i := range out {
		out[i].Facts.ID = "F" + strconv.Itoa(i+1)
		out[i].Facts.Primary = i == 0 && len(out) > 1
	}
	return out
}

// place is the index of the first frame that a finding points to.
func (l *inspection) place(f *verdict.Finding) int {
	first := len(l.Tree.Frames)
	for _, e := range f.Evidence {
		if x := l.byPath[e.Facts.Frame]; x != nil {
			first = min(first, x.Index)
		}
	}
	return first
}
