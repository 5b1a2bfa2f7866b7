package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/trace"
)

// hitsOf are the descriptions of the hits of a test, in the order of its scenes.
var hitsOf = map[string]*strings.Builder{}

// judged judges a scene. All that its hits consist of is compared with a file of the test
// at its end, because the rules that fire are not all that a guard decides: it chooses
// victims, deals and amounts, too. After an intended change run the tests with -update and
// read the difference.
func judged(t *testing.T, root *trace.Frame) *assemble.Case {
	t.Helper()
	c := built(root)
	record(t, c)
	return c
}

func record(t *testing.T, c *assemble.Case) {
	t.Helper()
	out := hitsOf[t.Name()]
	if out == nil {
		out = new(strings.Builder)
		hitsOf[t.Name()] = out
		t.Cleanup(func() { compareHits(t, out) })
	}
	scene := strings.Count(out.String(), "scene ")
	fmt.Fprintf(out, "scene %d\n", scene)
	for _, h := range c.Triage.Hits() {
		fmt.Fprintf(out, "  %s\n", h)
	}
}

func compareHits(t *testing.T, out *strings.Builder) {
	file := filepath.Join("testdata", "hits", strings.ReplaceAll(t.Name(), "/", "-")+".txt")
	if *check.Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(out.String(), "\n"), strings.Split(string(raw), "\n")
	scene := ""
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if strings.HasPrefix(w, "scene ") {
			scene = w
		}
		if g != w {
			t.Errorf("%s of %s:\ngot  %s\nwant %s", scene, file, g, w)
			return
		}
	}
}
