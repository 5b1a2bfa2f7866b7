package verdict

import (
	"reflect"
	"slices"

	"txlens/engine/api"
)

// Risk is a flag of a transaction with its explanation.
type Risk struct {
	Flag Flag
	Why  Sentence
}

// RiskOf is the risk that a finding of a result raises.
func RiskOf(f *api.Finding) Risk {
	return Risk{Flag: FlagOfCause(f.Category), Why: Say(AsStated, Stated(f.BrokenInvariant))}
}

// Flagged reports whether one of the flags is among the risks.
func Flagged(risks []Risk, flags ...Flag) bool {
	return slices.ContainsFunc(risks, func(r Risk) bool { return slices.Contains(flags, r.Flag) })
}

// Add appends risks that are not in the list yet, up to a length of limit.
func Add(list []Risk, limit int, more ...Risk) []Risk {
	for _, r := range more {
		if len(list) < limit && !slices.ContainsFunc(list, func(o Risk) bool { return reflect.DeepEqual(o, r) }) {
			list = append(list, r)
		}
	}
	return list
}

// Ruled is the result of a check.
type Ruled uint8

const (
	NotChecked    Ruled = iota // the evidence does not suffice
	NotApplicable              // the transaction contains nothing that the check is about
	Clean
	Found // a finding or a risk flag reports it
)

// names of results in the interface.
var ruledNames = [...]string{NotChecked: "not_checked", NotApplicable: "not_applicable", Clean: "clean", Found: "found"}

// String gives the name of a result in the interface.
func (r Ruled) String() string {
	if int(r) >= len(ruledNames) {
		return ""
	}
	return ruledNames[r]
}

// RuledOf finds a result by its name in the interface.
func RuledOf(name string) (Ruled, bool) {
	i := slices.Index(ruledNames[:], name)
	if i < 0 {
		return NotChecked, false
	}
	return Ruled(i), true
}

// Outcome is the result of a check with its reason.
type Outcome struct {
	Result Ruled
	Why    Sentence
}

// NonFinding is the Outcome of one check that found nothing.
type NonFinding struct {
	Title string // of the check
	Outcome
}

// Finding is a broken rule before it is rendered. The texts of its Facts are empty.
type Finding struct {
	Facts     api.Finding // all members but the texts
	Invariant Sentence
	Headline  Sentence // the one line of a transaction that it decides; nothing: the invariant and the loss tell it
	Gained    []Amount // by the attackers
	Lost      []Amount // by the victims
	Evidence  []Evidence
	Missing   []Sentence
}

// Evidence is one item of a Finding. The claim of its Facts is empty.
type Evidence struct {
	Facts api.Evidence
	Claim Sentence
}
