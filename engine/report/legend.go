package report

import (
	"slices"
	"strings"

	"txlens/engine/api"
)

// maxLegend bounds the addresses that the legend gives in full.
const maxLegend = 40

// legend gives in full the addresses that the summary, the steps and the risks abbreviate.
func (t *text) legend() {
	known := map[string]api.Addr{}
	for _, a := range t.r.Addresses {
		known[t.page.names.party(a.Address).Short] = a.Address
	}
	said := slices.Concat([]string{t.page.Summary}, t.page.Steps, t.page.Risks)
	seen := map[string]bool{}
	var lines []string
	for _, s := range said {
		for _, short := range abbreviationsIn(s) {
			if a, ok := known[short]; ok && !seen[short] {
				seen[short] = true
				lines = append(lines, short+"  "+inFull(t.page.names.party(a)))
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	t.heading("Addresses")
	for _, l := range head(lines, maxLegend) {
		t.wrapped("  ", l, "")
	}
	if more := len(lines) - maxLegend; more > 0 {
		t.line(t.paint(dim, "  … and "+api.Count(more, "more address")))
	}
}

// abbreviationsIn finds the abbreviated addresses of a sentence: 0x, four digits, an
// ellipsis, four digits.
func abbreviationsIn(s string) (list []string) {
	const before, after = len("0x1234"), len("…1234")
	for at := 0; ; {
		i := strings.Index(s[at:], "…")
		if i < 0 {
			return list
		}
		i += at
		at = i + len("…")
		if i >= before && i+after <= len(s) && strings.HasPrefix(s[i-before:], "0x") {
			list = append(list, s[i-before:i+after])
		}
	}
}
