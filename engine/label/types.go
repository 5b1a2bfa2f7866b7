// Package label says who an address is and what a token is called: from tables
// inside the program (generated from public packages and repositories, see
// docs/labels.md, and the files of package protocol), from the rules of the chain's stack, and, for tokens, from
// the contract itself. Text that comes from a chain is hostile and passes Clean.
//
// The look-ups are safe for concurrent use; tables are unpacked at first use.
package label

import (
	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

//go:generate go run ./gen -data gen -out .

// Label says who an address is.
type Label struct {
	Name     string
	Category string // token, dex, bridge, lending, safe, account, fee_vault, ...
	Protocol string // snake-case slug, empty when the label names none
	Source   string // package or rule the label comes from
	// Confidence says how far the label can be trusted; 0 where the contract gave the
	// name itself.
	Confidence Confidence
}

// Confidence is how sure the source of a label is.
type Confidence uint8

const (
	Scraped  Confidence = 1 // collected without review: it names an address and decides nothing
	Curated  Confidence = 2 // one list that people review
	Official Confidence = 3 // the project's own publication, or two lists that agree
)

// Text is the confidence as results carry it; empty where the contract gave the name itself.
func (c Confidence) Text() api.LabelConfidence {
	switch c {
	case Scraped:
		return api.LabelScraped
	case Curated:
		return api.LabelReviewed
	case Official:
		return api.LabelOfficial
	}
	return ""
}

// Categories that warn.
const (
	Reported = "exploiter" // addresses that lists of frauds and exploits name
	Mixer    = "mixer"     // contracts that hide where coins came from
	// Sanctioned are addresses that were on the list of the US Treasury.
	Sanctioned = "sanctioned"
)

// Accuses reports whether the label warns of who holds the address, and so vouches for
// nobody.
func (l Label) Accuses() bool { return l.Category == Reported || l.Category == Sanctioned }

// Warning is what the category of a label warns of; empty for most.
func (l Label) Warning() string {
	switch l.Category {
	case Reported:
		return "a public list reports it for fraud or theft"
	case Sanctioned:
		return "it was on a list of sanctioned addresses"
	case Mixer:
		return "it hides where coins came from"
	}
	return ""
}

// Token is what is known about a token contract.
type Token struct {
	Address   common.Address
	Symbol    string // cleaned; empty when unknown
	Name      string // cleaned
	Decimals  *uint8 // nil when unknown
	Source    string // embedded package name, or chain when asked from the contract
	Listed    bool   // in an embedded token list
	Latest    bool   // asked at the latest block: the node keeps no state of the transaction's
	Lookalike string // symbol of a listed token this one imitates (homoglyph or same symbol, other address)
}

// MaxDecimals bounds the decimals that are believed: 10^77 is the largest power
// of ten a uint256 holds. What claims more is not a number of decimals.
const MaxDecimals = 77
