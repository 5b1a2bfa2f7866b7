package diff

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"text/tabwriter"

	"txlens/engine/api"
	"txlens/engine/report"
)

// Text writes the difference for a terminal.
func (d *Difference) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "A  %s\nB  %s\n", d.A.line(), d.B.line())
	if d.Same {
		b.WriteString("\nThe results do not differ in class, calls, amounts, gas and revert point.\n")
	}
	for _, s := range d.sections() {
		fmt.Fprintf(&b, "\n%s\n", s.Title)
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{s.Head}, s.Rows...) {
			if row != nil {
				fmt.Fprintf(t, "  %s\n", strings.TrimRight(cells(row), "\t"))
			}
		}
		t.Flush()
		if s.More > 0 {
			fmt.Fprintf(&b, "  and %d more\n", s.More)
		}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	return nil
}

func (s Side) line() string {
	return api.OneLine(s.TxHash+"  "+s.Chain+"  "+string(s.Status), maxText)
}

// cells joins the cells of a row, which may come from a file of anybody.
func cells(row []string) string {
	clean := make([]string, len(row))
	for i, c := range row {
		clean[i] = api.OneLine(c, maxText)
	}
	return strings.Join(clean, "\t")
}

// section is one table of what differs.
type section struct {
	Title string
	Head  []string
	Rows  [][]string
	More  int
}

// sections are the tables for readers, without those that are empty.
func (d *Difference) sections() (list []section) {
	add := func(s section) {
		if len(s.Rows) > 0 {
			list = append(list, s)
		}
	}
	class := section{Title: "Class", Head: []string{"", "A", "B"}}
	for _, v := range d.Class {
		class.Rows = append(class.Rows, []string{v.Name, shown(v.A), shown(v.B)})
	}
	for _, l := range d.Lists {
		class.Rows = append(class.Rows, []string{l.Name + " of one side", strings.Join(l.OnlyA, ", "), strings.Join(l.OnlyB, ", ")})
	}
	add(class)
	add(d.revertSection())
	money := section{Title: "Totals", Head: []string{"", "A", "B", "B less A", ""}}
	for _, s := range d.Money {
		money.Rows = append(money.Rows, []string{s.Name, shown(s.A), shown(s.B), signed(s.Difference), s.Unit})
	}
	add(money)
	amounts := section{Title: "Net changes", Head: []string{"account", "token", "A", "B", "B less A"}, More: d.MoreAmounts}
	for _, a := range d.Amounts {
		amounts.Rows = append(amounts.Rows, []string{a.who(), a.what(), a.A, a.B, signed(a.Difference)})
	}
	add(amounts)
	add(d.callSection())
	return list
}

func (d *Difference) revertSection() section {
	s := section{Title: "Revert point", Head: []string{"", "frame", "call", "error"}}
	if d.Revert.Same {
		return s
	}
	for _, p := range places(d.Revert.A, d.Revert.B) {
		s.Rows = append(s.Rows, []string{p.side, p.Path, p.call(), p.Error})
	}
	return s
}

func (d *Difference) callSection() section {
	s := section{
		Title: fmt.Sprintf("Calls: %d and %d", d.Calls.FramesA, d.Calls.FramesB),
		Head:  []string{"type", "callee", "function", "outcome", "A", "B"}, More: d.Calls.MoreShapes,
	}
	for _, c := range d.Calls.Shapes {
		s.Rows = append(s.Rows, []string{c.Type, c.Callee, c.Function, string(c.Status), fmt.Sprint(c.A), fmt.Sprint(c.B)})
	}
	if f := d.Calls.First; f != nil {
		for _, p := range places(f.A, f.B) {
			s.Rows = append(s.Rows, []string{"first in " + p.side, "frame " + p.Path, p.call(), string(p.Status), "", ""})
		}
	}
	return s
}

// sided is a place with the name of its side.
type sided struct {
	*Place
	side string
}

// places are those of both sides that there are.
func places(a, b *Place) (list []sided) {
	for _, p := range []sided{{a, "A"}, {b, "B"}} {
		if p.Place != nil {
			list = append(list, p)
		}
	}
	return list
}

func (p *Place) call() string { return strings.TrimSpace(p.Callee + " " + p.Function) }

func (a *Amount) who() string {
	if a.Label == "" || a.Account == senderAccount {
		return a.Account
	}
	return a.Account + " " + a.Label
}

func (a *Amount) what() string {
	name := a.Symbol
	if name == "" {
		name = a.Token.String()
	}
	if a.TokenID != nil {
		name += " #" + *a.TokenID
	}
	return name
}

// shown is a value for readers.
func shown(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// signed puts a plus before a number that has no minus.
func signed(s *string) string {
	if s == nil {
		return "-"
	}
	if strings.HasPrefix(*s, "-") {
		return *s
	}
	return "+" + *s
}

//go:embed page.tmpl
var pageSource string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("diff").Parse(pageSource))
})

// HTML writes the difference as a self-contained page without script.
func (d *Difference) HTML(w io.Writer) error {
	var b bytes.Buffer
	err := pageTemplate().Execute(&b, struct {
		*Difference
		Style    template.CSS
		Sections []section
	}{d, template.CSS(report.Style()), d.sections()})
	if err != nil {
		return fmt.Errorf("render the difference: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	return nil
}
