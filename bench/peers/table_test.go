package main

import "testing"

func TestWiden(t *testing.T) {
	f := func(want string, cells ...string) {
		t.Helper()
		got := cells[0]
		for _, cell := range cells[1:] {
			got = widen(got, cell)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", cells, got, want)
		}
	}
	f("1.2 ms", "1.2 ms", "1.2 ms", "1.2 ms")
	f("1.1 to 1.4 ms", "1.2 ms", "1.4 ms", "1.1 ms")
	f("1.2 to 1.4 ms", "1.2 ms", "1.4 ms", "1.3 ms")
	f("6.05 to 10.10", "10.10", "6.05")
	f("150 to 153 MB", "153 MB", "150 MB")
	f("482 (100.0 %)", "482 (100.0 %)", "482 (100.0 %)")
	f("477 (99.0 %); 478 (99.2 %)", "477 (99.0 %)", "478 (99.2 %)")
	f("–", "–", "–")
	f("1 ms; 2 MB", "1 ms", "2 MB")
}

func TestTablesOfRuns(t *testing.T) {
	l := &lab{}
	for _, cell := range []string{"2.0 ms", "1.0 ms", "3.0 ms"} {
		for _, title := range []string{"One", "Two"} {
			table := newTable("program", "CPU")
			table.row("Txlens", cell)
			l.keep(table, title)
		}
	}
	if len(l.tables) != 2 || l.tables[1].title != "Two" || l.tables[1].rows[0][1] != "1.0 to 3.0 ms" || l.tables[0].rows[0][0] != "Txlens" {
		t.Errorf("%d tables, the last %+v", len(l.tables), l.tables[len(l.tables)-1])
	}
}
