package claim

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/check"
	"txlens/engine/narrate"
	"txlens/engine/verdict"
)

// NonCheck is the name of a check.
type NonCheck string

// Enum lists the checks.
func (NonCheck) Enum() []any {
	var out []any
	for _, c := range check.Listed() {
		out = append(out, NonCheck(c.Name))
	}
	return out
}

// Enum lists the results that a model may claim.
func (Ruled) Enum() []any { return []any{Clean, NotApplicable, NotChecked} }

// ruledOut renders the lines of the checks in their order: of all if the caller asked for
// them, else of those that the model mentions. found are the findings of the result.
func (ix *Index) ruledOut(list []NonFinding, found []api.Finding, asked bool, d *Dropped) (out []string) {
	said := map[NonCheck]*NonFinding{}
	for i := range list {
		if n := &list[i]; said[n.Check] == nil && slices.Contains(n.Check.Enum(), any(n.Check)) {
			said[n.Check] = n
		} else {
			d.NonFindings++
		}
	}
	for _, c := range check.Listed() {
		o := ix.outcome(c)
		line := ""
		if asked {
			line = ix.line(o)
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

// outcome returns the result of a check by the rules.
func (ix *Index) outcome(c *check.Check) check.Outcome {
	if r := ix.c.Triage; r != nil {
		if i := slices.IndexFunc(r.Outcomes, func(o check.Outcome) bool { return o.Name == c.Name }); i >= 0 {
			return r.Outcomes[i]
		}
	}
	return check.Outcome{Check: c}
}

// ruled renders a check that the model mentions. A claim that contradicts a flag or a
// finding of the rules is dropped. If the rules decided, their result stays. If they could
// not, and a tool may have seen more, the model must refer to where it looked.
func (ix *Index) ruled(o check.Outcome, n *NonFinding, found []api.Finding, d *Dropped) (line string, ok bool) {
	result, _ := verdict.RuledOf(string(n.Result))
	switch {
	case o.Result == verdict.Found, slices.ContainsFunc(found, func(f api.Finding) bool { return o.Contradicted(f.Category) }):
		return "", false
	case o.Result != verdict.NotChecked && result != o.Result:
		return ix.line(o), true
	case o.Result == verdict.NotChecked && result == verdict.NotChecked && o.Why.Form != 0:
		return ix.line(o), true
	case o.Result == verdict.NotChecked && result != verdict.NotChecked && !(o.Open && ix.looked(n.Refs)):
		return "", false
	}
	if o.Why.Form != 0 && !ix.looked(n.Refs) {
		return ix.line(o), true // a reason must say where it was seen
	}
	why := ix.say(n.Why, mode{where: "nonFindings." + o.Name + ".why", limit: maxShort})
	d.Sentences += why.bad
	if why.text == "" && result == o.Result {
		return ix.line(o), true
	}
	o.Result, o.Why = result, verdict.Sentence{}
	if why.text != "" {
		o.Why = verdict.Say(verdict.AsStated, verdict.Stated(why.text))
	}
	return ix.line(o), true
}

// line renders the result of a check.
func (ix *Index) line(o check.Outcome) string { return narrate.NonFinding(ix.c.Words, o.NonFinding()) }

// looked reports whether a reference names more than the transaction itself.
func (ix *Index) looked(refs []string) bool {
	return ix.anyExists(slices.DeleteFunc(slices.Clone(refs), func(r string) bool { return r == "tx" }))
}
