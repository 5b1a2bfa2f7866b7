package laws

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// maxMethods bounds an interface of the packages that do not judge transactions.
const maxMethods = 4

// TestSmallInterfaces: a consumer declares what it calls and no more, so no interface in
// app, actors, transport or storage has more than four methods. Parts that belong
// together are the fields of a struct.
func TestSmallInterfaces(t *testing.T) {
	read := map[string]int{}
	eachFile(t, []string{"engine", "internal", "cmd", "bench", "e2e", "testkit", "zoo"}, func(s *source) {
		top, _, _ := strings.Cut(s.path, "/")
		for _, found := range largeInterfaces(s, func() { read[top]++ }) {
			t.Error(found)
		}
	})
	for _, dir := range []string{"actors", "transport"} {
		if read[dir] == 0 {
			t.Errorf("read no interface of %s; the law must see them", dir)
		}
	}

	found := func(want int, body string) {
		t.Helper()
		if got := largeInterfaces(parseBody(t, body), func() {}); len(got) != want {
			t.Errorf("%s: found %q, want %d", body, got, want)
		}
	}
	found(0, `type small interface { A(); B(); C(); D() }`)
	found(1, `type large interface { A(); B(); C(); D(); E() }`)
	found(1, `type whole interface { Part; A() }`)
	found(1, `type whole interface { io.Reader }`)
	found(0, `type set interface { ~int | ~string }`)
	found(0, `type parts struct { Part; Other }`)
}

// largeInterfaces lists the interfaces of a file that declare more than maxMethods, or
// that embed another one, which hides how many they have.
func largeInterfaces(s *source, read func()) (found []string) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		face, ok := spec.Type.(*ast.InterfaceType)
		if !ok {
			return true
		}
		read()
		methods, embeds := 0, false
		for _, m := range face.Methods.List {
			switch m.Type.(type) {
			case *ast.FuncType:
				methods++
			case *ast.Ident, *ast.SelectorExpr:
				embeds = true
			}
		}
		todo := fmt.Sprintf("; declare the methods that the consumer calls, at most %d, or make it a struct whose fields are smaller interfaces", maxMethods)
		switch {
		case embeds:
			found = append(found, fmt.Sprintf("%s: interface %s embeds another one, which hides how many methods it has%s", s.at(spec), spec.Name.Name, todo))
		case methods > maxMethods:
			found = append(found, fmt.Sprintf("%s: interface %s has %d methods%s", s.at(spec), spec.Name.Name, methods, todo))
		}
		return true
	})
	return found
}
