package label

import "github.com/ethereum/go-ethereum/common"

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
