package decode

import (
	"maps"
	"slices"

	"txlens/engine/decode/internal/signature"
	"txlens/engine/evmsig"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/accounts/abi"
)

// Own are signatures that a user gave, for any contract. They are read before the tables of the
// program, and like these only where the bytes fit. Once filled it is read-only.
type Own struct {
	byKey map[tableKey][]candidate
}

// NewOwn returns an empty set.
func NewOwn() *Own { return &Own{byKey: map[tableKey][]candidate{}} }

// find returns the candidates of an id; o may be nil.
func (o *Own) find(k tableKey) []candidate {
	if o == nil {
		return nil
	}
	return o.byKey[k]
}

func (o *Own) add(s *signature.Signature, source string) {
	if s == nil {
		return
	}
	s.Source = source
	k := tableKey{s.What, idOf(s)}
	o.byKey[k] = append(o.byKey[k], candidate{s, FromOwn})
}

// AddABI adds the functions, errors and events of an ABI; source names its file.
func (o *Own) AddABI(a *abi.ABI, source string) {
	for _, name := range slices.Sorted(maps.Keys(a.Methods)) {
		m := a.Methods[name]
		o.add(fromABI(signature.Func, m.RawName, m.Inputs, m.Outputs), source)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Errors)) {
		o.add(fromABI(signature.Error, a.Errors[name].Name, a.Errors[name].Inputs, nil), source)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Events)) {
		if e := a.Events[name]; !e.Anonymous {
			o.add(fromABI(signature.Event, e.RawName, e.Inputs, nil), source)
		}
	}
}

// AddProtocol adds the declarations of a protocol; source names its file.
func (o *Own) AddProtocol(p *protocol.Protocol, source string) {
	for i := range p.Signatures {
		d := &p.Signatures[i]
		if !d.Decoded {
			continue
		}
		s, err := signature.Parse(whatOf(d.Kind), d.Published)
		if err == nil && s.Text == d.Text && (s.What != signature.Event || s.ID == evmsig.Hash(d.Text)) {
			o.add(s, source)
		}
	}
}
