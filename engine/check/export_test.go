package check

import (
	"fmt"
	"strings"
)

// AssumeLoan has the rules take every transaction for one with a flash loan.
func AssumeLoan(on bool) { assumeLoan = on }

// Hits describes each place where a rule of outcomes fired, with all that the finding and
// its sentence are made of.
func (r *Report) Matches() (out []string) {
	for i := range r.matches {
		h := &r.matches[i]
		var b strings.Builder
		fmt.Fprintf(&b, "%s grade %d", h.rule.name, h.grade)
		add := func(name string, there bool, v any) {
			if there {
				fmt.Fprintf(&b, ", %s %v", name, v)
			}
		}
		add("category", h.category != "", h.category)
		add("victims", len(h.victims) > 0, h.victims)
		add("faulty", h.faulty != [20]byte{}, h.faulty)
		add("deals", len(h.calls) > 0, h.calls)
		add("frames", len(h.frames) > 0, h.frames)
		add("moves", len(h.moves) > 0, h.moves)
		add("count", h.count != 0, h.count)
		add("values", h.values[0] != nil, h.values)
		add("amount", h.position.Amount != nil, h.position)
		add("unclaimed", h.unclaimed, h.unclaimed)
		add("takers", len(h.takers) > 0, h.takers)
		out = append(out, b.String())
	}
	return out
}

// Initialiser reports whether the name of a function says that it sets a contract up.
var Initialiser = initialiser
