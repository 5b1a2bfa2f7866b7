package signature

import (
	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

// What says what a signature names.
type What byte

const (
	Func  What = 'f'
	Event What = 'e'
	Error What = 'x'
)

// Signature is a compiled function, event or error.
type Signature struct {
	What    What
	Name    string
	Text    string // canonical: transfer(address,uint256)
	Inputs  []Param
	Outputs []Param // nil when unknown or none
	Head    int     // bytes of the head of Inputs; of an event, of those not indexed
	OutHead int
	Indexed int // indexed Inputs of an event

	// LayoutUnknown: the text of an event says nothing of its indexed arguments.
	LayoutUnknown bool
	Source        string      // who published it, may be empty
	ID            common.Hash // keccak256(Text); functions and errors use the first four bytes
}

// Selector is the first four bytes of the ID.
func (s *Signature) Selector() [4]byte { return [4]byte(s.ID[:4]) }

// New compiles a signature from its parts.
func New(what What, name string, in, out []Param) (*Signature, error) {
	s := &Signature{What: what, Name: name, Inputs: in, Outputs: out, Text: name + List(in)}
	var err error
	if s.Head, err = Head(in); err != nil {
		return nil, err
	}
	if s.OutHead, err = Head(out); err != nil {
		return nil, err
	}
	for _, p := range in {
		if p.Indexed {
			s.Indexed++
		}
	}
	s.ID = evmsig.Hash(s.Text)
	return s, nil
}
