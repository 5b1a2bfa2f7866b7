// Package chain is the table of EVM mainnets: who they are, how to reach them,
// and in what their stack differs. The table is generated (see gen), embedded,
// and decoded at first use; what the table cannot say, the rules of each stack,
// is in fee.go and native.go.
package chain

import "github.com/ethereum/go-ethereum/common"

//go:generate go run ./gen -data ../../../shared/data -out table.json

// Stack is a family of node software that shares fee rules and transaction types.
type Stack string

const (
	StackEthereum Stack = "ethereum" // and every chain that behaves like it
	StackOP       Stack = "op-stack"
	StackMantle   Stack = "mantle"
	StackScroll   Stack = "scroll"
	StackArbitrum Stack = "arbitrum"
	StackZkSync   Stack = "zksync"
	StackBor      Stack = "polygon-bor"
	StackTempo    Stack = "tempo" // no native coin
	StackOther    Stack = "other"
)

// Chain is one mainnet. Values are shared and must not be changed.
type Chain struct {
	Slug     string
	ID       uint64
	Name     string
	Native   Coin   // as it is called today; see NativeAt
	Explorer string // base URL, no trailing slash
	Stack    Stack
	Aliases  []string // further names BySlug answers to

	WrappedNative  *common.Address
	NativeToken    *common.Address // where the native coin is also a token contract (Celo, zkSync 0x..800a, Bor 0x..1010)
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
	Fee            FeeRule
}

// Coin is the native coin.
type Coin struct {
	Symbol   string
	Name     string
	Decimals int
}
