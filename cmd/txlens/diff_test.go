package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"txlens/engine/diff"
)

// TestDiff: bundles and files of JSON are compared, as text, JSON and a page.
func TestDiff(t *testing.T) {
	code, out, _ := command(t, "", "replay", swapBundle, "--json")
	saved := filepath.Join(t.TempDir(), "swap.json")
	if err := os.WriteFile(saved, []byte(out), 0o600); code != exitComplete || err != nil {
		t.Fatal(code, err)
	}
	page := filepath.Join(t.TempDir(), "diff.html")
	code, out, errOut := command(t, "", "diff", saved, swapBundle, "--html", page)
	if code != exitComplete || errOut != "" || !strings.Contains(out, "The results do not differ") {
		t.Errorf("a result and itself: exit %d, %q, %s", code, errOut, out)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "The results do not differ") {
		t.Errorf("page: %v", err)
	}
	code, out, errOut = command(t, "", "diff", swapBundle, failedBundle, "--json")
	var d diff.Difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitComplete || errOut != "" {
		t.Fatalf("exit %d, %q, %v", code, errOut, err)
	}
	if d.Same || d.Revert.A != nil || d.Revert.B == nil || len(d.Class) == 0 || len(d.Calls.Shapes) == 0 || len(d.Amounts) == 0 || len(d.Money) == 0 {
		t.Errorf("of a swap and a failed one: %s", out)
	}
	code, out, _ = command(t, "", "diff", swapBundle, failedBundle)
	for _, words := range []string{"Revert point", "Class\n", "Net changes", "Totals", "sender", "success", "reverted"} {
		if code != exitComplete || !strings.Contains(out, words) {
			t.Errorf("exit %d; the text lacks %q:\n%s", code, words, out)
		}
	}
}

// TestDiffFaults: what cannot be compared is named with its side.
func TestDiffFaults(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f := func(want, side string) {
		t.Helper()
		code, out, errOut := command(t, "", "diff", swapBundle, side)
		if code != exitBadInput || out != "" || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", side, code, errOut)
		}
	}
	f("is neither a file nor a transaction", filepath.Join(dir, "missing"))
	f("is a folder", dir)
	f("is neither a bundle nor the JSON of one result", file("text", "hello"))
	f("is neither a bundle nor the JSON of one result", file("other.json", "{}"))
	f("has more than one result", file("many.json", "{\"txHash\":\"0x1\"}\n{\"txHash\":\"0x2\"}\n"))
}
