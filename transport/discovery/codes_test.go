package discovery

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"txlens/engine/api"
	"txlens/testkit/golden"
)

// TestErrorCodesOfHTTP: the table in docs/http.md is that of engine/api.
func TestErrorCodesOfHTTP(t *testing.T) {
	const file = "../../docs/http.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| code | where | meaning | what to do |\n|---|---|---|---|\n"
	before, rest, ok := bytes.Cut(text, []byte(head))
	if !ok {
		t.Fatalf("%s has no table of error codes", file)
	}
	for bytes.HasPrefix(rest, []byte("| ")) {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	page := bytes.Clone(before)
	page = append(page, head...)
	for _, c := range api.ErrorCodes() {
		sold := ""
		if c.Metered {
			sold = " (metered)"
		}
		page = fmt.Appendf(page, "| `%s` | %s%s | %s | %s |\n", c.Code, where(c), sold, c.Meaning, c.Action)
	}
	golden.Compare(t, file, append(page, rest...))
}
