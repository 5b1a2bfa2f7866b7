package claim

import "txlens/engine/assemble"

// Index is what exists in the evidence of one transaction. It is owned by the loop
// and not safe for concurrent use.
type Index struct {
	c *assemble.Case
}

// NewIndex indexes the evidence that the rules had.
func NewIndex(c *assemble.Case) *Index { return &Index{c: c} }

// Observe adds what a tool has answered: addresses, hashes, slots and integers that
// are values of their own. Nothing inside a text counts.
func (ix *Index) Observe(result any) {}
