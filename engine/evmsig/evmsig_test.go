package evmsig

import (
	"bytes"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// The hashes that everybody knows by heart.
func TestKnownHashes(t *testing.T) {
	f := func(got common.Hash, want string) {
		t.Helper()
		if got != common.HexToHash(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(TopicTransfer, "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	f(TopicApproval, "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925")
	f(TopicDeposit, "0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c")
	f(TopicSync, "0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1")
	f(TopicSwapV2, "0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822")
	f(TopicSwapV3, "0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67")
	f(TopicSwapV4, "0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f")

	g := func(got Selector, want string) {
		t.Helper()
		if hex.EncodeToString(got[:]) != want {
			t.Errorf("got %x, want %s", got, want)
		}
	}
	g(SelTransfer, "a9059cbb")
	g(SelTransferFrom, "23b872dd")
	g(SelApprove, "095ea7b3")
	g(SelBalanceOf, "70a08231")
	g(SelTotalSupply, "18160ddd")
	g(SelDeposit, "d0e30db0")
	g(SelWithdraw, "2e1a7d4d")
	g(SelSymbol, "95d89b41")
	g(SelName, "06fdde03")
	g(SelDecimals, "313ce567")
	g(InterfaceERC721, "80ac58cd")
	g(SelAggregate3, "82ad56cb")
	g(SelPermit, "d505accf")
	g(SelValidERC1271, "1626ba7e")
	g(SelSlot0, "3850c7bd")
	g(SelIncreaseAllowance, "39509351")
	g(SelSkim, "bc25cf77")
	g(SelSync, "fff6cae9")
	g(SelGetReserves, "0902f1ac")
	if Func([]byte("transfer(address,uint256)")) != SelTransfer || Hash("x()") == Hash("y()") {
		t.Error("text and bytes hash differently, or everything alike")
	}
}

// TestDeclaredOnce: one name for each signature, in canonical form: no spaces, no
// names of arguments, no short names of types.
func TestDeclaredOnce(t *testing.T) {
	elementary := regexp.MustCompile(`^(address|bool|bytes([1-9]|[12][0-9]|3[0-2])?|string|u?int(8|16|24|32|40|48|56|64|72|80|88|96|104|112|120|128|136|144|152|160|168|176|184|192|200|208|216|224|232|240|248|256))(\[[0-9]*\])*$`)
	name := regexp.MustCompile(`^[a-zA-Z_]\w*\(.*\)$`)
	seen := map[string]string{}
	for file, prefix := range map[string]string{"events.go": "Topic", "functions.go": "Sel"} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			call := v.Values[0].(*ast.CallExpr)
			text, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
			if err != nil || !name.MatchString(text) || !strings.HasPrefix(v.Names[0].Name, prefix) {
				t.Errorf("%s: %s is no declaration of a signature", file, v.Names[0].Name)
			}
			if other := seen[text]; other != "" {
				t.Errorf("%s and %s are both %s", other, v.Names[0].Name, text)
			}
			seen[text] = v.Names[0].Name
			for _, ty := range strings.FieldsFunc(text[strings.Index(text, "("):], func(r rune) bool { return strings.ContainsRune("(),", r) }) {
				if !elementary.MatchString(ty) && ty != "[]" {
					t.Errorf("%s: %q is no canonical type", text, ty)
				}
			}
			return true
		})
	}
	if len(seen) < 90 {
		t.Errorf("%d signatures found", len(seen))
	}
}

// TestDeclaredHere: no other package of the engine hashes the text of a signature that it
// spells out. Package mpp stands apart: its sandbox shares nothing with what it checks.
func TestDeclaredHere(t *testing.T) {
	text := regexp.MustCompile(`^[a-zA-Z_]\w*\([a-z0-9,()\[\]]*\)$`)
	n := 0
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		skip := e.IsDir() && (e.Name() == "evmsig" || e.Name() == "mpp" || e.Name() == "testdata")
		switch {
		case err != nil:
			return err
		case skip:
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		n++
		for _, lit := range hashed(f) {
			if s, err := strconv.Unquote(lit.Value); err == nil && text.MatchString(s) {
				t.Errorf("%s hashes %s; declare it in evmsig, or in a file of package protocol", path, s)
			}
		}
		return nil
	})
	if err != nil || n < 100 {
		t.Errorf("%d files read, %v", n, err)
	}
}

// hashed are the string literals that are arguments of a hash function, or of a variadic
// helper that may hash them.
func hashed(f *ast.File) (list []*ast.BasicLit) {
	names := map[string]bool{"Hash": true, "Func": true, "Keccak256": true, "Keccak256Hash": true, "byte": true, "add": true}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch fn := call.Fun.(type) {
		case *ast.Ident:
			name = fn.Name
		case *ast.SelectorExpr:
			name = fn.Sel.Name
		case *ast.ArrayType:
			name = "byte"
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING && names[name] {
				list = append(list, lit)
			}
		}
		return true
	})
	return list
}

func TestCalled(t *testing.T) {
	f := func(input string, want Selector, begins bool) {
		t.Helper()
		b := common.FromHex(input)
		if got := Called(b); got != want || SelTransfer.Begins(b) != begins {
			t.Errorf("%s: %x, begins with transfer: %v", input, got, SelTransfer.Begins(b))
		}
	}
	f("0xa9059cbb", SelTransfer, true)
	f("0xa9059cbb00", SelTransfer, true)
	f("0xa9059cbc00", Selector{0xa9, 0x05, 0x9c, 0xbc}, false)
	f("0xa9059c", Selector{}, false)
	f("0x", Selector{}, false)
}

