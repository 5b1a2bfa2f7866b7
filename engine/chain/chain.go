// Package chain is the table of EVM mainnets: who they are, how to reach them, and
// which Stack they run. The table is generated (see gen), embedded, and decoded at
// first use. What follows from the stack is in one file for each stack.
package chain

import "github.com/ethereum/go-ethereum/common"

//go:generate go run ./gen -data gen -out table.json

// Chain is one main network. Values are shared and must not be changed.
type Chain struct {
	Slug     string
	ID       uint64
	Name     string
	Native   Coin   // under its present name; see NativeAt
	Explorer string // base URL, no trailing slash
	Stack    Stack
	Aliases  []string // further names BySlug answers to

	WrappedNative  *common.Address
	WrappedIsShare bool // WrappedNative is the share of a bridge's vault, not the coin one to one
	Multicall3     *common.Address
	MulticallFrom  uint64 // first block with Multicall3; 0 also when not known
	RPC            []string
	TraceDebug     *bool // nil: unknown
	TraceParity    *bool
	Sourcify       bool
	EtherscanV2    bool
	Blockscout     string // base URL of the instance, empty when none
	LlamaPrefix    string // DefiLlama coins prefix, empty when unknown
	CoingeckoID    string // of the native coin, empty when unknown; see CoingeckoAt
	BlockTimeMs    int    // 0 when unknown
	Popularity     int    // 0 is asked first
	FullEnrichment bool   // one of the 29 slugs of the interface
}

// Coin is the native coin.
type Coin struct {
	Symbol   string
	Name     string
	Decimals int
}
