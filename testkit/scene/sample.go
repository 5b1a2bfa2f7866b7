package scene

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/facts"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Leaf is a value of an encoded argument list, in the order in which package
// protocol lists the roles: tuples are opened, arrays are not.
type Leaf struct {
	Kind  abi.Type
	Value reflect.Value
	Top   int // position of the argument that it is, or is part of
}

// Arguments makes the ABI types of a signature text, without help of package protocol.
func Arguments(tb testing.TB, signature string) (args abi.Arguments) {
	tb.Helper()
	_, list, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
	for _, kind := range splitKinds(list) {
		args = append(args, abi.Argument{Type: abiType(tb, kind)})
	}
	return args
}

func splitKinds(list string) (kinds []string) {
	depth, from := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0 && i > from:
			kinds, from = append(kinds, list[from:i]), i+1
		}
	}
	return kinds
}

func abiType(tb testing.TB, kind string) abi.Type {
	tb.Helper()
	m := marshaling("", kind)
	typ, err := abi.NewType(m.Type, "", m.Components)
	if err != nil {
		tb.Fatalf("%s: %v", kind, err)
	}
	return typ
}

func marshaling(name, kind string) abi.ArgumentMarshaling {
	if !strings.HasPrefix(kind, "(") {
		return abi.ArgumentMarshaling{Name: name, Type: kind}
	}
	end := strings.LastIndexByte(kind, ')')
	m := abi.ArgumentMarshaling{Name: name, Type: "tuple" + kind[end+1:]}
	for i, k := range splitKinds(kind[1:end]) {
		m.Components = append(m.Components, marshaling("f"+strconv.Itoa(i), k))
	}
	return m
}

// filler gives every value another content, so that a wrong place reads a wrong value.
type filler struct{ n int64 }

func (f *filler) value(typ abi.Type) reflect.Value {
	v := reflect.New(typ.GetType()).Elem()
	f.fill(v)
	return v
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch x := v.Addr().Interface().(type) {
	case *common.Address:
		x[0], x[19] = 0xaa, byte(f.n)
		return
	case **big.Int:
		*x = big.NewInt(1000 + f.n)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.n % 100)
	default:
		v.SetUint(uint64(f.n % 100))
	}
}

func Leaves(top int, typ abi.Type, v reflect.Value) (list []Leaf) {
	if typ.T != abi.TupleTy {
		return []Leaf{{typ, v, top}}
	}
	for i, e := range typ.TupleElems {
		list = append(list, Leaves(top, *e, v.Field(i))...)
	}
	return list
}

// Pack encodes values; what does not encode is a mistake of this test.
func Pack(tb testing.TB, args abi.Arguments, values []reflect.Value) []byte {
	tb.Helper()
	var list []any
	for _, v := range values {
		list = append(list, v.Interface())
	}
	b, err := args.Pack(list...)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Sample is a log or calldata of a row with what its roles should read.
type Sample struct {
	Log    *ethrpc.Log
	Input  []byte
	Leaves []Leaf
}

// SampleLog makes a log of a row. The roles say which arguments are indexed; a row that
// declares none has its parties where the row says, and the reader of all words else.
func SampleLog(tb testing.TB, e *facts.EventRule, emitter, reader common.Address) *Sample {
	tb.Helper()
	s := &Sample{Log: &ethrpc.Log{Address: emitter, Topics: []common.Hash{crypto.Keccak256Hash([]byte(e.Signature))}}}
	args := Arguments(tb, e.Signature)
	fill := &filler{}
	if len(e.Roles.List) == 0 && len(args) > 0 {
		n := max(e.Indexed, 0)
		for _, p := range e.Party {
			if p.Topic {
				n = max(n, p.N)
			}
		}
		for range n {
			s.Log.Topics = append(s.Log.Topics, common.BytesToHash(reader[:]))
		}
		for range 24 {
			s.Log.Data = append(s.Log.Data, common.LeftPadBytes(reader[:], 32)...)
		}
		return s
	}
	var plain abi.Arguments
	var values []reflect.Value
	next := 0
	for i, arg := range args {
		v := fill.value(arg.Type)
		for _, p := range e.Party {
			r := &e.Roles.List[next].Slot
			if r.Topic == p.Topic && r.N == p.N && len(p.Inside)+len(r.Inside) == 0 && arg.Type.T == abi.AddressTy {
				v.Set(reflect.ValueOf(reader)) // so that the act is the reader's
			}
		}
		if name := e.Roles.List[next].Name; e.Act == facts.ActTransfer && (name == "from" || name == "sender") {
			v.Set(reflect.ValueOf(reader)) // what the reader gave is its act
		}
		own := Leaves(i, arg.Type, v)
		s.Leaves = append(s.Leaves, own...)
		if e.Roles.List[next].Slot.Topic {
			s.Log.Topics = append(s.Log.Topics, TopicOf(tb, arg.Type, v))
		} else {
			plain, values = append(plain, arg), append(values, v)
		}
		next += len(own)
	}
	s.Log.Data = Pack(tb, plain, values)
	return s
}

func TopicOf(tb testing.TB, typ abi.Type, v reflect.Value) common.Hash {
	if b := Pack(tb, abi.Arguments{{Type: typ}}, []reflect.Value{v}); len(b) == 32 {
		return common.Hash(b)
	}
	return crypto.Keccak256Hash([]byte(fmt.Sprint(v.Interface()))) // a hash of what was indexed
}

func SampleCall(tb testing.TB, c *facts.CallRule) *Sample {
	tb.Helper()
	s := &Sample{Input: crypto.Keccak256([]byte(c.Signature))[:4]}
	fill := &filler{}
	args := Arguments(tb, c.Signature)
	var values []reflect.Value
	for i, arg := range args {
		values = append(values, fill.value(arg.Type))
		s.Leaves = append(s.Leaves, Leaves(i, arg.Type, values[i])...)
	}
	s.Input = append(s.Input, Pack(tb, args, values)...)
	return s
}
