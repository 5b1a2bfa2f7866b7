// Command gen makes table.json of package chain from the collected facts about
// mainnets: viem, ethereum-lists (through Sourcify), alloy-rs/chains, chainscout,
// the DefiLlama chain list and the Hyperlane registry.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is what the collected file says about one chain.
type source struct {
	Slug    string `json:"slug"`
	ChainID uint64 `json:"chainId"`
	Name    string `json:"name"`
	Native  struct {
		Symbol, Name string
		Decimals     int
	} `json:"native"`
	Explorer      string   `json:"explorer"`
	Stack         string   `json:"stack"`
	RPC           []string `json:"rpc"`
	WrappedNative *struct {
		Address string
	} `json:"wrappedNative"`
	Multicall3 *struct {
		Address string
		Block   *uint64
	} `json:"multicall3"`
	Support struct {
		Sourcify, EtherscanV2 bool
		Blockscout            *string
	} `json:"support"`
	BlockTimeMs *int `json:"blockTimeMs"`
	Traces      struct {
		Debug, Parity *bool
	} `json:"traces"`
	QuicknodeHost *string `json:"quicknodeHost"`
	Coingecko     *string `json:"coingeckoNativeId"`
	ViemKey       *string `json:"viemKey"`
	Chainlist     *string `json:"defillamaChainlist"`
	Llama         *struct{ Prefix string }
	LlamaCoins    *struct {
		Prefix string `json:"prefix"`
	} `json:"llamaCoinsPrefix"`
}

// row is what the package reads; absent facts are left out.
type row struct {
	Slug        string   `json:"slug"`
	ID          uint64   `json:"id"`
	Name        string   `json:"name"`
	Symbol      string   `json:"symbol"`
	Coin        string   `json:"coin"`
	Decimals    int      `json:"decimals"`
	Explorer    string   `json:"explorer"`
	Stack       string   `json:"stack"`
	Aliases     []string `json:"aliases,omitempty"`
	Wrapped     string   `json:"wrapped,omitempty"`
	Share       bool     `json:"wrappedIsShare,omitempty"`
	Multicall3  string   `json:"multicall3,omitempty"`
	From        uint64   `json:"multicallFrom,omitempty"`
	RPC         []string `json:"rpc"`
	Debug       *bool    `json:"debug,omitempty"`
	Parity      *bool    `json:"parity,omitempty"`
	Sourcify    bool     `json:"sourcify,omitempty"`
	EtherscanV2 bool     `json:"etherscanV2,omitempty"`
	Blockscout  string   `json:"blockscout,omitempty"`
	Llama       string   `json:"llama,omitempty"`
	Coingecko   string   `json:"coingecko,omitempty"`
	BlockTimeMs int      `json:"blockTimeMs,omitempty"`
	Full        bool     `json:"full,omitempty"`
}

func main() {
	data := flag.String("data", "engine/chain/gen", "folder with chains.json")
	out := flag.String("out", "engine/chain/table.json", "file to write")
	flag.Parse()
	log.SetFlags(0)
	if err := run(*data, *out); err != nil {
		log.Fatal(err)
	}
}

func run(data, out string) error {
	raw, err := os.ReadFile(filepath.Join(data, "chains.json"))
	if err != nil {
		return fmt.Errorf("read chains: %w", err)
	}
	var file struct {
		Chains []source `json:"chains"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("parse chains: %w", err)
	}
	chains, err := merge(file.Chains)
	if err != nil {
		return err
	}
	rows := make([]row, 0, len(chains))
	for _, s := range chains {
		rows = append(rows, s.row())
	}
	if err := onePrice(rows); err != nil {
		return err
	}
	order(rows)
	nameAliases(rows, chains)
	added, err := added(out, rows)
	if err != nil {
		return err
	}
	return write(out, rows, added)
}

// added are the rows of the table that the source does not know: written by hand,
// and kept as they are at its end.
func added(table string, rows []row) ([]json.RawMessage, error) {
	raw, err := os.ReadFile(table)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	var old []json.RawMessage
	if err := json.Unmarshal(raw, &old); err != nil {
		return nil, fmt.Errorf("parse table: %w", err)
	}
	var kept []json.RawMessage
	for _, line := range old {
		var o struct{ ID uint64 }
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, fmt.Errorf("parse table: %w", err)
		}
		if !slices.ContainsFunc(rows, func(r row) bool { return r.ID == o.ID }) {
			kept = append(kept, line)
		}
	}
	return kept, nil
}

func (s source) row() row {
	r := row{
		Slug: s.Slug, ID: s.ChainID, Name: strings.TrimSuffix(s.Name, " Mainnet"),
		Symbol: s.Native.Symbol, Coin: s.Native.Name, Decimals: s.Native.Decimals,
		Explorer: strings.TrimRight(s.Explorer, "/"), Stack: stack(s.Stack),
		RPC: s.RPC, Debug: s.Traces.Debug, Parity: s.Traces.Parity,
		Sourcify: s.Support.Sourcify, EtherscanV2: s.Support.EtherscanV2,
		Coingecko: deref(s.Coingecko), Blockscout: strings.TrimRight(deref(s.Support.Blockscout), "/"),
		Full: slices.Contains(enriched, s.Slug), Share: shares[s.Slug],
	}
	if strings.Contains(r.Blockscout, "testnet") {
		r.Blockscout = ""
	}
	if e, ok := explorers[s.Slug]; ok {
		r.Explorer = e
	}
	// A chain whose coin is itself a token has no wrapper worth the name.
	if s.WrappedNative != nil && !unwrapped[s.Slug] {
		r.Wrapped = strings.ToLower(s.WrappedNative.Address)
	}
	if s.Multicall3 != nil {
		r.Multicall3 = strings.ToLower(s.Multicall3.Address)
		if s.Multicall3.Block != nil {
			r.From = *s.Multicall3.Block
		}
	}
	if s.LlamaCoins != nil {
		r.Llama = s.LlamaCoins.Prefix
	}
	if s.BlockTimeMs != nil {
		r.BlockTimeMs = *s.BlockTimeMs
	}
	return r
}

// stack folds the many spellings of the source into the families of package chain.
func stack(s string) string {
	family, _, _ := strings.Cut(s, " ")
	switch family {
	case "op-stack", "mantle", "scroll", "polygon-bor", "tempo":
		return family
	case "arbitrum-orbit":
		return "arbitrum"
	case "zksync-stack":
		return "zksync"
	case "ethereum", "bsc", "avalanche-coreth", "linea", "nethermind/erigon",
		"bera-geth/bera-reth", "hyperevm", "story-geth", "monad", "taiko-geth":
		return "ethereum"
	}
	return "other"
}

// order puts the rows in the order in which a hash is looked for.
func order(rows []row) {
	rank := func(r row) int {
		if i := slices.Index(popular, r.Slug); i >= 0 {
			return i
		}
		return len(popular)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return rank(a) - rank(b) })
}

func write(out string, rows []row, added []json.RawMessage) error {
	lines := make([][]byte, 0, len(rows)+len(added))
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("marshal %s: %w", r.Slug, err)
		}
		lines = append(lines, line)
	}
	for _, line := range added {
		lines = append(lines, line)
	}
	var b bytes.Buffer
	b.WriteString("[\n")
	b.Write(bytes.Join(lines, []byte(",\n")))
	b.WriteString("\n]\n")
	if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
