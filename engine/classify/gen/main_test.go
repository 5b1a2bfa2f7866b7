package main

import (
	"os"
	"path/filepath"
	"testing"

	"txlens/engine/fixture"
)

// The committed table is what the generator makes of its sources today.
func TestTableIsFresh(t *testing.T) {
	rows, err := build(fixture.Data(t), ".")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "registry.tsv")
	if err := write(path, rows); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../registry.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("registry.tsv is not what the generator makes; run go generate")
	}
}

func TestVotes(t *testing.T) {
	f := func(vote, act, flags string) {
		t.Helper()
		if a, fl := actOf(vote); a != act || fl != flags {
			t.Errorf("%q is %q %q, want %q %q", vote, a, fl, act, flags)
		}
	}
	f("swap", "swap", "own")
	f("swap (nft)", "nft_sale", "own")
	f("other (add-liquidity)", "add_liquidity", "own")
	f("flag owner_changed", "flag:owner_changed", "")
	f("risk flag bad_debt", "flag:bad_debt", "")
	f("amplifier flash_loan", "flash_loan", "")
	f("-", "note", "")
}
