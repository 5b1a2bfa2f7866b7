package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"txlens/transport/callers"
)

// TestKey: what the command prints on stdout is a file of --keys, by which its key is known; the
// key itself is on stderr alone.
func TestKey(t *testing.T) {
	code, out, errOut := command(t, "", "key", "alice", "--per-minute", "12")
	key := regexp.MustCompile(`txl_[A-Za-z0-9_-]+`).FindString(errOut)
	if code != exitComplete || key == "" || strings.Contains(out, key) {
		t.Fatalf("exit %d, %q, %q", code, errOut, out)
	}
	k, err := callers.Parse(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if c := k.Find([]byte(key)); c == nil || c.Name != "alice" || k.Len() != 1 {
		t.Errorf("%q gives %v", out, c)
	}
	f := func(want string, args ...string) {
		t.Helper()
		if code, out, errOut := command(t, "", args...); code != exitBadInput || !strings.Contains(errOut, want) || strings.Contains(out, "txl_") {
			t.Errorf("%q: exit %d, %q", args, code, errOut)
		}
	}
	f("letters, digits", "key", "al ice")
	f("at least 1", "key", "alice", "--at-once", "0")
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("alice "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("--keys: ", "serve", "--keys", file)
	f("line 1: the second word must be sha256:", "serve", "--check", "--keys", file)
	f("no such file", "serve", "--keys", file+"x")
}
