package claim

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/narrate"
	"txlens/engine/trace"
)

// acceptedFinding is an accepted finding with what decides about the type.
type acceptedFinding struct {
	api.Finding
	id, causedBy string // as the model named them
	loss         loss
	at           int // position of the first frame or log that it refers to
}

// findings verifies the findings of an answer against the evidence.
func (ix *Index) findings(list []Finding, d *Dropped) []acceptedFinding {
	var out []acceptedFinding
	for i := range list {
		s, ok := ix.finding(at("findings", i), &list[i], d)
		if !ok {
			d.Findings++
			continue
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b acceptedFinding) int { return a.at - b.at })
	enumerate(out)
	return out
}

// enumerate numbers the findings in the order of the calls, and keeps one of them as
// primary.
func enumerate(list []acceptedFinding) {
	names, first := map[string]string{}, 0
	for i := range list {
		list[i].ID = "F" + strconv.Itoa(i+1)
		if list[i].id != "" && names[list[i].id] == "" {
			names[list[i].id] = list[i].ID
		}
		if list[i].Primary && !list[first].Primary {
			first = i
		}
	}
	for i := range list {
		list[i].Primary = i == first && len(list) > 1
		if list[i].CausedBy = names[list[i].causedBy]; list[i].CausedBy == list[i].ID {
			list[i].CausedBy = ""
		}
	}
}

// finding verifies one finding; false when it is dropped.
func (ix *Index) finding(where string, f *Finding, d *Dropped) (acceptedFinding, bool) {
	if onlyFlashLoan(f) {
		return acceptedFinding{}, false
	}
	s := acceptedFinding{id: f.ID, causedBy: f.CausedBy}
	said := ix.say(f.BrokenInvariant, mode{where: where + ".broken_invariant", limit: maxSummary, full: true, bare: true})
	if s.BrokenInvariant = said.text; said.text == "" || said.bad > 0 {
		d.Sentences += said.bad
		return s, false
	}
	own := ix.own(f.Category)
	s.Attacker = ix.parties(f.Attacker, nil)
	s.Victim = ix.parties(f.Victim, func(a api.Addr) bool { return own[a] || slices.Contains(s.Attacker, a) })
	if len(s.Victim) == 0 {
		return s, false
	}
	s.Severity, s.Status, s.Confidence, s.Primary = f.Severity, f.Status, f.Confidence, f.Primary
	observed := ix.evidenceItems(where, f, &s, d)
	if len(s.Evidence) == 0 {
		return s, false
	}
	shown, err := ix.verify(f.Check, s.Victim)
	if errors.Is(err, errFalse) {
		return s, false
	}
	if shown > showsNothing {
		s.Check = strings.Join(strings.Fields(f.Check), " ")
	}
	ix.lowerToShown(f, &s, shown, observed)
	s.loss = ix.lossOf(&s.Finding, own)
	s.Severity = s.loss.severity(f.Severity)
	if s.lowered(f) {
		d.Demoted++
	}
	s.Amplifiers = ix.amplifiers(f.Amplifiers, d)
	s.FaultyContract = ix.faulty(f, &s)
	for _, m := range f.Missing {
		said := ix.say(m, mode{where: where + ".missing_data_to_confirm", limit: maxShort, full: true, bare: true})
		d.Sentences += said.bad
		if said.text != "" && !slices.Contains(s.MissingDataToConfirm, said.text) {
			s.MissingDataToConfirm = append(s.MissingDataToConfirm, said.text)
		}
	}
	if s.Confidence == api.Low && len(s.MissingDataToConfirm) == 0 {
		s.MissingDataToConfirm = []string{missingEvidence}
	}
	return s, true
}

// What is missing if code lowers the confidence of a finding.
const (
	missingCheck    = "a check over the evidence that holds and is about the victim"
	missingCause    = "what tells this cause from another that the calls allow as well"
	missingEvidence = "what the model was not sure of: it does not say"
)

// faulty returns the contract whose rule broke: the one that the model names if it ran and
// is no attacker's, else the first victim whose code ran, else the first other contract
// that the evidence refers to.
func (ix *Index) faulty(f *Finding, s *acceptedFinding) *api.Addr {
	may := func(a api.Addr) bool {
		return !slices.Contains(s.Attacker, a) && slices.ContainsFunc(ix.r.Contracts, func(c api.Contract) bool { return c.Address == a })
	}
	if f.FaultyContract != nil && may(*f.FaultyContract) {
		return f.FaultyContract
	}
	for _, v := range s.Victim {
		if may(v) {
			return &v
		}
	}
	for _, e := range s.Evidence {
		if n := ix.nodeAt[e.Frame]; n != nil && n.To != nil && may(*n.To) {
			return n.To
		}
	}
	return nil
}

