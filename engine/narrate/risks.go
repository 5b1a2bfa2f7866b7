package narrate

import (
	"slices"
	"strings"

	"txlens/engine/verdict"
)

// Risk renders a risk as results carry it: the name of the flag, a colon, its explanation.
func Risk(n Names, r verdict.Risk) string { return RiskLine(r.Flag, Sentence(n, r.Why)) }

// RiskLine joins a flag and the explanation of it.
func RiskLine(f verdict.Flag, why string) string { return f.String() + ": " + why }

// Risks renders risks, each text once.
func Risks(n Names, list []verdict.Risk) (lines []string) {
	for _, r := range list {
		if line := Risk(n, r); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// ReadRisk parts a line of RiskLine again: no flag where the line does not begin with
// the name of one.
func ReadRisk(line string) (verdict.Flag, string) {
	name, why, parted := strings.Cut(line, ": ")
	if f, ok := verdict.FlagOf(name); ok && parted {
		return f, why
	}
	return verdict.NoFlag, line
}

// FlagTitle renders a flag as a sentence of its own.
func FlagTitle(f verdict.Flag) string { return "Flagged: " + f.Info().Title }

// Flagged is the sentence that names the flags of a headline; it is empty for none.
func Flagged(flags []verdict.Flag) string {
	if len(flags) == 0 {
		return ""
	}
	titles := make([]string, len(flags))
	for i, f := range flags {
		titles[i] = f.Info().Title
	}
	return "Flagged: " + strings.Join(titles, ", ") + "."
}
