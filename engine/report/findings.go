package report

import (
	"strconv"
	"strings"

	"txlens/engine/api"
)

// What one finding shows at most.
const (
	maxParticipants = 12
	maxEvidence     = 30
)

// finding is one weakness that was used, ready to print.
type finding struct {
	Invariant  string
	Category   string
	Severity   string
	Grave      string // class of the severity's mark
	Confidence string
	Status     string
	Primary    bool
	Check      string // expression over the evidence that holds
	Amplified  string
	CausedBy   string
	Victims    []party
	Attackers  []party
	Evidence   []proof
	More       int // evidence left out
	Missing    []string
	Revoke     []approval
}

// approval is a right that should be taken back.
type approval struct{ Owner, Token, Spender party }

// proof is a piece of evidence with the places where it can be looked up.
type proof struct{ Claim, Kind, Places string }

var grave = map[api.Severity]string{api.SeverityCritical: "bad", api.SeverityHigh: "bad", api.SeverityMedium: "warn"}

func (n *names) findings(r *api.Result, b bounds) (all []finding) {
	for i := range head(r.Findings, b.notes) {
		f := &r.Findings[i]
		out := finding{
			Invariant: prose(
				f.BrokenInvariant,
				b.text,
			), Category: spaced(api.OneLine(string(f.Category), 60)), Severity: api.OneLine(string(f.Severity), 20),
			Grave: grave[f.Severity], Confidence: api.OneLine(string(f.Confidence), 20),
			Status: spaced(
				api.OneLine(string(f.Status), 40),
			), Primary: f.Primary, Check: api.OneLine(f.Check, 1000), CausedBy: api.OneLine(f.CausedBy, 8),
			Amplified: amplified(f.Amplifiers),
			Victims:   n.parties(f.Victim), Attackers: n.parties(f.Attacker),
		}
		for j := range head(f.Evidence, min(maxEvidence, b.notes)) {
			out.Evidence = append(out.Evidence, n.proof(&f.Evidence[j]))
		}
		out.More = len(f.Evidence) - len(out.Evidence)
		for _, a := range head(f.Revoke, maxParticipants) {
			out.Revoke = append(out.Revoke, approval{n.party(a.Owner), n.party(a.Token), n.party(a.Spender)})
		}
		out.Missing, _ = proses(f.MissingDataToConfirm, min(maxEvidence, b.notes), 300)
		all = append(all, out)
	}
	return all
}

// amplified names what made a loss worse.
func amplified(list []api.Amplifier) string {
	var names []string
	for _, a := range head(list, maxParticipants) {
		names = append(names, spaced(api.OneLine(string(a), 40)))
	}
	return strings.Join(names, ", ")
}

func (n *names) parties(list []api.Addr) (out []party) {
	for _, a := range head(list, maxParticipants) {
		out = append(out, n.party(a))
	}
	return out
}

func (n *names) proof(e *api.Evidence) proof {
	places := ""
	add := func(name, value string) {
		if value = api.OneLine(value, 80); value == "" {
			return
		}
		if places != "" {
			places += ", "
		}
		places += name + " " + value
	}
	add("frame", e.Frame)
	if e.LogIndex != nil {
		add("log", strconv.FormatUint(*e.LogIndex, 10))
	}
	if e.Address != nil {
		add("at", n.party(*e.Address).Both())
	}
	add("slot", e.Slot)
	add("function", e.Selector)
	add("before", e.Before)
	add("after", e.After)
	add("from the", e.Source)
	return proof{prose(e.Claim, 400), api.OneLine(string(e.Kind), 20), places}
}
