package laws

import (
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"txlens/engine/evmsig"
)

// declareTheirOwn are the folders that may hash signatures: the package for it, the
// payment protocol with its sandbox, which must share nothing with what it judges, and
// the zoo of exploits.
var declareTheirOwn = []string{"testkit", "bench/peers", "engine/evmsig", "engine/mpp/tempo", "engine/mpp/sandbox", "zoo"}

// notSignatures are hashes of texts and four-byte constants that look like signatures
// and are none, by file and what is hashed or typed.
var notSignatures = []string{
	"engine/statediff/published.go text", // names of storage slots
	"engine/statediff/published.go org.zeppelinos.proxy.implementation",
	"engine/statediff/published.go PROXIABLE",
	"engine/statediff/published.go matic.network.proxy.implementation",
	"engine/statediff/published.go fallback_manager.handler.address",
	"engine/statediff/published.go guard_manager.guard.address",
	"engine/decode/upgrade.go diamond.standard.diamond.storage",
	"engine/statediff/layout.go 87a211a2", // seeds of Solady's slots of balances and allowances
	"engine/statediff/layout.go 7f5e9f20",
	"engine/check/question.go an account without any right", // a made-up address
}

// TestSignaturesAreDeclaredOnce: topics and selectors come from engine/evmsig.
func TestSignaturesAreDeclaredOnce(t *testing.T) {
	known := declared(t)
	used := map[string]bool{}
	eachFile(t, declareTheirOwn, func(s *source) {
		for _, c := range signatureCopies(s, known) {
			exempt := s.path + " " + c.what
			if used[exempt] = true; !slices.Contains(notSignatures, exempt) {
				t.Errorf("%s: %q %s; what is no signature is added to notSignatures as %q", c.at, c.what, c.why, exempt)
			}
		}
	})
	for _, exempt := range notSignatures {
		if !used[exempt] {
			t.Errorf("notSignatures has %q, which is hashed or typed no longer; remove the entry", exempt)
		}
	}

	found := func(want int, body string) {
		t.Helper()
		if got := signatureCopies(parseBody(t, body), known); len(got) != want {
			t.Errorf("%s: found %v, want %d", body, got, want)
		}
	}
	found(2, `x = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))`)
	found(2, `x = [4]byte(crypto.Keccak256([]byte("f()"))[:4])`)
	found(1, `x = crypto.Keccak256([]byte("f(" + types + ")"))`)
	found(1, `x = crypto.Keccak256([]byte(signature))`)
	found(1, `h := sha3.NewLegacyKeccak256()`)
	found(2, `x = evmsig.Func("f()")`)
	found(1, `x = evmsig.Hash("f" + "()")`)
	found(1, `x = [4]byte{0xd0, 0xe3, 0x0d, 0xb1}`)
	found(1, `x = []byte{0xd0, 0xe3, 0x0d, 0xb1}`)
	found(2, `x = [2][]byte{{0x95, 0xd8, 0x9b, 0x42}, {6, 0xfd, 0xde, 3}}`)
	found(1, `x = "0x70a08231"`)
	found(1, `x = "70A08231"`)
	found(1, `x = "\x70\xa0\x82\x31"`)
	found(1, `x = 0x70a08231`)
	found(1, `x = common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")`)
	found(1, `x = setOf("transfer(address,uint256)")`)
	found(1, `x = "sync()"`)
	found(0, `x = "no (address)"; y = "(uint256)"`)
	found(0, `x = crypto.Keccak256(code); y = crypto.Keccak256Hash(key[:], base[:])`)
	found(0, `x = evmsig.Func(text); y = evmsig.Hash(cells[colSignature])`)
	found(0, `x = []byte{1, 2, 3, 4, 5}; y = [3]byte{1, 2, 3}; z = []byte{a, b, c, d}; v = [4]int{1, 2, 3, 4}`)
	found(0, `x = "0x12345678"; y = 0x12345678; z = "deadbeef"`)
}

// copied is one signature outside of its package.
type copied struct {
	at, what, why string
}

