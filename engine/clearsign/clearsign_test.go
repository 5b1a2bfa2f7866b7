package clearsign

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// TestEmbedded: each file is a descriptor, no two describe one contract, and a function that is
// known elsewhere is found by its selector.
func TestEmbedded(t *testing.T) {
	entries, err := files.ReadDir("descriptors")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Deployment]string{}
	for _, e := range entries {
		raw, err := files.ReadFile("descriptors/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(e.Name(), raw)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, at := range d.Deployments {
			if other := seen[at]; other != "" {
				t.Errorf("%s and %s describe %s on chain %d", other, e.Name(), at.Address, at.ChainID)
			}
			seen[at] = e.Name()
		}
	}
	queue := common.HexToAddress("0x889edC2eDab5f40e902b864aD4d7AdE8E412F9B1")
	claim := append(hexBytes("f8444436"), word(7)...) // claimWithdrawal(uint256), as Etherscan shows it
	f, ok := Find(1, queue, claim)
	if !ok || f.Intent != "Claim a withdrawal" || f.Owner != "Lido" {
		t.Fatalf("%+v", f)
	}
	for _, bad := range []struct {
		chain uint64
		to    common.Address
		in    []byte
	}{{10, queue, claim}, {1, common.Address{1}, claim}, {1, queue, claim[:3]}, {1, queue, []byte{1, 2, 3, 4}}} {
		if _, ok := Find(bad.chain, bad.to, bad.in); ok {
			t.Errorf("%+v is known", bad)
		}
	}
}

func hexBytes(s string) []byte { b, _ := hex.DecodeString(s); return b }

func word(n uint64) []byte { return common.BigToHash(new(big.Int).SetUint64(n)).Bytes() }

func selector(signature string) []byte { return crypto.Keccak256([]byte(signature))[:4] }

const head = `{"context":{"contract":{"deployments":[{"chainId":1,"address":"0x00000000000000000000000000000000000000aa"}]}},"metadata":{"owner":"Some"},"display":{"formats":{`

func describe(formats string) string { return head + formats + `}}}` }

// TestValues: each format, paths into tuples, and what does not fit.
func TestValues(t *testing.T) {
	const signature = `f((address token,uint256 amount) order,address to,string note,uint64 until,bool yes,uint256[] list)`
	fields := []string{
		`{"path":"#.order.amount","label":"amount","format":"tokenAmount","params":{"tokenPath":"order.token"}}`,
		`{"path":"to","label":"to","format":"addressName"}`,
		`{"path":"note","label":"note"}`,
		`{"path":"until","label":"until","format":"date"}`,
		`{"path":"yes","label":"yes","format":"raw"}`,
		`{"path":"@.value","label":"value","format":"amount"}`,
		`{"path":"list","label":"list"}`,
		`{"path":"note","label":"no number","format":"duration"}`,
		`{"path":"order.amount","label":"own","format":"tokenAmount","params":{"tokenPath":"@.to"}}`,
		`{"path":"order.amount","label":"fixed","format":"tokenAmount","params":{"token":"0x00000000000000000000000000000000000000cc"}}`,
		`{"path":"order.amount","label":"no token","format":"tokenAmount","params":{"tokenPath":"note"}}`,
	}
	d, err := Parse("x.json", []byte(describe(`"`+signature+`":{"intent":"Do it","fields":[`+strings.Join(fields, ",")+`]}`)))
	if err != nil {
		t.Fatal(err)
	}
	in := selector("f((address,uint256),address,string,uint64,bool,uint256[])")
	f := d.functions[[4]byte(in)]
	if f == nil {
		t.Fatal("the selector is another")
	}
	const offset = 7 * 32
	for _, w := range [][]byte{word(0xbb), word(500), word(0xdd), word(offset), word(1700000000), word(1), word(offset + 64), word(3), common.RightPadBytes([]byte("abc"), 32), word(0)} {
		in = append(in, w...)
	}
	var got []string
	for _, v := range f.Values(common.HexToAddress("0xaa"), in, big.NewInt(9)) {
		shown := v.Text
		if v.Number != nil {
			shown = v.Number.String()
		}
		if v.Address != nil {
			shown = v.Address.Hex()[40:]
		}
		got = append(got, fmt.Sprintf("%s=%s %s %s", v.Label, shown, v.Format, v.Token.Hex()[40:]))
	}
	want := "amount=500 tokenAmount bb; to=DD addressName 00; note=abc raw 00; until=1700000000 date 00; yes=true raw 00; value=9 amount 00; " +
		"own=500 tokenAmount AA; fixed=500 tokenAmount cc"
	if all := strings.Join(got, "; "); !strings.EqualFold(all, want) {
		t.Errorf("%s\nwant %s", all, want)
	}
	for _, bad := range [][]byte{nil, in[:4], in[:100], append(in[:4:4], make([]byte, maxCalldata)...)} {
		if list := f.Values(common.Address{}, bad, nil); len(list) != 0 {
			t.Errorf("%d bytes: %+v", len(bad), list)
		}
	}
}

