package zoo

import (
	"fmt"
	"math/big"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
)

// tuple is a value of a struct type: its members in order. The scripts have no types
// for the structs of every protocol; shape makes what the packer wants of them.
type tuple []any

// list is an array whose elements are shaped.
type list []any

// shapes gives arguments the types that the packer asks for.
func shapes(inputs abi.Arguments, args []any) []any {
	if len(inputs) != len(args) {
		return args // the packer says what is wrong
	}
	shaped := make([]any, len(args))
	for i := range args {
		shaped[i] = shape(inputs[i].Type, args[i]).Interface()
	}
	return shaped
}

func shape(t abi.Type, v any) reflect.Value {
	want := t.GetType()
	switch v := v.(type) {
	case tuple:
		made := reflect.New(want).Elem()
		for i, elem := range t.TupleElems {
			made.Field(i).Set(shape(*elem, v[i]))
		}
		return made
	case list:
		made := reflect.MakeSlice(want, len(v), len(v))
		for i := range v {
			made.Index(i).Set(shape(*t.Elem, v[i]))
		}
		return made
	case int:
		if want == reflect.TypeFor[*big.Int]() {
			return reflect.ValueOf(big.NewInt(int64(v)))
		}
		return reflect.ValueOf(v).Convert(want)
	}
	return reflect.ValueOf(v)
}

// encode is abi.encode of values of these types: "(address,uint256,bytes)".
func encode(tb testing.TB, types string, values ...any) []byte {
	tb.Helper()
	sel, err := abi.ParseSelector("f" + types)
	if err != nil {
		tb.Fatalf("read types %s: %v", types, err)
	}
	var args abi.Arguments
	for _, in := range sel.Inputs {
		t, err := abi.NewType(in.Type, "", in.Components)
		if err != nil {
			tb.Fatalf("read type %s: %v", in.Type, err)
		}
		args = append(args, abi.Argument{Name: in.Name, Type: t})
	}
	data, err := args.Pack(shapes(args, values)...)
	if err != nil {
		tb.Fatalf("encode %s: %v", types, err)
	}
	return data
}

// methods is the interface of functions that are written as "name(types)": for
// contracts whose packages publish none, and to call what no package knows.
func methods(signatures ...string) abi.ABI {
	made := abi.ABI{Methods: map[string]abi.Method{}}
	for _, s := range signatures {
		sel, err := abi.ParseSelector(s)
		if err != nil {
			panic(fmt.Sprintf("read signature %s: %v", s, err))
		}
		var args abi.Arguments
		for _, in := range sel.Inputs {
			t, err := abi.NewType(in.Type, "", in.Components)
			if err != nil {
				panic(fmt.Sprintf("read signature %s: %v", s, err))
			}
			args = append(args, abi.Argument{Name: in.Name, Type: t})
		}
		made.Methods[sel.Name] = abi.NewMethod(sel.Name, sel.Name, abi.Function, "nonpayable", false, false, args, nil)
	}
	return made
}
