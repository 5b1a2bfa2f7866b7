package rpcjson_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"txlens/engine/ethrpc/rpcjson"
)

// The same quantity in the ways nodes write it, and what is none.
func TestQuantities(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		have := ""
		err := rpcjson.Parse([]byte(in), func(r *rpcjson.Reader) error {
			n := r.Big()
			have = fmt.Sprint(n)
			return r.Err()
		})
		if err != nil {
			have = "refused"
		}
		if have != want {
			t.Errorf("%s: %s (%v), want %s", in, have, err, want)
		}
		var z uint256.Int
		if rpcjson.Parse([]byte(in), func(r *rpcjson.Reader) error { r.Uint256(&z); return r.Err() }) == nil && z.Dec() != orZero(want) {
			t.Errorf("%s: %s in 256 bits, want %s", in, z.Dec(), want)
		}
	}
	f(`null`, "<nil>")
	f(`"0x"`, "0")
	f(`"0x0"`, "0")
	f(`"0x00ff"`, "255")
	f(`"0XfF"`, "255")
	f(`255`, "255")
	f(`"255"`, "255")
	f(`"0x`+strings.Repeat("f", 64)+`"`, "115792089237316195423570985008687907853269984665640564039457584007913129639935")
	f(`115792089237316195423570985008687907853269984665640564039457584007913129639936`, "refused")
	f(`"0x`+strings.Repeat("0", 65)+`"`, "refused")
	f(`"0xg"`, "refused")
	f(`"ff"`, "refused")
	f(`""`, "refused")
	f(`-1`, "refused")
	f(`1.0`, "refused")
	f(`1e2`, "refused")
	f(`true`, "refused")
	f(`[1]`, "refused")
	f(`1 2`, "refused")
	f(``, "refused")
}

func orZero(want string) string {
	if want == "<nil>" {
		return "0"
	}
	return want
}

// Packed data are neighbours; writing behind one must not reach the next.
func TestPack(t *testing.T) {
	var got [][]byte
	in := `["0x0102","0x0304","0x` + strings.Repeat("05", 3000) + `","0x06","0x"]`
	err := rpcjson.Parse([]byte(in), func(r *rpcjson.Reader) error {
		r.Pack = true
		for ok := r.Array(); ok && r.More(); {
			got = append(got, r.Bytes())
		}
		return r.Err()
	})
	if err != nil || len(got) != 5 {
		t.Fatal(err, len(got))
	}
	_ = append(got[0], 9, 9)
	if !bytes.Equal(got[1], []byte{3, 4}) || !bytes.Equal(got[3], []byte{6}) || len(got[2]) != 3000 || got[4] == nil {
		t.Errorf("%v", got[1])
	}
}

// TestAddressPtr: null, an empty string and "0x" are no address; what is too short is an error.
func TestAddressPtr(t *testing.T) {
	f := func(in string, want *common.Address, fails bool) {
		t.Helper()
		var have *common.Address
		err := rpcjson.Parse([]byte(in), func(r *rpcjson.Reader) error { have = r.AddressPtr(); return r.Err() })
		if (err != nil) != fails || !fails && !reflect.DeepEqual(have, want) {
			t.Errorf("%s: %v, %v; want %v", in, have, err, want)
		}
	}
	f(`null`, nil, false)
	f(`""`, nil, false)
	f(`"0x"`, nil, false)
	f(`"0x`+strings.Repeat("00", 20)+`"`, &common.Address{}, false)
	f(`"0x`+strings.Repeat("ab", 20)+`"`, &common.Address{0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab}, false)
	f(`"0xab"`, nil, true)
	f(`"0xzz`+strings.Repeat("ab", 19)+`"`, nil, true)
	f(`7`, nil, true)
}

func TestText(t *testing.T) {
	f := func(in string, limit int, want string) {
		t.Helper()
		var have string
		err := rpcjson.Parse([]byte(in), func(r *rpcjson.Reader) error { have = r.Text(limit); return r.Err() })
		if err != nil || have != want {
			t.Errorf("%s: %q, %v; want %q", in, have, err, want)
		}
	}
	f(`null`, 9, "")
	f(`"a\"\u00e9"`, 9, `a"é`)
	f(`"aéb"`, 2, "a")
	f(`"aéb"`, 3, "aé")
	f(`"\ufffd\ufffd"`, 3, "\uFFFD")
}
