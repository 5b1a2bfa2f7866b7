package claim

import (
	"slices"
	"strings"

	"txlens/engine/explain"
	"txlens/engine/trace"
)

// NonCheck is one of the checks that a triage goes through.
type NonCheck string

// nonCheck is such a check: what a reader is told it is, and whether code can tell
// that it comes out clean. Where it cannot, the model must point to where it looked.
type nonCheck struct {
	check NonCheck
	words string
	clean func(*Index) bool // nil: code cannot tell
}

var nonChecks = []nonCheck{
	{"reentrancy", "reentrancy into a contract that later writes", func(ix *Index) bool { return ix.full() && len(ix.reentered()) == 0 }},
	{"flash_loan", "flash loan, borrowed and repaid", func(ix *Index) bool { return !ix.flagged("flash_loan") }},
	{"price_moved", "price moved by more than 5 % and read in the same transaction", func(ix *Index) bool { return ix.full() && !ix.marketMoved() }},
	{"share_price_fell", "share price fell", nil},
	{"caller_controlled_target", "target and calldata of a call taken from the caller", func(ix *Index) bool {
		return ix.full() && !ix.forwarded(func(explain.Addr) bool { return true })
	}},
	{"control_changed", "owner, role, implementation, threshold or module changed", func(ix *Index) bool {
		return !ix.flagged("implementation_changed", "admin_changed", "beacon_changed", "owner_changed", "role_granted", "role_revoked", "facets_changed",
			"module_enabled", "threshold_changed", "owner_added", "owner_removed", "guard_changed")
	}},
	{"unlimited_approval", "unlimited approval to an unlabelled spender", func(ix *Index) bool { return !ix.flagged("unlimited_approval", "operator_approval") }},
	{"unverified_delegatecall", "delegatecall to unverified or fresh code", func(ix *Index) bool { return ix.full() && !ix.has(trace.DelegateCall, trace.CallCode) }},
	{"self_destruct", "self-destruct, or a caller that is a constructor", func(ix *Index) bool {
		return ix.full() && !ix.has(trace.SelfDestruct) && !ix.amplifies("constructor_attack")
	}},
	{"token_behaviour", "token with a fee or that rebases", nil},
	{"sandwich", "sandwich around the transaction", nil},
	{"lookalike_address", "poisoned look-alike address", func(ix *Index) bool { return !ix.flagged("address_poisoning") }},
	{"bad_debt", "bad debt", func(ix *Index) bool { return !ix.flagged("bad_debt") }},
	{"caught_inner_failure", "caught inner failure", func(ix *Index) bool { return ix.full() && ix.c.Tree.Failed == 0 }},
	{"drained", "contract drained by 99 % or more", nil},
	{"mixer_funded", "sender funded by a mixer", nil},
}

// Enum lists the checks.
func (NonCheck) Enum() []any {
	out := make([]any, len(nonChecks))
	for i, c := range nonChecks {
		out[i] = c.check
	}
	return out
}

// Enum lists the outcomes.
func (Ruled) Enum() []any { return []any{Clean, NotApplicable, NotChecked} }

// outcome is how a line reads.
var outcome = map[Ruled]string{Clean: "clean", NotApplicable: "not applicable", NotChecked: "not checked"}

// ruledOut writes the lines of the checks. That something is clean is a claim as any
// other: code confirms it, or it points to where the model looked; what the rules or
// the tree contradict is dropped.
func (ix *Index) ruledOut(list []NonFinding, d *Dropped) (out []string) {
	seen := map[NonCheck]bool{}
	for _, n := range list {
		i := slices.IndexFunc(nonChecks, func(c nonCheck) bool { return c.check == n.Check })
		if i < 0 || seen[n.Check] || n.Result == Clean && !ix.clean(nonChecks[i], n.Refs) {
			d.NonFindings++
			continue
		}
		seen[n.Check] = true
		line := upper(nonChecks[i].words) + ": " + outcome[n.Result]
		why, bad := ix.prose(n.Why, maxShort, voice{})
		d.Sentences += bad
		if why != "" {
			line += "; " + why
		}
		out = append(out, line)
	}
	return out
}

// merged are the lines of the rules, in their order, each with what the model adds where
// they could not check; and behind them what they do not have.
func (ix *Index) merged(rules []string, list []NonFinding, d *Dropped) []string {
	said := ix.ruledOut(list, d)
	if len(rules) == 0 {
		return said
	}
	out := slices.Clone(rules)
	for _, line := range said {
		head, rest, _ := strings.Cut(line, ": ")
		i := slices.IndexFunc(out, func(r string) bool { return strings.HasPrefix(r, head+": ") })
		switch {
		case i < 0:
			out = append(out, line)
		case strings.HasPrefix(out[i], head+": "+outcome[NotChecked]) && !strings.HasPrefix(rest, outcome[NotChecked]):
			out[i] = line
		}
	}
	return out
}

func (ix *Index) clean(c nonCheck, refs []string) bool {
	if c.clean != nil {
		return c.clean(ix)
	}
	return ix.rests(slices.DeleteFunc(slices.Clone(refs), func(r string) bool { return r == "tx" }))
}

func upper(s string) string { return string(s[0]-'a'+'A') + s[1:] }
