package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestTableIsCurrent makes the table anew over the committed one, and over one with
// a row that was added by hand.
func TestTableIsCurrent(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("..", "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	const row = `{"slug":"new-mainnet","id":987654321,"stack":"op-stack","note":"kept to the byte"}`
	byHand := bytes.Replace(table, []byte("\n]"), []byte(",\n"+row+"\n]"), 1)
	for _, want := range [][]byte{table, byHand} {
		out := filepath.Join(t.TempDir(), "table.json")
		if err := os.WriteFile(out, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(".", out); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
			t.Errorf("engine/chain/table.json is not what the generator makes (%v); run go generate ./engine/chain, or make generate", err)
		}
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
