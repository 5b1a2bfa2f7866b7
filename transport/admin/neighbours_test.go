package admin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// routes are the patterns that New gives its mux.
func routes(t *testing.T) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "admin.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Handle" && f.Sel.Name != "HandleFunc" {
			return true
		}
		text, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
		return true
	})
	return list
}

// TestDocumentedRoutes: what another user of the machine is answered, who has no token, is what the
// table of the document says, for each route that there is.
func TestDocumentedRoutes(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(?:POST )?(/[^`]*)` \\|.*\\| (answered|401) \\|$").FindAllStringSubmatch(string(text), -1) {
		table[m[1]] = m[2]
	}
	_, url := start(t, Config{
		Loopback: true, Token: testToken,
		Metrics: NewMetrics("1.2.3", "abc", Gauges{}).Handler(New(Config{}).cfg().Log),
		Backup:  func(w io.Writer) (int64, error) { n, err := io.WriteString(w, "a database"); return int64(n), err },
	})
	used := map[string]bool{}
	all := routes(t)
	if len(all) < 8 {
		t.Fatalf("the routes are %q", all)
	}
	for _, route := range all {
		method, path, _ := strings.Cut(route, " ")
		row := path
		if strings.HasPrefix(path, "/debug/pprof/") {
			row = "/debug/pprof/"
		}
		used[row] = true
		status, _, _ := ask(t, method, url+path, func(r *http.Request) { r.Header.Del("Authorization") })
		want := map[string]int{"answered": http.StatusOK, "401": http.StatusUnauthorized}[table[row]]
		if status != want {
			t.Errorf("%s without the token: %d, the table says %q", route, status, table[row])
		}
	}
	for row := range table {
		if !used[row] {
			t.Errorf("the table has %s, which is no route", row)
		}
	}
}
