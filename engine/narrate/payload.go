package narrate

import (
	"encoding/hex"
	"strconv"
	"strings"
	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/trace"
)

// payloadSteps tell what routers, batches and proposals were told to do. A payload in
// a call that failed did nothing, and is left to the step of the failure.
func (a *stepWriter) payloadSteps(before []int) (steps []step) {
	if a.Tree == nil {
		return nil
	}
	for _, f := range a.Tree.Frames {
		if f.Status != trace.OK || f.Kind == trace.StaticCall || f.Parent != nil && f.Kind == trace.DelegateCall && facts.SameCall(f.Parent, f) {
			continue
		}
		p, list := a.Registry.InnerCalls(f.Input)
		if len(list) == 0 {
			continue
		}
		at := -1
		if f.Index < len(before) && f.Index > 0 {
			at = 2 * before[f.Index]
		}
		steps = append(steps, step{at: at, frame: f.Index + 1, about: Detail{Kind: KindCall, Actor: &f.To},
			text: func() string { return a.sayPayload(f, p, list) + "." }})
		if len(steps) == facts.MaxPayloads {
			break
		}
	}
	return steps
}

func (a *stepWriter) sayPayload(f *trace.Frame, p facts.Payload, list []facts.InnerCall) string {
	var parts []string
	for i := range list {
		if len(parts) == 5 && len(list) > 6 {
			parts = append(parts, strconv.Itoa(len(list)-5)+" more")
			break
		}
		parts = append(parts, a.sayInner(f, &list[i]))
	}
	head := "The " + p.What + " holds "
	switch p.What {
	case "router":
		return a.Who(f.To) + " ran " + api.Count(len(list), "command") + ": " + strings.Join(parts, "; ")
	case "request":
		head = "The proposal asks for "
	case "proposal":
		head = "The proposal makes "
	}
	return head + api.Count(len(list), "call") + ": " + strings.Join(parts, "; ")
}

// sayInner names a call by the tables alone: nothing says that its text is true.
func (a *stepWriter) sayInner(f *trace.Frame, c *facts.InnerCall) string {
	s := PlainText(c.Name)
	if s == "" {
		switch r := a.Registry.Call(c.Input); {
		case len(c.Input) == 0:
			s = "a payment"
		case r != nil:
			s, _, _ = strings.Cut(r.Signature, "(")
		case len(c.Input) >= 4:
			s = "function 0x" + hex.EncodeToString(c.Input[:4])
		default:
			s = api.Count(len(c.Input), "byte") + " of data"
		}
	}
	if c.HasTo {
		s += " at " + a.Who(c.To)
	}
	if c.Value != nil && c.Value.Sign() > 0 {
		s += " with " + a.Amount(facts.Leg{}.Key, c.Value)
	}
	return s
}
