package decode

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/decode/internal/signature"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// The oracle: go-ethereum unpacks the bytes and packs them again. What comes back
// the same must be accepted, what does not must be refused.

// leaves are the types of the oracle. Of integers between the sizes of Go's own,
// go-ethereum checks no range, so it cannot judge them.
var leaves = []string{"uint8", "uint16", "uint32", "uint64", "uint256", "int8", "int16", "int32", "int64", "int256",
	"bool", "address", "bytes1", "bytes4", "bytes20", "bytes32", "bytes", "string"}

// randomType writes a JSON parameter of random type.
func randomType(r *rand.Rand, depth int) string {
	suffix := ""
	for depth > 0 && r.IntN(3) == 0 && len(suffix) < 8 {
		suffix += []string{"[]", "[1]", "[2]", "[3]"}[r.IntN(4)]
	}
	if depth > 0 && r.IntN(4) == 0 {
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, randomType(r, depth-1))
		}
		return fmt.Sprintf(`{"name":"n%d","type":"tuple%s","components":[%s]}`, r.IntN(1e6), suffix, strings.Join(parts, ","))
	}
	return fmt.Sprintf(`{"name":"n%d","type":"%s%s"}`, r.IntN(1e6), leaves[r.IntN(len(leaves))], suffix)
}

func randomMethod(t testing.TB, r *rand.Rand) (abi.Method, *signature.Signature) {
	var parts []string
	for range 1 + r.IntN(4) {
		parts = append(parts, randomType(r, 3))
	}
	parsed, err := ParseABI([]byte(`[{"type":"function","name":"f","inputs":[` + strings.Join(parts, ",") + `]}]`))
	if err != nil {
		t.Fatalf("%v: %s", err, parts)
	}
	m := parsed.Methods["f"]
	s := fromABI(signature.Func, "f", m.Inputs, nil)
	if s == nil || s.Text != m.Sig {
		t.Fatalf("compiled %v, want %s", s, m.Sig)
	}
	return m, s
}

// fill gives a value of t random content.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Ptr: // *big.Int
		b := make([]byte, r.IntN(32))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		v.Set(reflect.ValueOf(new(big.Int).SetBytes(b)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(strings.Repeat("txt é", r.IntN(20)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()))
	default:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
	}
}

func randomValues(r *rand.Rand, args abi.Arguments) []any {
	var out []any
	for _, a := range args {
		v := reflect.New(a.Type.GetType()).Elem()
		fill(r, v)
		out = append(out, v.Interface())
	}
	return out
}

// plain renders a Go value of package abi as api.Arg says.
func plain(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case *big.Int:
		return x.String()
	case common.Address:
		return strings.ToLower(x.Hex())
	case string:
		if len([]rune(x)) > maxText {
			return string([]rune(x)[:maxText])
		}
		return x
	case []byte:
		return "0x" + hex.EncodeToString(x)
	case bool:
		return x
	}
	switch v.Kind() {
	case reflect.Struct:
		out := []api.Arg{}
		for i := range v.NumField() {
			out = append(out, api.Arg{Value: plain(v.Field(i))})
		}
		return out
	case reflect.Array, reflect.Slice:
		if v.Kind() == reflect.Array && v.Type().Elem().Kind() == reflect.Uint8 {
			b := make([]byte, v.Len())
			reflect.Copy(reflect.ValueOf(b), v)
			return "0x" + hex.EncodeToString(b)
		}
		out := []any{}
		for i := range v.Len() {
			out = append(out, plain(v.Index(i)))
		}
		return out
	}
	return fmt.Sprint(v.Interface())
}

