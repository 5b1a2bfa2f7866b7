package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"txlens/testkit/service"
	"txlens/transport/callers"
)

// TestExplainFree: a server that asks for no payment needs no key; one that sells gets nothing
// without it, and the error names the flag.
func TestExplainFree(t *testing.T) {
	t.Parallel()
	w := service.NewWorld(t)
	free, stop := service.StartUntil(t, w)
	defer stop()
	f := func(code int, stdout, stderr, server, hash string, args ...string) {
		t.Helper()
		got, out, errOut := command(t, "", append([]string{"explain", hash, "--chain", "1", "--server", server}, args...)...)
		if got != code || !strings.Contains(out, stdout) || !strings.Contains(errOut, stderr) || strings.Contains(errOut, "charged") {
			t.Errorf("%q: exit %d, %q, %.300s", args, got, errOut, out)
		}
	}
	f(exitComplete, "Swapped 516.546 VPAD", "", free, w.Tx.Hash)
	f(exitComplete, `"txHash"`, "", free, w.Tx.Hash, "--json", "--close")
	f(exitComplete, "Swapped 516.546 VPAD", "job is", free, w.Tx.Hash, "--async")
	f(exitBadInput, "", "--max-deposit", free, w.Tx.Hash, "--max-deposit", "much")
	f(exitBadInput, "", "--settle-token", free, w.Tx.Hash, "--settle-token", "x")
	s := service.NewSeller(t)
	f(exitBadInput, "", "--key-file", s.Base, s.World.Tx.Hash)
	f(exitBadInput, "", "--key-file", s.Base, s.World.Tx.Hash, "--async")
}

// TestExplainKeyed: a server with a list of callers is asked with the key of a file or of the
// environment, and what it answers without one names the flag. The key is in no output.
func TestExplainKeyed(t *testing.T) {
	w := service.NewWorld(t)
	key, hash := callers.NewKey()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base, stop := service.StartUntil(t, w, "--keys", write("callers", "alice "+hash+" per-minute=60 at-once=4\n", 0o600))
	defer stop()
	f := func(code int, stdout, stderr string, args ...string) {
		t.Helper()
		got, out, errOut := command(t, "", append([]string{"explain", w.Tx.Hash, "--chain", "1"}, args...)...)
		if got != code || !strings.Contains(out, stdout) || !strings.Contains(errOut, stderr) || strings.Contains(out+errOut, key) {
			t.Errorf("%q: exit %d, %q, %.300s", args, got, errOut, out)
		}
	}
	good := write("key", key+"\n", 0o600)
	f(exitComplete, "Swapped 516.546 VPAD", "", "--server", base, "--server-key-file", good)
	f(exitComplete, "Swapped 516.546 VPAD", "job is", "--server", base, "--server-key-file", good, "--async")
	f(exitBadInput, "", "--server-key-file", "--server", base)
	f(exitBadInput, "", "--server-key-file", "--server", base, "--async")
	f(exitBadInput, "", "does not accept the caller", "--server", base, "--server-key-file", write("other", "another", 0o600))
	f(exitBadInput, "", "key file is not usable", "--server", base, "--server-key-file", write("open", key, 0o644))
	f(exitBadInput, "", "is empty", "--server", base, "--server-key-file", write("empty", "\n", 0o600))
	f(exitBadInput, "", "cannot be sent", "--server", base, "--server-key-file", write("two", key+" "+key, 0o600))
	f(exitBadInput, "", "needs https://", "--server", "http://explain.example", "--server-key-file", good)
	t.Setenv(serverKeyEnv, key)
	f(exitComplete, "Swapped 516.546 VPAD", "", "--server", base)
	f(exitBadInput, "", "leave one of them away", "--server", base, "--server-key-file", good)
}
