package decode

import (
	"txlens/engine/api"
	"txlens/engine/decode/internal/signature"
	"txlens/engine/trace"
)

// maxConstructorWords bounds the suffixes tried as constructor arguments.
const maxConstructorWords = 2048

// constructor decodes a creation if the ABI of the created contract is verified. The
// arguments follow the creation code, whose length is unknown: they are the only suffix of
// the input that is a complete encoding of the types.
func (d *Decoder) constructor(f *trace.Frame) *Call {
	if !f.HasTo {
		return nil
	}
	v := d.contract(f.To)
	if v == nil {
		return nil
	}
	s := fromABI(ctor, "constructor", v.ABI.Constructor.Inputs, nil)
	if s == nil {
		return nil
	}
	c := &Call{Name: "constructor", Signature: s.Text, Provenance: FromVerified, Source: v.Source}
	if len(s.Inputs) == 0 {
		c.Args = []api.Arg{}
		return c
	}
	c.Args = d.tail(s, f.Input)
	return c
}

// tail returns the only suffix of input that s decodes exactly; nil when there is none or
// more than one.
func (d *Decoder) tail(s *signature.Signature, input []byte) []api.Arg {
	dynamic := false
	for _, p := range s.Inputs {
		dynamic = dynamic || p.Type.Dynamic
	}
	last := s.Head
	if dynamic {
		last = maxConstructorWords * 32
	}
	// All tries together may look at a few times the input, not at its square.
	work := 16 * (len(input)/32 + maxConstructorWords)
	var found []api.Arg
	for n := s.Head; n <= last && n < len(input) && work > 0; n += 32 {
		data := input[len(input)-n:]
		r := reader{data: data, show: maxValues, out: d.vals}
		args, ok := r.args(s.Inputs, 0, s.Head)
		work += r.work // counts down from zero
		if !ok || r.next != len(data) {
			continue
		}
		if found != nil {
			return nil
		}
		found = args
	}
	return found
}
