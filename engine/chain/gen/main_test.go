package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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

// TestMerge: rows of one id are one chain if symbol and name agree.
func TestMerge(t *testing.T) {
	chain := func(id uint64, name, symbol string, rpc ...string) source {
		s := source{ChainID: id, Name: name, RPC: rpc}
		s.Native.Symbol = symbol
		return s
	}
	f := func(want int, rpc string, list ...source) {
		t.Helper()
		got, err := merge(list)
		if err != nil && want >= 0 || len(got) != max(want, 0) {
			t.Fatalf("%d chains, %v; want %d", len(got), err, want)
		}
		if want > 0 && strings.Join(got[0].RPC, " ") != rpc {
			t.Errorf("endpoints %v, want %s", got[0].RPC, rpc)
		}
	}
	f(0, "")
	f(2, "a", chain(360, "Shape", "ETH", "a"), chain(361, "Theta", "TFUEL", "b"))
	f(1, "a b", chain(360, "Shape", "ETH", "a"), chain(360, "Shape Mainnet", "ETH", "a", "b"))
	f(-1, "", chain(360, "Shape", "ETH", "a"), chain(360, "Molten", "MOLTEN", "b"))
	f(-1, "", chain(360, "Shape", "ETH", "a"), chain(360, "Molten", "ETH", "b"))
	f(-1, "", chain(360, "Shape", "ETH", "a"), chain(360, "Shape", "SHAPE", "b"))

	price, other := "ethereum", "molten-2"
	bare, priced := chain(360, "Shape", "ETH"), chain(360, "Shape", "ETH")
	priced.Coingecko = &price
	if got, err := merge([]source{bare, priced}); err != nil || deref(got[0].Coingecko) != price {
		t.Errorf("%+v, %v", got, err)
	}
	rows := []row{{Slug: "a", Symbol: "ETH", Coin: "Ether", Coingecko: price}, {Slug: "b", Symbol: "ETH", Coin: "Ether"},
		{Slug: "c", Symbol: "BTC", Coin: "Bitcoin", Coingecko: "bitcoin"}}
	if err := onePrice(rows); err != nil {
		t.Error(err)
	}
	if err := onePrice(append(rows, row{Slug: "d", Symbol: "ETH", Coin: "Ether", Coingecko: other})); err == nil {
		t.Error("two prices of one coin are taken")
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
