package agent

import (
	"fmt"
	"slices"

	"txlens/engine/agent/digest"
	"txlens/engine/agent/llm"
	"txlens/engine/api"

	"github.com/go-json-experiment/json/jsontext"
)

// proposed returns the playbooks that the rules suggest, for the digest.
func proposed(o *Options) (list []digest.Playbook) {
	for _, name := range o.Library.Propose(o.Env.Case, o.Context) {
		if p, ok := o.Library.Get(name); ok {
			list = append(list, digest.Playbook{Name: p.Name, When: p.When})
		}
	}
	return list
}

// engage returns a playbook to the model. It comes from this program or the operator, and
// is the only text besides the system message that may instruct the model.
func (r *run) engage(input jsontext.Value) llm.Outcome {
	p, err := r.Library.Engaged(input)
	if err != nil {
		return llm.Outcome{Content: fmt.Sprintf("%v.", err), Failed: true}
	}
	if !slices.Contains(r.out.Skills, p.Name) {
		r.out.Skills = append(r.out.Skills, p.Name)
		r.Emit(api.Event{Type: api.EventSkillCall, Skill: p.Name})
	}
	return llm.Outcome{Content: p.Body}
}
