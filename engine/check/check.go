package check

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/verdict"
)

// Check is one thing that is looked for in each transaction. Each is declared in a file
// of its own, beside the code that it runs.
type Check struct {
	Name  string // as a model names it
	Title string // as results name it, its first letter small
	// Causes are the categories of findings, and Flags the risk flags, that report what the
	// check looks for. Where one of them stands, the check cannot come out clean.
	Causes []api.Category
	Flags  []verdict.Flag
	// Open: where the rules could not check it, evidence that they do not have may decide,
	// such as a source or the state at the block.
	Open bool

	order   int // among the checks of results, and of its rules as a cause
	rules   []rule
	flag    func(*inspection) []verdict.Risk    // raises the risk flags that need the trace or the state; nil: none
	find    func(*inspection) []verdict.Finding // finds broken rules; nil: none
	ruleOut func(*inspection) verdict.Outcome   // the result where nothing was found; nil: the check has no line in results
	own     bool                                // has bounds of its own
}

// Listed reports whether results have a line for the check.
func (c *Check) Listed() bool { return c.ruleOut != nil }

// Contradicted reports whether a finding of a category tells of what the check looks for.
func (c *Check) Contradicted(cause api.Category) bool { return slices.Contains(c.Causes, cause) }

// Finds reports whether the rules look for findings, and not for flags alone.
func (c *Check) Finds() bool { return c.find != nil || len(c.rules) > 0 }

// Outcome is the result of one check.
type Outcome struct {
	*Check
	verdict.Outcome
}

// NonFinding is the outcome with the title of its check.
func (o Outcome) NonFinding() verdict.NonFinding {
	return verdict.NonFinding{Title: o.Title, Outcome: o.Outcome}
}

// ruled is the result of a check with its reason.
func ruled(r verdict.Ruled, why verdict.Form, args ...verdict.Arg) verdict.Outcome {
	return verdict.Outcome{Result: r, Why: verdict.Say(why, args...)}
}

// always is the result of a check that looks for nothing but its flags.
func always(r verdict.Ruled, why verdict.Form) func(*inspection) verdict.Outcome {
	return func(*inspection) verdict.Outcome { return ruled(r, why) }
}

// risk raises a flag.
func risk(f verdict.Flag, why verdict.Form, args ...verdict.Arg) verdict.Risk {
	return verdict.Risk{Flag: f, Why: verdict.Say(why, args...)}
}
