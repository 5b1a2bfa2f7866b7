package claim

import (
	"regexp"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/assemble/recorded"
)

// stands is whether one sentence does.
func (ix *Index) stands(s string) bool {
	kept, bad := ix.prose(s, maxSummary)
	return kept != "" && bad == 0
}

// each calls f with each sentence that the rules say of each recorded transaction.
func each(t *testing.T, f func(ix *Index, s string)) {
	t.Helper()
	for ev := range recorded.All(t) {
		c := assemble.Build(ev)
		ix := NewIndex(c)
		for _, s := range append([]string{c.Result.Summary}, c.Result.Steps...) {
			for _, part := range sentences(plainText(s)) {
				f(ix, part)
			}
		}
	}
}

var amountOf = regexp.MustCompile(`\b[0-9][0-9,]*\.[0-9]{3,}\b`)

// TestTexts: what the rules say of the recorded transactions is true, so nearly all of
// it must stand when a model says it; and hardly any of it with another number in it.
func TestTexts(t *testing.T) {
	said, stood, altered, caught := 0, 0, 0, 0
	each(t, func(ix *Index, s string) {
		said++
		if !ix.stands(s) {
			t.Logf("does not stand: %q", s)
			return
		}
		stood++
		at := amountOf.FindStringIndex(s)
		if at == nil || strings.Contains(s, "bytes") {
			return
		}
		number := s[at[0]:at[1]]
		for _, other := range []string{number[:len(number)-1] + string('0'+('9'-number[len(number)-1]+3)%10), "7" + number, "3" + number[1:]} {
			if other == number {
				continue
			}
			altered++
			if !ix.stands(s[:at[0]] + other + s[at[1]:]) {
				caught++
			} else {
				t.Logf("stands with %s: %q", other, s)
			}
		}
	})
	t.Logf("%d of %d sentences of the rules stand; %d of %d with an altered amount are dropped", stood, said, caught, altered)
	if stood*1000 < said*995 || caught*100 < altered*98 {
		t.Error("too few")
	}
}
