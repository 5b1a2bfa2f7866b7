package main

import (
	"strings"
	"testing"

	"txlens/testkit/service"
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
