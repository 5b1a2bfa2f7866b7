package chain

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
)

//go:embed table.json
var tableJSON []byte

// row is one line of table.json, in the order of popularity.
type row struct {
	Slug        string          `json:"slug"`
	ID          uint64          `json:"id"`
	Name        string          `json:"name"`
	Symbol      string          `json:"symbol"`
	Coin        string          `json:"coin"`
	Decimals    int             `json:"decimals"`
	Explorer    string          `json:"explorer"`
	Stack       string          `json:"stack"`
	Aliases     []string        `json:"aliases"`
	Wrapped     *common.Address `json:"wrapped"`
	Share       bool            `json:"wrappedIsShare"`
	Multicall3  *common.Address `json:"multicall3"`
	From        uint64          `json:"multicallFrom"`
	RPC         []string        `json:"rpc"`
	Debug       *bool           `json:"debug"`
	Parity      *bool           `json:"parity"`
	Sourcify    bool            `json:"sourcify"`
	EtherscanV2 bool            `json:"etherscanV2"`
	Blockscout  string          `json:"blockscout"`
	Llama       string          `json:"llama"`
	Coingecko   string          `json:"coingecko"`
	BlockTimeMs int             `json:"blockTimeMs"`
	Full        bool            `json:"full"`
}

// index is the decoded table.
type index struct {
	all    []*Chain
	byID   map[uint64]*Chain
	bySlug map[string]*Chain
}

var embedded = sync.OnceValue(func() *index {
	x, err := read(tableJSON)
	if err != nil {
		// The table is part of the binary and checked by the tests.
		panic("chain: read embedded table: " + err.Error())
	}
	return x
})

// read decodes a table. Rows that claim the same ID or name are refused.
func read(table []byte) (*index, error) {
	var rows []row
	if err := json.Unmarshal(table, &rows); err != nil {
		return nil, err
	}
	x := &index{byID: make(map[uint64]*Chain, len(rows)), bySlug: make(map[string]*Chain, 4*len(rows))}
	for i, r := range rows {
		s, err := stackOf(r.ID, r.Stack)
		if err != nil {
			return nil, err
		}
		c := r.chain(i, s)
		if other := x.byID[c.ID]; other != nil {
			return nil, fmt.Errorf("chain ID %d: %s and %s", c.ID, other.Slug, c.Slug)
		}
		x.all = append(x.all, c)
		x.byID[c.ID] = c
		for _, name := range append([]string{c.Slug}, c.Aliases...) {
			if other := x.bySlug[name]; other != nil {
				return nil, fmt.Errorf("name %q: %s and %s", name, other.Slug, c.Slug)
			}
			x.bySlug[name] = c
		}
	}
	return x, nil
}

func (r row) chain(popularity int, s Stack) *Chain {
	return &Chain{
		Slug: r.Slug, ID: r.ID, Name: r.Name, Native: Coin{r.Symbol, r.Coin, r.Decimals},
		Explorer: r.Explorer, Stack: s, Aliases: r.Aliases,
		WrappedNative: r.Wrapped, WrappedIsShare: r.Share,
		Multicall3: r.Multicall3, MulticallFrom: r.From, RPC: r.RPC,
		TraceDebug: r.Debug, TraceParity: r.Parity,
		Sourcify: r.Sourcify, EtherscanV2: r.EtherscanV2, Blockscout: r.Blockscout,
		LlamaPrefix: r.Llama, CoingeckoID: r.Coingecko, BlockTimeMs: r.BlockTimeMs,
		Popularity: popularity, FullEnrichment: r.Full,
	}
}

// BySlug finds a chain by slug or alias, whatever the case.
func BySlug(slug string) (*Chain, bool) {
	c, ok := load().bySlug[strings.ToLower(strings.TrimSpace(slug))]
	return c, ok
}

// ByID finds a chain by its EIP-155 id.
func ByID(id uint64) (*Chain, bool) {
	c, ok := load().byID[id]
	return c, ok
}

// All lists the table, most popular first. The slice is the caller's.
func All() []*Chain { return slices.Clone(load().all) }
