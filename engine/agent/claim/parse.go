package claim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"txlens/engine/agent/llm"
	"txlens/engine/api"
	"txlens/engine/check"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// InvalidError: the input of the final call does not match its schema. Its text names
// members and rules and quotes nothing of the model, so that it may be sent back and
// logged.
type InvalidError struct{ Problems []string }

func (e *InvalidError) Error() string {
	return "the answer is not valid: " + strings.Join(e.Problems, "; ")
}

// maxProblems bounds the problems reported at once.
const maxProblems = 12

// Parse parses the input of the final call strictly: no unknown or missing members, no
// value outside the enumerations, nothing beyond its bound. An error is an *InvalidError.
func Parse(input jsontext.Value) (*Answer, error) {
	if len(input) > llm.MaxInput {
		return nil, &InvalidError{[]string{fmt.Sprintf("it is longer than %d bytes", llm.MaxInput)}}
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(input, &members); err != nil {
		return nil, &InvalidError{[]string{wrong(err)}}
	}
	p := &problems{}
	for _, name := range required {
		p.note(members[name] == nil, name, "is missing")
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	a := new(Answer)
	if err := json.Unmarshal(input, a, json.RejectUnknownMembers(true)); err != nil {
		return nil, &InvalidError{[]string{wrong(err)}}
	}
	p.answer(a)
	if err := p.err(); err != nil {
		return nil, err
	}
	return a, nil
}

// wrong describes a JSON error without quoting the input.
func wrong(err error) string {
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		if at := string(sem.JSONPointer); errors.Is(err, json.ErrUnknownName) {
			return "there is a member that the schema does not have" + in(at[:max(strings.LastIndexByte(at, '/'), 0)])
		}
		return "the value is of the wrong type" + in(string(sem.JSONPointer))
	}
	return "it is no valid JSON object, or a member stands in it twice"
}

// in names a place if it consists of schema members only.
func in(pointer string) string {
	if pointer == "" || !plainPointer(pointer) {
		return ""
	}
	return " at " + pointer
}

// plainPointer reports whether a JSON pointer consists of schema members and indices.
func plainPointer(p string) bool {
	for _, part := range strings.Split(strings.TrimPrefix(p, "/"), "/") {
		if strings.Trim(part, "0123456789") != "" && !slices.Contains(memberNames, part) {
			return false
		}
	}
	return len(p) < 100
}

// problems collects the errors of an answer.
type problems struct{ list []string }

func (p *problems) note(bad bool, where, what string) {
	if bad && len(p.list) < maxProblems {
		p.list = append(p.list, where+" "+what)
	}
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &InvalidError{p.list}
}

func (p *problems) text(where, s string, limit int) {
	p.note(utf8.RuneCountInString(s) > limit, where, fmt.Sprintf("is longer than %d characters", limit))
}

// prose bounds a text with references.
func (p *problems) prose(where, s string, limit int) { p.text(where, s, written(limit)) }

// written returns how long a text may be with its references, given its limit without them.
func written(limit int) int { return 3 * limit }

func (p *problems) count(where string, n, limit int) bool {
	p.note(n > limit, where, fmt.Sprintf("has more than %d items", limit))
	return n <= limit
}

// enum checks a value against the enumeration of its type.
func (p *problems) enum(where string, v interface{ Enum() []any }) {
	p.note(!slices.Contains(v.Enum(), any(v)), where, "is none of the allowed values")
}

func (p *problems) answer(a *Answer) {
	p.note(strings.TrimSpace(a.Summary) == "", "summary", "is empty")
	p.prose("summary", a.Summary, maxSummary)
	p.enum("txType", a.TxType)
	p.prose("txTypeReason", a.TypeReason, maxText)
	p.enum("confidence", a.Confidence)
	if a.Protocol != nil {
		p.note(!isSlug(*a.Protocol), "protocol", "is no snake-case name of at most 40 characters, nor null")
	}
	if p.count("steps", len(a.Steps), maxSteps) {
		for i, x := range a.Steps {
			p.said(at("steps", i), x.Text, x.Refs)
		}
	}
	if p.count("risks", len(a.Risks), maxRisks) {
		for i, r := range a.Risks {
			p.enum(at("risks", i)+".flag", r.Flag)
			p.said(at("risks", i), r.Text, r.Refs)
		}
	}
	if p.count("contracts", len(a.Contracts), maxContracts) {
		for i, d := range a.Contracts {
			p.prose(at("contracts", i)+".description", d.Description, maxShort)
		}
	}
	if p.count("traceAnnotations", len(a.Annotations), maxAnnotations) {
		for i, n := range a.Annotations {
			p.prose(at("traceAnnotations", i)+".text", n.Text, maxShort)
		}
	}
	if p.count("figures", len(a.Figures), maxFigures) {
		for i, f := range a.Figures {
			p.figure(at("figures", i), f)
		}
	}
	if p.count("findings", len(a.Findings), maxFindings) {
		for i := range a.Findings {
			p.finding(at("findings", i), &a.Findings[i])
		}
	}
	if p.count("nonFindings", len(a.NonFindings), len(check.Listed())) {
		for i, n := range a.NonFindings {
			w := at("nonFindings", i)
			p.enum(w+".check", n.Check)
			p.enum(w+".result", n.Result)
			p.prose(w+".why", n.Why, maxShort)
			p.refs(w, n.Refs)
		}
	}
}

func at(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

func (p *problems) said(where, text string, refs []string) {
	p.prose(where+".text", text, maxText)
	p.refs(where, refs)
}

func (p *problems) refs(where string, refs []string) {
	if p.count(where+".refs", len(refs), maxRefs) {
		for _, r := range refs {
			p.text(where+".refs", r, maxShort)
		}
	}
}

func (p *problems) figure(where string, f Figure) {
	p.enum(where+".kind", f.Kind)
	p.refs(where, f.Of)
}

func (p *problems) finding(where string, f *Finding) {
	p.note(f.ID != "" && !isSlug(f.ID), where+".id", "is no snake-case name")
	p.note(strings.TrimSpace(f.BrokenInvariant) == "", where+".broken_invariant", "is empty")
	p.prose(where+".broken_invariant", f.BrokenInvariant, maxSummary)
	p.note(
		f.Category == api.Category(api.FlashLoan),
		where+".category",
		"flash_loan is an amplifier and never a cause: name the rule that broke",
	)
	p.enum(where+".category", f.Category)
	p.enum(where+".severity", f.Severity)
	p.enum(where+".status", f.Status)
	p.enum(where+".confidence", f.Confidence)
	p.count(where+".victim", len(f.Victim), maxParties)
	p.count(where+".attacker", len(f.Attacker), maxParties)
	p.note(len(f.Check) > maxCheck, where+".check", fmt.Sprintf("is longer than %d bytes", maxCheck))
	for _, x := range f.Amplifiers {
		p.enum(where+".amplifiers", x)
	}
	if p.count(where+".missing_data_to_confirm", len(f.Missing), maxMissing) {
		for _, s := range f.Missing {
			p.prose(where+".missing_data_to_confirm", s, maxShort)
		}
	}
	if !p.count(where+".evidence", len(f.Evidence), maxEvidence) {
		return
	}
	for i, e := range f.Evidence {
		w := at(where+".evidence", i)
		p.prose(w+".claim", e.Claim, maxText)
		p.enum(w+".kind", e.Kind)
		for _, s := range []string{e.Frame, e.Slot, e.Before, e.After, e.Selector, e.Source} {
			p.text(w, s, maxShort)
		}
	}
}

// isSlug reports whether s is a snake-case name.
func isSlug(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
