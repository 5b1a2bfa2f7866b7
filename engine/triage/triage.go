package triage

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/classify"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Facts are those of the classification, and what came to be known beside them.
// Nothing in them is changed.
type Facts struct {
	*classify.Facts
	Verdict *classify.Verdict
	Diff    *ethrpc.StateDiff // nil: storage is not known
	Prices  map[common.Address]api.Decimal
	Views   []View // answers to the Questions of an earlier report
	Asked   bool   // the asker wants a triage: questions may cost a little more
}

// Report is what came of it.
type Report struct {
	Findings  []api.Finding  // in the order of the calls; one of several is Primary
	Flags     []verdict.Risk // risk flags beside those of the Verdict
	Outcomes  []Outcome      // of all checks, in their order
	Questions []Question     // whose answers would decide more; none that is answered
	Exploit   bool           // a finding makes the transaction one
	Loss      string         // then who lost how much, in few words; empty when no movement shows it
	Notes     []string
}

var asked = regexp.MustCompile(`(?i)\b(triag\w*|exploit\w*|hack\w*|attack\w*|drain\w*|stolen|stole|theft|thief|rug(ged|pull)?|root.?cause|vulnerab\w*|post.?mortem|incident|malicious|security|suspicious|reentran\w*|re-entran\w*|findings?)\b`)

// Asked reports whether the words of the asker want a triage.
func Asked(context string) bool { return asked.MatchString(context) }

// detectors look for one broken rule each.
var detectors = []func(*look) []api.Finding{
	(*look).reentrancy, (*look).rates, (*look).shareInflation, (*look).precision, (*look).takeover, (*look).openMint, (*look).arbitrary, (*look).signatures,
}

// Bounds of what is looked at, since each detector sets payments against payments:
// beyond them, the checks say so.
const (
	maxFrames   = 20_000
	maxPayments = 5_000
)

// Look goes through a transaction. A panic is the caller's to keep apart.
func Look(f *Facts) *Report {
	l := newLook(f)
	r := &Report{}
	if l.usable() {
		r.Flags = l.flags()
		l.raised = r.Flags
		for _, d := range detectors {
			r.Findings = append(r.Findings, d(l)...)
		}
	}
	r.Findings = l.order(r.Findings)
	r.Questions = l.open()
	for i := range r.Findings {
		if f := &r.Findings[i]; exploits(f) && !r.Exploit {
			r.Exploit, r.Loss = true, l.lossOf(common.Address(f.Victim[0]))
		}
	}
	r.Outcomes = l.outcomes(r.Findings)
	return r
}

// lossOf says what an account has less of than before.
func (l *look) lossOf(a common.Address) string {
	w, parts := l.words(), []string(nil)
	for _, k := range l.losses(a) {
		if len(parts) < 3 {
			parts = append(parts, w.Amount(k, new(big.Int).Neg(l.net(a, k))))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return w.Who(a) + " lost " + strings.Join(parts, ", ")
}

// exploits is the condition of the type: of medium severity, shown, and with a loser;
// no detector names one of the sender's own as victim.
func exploits(f *api.Finding) bool {
	return f.Severity.Rank() >= api.Moderate.Rank() && f.Status.Rank() >= api.Probable.Rank() && len(f.Victim) > 0
}

// usable reports whether there is a whole execution to look at.
func (l *look) usable() bool {
	return l.Succeeded && l.Flow != nil && l.Tree != nil && l.Tree.Source != trace.RungReceipt && len(l.Tree.Frames) <= maxFrames && len(l.pays) <= maxPayments
}

// full reports whether no frame is missing and all ran on the state of the block.
func (l *look) full() bool {
	return l.usable() && l.Tree.Source != trace.RungReplayQuick && !l.Tree.Compressed()
}

// order sorts findings by their first place and keeps one a victim and cause. A rule
// that broke first stands first: effects of it are caused by it.
func (l *look) order(list []api.Finding) []api.Finding {
	slices.SortStableFunc(list, func(a, b api.Finding) int { return l.place(&a) - l.place(&b) })
	var out []api.Finding
	for _, f := range list {
		if slices.ContainsFunc(out, func(o api.Finding) bool { return o.Category == f.Category && slices.Equal(o.Victim, f.Victim) }) {
			continue
		}
		out = append(out, f)
	}
	for i := range out {
		out[i].ID = "F" + strconv.Itoa(i+1)
		out[i].Primary = i == 0 && len(out) > 1
	}
	return out
}

// place is the index of the first frame that a finding points to.
func (l *look) place(f *api.Finding) int {
	first := len(l.Tree.Frames)
	for _, e := range f.Evidence {
		if x := l.byPath[e.Frame]; x != nil {
			first = min(first, x.Index)
		}
	}
	return first
}
