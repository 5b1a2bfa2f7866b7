// Package golden compares what a test makes with a file of the repository. It is the one
// place where tests write such files:
//
//	go test ./engine/report -run TestGolden -update
//
// writes those of one package, and "go run ./internal/generate" all of them.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write golden files and generated pages instead of comparing them")

// Updating reports whether files are written, for a test that makes one at other times than
// it reads it.
func Updating() bool { return *update }

// Compare fails unless the file holds got. With -update it writes the file first.
func Compare(t testing.TB, file string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(file)
	if *update {
		if err == nil && bytes.Equal(got, want) {
			return
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Errorf("%v; write the file with: go test -run '%s' -update", err, t.Name())
		return
	}
	if n, g, w := difference(got, want); n > 0 {
		t.Errorf("%s differs from what the test makes, first in line %d:\ngot  %s\nwant %s\nIf the change is intended, run this test with -update, or make generate, and read the difference", file, n, g, w)
	}
}

// difference is the first line that differs, counted from one, and its text on both sides;
// the line is 0 if there is none. Long lines are shown from a little before the difference.
func difference(got, want []byte) (line int, g, w string) {
	if bytes.Equal(got, want) {
		return 0, "", ""
	}
	a, b := bytes.SplitAfter(got, []byte("\n")), bytes.SplitAfter(want, []byte("\n"))
	i := 0
	for i < len(a)-1 && i < len(b)-1 && bytes.Equal(a[i], b[i]) {
		i++
	}
	from := 0
	for from < min(len(a[i]), len(b[i])) && a[i][from] == b[i][from] {
		from++
	}
	from = max(from-40, 0)
	show := func(text []byte) string { return string(text[from:min(from+160, len(text))]) }
	return i + 1, show(a[i]), show(b[i])
}
