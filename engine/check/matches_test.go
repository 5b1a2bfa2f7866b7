package check_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/trace"
	"txlens/testkit/golden"
)

// judgement holds how many scenes a test has judged, and the descriptions of their matches in
// the same order.
type judgement struct {
	scenes  int
	matches strings.Builder
}

var judgements = map[string]*judgement{}

// judged judges a scene. All that its matches and findings consist of is compared with a file of the
// test at its end, because the rules that fire are not all that a guard decides: it chooses
// victims, external calls and amounts, too. After an intended change run the tests with -update and
// read the difference.
func judged(t *testing.T, root *trace.Frame) *assemble.Analysis {
	t.Helper()
	c := built(root)
	record(t, c)
	return c
}

// record is judged for a scene that is built with more evidence than its calls.
func record(t *testing.T, c *assemble.Analysis) {
	t.Helper()
	disjoint(t, c)
	j := judgements[t.Name()]
	if j == nil {
		j = new(judgement)
		judgements[t.Name()] = j
		t.Cleanup(func() {
			delete(judgements, t.Name())
			compare(t, ".txt", j.matches.String())
		})
	}
	fmt.Fprintf(&j.matches, "scene %d\n", j.scenes)
	for _, h := range c.Triage.Matches() {
		fmt.Fprintf(&j.matches, "  %s\n", h)
	}
	for _, line := range resultLines(c) {
		fmt.Fprintf(&j.matches, "  %s\n", line)
	}
	j.scenes++
}

// compare compares a text with the file of the test that has this suffix.
func compare(t *testing.T, suffix, out string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", "matches", strings.ReplaceAll(t.Name(), "/", "-")+suffix), []byte(out))
}
