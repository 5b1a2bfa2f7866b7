package claim

import (
	"strings"
	"testing"
)

// TestObservedLengths: how long a number may be that a tool answers.
func TestObservedLengths(t *testing.T) {
	f := func(s string, want bool) {
		t.Helper()
		ix := &Index{raws: map[string]bool{}}
		ix.scalar(s)
		if got := len(ix.raws) > 0; got != want {
			t.Errorf("%q is a number: %v", s, got)
		}
	}
	f("7", true)
	f("1.5", false)
	f("1e9", false)
	f("x", false)
	f(strings.Repeat("9", 77), true)
	f(strings.Repeat("9", 81), false)
}
