package overlay

import (
	"errors"
	"strings"
	"testing"
)

// fuzzed are the names of the files that FuzzRead reads a text as.
var fuzzed = []string{"labels.tsv", "tokens.tsv", "chains.tsv", "incidents.tsv", "bad.tsv", "protocols/x.txt", "abis/x.json"}

// FuzzRead: whatever a file holds, it is read, or all that is wrong is named by lines that it has, and
// the same bytes give the same.
func FuzzRead(f *testing.F) {
	for name, file := range everything() {
		for i, kind := range fuzzed {
			if kindOf(name) == kindOf(kind) {
				f.Add(byte(i), string(file.Data))
			}
		}
	}
	f.Add(byte(0), "1\t"+a1+"\ta\n1\t"+a1+"\tb\n") // twice
	f.Fuzz(func(t *testing.T, kind byte, text string) {
		name := fuzzed[int(kind)%len(fuzzed)]
		d, err := Read(folder(name, text))
		again, errAgain := Read(folder(name, text))
		if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() || d.Digest() != again.Digest() {
			t.Fatalf("it is read in two ways: %v, %v", err, errAgain)
		}
		if err == nil {
			if len(d.Files()) != 1 || d.Files()[0].Name != name || d.Files()[0].Rows > strings.Count(text, "\n")+1 {
				t.Errorf("files: %+v", d.Files())
			}
			for _, e := range d.labels {
				if e.name == "" || strings.ContainsAny(e.name, "\t\r\n") {
					t.Errorf("a label is %q", e.name)
				}
			}
			return
		}
		faults, ok := errors.AsType[*Faults](err)
		if !ok || len(faults.List) == 0 {
			t.Fatalf("%v", err)
		}
		for _, at := range faults.List {
			if at.File != name || at.Line < 0 || at.Line > strings.Count(text, "\n")+1 || at.Text == "" {
				t.Errorf("fault %+v", at)
			}
		}
	})
}
