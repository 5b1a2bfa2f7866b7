package report

import (
	"math/big"
	"reflect"
	"testing"

	"txlens/engine/api"
)

// bytesource makes values of any type from the bytes of a fuzzer.
type bytesource struct {
	data  []byte
	left  int    // values still to make: keeps a Result from growing without end
	state uint32 // goes on where the bytes end, from what they were
}

func (s *bytesource) next() int {
	if len(s.data) == 0 {
		s.state = s.state*1664525 + 1013904223
		return int(s.state >> 24)
	}
	s.state = s.state*31 + uint32(s.data[0])
	b := s.data[0]
	s.data = s.data[1:]
	return int(b)
}

// text is a nasty string, a number, or bytes as they come.
func (s *bytesource) text() string {
	switch n := s.next(); {
	case n < 80:
		return nasty[n%len(nasty)]
	case n < 120:
		return "0x" + string("0123456789abcdef"[n%16]) + "000000000000000000"
	case n < 160:
		return string(rune('0'+n%10)) + "00"
	case n < 200:
		m := min(s.next(), len(s.data))
		raw := string(s.data[:m])
		s.data = s.data[m:]
		return raw
	}
	return []string{"", "ok", "failed", "reverted", "CALL", "LOG", "CREATE2", "0.0.1", "success", "high"}[s.next()%10]
}

func (s *bytesource) fill(v reflect.Value) {
	if s.left--; s.left < 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s.text())
	case reflect.Bool:
		v.SetBool(s.next()%2 == 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(s.next()) - 3)
	case reflect.Uint64:
		v.SetUint(uint64(s.next()) << (s.next() % 57))
	case reflect.Uint8:
		v.SetUint(uint64(s.next()))
	case reflect.Array: // an address: few, so that they meet again
		v.Index(v.Len() - 1).SetUint(uint64(s.next() % 9))
	case reflect.Slice:
		n := s.next() % 12
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			s.fill(v.Index(i))
		}
	case reflect.Pointer:
		switch {
		case s.next()%4 == 0:
		case v.Type() == reflect.TypeFor[*big.Int]():
			v.Set(reflect.ValueOf(big.NewInt(int64(s.next()-128) << 20)))
		default:
			v.Set(reflect.New(v.Type().Elem()))
			s.fill(v.Elem())
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{s.text(), []any{s.text(), true}, []api.Arg{{Name: s.text(), Value: s.text()}}}[s.next()%3]))
	case reflect.Struct:
		for i := range v.NumField() {
			s.fill(v.Field(i))
		}
	}
}

// FuzzAnyResult: whatever a Result holds, the page is well formed, made of its own
// elements alone, within its bound and the same each time; the other two writers
// keep their rules.
func FuzzAnyResult(f *testing.F) {
	for i := range 12 {
		f.Add([]byte{byte(i), byte(i * 37), byte(i * 91)})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		make1 := func() *api.Result {
			r := &api.Result{}
			(&bytesource{data: append([]byte(nil), data...), left: 4000}).fill(reflect.ValueOf(r).Elem())
			r.ExplorerBase = "https://etherscan.io"
			return r
		}
		r := make1()
		page := page1(t, r)
		if wrong := checkHTML(page); wrong != "" {
			t.Error(wrong)
		}
		if len(page) > MaxHTML {
			t.Errorf("%d bytes", len(page))
		}
		if page != page1(t, make1()) {
			t.Error("two pages of one result differ")
		}
		if wrong := checkMermaid(Mermaid(r)); wrong != "" {
			t.Error(wrong)
		}
		plain(t, r, TextOptions{})
	})
}