func TestWords(t *testing.T) {
	data := make([]byte, 64+31) // two words and a torn one
	data[31], data[32], data[63], data[64] = 7, 0x80, 9, 1
	f := func(i int, unsigned, signed *big.Int) {
		t.Helper()
		w, u, s := Word(data, i), Uint(data, i), Int(data, i)
		if unsigned == nil {
			if w != nil || u != nil || s != nil {
				t.Errorf("word %d: %x, %v, %v, want none", i, w, u, s)
			}
			return
		}
		if len(w) != 32 || u == nil || u.Cmp(unsigned) != 0 || s == nil || s.Cmp(signed) != 0 {
			t.Errorf("word %d: %x, %v, %v", i, w, u, s)
		}
	}
	high := new(big.Int).Lsh(big.NewInt(1), 255)
	high.Add(high, big.NewInt(9))
	f(0, big.NewInt(7), big.NewInt(7))
	f(1, high, new(big.Int).Sub(high, new(big.Int).Lsh(big.NewInt(1), 256)))
	f(2, nil, nil)
	f(-1, nil, nil)
	f(int(^uint(0)>>1), nil, nil)
	if Word(nil, 0) != nil || Uint(nil, 0) != nil || Int([]byte{1}, 0) != nil {
		t.Error("a word of no data")
	}
}

func TestAddress(t *testing.T) {
	f := func(word []byte, want common.Address, ok bool) {
		t.Helper()
		if got, is := Address(word); got != want || is != ok {
			t.Errorf("%x: %s, %v", word, got, is)
		}
	}
	a := common.HexToAddress("0x00000000000000000000000000000000000000ff")
	word := common.LeftPadBytes(a[:], 32)
	f(word, a, true)
	f(make([]byte, 32), common.Address{}, true)
	f(append([]byte{1}, word[1:]...), common.Address{}, false)
	f(append(append(make([]byte, 11), 1), word[12:]...), common.Address{}, false)
	f(word[:31], common.Address{}, false)
	f(append(word, 0), common.Address{}, false)
	f(nil, common.Address{}, false)
}

func TestLength(t *testing.T) {
	f := func(word []byte, limit, want int, ok bool) {
		t.Helper()
		if got, is := Length(word, limit); got != want || is != ok {
			t.Errorf("%x up to %d: %d, %v", word, limit, got, is)
		}
	}
	w := func(b ...byte) []byte { return common.LeftPadBytes(b, 32) }
	f(w(), 0, 0, true)
	f(w(7), 7, 7, true)
	f(w(8), 7, 0, false)
	f(w(0), -1, 0, false)
	f(w(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), int(^uint(0)>>1), 0, false)
	f(w(1, 0, 0, 0, 0, 0, 0, 0, 0), 100, 0, false)
	f(append([]byte{1}, make([]byte, 31)...), 100, 0, false)
	f(make([]byte, 31), 100, 0, false)
	f(nil, 100, 0, false)
}

// TestDynamic: a number, a text and an array, and what is wrong with each.
func TestDynamic(t *testing.T) {
	word := func(n byte) []byte { return common.LeftPadBytes([]byte{n}, 32) }
	join := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	data := join(word(64), word(128), word(3), []byte("abc"), make([]byte, 29), word(2), word(10), word(11))
	if text, ok := Bytes(data, 0); !ok || string(text) != "abc" {
		t.Errorf("text %q, %v", text, ok)
	}
	if list, ok := Words(data, 1); !ok || !bytes.Equal(list, join(word(10), word(11))) {
		t.Errorf("array %x, %v", list, ok)
	}
	if tail, ok := Tail(data, 1); !ok || len(tail) != 96 {
		t.Errorf("tail %x, %v", tail, ok)
	}
	f := func(name string, data []byte, tail bool) {
		t.Helper()
		_, isTail := Tail(data, 0)
		text, isText := Bytes(data, 0)
		list, isList := Words(data, 0)
		if isTail != tail || isText || isList || len(text)+len(list) > 0 {
			t.Errorf("%s: tail %v, text %x %v, array %x %v", name, isTail, text, isText, list, isList)
		}
	}
	f("nothing", nil, false)
	f("no word", make([]byte, 31), false)
	f("an offset behind the end", join(word(64), word(1)), false)
	f("an offset into the last word", join(word(33), word(1)), false)
	f("a length beyond the end", join(word(32), word(33), make([]byte, 32)), true)
	f("a length beyond 64 bits", join(word(32), append([]byte{1}, make([]byte, 31)...), make([]byte, 32)), true)
	if list, ok := Words(join(word(32), word(2), make([]byte, 63)), 0); ok || len(list) > 0 {
		t.Errorf("an array with a torn word: %x", list)
	}
	if text, ok := Bytes(join(word(32), word(0)), 0); !ok || len(text) != 0 {
		t.Errorf("an empty text: %x, %v", text, ok)
	}
}

// FuzzWords: no reader panics, and none gives what lies outside of the data.
func FuzzWords(f *testing.F) {
	f.Add(make([]byte, 96), 0)
	f.Add(append(common.LeftPadBytes([]byte{32}, 32), make([]byte, 64)...), 0)
	f.Add([]byte{1}, -1)
	f.Fuzz(func(t *testing.T, data []byte, i int) {
		Address(Word(data, i))
		Int(data, i)
		text, ok1 := Bytes(data, i)
		list, ok2 := Words(data, i)
		if ok1 && len(data) < 32 || ok2 && len(list)%32 != 0 || len(list) > len(data) || len(text) > len(data) {
			t.Errorf("%d bytes: text of %d, array of %d bytes", len(data), len(text), len(list))
		}
	})
}
