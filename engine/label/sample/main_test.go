package main

import (
	"slices"
	"strings"
	"testing"
)

// TestDraw: a seed draws the same rows each time, as many of each table as it should, and none
// twice.
func TestDraw(t *testing.T) {
	rows, err := draw("../../..", defaultSeed)
	if err != nil {
		t.Fatal(err)
	}
	again, err := draw("../../..", defaultSeed)
	if err != nil || !slices.Equal(rows, again) {
		t.Errorf("the same seed draws other rows, %v", err)
	}
	other, err := draw("../../..", defaultSeed+1)
	if err != nil || slices.Equal(rows, other) {
		t.Errorf("another seed draws the same rows, %v", err)
	}
	seen, counts := map[string]bool{}, map[string]int{}
	for _, r := range rows {
		if seen[r.table+r.key] || r.key == "" || r.says == "" {
			t.Errorf("%+v is drawn twice or says nothing", r)
		}
		seen[r.table+r.key] = true
		counts[r.table]++
	}
	for _, s := range strata {
		if counts[s.table] != s.n {
			t.Errorf("%s: %d rows, not %d", s.table, counts[s.table], s.n)
		}
	}
	if len(rows) != 600 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestWrite: rows that no other source knows are no part of the share of errors, and what is
// wrong or not checked is printed.
func TestWrite(t *testing.T) {
	verdicts, err := read("# comment\ntokens\ta\tright\tx\ntokens\tb\twrong\ty\ntokens\tc\talone\tz\ntokens\te\tright\tx\n")
	if err != nil {
		t.Fatal(err)
	}
	rows := []row{{"tokens", "a", "A"}, {"tokens", "b", "B"}, {"tokens", "c", "C"}, {"tokens", "d", "D"}, {"tokens", "e", "E"}}
	f := func(all bool, want ...string) {
		t.Helper()
		var b strings.Builder
		if err := write(&b, 7, rows, verdicts, all); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			absent := strings.HasPrefix(w, "!")
			if strings.Contains(b.String(), strings.TrimPrefix(w, "!")) == absent {
				t.Errorf("%q in:\n%s", w, b.String())
			}
		}
	}
	f(false, "5 rows, seed 7\n", "tokens       2 right, 1 wrong (33.3 %), 1 without another source, 1 not checked\n",
		"chains       0 right, 0 wrong (-), ", "tokens\tb\tB\twrong\ty\n", "tokens\td\tD\tnot checked\t\n", "!tokens\ta\t", "!tokens\tc\t")
	f(true, "tokens\ta\tA\tright\tx\n", "tokens\tc\tC\talone\tz\n")
	for _, bad := range []string{"tokens\ta\tright\n", "tokens\ta\tmaybe\tx\n"} {
		if _, err := read(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestChecked: the verdicts can be read.
func TestChecked(t *testing.T) {
	v, err := read(checked)
	if err != nil || len(v) == 0 {
		t.Errorf("%d verdicts, %v", len(v), err)
	}
}