func valuesOf(v any) string {
	switch x := v.(type) {
	case []api.Arg:
		var parts []string
		for _, a := range x {
			parts = append(parts, valuesOf(a.Value))
		}
		return "(" + strings.Join(parts, ",") + ")"
	case []any:
		var parts []string
		for _, a := range x {
			parts = append(parts, valuesOf(a))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprint(v)
}

func TestReadsWhatGoEthereumPacks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		m, s := randomMethod(t, r)
		if strings.Contains(s.Text, "uint8[") { // Go cannot tell uint8[n] from bytesN
			continue
		}
		in := randomValues(r, m.Inputs)
		data, err := m.Inputs.Pack(in...)
		if err != nil {
			t.Fatalf("%s: %v", s.Text, err)
		}
		got, note, ok := newValues().read(s.Inputs, s.Head, data, exact)
		if !ok || note != "" {
			t.Fatalf("%s refuses %x (%s)", s.Text, data, note)
		}
		var want []api.Arg
		for _, v := range in {
			want = append(want, api.Arg{Value: plain(reflect.ValueOf(v))})
		}
		if valuesOf(got) != valuesOf(want) {
			t.Fatalf("%s\n got %s\nwant %s", s.Text, valuesOf(got), valuesOf(want))
		}
	}
}

// mutate changes bytes the way a wrong guess differs: a word, a bit, the length.
func mutate(r *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	switch r.IntN(6) {
	case 0:
		out = append(out, make([]byte, 1+r.IntN(40))...)
	case 1:
		if len(out) > 0 {
			out = out[:r.IntN(len(out))]
		}
	case 2, 3: // an offset or a length moves
		if len(out) >= 32 {
			w := out[32*r.IntN(len(out)/32):]
			binary.BigEndian.PutUint64(w[24:32], uint64(32*r.IntN(len(out)/16)))
		}
	default:
		if len(out) > 0 {
			out[r.IntN(len(out))] ^= 1 << r.IntN(8)
		}
	}
	return out
}

// reproduces is the oracle.
func reproduces(args abi.Arguments, data []byte) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	v, err := args.Unpack(data)
	if err != nil {
		return false
	}
	again, err := args.Pack(v...)
	return err == nil && bytes.Equal(again, data)
}

func TestAgreesWithReencoding(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	accepted, refused := 0, 0
	for range 4000 {
		m, s := randomMethod(t, r)
		data, err := m.Inputs.Pack(randomValues(r, m.Inputs)...)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			b := mutate(r, data)
			_, _, ok := newValues().read(s.Inputs, s.Head, b, exact)
			if ok != reproduces(m.Inputs, b) {
				t.Fatalf("%s: accepted %t, re-encoding says %t: %x", s.Text, ok, !ok, b)
			}
			if ok {
				accepted++
			} else {
				refused++
			}
		}
	}
	if accepted < 2000 || refused < 2000 {
		t.Errorf("the cases are one-sided: %d accepted, %d refused", accepted, refused)
	}
}

// FuzzRead: for any signature and bytes no panic, bounded output, and agreement
// with re-encoding wherever the oracle can judge.
func FuzzRead(f *testing.F) {
	f.Add("f(address,uint256)", make([]byte, 64))
	f.Add("f(bytes,(string,uint8[])[2],bool)", bytes.Repeat([]byte{0, 32}, 200))
	f.Add("f(uint256[][][][])", bytes.Repeat(append(make([]byte, 31), 32), 40))
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		s, err := signature.Parse(signature.Func, text)
		if err != nil {
			return
		}
		for _, m := range []mode{exact, trailing, lenient, repaired} {
			args, _, ok := newValues().read(s.Inputs, s.Head, data, m)
			if ok && len(args) != len(s.Inputs) {
				t.Fatalf("%d arguments of %s", len(args), s.Text)
			}
			if ok && m == exact {
				if in, geth := oracleArgs(s); geth && !reproduces(in, data) {
					t.Fatalf("%s accepts %x, which does not come back", s.Text, data)
				}
			}
		}
	})
}

// oracleArgs builds the arguments of package abi for a signature without tuples.
func oracleArgs(s *signature.Signature) (abi.Arguments, bool) {
	var out abi.Arguments
	for _, p := range s.Inputs {
		t, err := abi.NewType(p.Type.Text, "", nil)
		if err != nil || strings.ContainsAny(p.Type.Text, "(") || p.Type.Head > 1<<12 {
			return nil, false
		}
		out = append(out, abi.Argument{Type: t})
	}
	return out, true
}