// parties keeps the addresses that exist in the evidence.
func (ix *Index) parties(list []api.Addr, not func(api.Addr) bool) (out []api.Addr) {
	for _, a := range list {
		if a != (api.Addr{}) && ix.addresses[a] && !slices.Contains(out, a) && (not == nil || !not(a)) {
			out = append(out, a)
		}
	}
	return out
}

// evidenceItems keeps the items of evidence that resolve, and reports whether all did and
// all were observed.
func (ix *Index) evidenceItems(where string, f *Finding, s *acceptedFinding, d *Dropped) bool {
	s.at = len(ix.r.PrettyTrace)
	all := true
	for i, e := range f.Evidence {
		kept, ok := ix.evidenceItem(at(where+".evidence", i)+".claim", e)
		if !ok {
			d.Evidence++
			all = false
			continue
		}
		all = all && kept.Kind == api.Observed
		s.Evidence = append(s.Evidence, kept)
		if n := ix.nodeAt[kept.Frame]; n != nil {
			s.at = min(s.at, n.Index)
		}
		if kept.LogIndex != nil && ix.logNode[*kept.LogIndex] != nil {
			s.at = min(s.at, ix.logNode[*kept.LogIndex].Index)
		}
	}
	return all
}

// lowerToShown lowers status, confidence and severity to what the evidence shows.
func (ix *Index) lowerToShown(f *Finding, s *acceptedFinding, shown strength, observed bool) {
	cause, sure := ix.recategorised(f)
	s.Category = cause
	status := api.Confirmed
	switch {
	case shown < showsBreak || !sure:
		status = api.Possible
	case !observed:
		status = api.Probable
	}
	if s.Status.Rank() > status.Rank() {
		s.Status = status
	}
	confidence := api.High
	lower := func(to api.Confidence, missing ...string) {
		confidence = confidence.Lower(to)
		s.MissingDataToConfirm = append(s.MissingDataToConfirm, missing...)
	}
	if !ix.c.Tree.Whole() {
		lower(api.Medium, narrate.MissingTrace())
	}
	switch {
	case shown == showsNothing:
		lower(api.Low, missingCheck)
	case shown < showsBreak:
		lower(api.Medium, missingCheck)
	}
	if !sure {
		lower(api.Low, missingCause)
	}
	for _, v := range s.Victim {
		if ix.opaque(v) {
			lower(api.Low, narrate.MissingSource(v))
		}
	}
	s.Confidence = s.Confidence.Lower(confidence)
}

// lowered reports whether a finding is weaker than the model claimed.
func (s *acceptedFinding) lowered(f *Finding) bool {
	return s.Status != f.Status || s.Confidence != f.Confidence || s.Category != f.Category || s.Severity.Rank() < f.Severity.Rank()
}

// amplifiers keeps the amplifiers that the evidence shows.
func (ix *Index) amplifiers(list []api.Amplifier, d *Dropped) (out []api.Amplifier) {
	for _, a := range list {
		switch {
		case slices.Contains(out, a):
		case ix.amplifies(a):
			out = append(out, a)
		default:
			d.Evidence++
		}
	}
	return out
}

// opaque reports whether a victim's code ran of which neither source nor ABI is known.
func (ix *Index) opaque(a api.Addr) bool {
	ran := slices.ContainsFunc(ix.r.Contracts, func(c api.Contract) bool { return c.Address == a })
	return ran && !ix.sources[a] && !ix.runsKnownCode(a)
}

// runsKnownCode reports whether an account delegates to code that is known.
func (ix *Index) runsKnownCode(a api.Addr) bool {
	return ix.c.Tree != nil && slices.ContainsFunc(ix.c.Tree.Frames, func(f *trace.Frame) bool {
		return f.Kind == trace.DelegateCall && api.AddrOf(f.From) == a && ix.sources[api.AddrOf(f.To)]
	})
}

// exploit reports whether a finding makes the transaction an exploit: it has at least
// medium severity, is shown, and somebody lost.
func (s *acceptedFinding) exploit() bool {
	return s.Severity.Rank() >= api.SeverityMedium.Rank() && s.Status.Rank() >= api.Probable.Rank() && len(s.loss.who) > 0
}

// note describes a finding that is too weak to make the transaction an exploit.
func (s *acceptedFinding) note() string { return narrate.NotShown(&s.Finding) }
