// Package label says who an address is and what a token is called: from tables
// inside the program (generated from public packages, see SOURCES.md, and a short
// list kept by hand), from the rules of the chain's stack, and, for tokens, from
// the contract itself. Text that comes from a chain is hostile and passes Clean.
//
// The look-ups are safe for concurrent use; tables are unpacked at first use.
package label

import "github.com/ethereum/go-ethereum/common"

//go:generate go run ./gen -data gen -out .

// Label says who an address is.
type Label struct {
	Name     string
	Category string // token, dex, bridge, lending, safe, account, fee_vault, ...
	Protocol string // snake-case slug, empty when the label names none
	Source   string // package or rule the label comes from
}

// Token is what is known about a token contract.
type Token struct {
	Address   common.Address
	Symbol    string // cleaned; empty when unknown
	Name      string // cleaned
	Decimals  *uint8 // nil when unknown
	Source    string // embedded package name, or chain when asked from the contract
	Listed    bool   // in an embedded token list
	Lookalike string // symbol of a listed token this one imitates (homoglyph or same symbol, other address)
}

// MaxDecimals bounds the decimals that are believed: 10^77 is the largest power
// of ten a uint256 holds. What claims more is not a number of decimals.
const MaxDecimals = 77
