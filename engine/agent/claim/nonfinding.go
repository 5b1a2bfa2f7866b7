package claim

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/triage"
)

// NonCheck is the name of one of the checks that a triage goes through.
type NonCheck string

// Enum lists the checks.
func (NonCheck) Enum() []any {
	out := make([]any, len(triage.Checks))
	for i, c := range triage.Checks {
		out[i] = NonCheck(c.Name)
	}
	return out
}

// Enum lists the outcomes that a model may claim.
func (Ruled) Enum() []any { return []any{Clean, NotApplicable, NotChecked} }

// ruledOut writes the lines of the checks, in their order: of all where the rules were
// asked for theirs, else of those that the model speaks of. Found are the findings of
// the result.
func (ix *Index) ruledOut(list []NonFinding, found []api.Finding, asked bool, d *Dropped) (out []string) {
	said := map[NonCheck]*NonFinding{}
	for i := range list {
		if n := &list[i]; said[n.Check] == nil && slices.Contains(n.Check.Enum(), any(n.Check)) {
			said[n.Check] = n
		} else {
			d.NonFindings++
		}
	}
	for i := range triage.Checks {
		o := ix.outcome(&triage.Checks[i])
		line := ""
		if asked {
			line = o.Line()
		}
		if n := said[NonCheck(o.Name)]; n != nil {
			if own, ok := ix.ruled(o, n, found, d); ok {
				line = own
			} else {
				d.NonFindings++
			}
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// outcome is how a check came out by the rules.
func (ix *Index) outcome(c *triage.Check) triage.Outcome {
	if r := ix.c.Triage; r != nil {
		if i := slices.IndexFunc(r.Outcomes, func(o triage.Outcome) bool { return o.Name == c.Name }); i >= 0 {
			return r.Outcomes[i]
		}
	}
	return triage.Outcome{Check: *c, Result: triage.NotChecked}
}

// ruled is the line of a check of which the model speaks. What contradicts a flag of
// the rules or a finding does not stand. Where the rules have decided, their outcome
// stays. Where they could not, and evidence that they do not have may tell, the model
// must point to where it looked.
func (ix *Index) ruled(o triage.Outcome, n *NonFinding, found []api.Finding, d *Dropped) (line string, ok bool) {
	result := triage.Ruled(n.Result)
	switch {
	case o.Result == triage.Found, o.Contradicted(found):
		return "", false
	case o.Result != triage.NotChecked && result != o.Result:
		return o.Line(), true
	case o.Result == triage.NotChecked && result == triage.NotChecked && o.Why != "":
		return o.Line(), true
	case o.Result == triage.NotChecked && result != triage.NotChecked && !(o.Open && ix.looked(n.Refs)):
		return "", false
	}
	if o.Why != "" && !ix.looked(n.Refs) {
		return o.Line(), true // a reason must say where it was seen
	}
	why, bad := ix.prose(n.Why, maxShort)
	d.Sentences += bad
	return triage.Outcome{Check: o.Check, Result: result, Why: why}.Line(), true
}

// looked reports whether a reference says more of where than the transaction itself.
func (ix *Index) looked(refs []string) bool {
	return ix.rests(slices.DeleteFunc(slices.Clone(refs), func(r string) bool { return r == "tx" }))
}