// TestParseFaults: what is wrong is named with file and place.
func TestParseFaults(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := Parse("x.json", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "x.json: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: %v, want %s", text, err, want)
		}
	}
	one := func(signature, rest string) string {
		return describe(`"` + signature + `":{"intent":"Do it",` + rest + `}`)
	}
	field := func(text string) string { return one("f(uint256 a,address b)", `"fields":[`+text+`]`) }
	f(``, "x.json: ")
	f(`{"includes":"other.json"}`, "includes: ")
	f(`{"context":{"eip712":{}}}`, "context.contract.deployments: there is none")
	f(strings.Replace(describe(`"f()":{"intent":"Do it"}`), "aa\"", "zz\"", 1), "address")
	f(strings.Replace(describe(`"f()":{"intent":"Do it"}`), "Some", "\\u202eSome", 1), "metadata.owner")
	f(describe(``), "display.formats: there is none")
	f(describe(`"f()":{"intent":{"a":"b"}}`), "intent: ")
	f(describe(`"f()":{"intent":"`+strings.Repeat("x", 81)+`"}`), "intent: ")
	f(one("0x12345678", `"fields":[]`), "want a function with the names")
	f(one("f(uint256)", `"fields":[]`), `argument "uint256" has no name`)
	f(one("f(uint7 a)", `"fields":[]`), `argument "a"`)
	f(one("f(uint256[99999] a)", `"fields":[]`), `argument "a"`)
	f(one("f(()[] a)", `"fields":[]`), "without members")
	f(one("f(uint256 a,uint256 a)", `"fields":[]`), "two arguments")
	f(one("f((uint256 a b)", `"fields":[]`), "a bracket is not closed")
	f(one("f(((((((uint8 a) a) a) a) a) a) a)", `"fields":[]`), "deep")
	f(describe(`"f(uint256 a)":{"intent":"x"},"f(uint256 b)":{"intent":"y"}`), "another format has the selector")
	f(field(`{"$ref":"#/x"}`), "field 1: $ref")
	f(field(`{"path":"a"}`), "label: ")
	f(field(`{"path":"c","label":"x"}`), "there is no argument")
	f(field(`{"path":"a.b","label":"x"}`), "has no parts")
	f(field(`{"path":"a","label":"x","format":"nftName"}`), "is not read")
	f(field(`{"path":"a","label":"x","format":"tokenAmount"}`), "wants tokenPath or token")
	f(describe(`"f()":{"intent":"x"}`)+strings.Repeat(" ", maxFile), "larger than")
}

// FuzzParse: any file is a descriptor or an error, and any calldata is decoded or not.
func FuzzParse(f *testing.F) {
	f.Add([]byte(describe(`"f((address a,uint256 b)[] o,bytes c)":{"intent":"x","fields":[{"path":"c","label":"y"}]}`)), []byte("123456789"))
	f.Fuzz(func(t *testing.T, raw, in []byte) {
		d, err := Parse("x.json", raw)
		if err != nil {
			return
		}
		for selector, fn := range d.functions {
			fn.Values(common.Address{}, append(selector[:], in...), big.NewInt(1))
		}
	})
}
