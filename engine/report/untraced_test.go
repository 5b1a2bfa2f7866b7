package report

import (
	"bytes"
	"strings"
	"testing"

	"txlens/engine/api"
)

// TestUntraced: a result without a call trace says so at the top of page and text, and counts
// no calls.
func TestUntraced(t *testing.T) {
	f := func(source string, want bool) {
		t.Helper()
		r := swap()
		provenance := *r.Provenance
		provenance.TraceSource = source
		r.Provenance = &provenance
		var text bytes.Buffer
		if err := Text(&text, r, TextOptions{Width: 140}); err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := HTML(&page, r); err != nil {
			t.Fatal(err)
		}
		check := func(where, in, what string, there bool) {
			t.Helper()
			if strings.Contains(in, what) != there {
				t.Errorf("%s of a result from %s: %q is %v", where, source, what, !there)
			}
		}
		top, _, _ := strings.Cut(text.String(), "\nTransaction\n")
		check("text", top, withoutTrace, want)
		check("text", text.String(), "Outermost call (", want)
		check("text", text.String(), "Call tree (", !want)
		check("page", page.String(), `<p class="notice">`+withoutTrace+"</p>", want)
		check("page", page.String(), "<dt>Calls</dt>", !want)
	}
	f("receipt", true)
	f("debug_traceTransaction", false)
	f("local-replay", false)
	if untraced(&api.Result{}) {
		t.Error("a result without provenance is untraced")
	}
}
