package main

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"txlens/testkit/service"
)

const (
	swapBundle   = "demo/1-swap.txlens"
	failedBundle = "demo/7-failed.txlens"
)

// TestExportFlags: each flag prints its format in place of the text.
func TestExportFlags(t *testing.T) {
	f := func(want string, args ...string) string {
		t.Helper()
		code, out, errOut := command(t, "", append([]string{"replay", swapBundle}, args...)...)
		if code != exitComplete || !strings.Contains(out, want) || errOut != "" {
			t.Errorf("%q: exit %d, %q, %.300s", args, code, errOut, out)
		}
		return out
	}
	for _, name := range []string{"transfers", "balances", "calls", "events"} {
		if rows, err := csv.NewReader(strings.NewReader(f("\n", "--csv", name))).ReadAll(); err != nil || len(rows) < 3 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
	}
	f("VPAD", "--csv", "transfers")
	for _, name := range []string{"flow", "sequence"} {
		dec := xml.NewDecoder(strings.NewReader(f("<svg xmlns=", "--svg", name)))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	f("sequenceDiagram\n", "--mermaid")
}

// TestExportFlagsApart: one form of output at a time, for one transaction.
func TestExportFlagsApart(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errOut := command(t, "", args...)
		if code != exitBadInput || !strings.Contains(errOut, want) || out != "" {
			t.Errorf("%q: exit %d, %q", args, code, errOut)
		}
	}
	f("give one of --json, --csv", "replay", swapBundle, "--json", "--mermaid")
	f("give one of --json, --csv", "explain", service.NoHash, "--svg", "flow", "--csv", "calls")
	f("take one transaction", "explain", service.NoHash, service.NoHash, "--csv", "calls")
	f("take one transaction", "explain", "-", "--mermaid")
	f("transfers", "explain", service.NoHash, "--csv", "nonsense")
}
