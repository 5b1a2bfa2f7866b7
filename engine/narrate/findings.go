package narrate

import (
	"fmt"
	"strings"

	"txlens/engine/api"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Finding renders a finding as results carry it. The names must give each address in
// full: a finding is read without the rest of the result.
func Finding(n Names, f *verdict.Finding) api.Finding {
	out := f.Facts
	out.BrokenInvariant = Sentence(n, f.Invariant)
	for _, e := range f.Evidence {
		item := e.Facts
		item.Claim = Sentence(n, e.Claim)
		out.Evidence = append(out.Evidence, item)
	}
	out.Gain, out.Loss = amounts(n, f.Gained), amounts(n, f.Lost)
	for _, m := range f.Missing {
		out.MissingDataToConfirm = append(out.MissingDataToConfirm, Sentence(n, m))
	}
	return out
}

func amounts(n Names, list []verdict.Amount) (out []api.AssetAmount) {
	for _, a := range list {
		item := api.AssetAmount{Amount: a.N.String(), Text: n.Amount(a.Key, a.N)}
		if a.Key.Token != (common.Address{}) {
			token := api.AddrOf(a.Key.Token)
			item.Token = &token
		}
		out = append(out, item)
	}
	return out
}

// MissingTrace is what a finding on less than all calls lacks.
func MissingTrace() string { return Sentence(nil, verdict.Say(verdict.MissingTrace)) }

// MissingSource is what a finding lacks whose victim's code nobody can read.
func MissingSource(victim api.Addr) string {
	return Sentence(nil, verdict.Say(verdict.MissingSource, verdict.Address(victim)))
}

// NotShown is the note on a finding that is not shown well enough to be one.
func NotShown(f *api.Finding) string {
	return fmt.Sprintf(
		"a finding of %s was considered and is not shown well enough: status %s, severity %s",
		words(string(f.Category)),
		words(string(f.Status)),
		f.Severity,
	)
}

// Exploit is the one line of an exploit: its cause, and who lost what or else the rule
// that broke.
func Exploit(n Names, first *api.Finding, loss verdict.Sentence) string {
	if loss.Form != verdict.LostAssets && loss.Form != 0 {
		return Sentence(n, loss)
	}
	what := Sentence(n, loss)
	if what == "" {
		what = strings.TrimSuffix(first.BrokenInvariant, ".")
	}
	return ExploitHeadline(first, what)
}

// ExploitHeadline puts the cause of an exploit before what is said of it.
func ExploitHeadline(first *api.Finding, what string) string {
	return "Exploit by " + words(string(first.Category)) + ": " + what
}

// words renders a name of the interface.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// NonFinding renders the result of a check as a line of a result; it is empty for what was
// found.
func NonFinding(n Names, c verdict.NonFinding) string {
	if c.Result == verdict.Found {
		return ""
	}
	return Outcome(n, c)
}

// Outcome renders the result of a check, also of one that found what it looks for.
func Outcome(n Names, c verdict.NonFinding) string {
	s := capital(c.Title) + ": " + words(c.Result.String())
	if why := Sentence(n, c.Why); why != "" {
		s += "; " + why
	}
	return s
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
