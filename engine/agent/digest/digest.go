// Package digest writes the first message to the model: what is known of one
// transaction, compact, and the same bytes for the same evidence.
package digest

import "txlens/engine/assemble"

// Playbook is one that the rules propose.
type Playbook struct{ Name, When string }

// Of writes the digest. Context is the caller's own words, which are no instructions.
func Of(c *assemble.Case, context string, playbooks ...Playbook) string {
	return c.Result.Summary
}

// Tokens estimates how many tokens a text is, rather too many than too few.
func Tokens(text string) int { return (len(text) + 2) / 3 }