// declared are the hashes that engine/evmsig declares, and their first four bytes, in
// hexadecimal.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	m := map[string]bool{}
	for _, file := range []string{"events.go", "functions.go"} {
		src, err := os.ReadFile(filepath.Join(root, "engine", "evmsig", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range regexp.MustCompile(`= (?:Hash|Func)\("(.*?)"\)`).FindAllSubmatch(src, -1) {
			h := evmsig.Hash(text[1])
			m[hex.EncodeToString(h[:])], m[hex.EncodeToString(h[:4])] = true, true
		}
	}
	if len(m) < 180 {
		t.Fatalf("%d hashes are declared", len(m))
	}
	return m
}

var hexText = regexp.MustCompile(`^(0[xX])?([0-9a-fA-F]{8}|[0-9a-fA-F]{64})$`)

// signatureText is a function or event as it is hashed.
var signatureText = regexp.MustCompile(`^[a-zA-Z_]\w*\(((address|bool|bytes|string|u?int|\()[a-z0-9,()\[\]]*)?\)$`)

// judges reports whether the rules lie in a file: they name functions by engine/evmsig, and
// hand no text to helpers that hash it.
func judges(path string) bool {
	return slices.ContainsFunc([]string{"engine/check/", "engine/facts/", "engine/classify/", "engine/gather/", "made.go"}, func(folder string) bool {
		return strings.HasPrefix(path, folder)
	})
}

// signatureCopies lists what a file hashes that may be a signature, and the hashes of
// signatures that it holds as numbers.
func signatureCopies(s *source, known map[string]bool) (list []copied) {
	say := func(n ast.Node, what, why string) { list = append(list, copied{s.at(n), what, why}) }
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch name := calledName(n); {
			case name == "NewLegacyKeccak256":
				say(n, name, "makes a hash of its own; declare the signature in engine/evmsig and use that name")
			case strings.HasPrefix(name, "Keccak256"):
				for _, arg := range n.Args {
					if text, ok := textOf(arg); ok {
						say(n, text, "is a text that is hashed; declare the signature in engine/evmsig and use that name")
					}
				}
			case (name == "Hash" || name == "Func") && len(n.Args) == 1 && ownedBy(n, "evmsig") && isText(n.Args[0]):
				say(n, literal(n.Args[0]), "declares a signature; move the declaration to engine/evmsig")
			}
		case *ast.CompositeLit:
			for _, four := range fourBytes(n) {
				say(n, four, "is four bytes like a selector; use the name of engine/evmsig")
			}
		case *ast.BasicLit:
			if v, ok := hashOf(n); ok && known[v] {
				say(n, v, "is the hash of a signature as a number; use the name of engine/evmsig")
			}
			if text, err := strconv.Unquote(n.Value); judges(s.path) && n.Kind == token.STRING && err == nil && signatureText.MatchString(text) {
				say(n, text, "is a signature; declare it, or the set that it belongs to, in engine/evmsig")
			}
		}
		return true
	})
	return list
}

func calledName(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func ownedBy(c *ast.CallExpr, pkg string) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// textOf is what a conversion []byte(…) converts: a literal, or the expression's name.
func textOf(x ast.Expr) (string, bool) {
	c, ok := x.(*ast.CallExpr)
	if !ok || len(c.Args) != 1 {
		return "", false
	}
	if a, ok := c.Fun.(*ast.ArrayType); !ok || a.Len != nil {
		return "", false
	}
	return literal(c.Args[0]), true
}

// isText reports whether a literal string is part of the expression.
func isText(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return x.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(x.X) && isText(x.Y)
	}
	return false
}

func literal(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(x.Value)
		return s
	case *ast.BinaryExpr:
		return literal(x.X) + literal(x.Y)
	case *ast.Ident:
		return x.Name
	}
	return "an expression"
}

// fourBytes lists the values of four literal bytes in a literal of bytes, or in the
// bytes that it holds.
func fourBytes(c *ast.CompositeLit) (list []string) {
	a, ok := c.Type.(*ast.ArrayType)
	if !ok {
		return nil
	}
	if inner, ok := a.Elt.(*ast.ArrayType); ok && isByte(inner.Elt) {
		for _, e := range c.Elts {
			if e, ok := e.(*ast.CompositeLit); ok && e.Type == nil {
				list = append(list, four(e)...)
			}
		}
		return list
	}
	if isByte(a.Elt) {
		return four(c)
	}
	return nil
}

func isByte(x ast.Expr) bool {
	i, ok := x.(*ast.Ident)
	return ok && (i.Name == "byte" || i.Name == "uint8")
}

func four(c *ast.CompositeLit) []string {
	if len(c.Elts) != 4 {
		return nil
	}
	var s string
	for _, e := range c.Elts {
		b, ok := e.(*ast.BasicLit)
		if !ok || b.Kind != token.INT {
			return nil
		}
		v, err := strconv.ParseUint(b.Value, 0, 8)
		if err != nil {
			return nil
		}
		s += fmt.Sprintf("%02x", v)
	}
	return []string{s}
}

// hashOf is the hexadecimal value of a literal of 4 or 32 bytes.
func hashOf(b *ast.BasicLit) (string, bool) {
	switch b.Kind {
	case token.INT:
		v, err := strconv.ParseUint(b.Value, 0, 32)
		return fmt.Sprintf("%08x", v), err == nil
	case token.STRING:
		s, err := strconv.Unquote(b.Value)
		if err != nil {
			return "", false
		}
		if len(s) == 4 {
			return hex.EncodeToString([]byte(s)), true
		}
		if m := hexText.FindStringSubmatch(s); m != nil {
			return strings.ToLower(m[2]), true
		}
	}
	return "", false
}
