package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestTableIsCurrent: the embedded table is what the list in the repository gives.
func TestTableIsCurrent(t *testing.T) {
	text, err := os.ReadFile("../incidents.tsv")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Generate(text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../table.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("table.tsv differs from its list; run go generate ./engine/incident, or make generate")
	}
}

func TestGenerate(t *testing.T) {
	hash := "0x" + strings.Repeat("ab", 32)
	f := func(line, want string) {
		t.Helper()
		got, err := Generate([]byte(line + "\n"))
		if want == "" {
			if err == nil {
				t.Errorf("%q passes", line)
			}
			return
		}
		if err != nil || !strings.HasSuffix(string(got), "\n"+want+"\n") || strings.Count(string(got), "\n") != 2 {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	f("20200101\tSome \"Bank\"\t1\t"+hash+"\tcause\t:", "1\t"+hash+"\t2020-01-01\tSome Bank\tcause\t")
	f("20200101\tA\t1\t"+hash+"\t\t1 USD\n20200102\tB\t1\t"+hash+"\t\t2 USD", "1\t"+hash+"\t2020-01-01\tA\t\t1 USD")
	f("2020\tA\t1\t"+hash+"\t\t", "")
	f("20200101\tA\tx\t"+hash+"\t\t", "")
	f("20200101\tA\t1\t0xab\t\t", "")
}
