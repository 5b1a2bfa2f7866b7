package facts

import (
	"testing"

	"txlens/engine/trace"
)

// TestSameCall: calldata may be of any length, also none.
func TestSameCall(t *testing.T) {
	f := func(outer, inner string, want bool) {
		t.Helper()
		if got := SameCall(&trace.Frame{Input: []byte(outer)}, &trace.Frame{Input: []byte(inner)}); got != want {
			t.Errorf("%q, %q: %t", outer, inner, got)
		}
	}
	f("abcdef", "abcdef", true)
	f("abcdef", "abcdxx", true) // arguments may differ
	f("abcdef", "abcxef", false)
	f("abcdef", "abcde", false)
	f("abcdef", "", false)
	f("abcdef", "abc", false)
	f("", "", false)
	f("abc", "abc", false)
	f("", "abcdef", false)
}
