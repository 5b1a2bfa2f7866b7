// Package diff compares two results: their class, the calls by shape, the amounts, the gas
// and the point where each reverted. It finds what differs and does not explain why.
//
// The comparison is a pure function of the results. Addresses of the two senders count as
// the same account, since most transactions that people compare differ in the sender.
package diff

import (
	"slices"

	"txlens/engine/api"
)

// Bounds of a difference. What is beyond them is counted.
const (
	maxShapes  = 200
	maxAmounts = 200
	maxText    = 120 // characters of a name
)

// Difference is what differs between two results.
type Difference struct {
	A       Side     `json:"a"`
	B       Side     `json:"b"`
	Same    bool     `json:"same"`  // nothing below differs
	Class   []Value  `json:"class"` // members that differ
	Lists   []List   `json:"lists"` // lists that differ
	Calls   Calls    `json:"calls"`
	Amounts []Amount `json:"amounts"` // net changes that differ
	// MoreAmounts counts the net changes that differ and are not listed.
	MoreAmounts int    `json:"moreAmounts"`
	Money       []Sum  `json:"money"` // totals that differ: value, fee, gas
	Revert      Revert `json:"revert"`
}

// Side is one of the two transactions.
type Side struct {
	TxHash  string     `json:"txHash"`
	Chain   string     `json:"chain"`
	Status  api.Status `json:"status"`
	Summary string     `json:"summary"`
}

// Value is a member that differs; null: the result does not have it.
type Value struct {
	Name string  `json:"name"`
	A    *string `json:"a"`
	B    *string `json:"b"`
}

// List is a list of which some items are on one side alone.
type List struct {
	Name  string   `json:"name"`
	OnlyA []string `json:"onlyA"`
	OnlyB []string `json:"onlyB"`
}

// Sum is a total that differs. Difference is B less A; null where a side is not known.
type Sum struct {
	Name       string  `json:"name"`
	Unit       string  `json:"unit"`
	A          *string `json:"a"`
	B          *string `json:"b"`
	Difference *string `json:"difference"`
}

// Of compares two results.
func Of(a, b *api.Result) *Difference {
	d := &Difference{
		A: sideOf(a), B: sideOf(b), Class: classOf(a, b), Lists: listsOf(a, b), Calls: callsOf(a, b), Money: sumsOf(a, b), Revert: revertOf(a, b),
	}
	d.Amounts, d.MoreAmounts = amountsOf(a, b)
	d.Same = len(d.Class)+len(d.Lists)+len(d.Calls.Shapes)+len(d.Amounts)+len(d.Money) == 0 && d.Calls.First == nil && d.Revert.Same
	return d
}

func sideOf(r *api.Result) Side {
	return Side{r.TxHash, r.Chain, r.Status, api.OneLine(r.Summary, 400)}
}

// classOf compares the members that say what kind of transaction it is.
func classOf(a, b *api.Result) []Value {
	out := []Value{}
	add := func(name string, x, y *string) {
		if !equal(x, y) {
			out = append(out, Value{name, x, y})
		}
	}
	add("chain", known(a.Chain), known(b.Chain))
	add("status", known(string(a.Status)), known(string(b.Status)))
	add("txType", typeOf(a), typeOf(b))
	add("subType", known(a.SubType), known(b.SubType))
	add("protocol", a.Protocol, b.Protocol)
	add("attempted", flag(a.Attempted), flag(b.Attempted))
	add("confidence", known(string(a.Confidence)), known(string(b.Confidence)))
	add("analysisModel", known(a.AnalysisModel), known(b.AnalysisModel))
	return out
}

func listsOf(a, b *api.Result) []List {
	out := []List{}
	add := func(name string, x, y []string) {
		if l := (List{name, without(x, y), without(y, x)}); len(l.OnlyA)+len(l.OnlyB) > 0 {
			out = append(out, l)
		}
	}
	add("protocols", a.Protocols, b.Protocols)
	add("risks", flagsOf(a), flagsOf(b))
	add("findings", causesOf(a), causesOf(b))
	return out
}

// without lists the items of x that y does not have, sorted, each once.
func without(x, y []string) []string {
	out := []string{}
	for _, s := range x {
		if !slices.Contains(y, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

func flagsOf(r *api.Result) (list []string) {
	for i := range r.RisksDetail {
		list = append(list, r.RisksDetail[i].Flag)
	}
	return list
}

func causesOf(r *api.Result) (list []string) {
	for i := range r.Findings {
		list = append(list, string(r.Findings[i].Category))
	}
	return list
}

func typeOf(r *api.Result) *string {
	if r.TxType == nil {
		return nil
	}
	return known(string(*r.TxType))
}

// known is a text that a result has; nil where it is empty.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func flag(set bool) *string {
	if !set {
		return nil
	}
	return known("true")
}

func equal(x, y *string) bool {
	if x == nil || y == nil {
		return x == y
	}
	return *x == *y
}
