package check_test

import (
	"fmt"
	"strings"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// resultLines are what a result says of a scene beside the matches: each finding with its roles, amounts,
// evidence and arguments, and the flags with theirs, but no words.
func resultLines(c *assemble.Analysis) (out []string) {
	for i := range c.Triage.Findings {
		x := &c.Triage.Findings[i]
		f := &x.Facts
		out = append(out, fmt.Sprintf("finding %s: %s", f.Severity, roles(f)))
		add := func(name, what string) {
			if what != "" {
				out = append(out, "  "+name+" "+what)
			}
		}
		add("lost", amounts(x.Lost))
		add("gained", amounts(x.Gained))
		add("amplifiers", strings.Trim(fmt.Sprint(f.Amplifiers), "[]"))
		add("code", named(f.Code...))
		for _, r := range f.Revoke {
			add("revoke", named(r.Owner, r.Token, r.Spender))
		}
		add("check", nameAll(f.Check))
		for _, e := range x.Evidence {
			where := e.Facts.Frame
			if e.Facts.LogIndex != nil {
				where = fmt.Sprintf("%s log %d", where, *e.Facts.LogIndex)
			}
			add("evidence", strings.TrimSpace(fmt.Sprintf("%s %s: %s", e.Facts.Source, where, arguments(e.Claim))))
		}
		add("headline", arguments(x.Headline))
		add("invariant", arguments(x.Invariant))
		add("missing", fmt.Sprint(len(x.Missing)))
	}
	for _, r := range c.Triage.Flags {
		out = append(out, fmt.Sprintf("flag %s: %s", r.Flag, arguments(r.Why)))
	}
	if u := c.Triage.Unusual; u.Form != 0 {
		out = append(out, "unusual "+arguments(u))
	}
	return out
}

// nameAll replaces the addresses of the cast by their names.
func nameAll(text string) string {
	for _, name := range cast {
		text = strings.ReplaceAll(text, api.AddrOf(who(name)).String(), name)
	}
	return text
}

func amounts(list []verdict.Amount) string {
	var out []string
	for _, a := range list {
		out = append(out, assetAmount(a.Key, a))
	}
	return strings.Join(out, ", ")
}

func assetAmount(k flow.TokenKey, a verdict.Amount) string {
	token := "coin"
	if k != (flow.TokenKey{}) {
		token = strings.TrimSpace(named(api.AddrOf(k.Token)) + " " + k.ID)
	}
	return a.N.String() + " " + token
}

// arguments are those of a sentence, without its words.
func arguments(s verdict.Sentence) string {
	var out []string
	for _, a := range s.Args {
		out = append(out, argument(a))
	}
	return strings.Join(out, ", ")
}

func argument(a verdict.Arg) string {
	switch a := a.(type) {
	case verdict.Who:
		return named(api.AddrOf(common.Address(a)))
	case verdict.Address:
		return named(api.AddrOf(common.Address(a)))
	case verdict.Symbol:
		return named(api.AddrOf(common.Address(a)))
	case verdict.Amount:
		return assetAmount(a.Key, a)
	case verdict.Sentence:
		return "(" + arguments(a) + ")"
	case verdict.List:
		var out []string
		for _, x := range a {
			out = append(out, argument(x))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case verdict.Count:
		return fmt.Sprint(a.N)
	}
	return fmt.Sprint(a)
}
