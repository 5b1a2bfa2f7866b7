package narrate

import (
	"txlens/engine/facts"
	"txlens/engine/protocol"
)

// Words writes addresses and amounts as the sentences about one transaction do.
type Words struct {
	*facts.Case
	full bool // each address is written in full
}

// NewWords makes the wording for a transaction.
func NewWords(a *facts.Case) Words { return Words{a, false} }

// NewFullWords makes a wording in which each address is written in full, for what has to
// stand by itself.
func NewFullWords(a *facts.Case) Words { return Words{a, true} }

// InFull is the same wording with each address in full.
func (a Words) InFull() Words { return NewFullWords(a.Case) }

// Callee names what a frame calls.
func (a Words) Callee(frame int) string { return a.target(a.Tree.Frames[frame]) }

// Reason says why a frame failed.
func (a Words) Reason(frame int) string { return a.why(a.Tree.Frames[frame]) }

// Protocol renders the name of a protocol.
func (a Words) Protocol(slug string) string { return protocol.NameOf(slug) }

// Foreign renders a name that a contract gave itself.
func (a Words) Foreign(name string) string { return PlainText(name) }
