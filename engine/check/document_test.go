package check

import (
	"path/filepath"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/verdict"
	"txlens/testkit/golden"
)

// document is docs/checks.md, made of the registries of checks and flags.
func document() string {
	var b strings.Builder
	b.WriteString("# Checks and risk flags\n\nThis page is generated from the registries in `engine/check` and `engine/verdict`:\n`go test ./engine/check -run TestDocument -update`.\n\n" +
		"## Checks\n\nA triage makes these checks in this order. `nonFindings` has a line for each listed check that found nothing.\n" +
		"A check is *found* when a finding of one of its categories or one of its flags reports it; it cannot be clean then.\n" +
		"*Open* marks checks that a model may decide by evidence that the rules do not have.\n\n" +
		"| Check | Looks for | Categories | Flags | Finds | Open | Listed |\n|---|---|---|---|---|---|---|\n")
	for _, c := range checks() {
		row(&b, code(c.Name), c.Title, codes(c.Causes), flags(c.Flags), yes(c.Finds()), yes(c.Open), yes(c.Listed()))
	}
	b.WriteString("\n## Rules of outcomes\n\nThe checks without a line find what somebody lost for nothing, in this order: the first rule that decides names the\n" +
		"cause. *Shown* marks rules whose calls show the cause, and not only the outcome. *Alone* marks rules that also look at\n" +
		"senders without contracts of their own.\n\n| Rule | Check | Shown | Alone |\n|---|---|---|---|\n")
	for _, c := range checks() {
		for i := range c.rules {
			r := &c.rules[i]
			row(&b, code(r.name), code(c.Name), yes(r.proves), yes(r.alone))
		}
	}
	b.WriteString("\n## Risk flags\n\nA flag is an observation and no verdict. *Severity* is that of the flag without a finding. *Control* marks changes of\n" +
		"who or what controls a contract. A finding raises the flag of its category besides.\n\n" +
		"| Flag | Reports | Category | Severity | Control | Amplifier |\n|---|---|---|---|---|---|\n")
	for _, f := range verdict.Flags() {
		i := f.Info()
		row(&b, code(i.Slug), i.Title, code(string(i.Category)), string(i.Severity), yes(i.Control), code(string(i.Amplifier)))
	}
	return b.String()
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func codes(list []api.Category) string {
	var out []string
	for _, c := range list {
		out = append(out, code(string(c)))
	}
	return strings.Join(out, ", ")
}

func flags(list []verdict.Flag) string {
	var out []string
	for _, f := range list {
		out = append(out, code(f.String()))
	}
	return strings.Join(out, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// TestDocument: docs/checks.md is what the registries say.
func TestDocument(t *testing.T) {
	golden.Compare(t, filepath.Join("..", "..", "docs", "checks.md"), []byte(document()))
}

// TestRegistry: each check has a name and a title of its own and does something.
func TestRegistry(t *testing.T) {
	names, titles, orders := map[string]bool{}, map[string]bool{}, map[int]string{}
	for _, c := range checks() {
		if c.Name == "" || c.Title == "" || names[c.Name] || titles[c.Title] || c.Title != strings.ToLower(c.Title[:1])+c.Title[1:] {
			t.Errorf("%q, %q", c.Name, c.Title)
		}
		names[c.Name], titles[c.Title] = true, true
		if same := orders[c.order]; same != "" {
			t.Errorf("%s and %s have the order %d; the results need one", same, c.Name, c.order)
		}
		orders[c.order] = c.Name
		if !c.Listed() && !c.Finds() {
			t.Errorf("%s does nothing", c.Name)
		}
		if c.flag != nil && len(c.Flags) == 0 {
			t.Errorf("%s raises flags and is not found by them", c.Name)
		}
	}
	if len(Listed()) < 21 {
		t.Errorf("%d checks are listed", len(Listed()))
	}
}
