package decode

import (
	"maps"
	"slices"

	"txlens/engine/decode/internal/signature"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// verified is the index of one contract's ABI; entries are compiled on first use.
type verified struct {
	*Contract
	functions map[[4]byte]abi.Method
	errors    map[[4]byte]abi.Error
	events    map[common.Hash][]abi.Event
	compiled  map[tableKey][]*signature.Signature
}

func newVerified(c *Contract) *verified {
	v := &verified{Contract: c, functions: map[[4]byte]abi.Method{}, errors: map[[4]byte]abi.Error{},
		events: map[common.Hash][]abi.Event{}, compiled: map[tableKey][]*signature.Signature{}}
	if c.ABI == nil {
		return v
	}
	// An ABI may hold one signature twice, with other names: the first by name wins.
	for _, name := range slices.Sorted(maps.Keys(c.ABI.Methods)) {
		m := c.ABI.Methods[name]
		if _, taken := v.functions[[4]byte(m.ID)]; !taken {
			v.functions[[4]byte(m.ID)] = m
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.ABI.Errors)) {
		e := c.ABI.Errors[name]
		if _, taken := v.errors[[4]byte(e.ID[:4])]; !taken {
			v.errors[[4]byte(e.ID[:4])] = e
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.ABI.Events)) {
		if e := c.ABI.Events[name]; !e.Anonymous {
			v.events[e.ID] = append(v.events[e.ID], e)
		}
	}
	return v
}

// find returns the compiled signatures with that id, nil when the ABI has none.
func (v *verified) find(k tableKey) []*signature.Signature {
	if hit, ok := v.compiled[k]; ok {
		return hit
	}
	var out []*signature.Signature
	add := func(name string, in, res abi.Arguments) {
		if s := fromABI(k.what, name, in, res); s != nil && idOf(s) == k.id {
			s.Source = v.Source
			out = append(out, s)
		}
	}
	sel := [4]byte(k.id[:4])
	switch k.what {
	case signature.Func:
		if m, ok := v.functions[sel]; ok {
			add(m.RawName, m.Inputs, m.Outputs)
		}
	case signature.Error:
		if e, ok := v.errors[sel]; ok {
			add(e.Name, e.Inputs, nil)
		}
	case signature.Event:
		for _, e := range v.events[k.id] {
			add(e.RawName, e.Inputs, nil)
		}
	}
	v.compiled[k] = out
	return out
}

// fromABI compiles an entry of the abi package; nil when it cannot be decoded.
func fromABI(what signature.What, name string, in, res abi.Arguments) *signature.Signature {
	params, ok := paramsOf(in)
	results, ok2 := paramsOf(res)
	if !ok || !ok2 || what != ctor && !signature.Identifier(name) {
		return nil
	}
	s, err := signature.New(what, name, params, results)
	if err != nil {
		return nil
	}
	return s
}

// ctor is the key of the constructor, which has no id.
const ctor signature.What = 'c'

func paramsOf(args abi.Arguments) ([]signature.Param, bool) {
	var out []signature.Param
	left := signature.MaxTypes
	for _, a := range args {
		t, ok := typeOf(&a.Type, &left)
		if !ok {
			return nil, false
		}
		out = append(out, signature.Param{Name: safeName(a.Name), Type: t, Indexed: a.Indexed})
	}
	return out, true
}

func typeOf(t *abi.Type, left *int) (*signature.Type, bool) {
	if *left--; *left < 0 {
		return nil, false
	}
	var out *signature.Type
	var err error
	switch t.T {
	case abi.SliceTy, abi.ArrayTy:
		elem, ok := typeOf(t.Elem, left)
		if !ok {
			return nil, false
		}
		if t.T == abi.SliceTy {
			out, err = signature.NewSlice(elem)
		} else {
			out, err = signature.NewArray(elem, t.Size)
		}
	case abi.TupleTy:
		var fields []signature.Param
		for i, e := range t.TupleElems {
			f, ok := typeOf(e, left)
			if !ok {
				return nil, false
			}
			fields = append(fields, signature.Param{Name: safeName(t.TupleRawNames[i]), Type: f})
		}
		out, err = signature.NewTuple(fields)
	default:
		known, ok := signature.Elementary(t.String())
		return known, ok
	}
	return out, err == nil
}
