package anthropic

import (
	"regexp"
	"strconv"
	"strings"
)

// mode is how a model is told to think. The vendor refuses what a model does not
// know with status 400 (its page "Thinking: troubleshooting").
type mode struct {
	budget bool // by a number of tokens; else it decides itself, with effort as a hint
	byself bool // it thinks unless it is told not to
	forces bool // it can be made to call a tool
}

// version finds the numbers of "claude-opus-4-8" and "claude-haiku-4-5-20251001", also
// where a gateway puts something before or writes 4.8.
var version = regexp.MustCompile(`(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[-.](\d{1,2}))?(?:$|[^0-9])`)

// modeOf reads the mode off the model's name; that of a name which says nothing is
// the one of models that think only when asked to.
func modeOf(model string) mode {
	m := version.FindStringSubmatch(strings.ToLower(model))
	if m == nil {
		return mode{forces: true}
	}
	major, _ := strconv.Atoi(m[2]) // two digits
	minor, _ := strconv.Atoi(m[3])
	switch n := major*100 + minor; {
	case m[1] == "fable", m[1] == "mythos", n > 500:
		return mode{} // they always think, which cannot be forced into a call
	case n == 500:
		return mode{byself: true, forces: true}
	case n >= 406:
		return mode{forces: true}
	}
	return mode{budget: true, forces: true}
}

// think words how much to think. Who must call a tool does not think: models that
// take a budget refuse both together, and some of the others did.
func (m mode) think(p *request, tokens int64, forced bool) {
	switch {
	case tokens <= 0 || forced:
		if m.byself {
			p.Thinking = &thinkingConfig{Type: "disabled"}
		}
	case m.budget:
		if p.MaxTokens > 1024 { // the least budget, and it must be below the limit
			p.Thinking = &thinkingConfig{Type: "enabled", BudgetTokens: min(max(tokens, 1024), p.MaxTokens-1)}
		}
	default:
		// What it thinks is shown in summary; the price is the same.
		p.Thinking = &thinkingConfig{Type: "adaptive", Display: "summarized"}
		p.OutputConfig = &outputConfig{Effort: effort(tokens)}
	}
}

// effort is the hint that goes with a number of tokens.
func effort(tokens int64) string {
	switch {
	case tokens < 4<<10:
		return "low"
	case tokens < 16<<10:
		return "medium"
	}
	return "high"
}
