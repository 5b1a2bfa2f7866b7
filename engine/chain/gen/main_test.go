package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"txlens/engine/fixture"
)

// TestTableIsCurrent makes the table anew and compares it with the committed one.
func TestTableIsCurrent(t *testing.T) {
	out := filepath.Join(t.TempDir(), "table.json")
	if err := run(fixture.Data(t), out); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(out)
	want, err := os.ReadFile(filepath.Join("..", "table.json"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("table.json is not what the generator makes (%v)", err)
	}
}

func TestStack(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := stack(in); got != want {
			t.Errorf("stack(%q) = %q, want %q", in, got, want)
		}
	}
	f("ethereum L1", "ethereum")
	f("op-stack (Boba Anchorage)", "op-stack")
	f("mantle (op-stack fork)", "mantle")
	f("arbitrum-orbit", "arbitrum")
	f("zksync-stack", "zksync")
	f("tempo (reth-based, no native coin)", "tempo")
	f("sonic (go-opera fork)", "other")
}
