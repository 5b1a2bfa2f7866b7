package claim

import (
	"fmt"
	"strings"

	"txlens/engine/assemble"
)

// Reason is why a sentence is dropped.
type Reason uint8

// The reasons.
const (
	Accepted     Reason = iota // it is not dropped
	Malformed                  // braces without a reference, or a letter or a minus sign beside one
	UnknownKind                // there is no kind of reference with this name
	Unresolved                 // the evidence does not contain what a reference names
	Ambiguous                  // an abbreviated address matches several
	WrongUnit                  // the value has another unit than the reference requires
	Digit                      // a digit outside of references
	Name                       // a capital letter that does not begin the sentence, so a possible name
	Link                       // a possible link
	Character                  // a character that plain text does not need
	NoFact                     // no reference to an event or a measured value
	NoPlace                    // a step or a risk that refers to no place of the transaction
	MixedVerdict               // words beside the reference to a verdict
	Contradicted               // a check of the rules has another result
	TooLong                    // the text exceeds its limit
	TooMany                    // more references than a text may have
	Reserved                   // it imitates a marker of results
	Empty
)

var reasons = [...]struct{ slug, advice string }{
	Malformed:    {"malformed_reference", "write each reference as {kind:argument}, with no letter and no minus sign beside it"},
	UnknownKind:  {"unknown_kind", "use a kind of reference that the instructions list"},
	Unresolved:   {"unresolved_reference", "name something that is in the evidence and took effect"},
	Ambiguous:    {"ambiguous_address", "write this address in full"},
	WrongUnit:    {"wrong_unit", "use amount for values of a token, number for others, and the unit that fits the figure"},
	Digit:        {"digit", "write numbers, addresses and names with digits as references"},
	Name:         {"name", "write names and symbols as references, and abbreviations in small letters"},
	Link:         {"link", "end sentences with a dot and use dots nowhere else"},
	Character:    {"character", "use letters and plain punctuation"},
	NoFact:       {"no_fact", "refer to something that happened or was measured: an amount, a call, an event, a figure"},
	NoPlace:      {"no_place", "refer to a log or a frame, or list one in refs"},
	MixedVerdict: {"mixed_verdict", "let a check or flag be a sentence of its own, without words"},
	Contradicted: {"contradicted", "the rules checked this and found it otherwise"},
	TooLong:      {"too_long", "be shorter"},
	TooMany:      {"too_many_references", "use fewer references"},
	Reserved:     {"reserved", "do not imitate marks of results"},
	Empty:        {"empty", "say something"},
}

// String gives the name of a reason.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r].slug
	}
	return ""
}

// Drop is a dropped sentence.
type Drop struct {
	Where    string // the member of the answer
	Sentence int    // of that text, from 1
	Why      Reason
}

// Review lists the sentences of an answer that would be dropped, and changes nothing.
func Review(c *assemble.Analysis, a *Answer, ix *Index) []Drop {
	ix.drops = nil
	Apply(c, a, ix)
	return ix.drops
}

// maxExplained bounds the sentences that Explain lists.
const maxExplained = 20

// Explain lists which sentences were dropped and why, without quoting them.
func Explain(drops []Drop) string {
	var b strings.Builder
	b.WriteString("Sentences that do not stand:\n")
	advised := map[Reason]bool{}
	for i, d := range drops {
		if i == maxExplained {
			fmt.Fprintf(&b, "and %d more\n", len(drops)-i)
			break
		}
		fmt.Fprintf(&b, "- %s, sentence %d: %s", d.Where, d.Sentence, d.Why)
		if !advised[d.Why] {
			advised[d.Why] = true
			b.WriteString(" (" + reasons[d.Why].advice + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
