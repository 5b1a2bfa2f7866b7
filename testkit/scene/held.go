package scene

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/narrate"
	"txlens/engine/verdict"
	"txlens/testkit/golden"

	"github.com/ethereum/go-ethereum/common"
)

// held are the texts of the tests that run, by the name of the test.
var held sync.Map

// Held judges a transaction and keeps all of the verdict: at its end the test compares what it
// kept with a file of its package, testdata/scenes/<test>.txt. So a case that asserts one
// field holds the others too.
func Held(t *testing.T, name string, in *facts.Input) *Judged {
	t.Helper()
	j := Judge(in)
	Hold(t, name, j.Whole())
	return j
}

// Hold keeps a text under a name, as Held does.
func Hold(t *testing.T, name, text string) {
	t.Helper()
	kept, seen := held.LoadOrStore(t.Name(), &strings.Builder{})
	b := kept.(*strings.Builder)
	if !seen {
		t.Cleanup(func() {
			held.Delete(t.Name())
			if !t.Failed() {
				golden.Compare(t, filepath.Join("testdata", "scenes", strings.ReplaceAll(t.Name(), "/", "_")+".txt"), []byte(b.String()))
			}
		})
	}
	fmt.Fprintf(b, "== %s\n%s\n", name, text)
}

// Whole writes all that a verdict says, in lines.
func (j *Judged) Whole() string {
	lines := strings.SplitN(j.Told(), "\n", 2)
	return lines[0] + "\n" + j.Decided() + "\n" + lines[1]
}

// Decided writes what the rules decided, in lines, without the text.
func (j *Judged) Decided() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	kind := "none"
	if j.TxType != nil {
		kind = string(*j.TxType)
	}
	line("  %s/%s at %s, %s, of %s%s", kind, j.SubType, j.place(), j.Confidence, j.short(j.Actor), tried(j.Attempted))
	for _, why := range j.ReasonTexts() {
		line("  because %s", why)
	}
	for _, r := range narrate.Risks(j.Words, j.Risks) {
		line("  risk %s", r)
	}
	for i := range j.Votes {
		v := &j.Votes[i]
		line("  vote %s: %s/%s %s%s, %s%s%s", v.Rule, v.TxType, v.SubType, v.Protocol, v.Family, v.Evidence,
			places("logs", v.Logs), places("frames", v.Frames))
	}
	j.movements(line)
	j.read(line)
	return strings.TrimSuffix(b.String(), "\n")
}

// Told writes the headline and the steps, each with its place and what a program may know of it.
func (j *Judged) Told() string {
	var b strings.Builder
	b.WriteString(j.Summary)
	for i, s := range j.Steps {
		p := &j.Places[i]
		at := fmt.Sprint(p.At)
		if p.At == narrate.AtEnd {
			at = "end"
		}
		fmt.Fprintf(&b, "\n  - %s [%s: %s%s%s]", s, at, j.detail(&p.Detail), places("logs", p.Logs), places("frames", p.Frames))
	}
	return b.String()
}

// places names logs or frames, where there are any.
func places(what string, list []int) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprint(", ", what, " ", list)
}

// Brief writes what decides a verdict in one line: the type, the headline, and the steps beside
// those of the call, the movements and the fee.
func (j *Judged) Brief() string {
	text := fmt.Sprintf("%s/%s at %s, %s: %s", *j.TxType, j.SubType, j.place(), j.Confidence, j.Summary)
	for i, s := range j.Steps {
		switch d := &j.Places[i].Detail; d.Kind {
		case narrate.KindCall, narrate.KindTransfer, narrate.KindFee:
		default:
			text += " / " + s + " [" + j.detail(d) + "]"
		}
	}
	return text
}

func tried(attempted bool) string {
	if attempted {
		return ", attempted"
	}
	return ""
}

// place names the protocol, and all of them where there are more.
func (j *Judged) place() string {
	name := "-"
	if j.Protocol != nil {
		name = *j.Protocol
	}
	if others := slices.DeleteFunc(slices.Clone(j.Protocols), func(p string) bool { return p == name }); len(others) > 0 {
		name += " (" + strings.Join(others, ", ") + ")"
	}
	return name
}

func (j *Judged) short(a common.Address) string { return api.AddrOf(a).Short() }

// movements writes roles, what the act is worth, liquidations and the sandwich.
func (j *Judged) movements(line func(format string, args ...any)) {
	if o := j.Deciding; o != nil && len(o.Benefit) > 0 {
		line("  benefit of %s: %s", j.short(o.Beneficiary), legs(o.Benefit))
	}
	if j.Primary != nil {
		text := j.delta(j.Primary)
		for i := range j.Besides {
			text += ", " + j.delta(&j.Besides[i])
		}
		line("  worth %s", text)
	}
	var roles []string
	for who, role := range j.Roles {
		roles = append(roles, role+" "+j.short(who))
	}
	slices.Sort(roles)
	line("  roles %s", strings.Join(roles, ", "))
	for _, l := range j.Seizures {
		line("  liquidated %s: debt %s, collateral %s, bad debt %v", j.short(l.Borrower), j.delta(l.Debt), j.delta(l.Collateral), l.BadDebt)
	}
	if w := j.Sandwich; w != nil {
		line("  sandwich at %s by %s, leg %v", j.short(w.Pool), j.short(w.Searcher), w.Leg)
	}
}

// read writes the facts that the text may leave out.
func (j *Judged) read(line func(format string, args ...any)) {
	a := j.Words.Case
	if len(a.Out) > 0 {
		line("  out %s", legs(a.Out))
	}
	if len(a.In) > 0 {
		line("  in %s", legs(a.In))
	}
	more := func(name string, v any) {
		if text := written(reflect.ValueOf(v)); text != "" {
			line("  %s %s", name, text)
		}
	}
	more("costs", a.Costs)
	more("traded by", a.Trader)
	more("acts as", a.ActorKind)
	more("operations", a.OperationList)
	more("undone", a.Undone)
	more("flash loans", a.Loans())
	more("message fees", a.MessageFees())
	more("sales", a.Sales())
}

// detail is a step for programs.
func (j *Judged) detail(d *narrate.Detail) string {
	text := d.Kind
	if d.Actor != nil {
		text += " " + j.short(*d.Actor)
	}
	for _, x := range d.Amounts {
		text += " " + amount(x)
	}
	return text
}

func amount(x verdict.Amount) string { return fmt.Sprint(x.N, " ", asset(x.Key)) }

func (j *Judged) delta(d *flow.Delta) string {
	if d == nil {
		return "-"
	}
	return fmt.Sprint(d.Amount, " ", asset(d.Key))
}

// asset names what moves, without the words that results use.
func asset(k flow.TokenKey) string {
	switch {
	case k == flow.TokenKey{}:
		return "coin"
	case k.NFT:
		return "NFT " + k.ID + " of " + api.AddrOf(k.Token).Short()
	case k.ID != "":
		return "item " + k.ID + " of " + api.AddrOf(k.Token).Short()
	}
	return api.AddrOf(k.Token).Short()
}

func legs(list []facts.Leg) string {
	var parts []string
	for _, l := range list {
		text := fmt.Sprint(l.Amount, " ", asset(l.Key))
		if l.Minted {
			text += " minted"
		}
		if l.Counterparty != (common.Address{}) {
			text += " (" + api.AddrOf(l.Counterparty).Short() + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
