package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// print writes the sheet as JSON or as a table.
func (s *evalSheet) print(to io.Writer, asJSON bool) error {
	w := bufio.NewWriter(to)
	if asJSON {
		if err := json.MarshalWrite(w, s, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
			return err
		}
		w.WriteByte('\n')
		return w.Flush()
	}
	rows := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(rows, "CASE\tOUTCOME\tTXTYPE\tPROTOCOL\tVICTIM\tCATEGORY\tDROPPED\tTOKENS\tCOST\n")
	for i := range s.Cases {
		r := &s.Cases[i]
		fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t$%s\n", oneLine(r.Name), r.Outcome,
			r.cell("txType"), r.cell("protocol"), r.cell("victim"), r.cell("category"), r.Dropped.Total(), r.Tokens.sum(), r.CostUSD)
	}
	if err := rows.Flush(); err != nil {
		return err
	}
	s.sums(w)
	return w.Flush()
}

// cell formats how an expectation was met; "-" if there is none.
func (r *evalRow) cell(field string) string {
	for _, j := range r.Judged {
		if j.Field != field {
			continue
		}
		got := oneLine(orNone(strings.Join(j.Got, ", ")))
		if j.Right {
			return got
		}
		return got + " (want " + orNone(strings.Join(j.Want, " or ")) + ")"
	}
	return "-"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (t evalTokens) sum() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }

// sums writes the totals, and the reasons why cases have no complete result.
func (s *evalSheet) sums(w io.Writer) {
	t := &s.Totals
	fmt.Fprintf(w, "\nModel                %s\n", s.Model)
	fmt.Fprintf(w, "Cases                %d, %d partial, %d failed\n", t.Cases, t.Partial, t.Failed)
	fmt.Fprintf(w, "Accuracy             %s", ratio(t.Right, t.Judged))
	for _, f := range t.Fields {
		if f.Judged > 0 {
			fmt.Fprintf(w, "; %s %s", f.Field, ratio(f.Right, f.Judged))
		}
	}
	fmt.Fprintf(w, "\nFalse exploits       %d\n", t.FalseExploits)
	fmt.Fprintf(w, "Unresolved evidence  %d; claims dropped or lowered %d\n", t.Unresolved, t.Dropped)
	fmt.Fprintf(
		w,
		"Tokens               %d input, %d output, %d from the cache, %d into it\n",
		t.Tokens.Input,
		t.Tokens.Output,
		t.Tokens.CacheRead,
		t.Tokens.CacheWrite,
	)
	fmt.Fprintf(w, "Cost of the model    $%s\n", t.CostUSD)
	for i := range s.Cases {
		if r := &s.Cases[i]; r.Error != "" {
			fmt.Fprintf(w, "%s: %s\n", oneLine(r.Name), r.Error)
		}
	}
}

// ratio writes n of m, in percent to one place, rounded down.
func ratio(n, m int) string {
	if m == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%d.%d %%)", n, m, n*100/m, n*1000/m%10)
}
