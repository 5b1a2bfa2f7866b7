// Package label says who an address is and what a token is called: from tables
// inside the program (generated from public packages and repositories, see
// docs/labels.md, and the files of package protocol), from the rules of the chain's stack, and, for tokens, from
// the contract itself. Text that comes from a chain is hostile and passes Clean.
//
// The look-ups are safe for concurrent use; tables are unpacked at first use.
package label

import (
	"strings"

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
	Origin     Origin
	WarnedBy   string // who gave a category that warns, where another gave the name
	BySymbol   bool   // a list of tokens named it, by the symbol that the list gives
}

// Origin is who chose a name, which decides how it is shown.
type Origin uint8

const (
	InTables  Origin = iota // the embedded tables, curated or public
	InSource                // the verified source of the contract
	ByToken                 // a token, of itself
	Imitation               // the program, of a token that imitates another
	ByUser                  // the user, in a file of their own
)

// Own reports whether whoever holds the address chose the name.
func (l Label) Own() bool { return l.Origin == InSource || l.Origin == ByToken }

// Shown is the name as all texts show it: names that strangers chose stand in quotes.
func (l Label) Shown() string {
	switch l.Origin {
	case InSource:
		return api.Quote(l.Name, MaxName)
	case ByToken:
		return api.Quote(strings.TrimSuffix(l.Name, tokenSuffix), MaxName) + tokenSuffix
	}
	return l.Name
}

// Over is the label of a user over what else is known of the address: its name is shown, and what
// it leaves open comes from below. It hides no warning, and what names the protocol still decides.
func (l Label) Over(below Label) Label {
	switch {
	case below.Accuses(), below.Category == Mixer && !l.Accuses():
		l.Category, l.WarnedBy = below.Category, below.Source
	case l.Category == "":
		l.Category = below.Category
	}
	if l.Protocol == "" && below.Protocol != "" {
		l.Protocol, l.Confidence = below.Protocol, max(l.Confidence, below.Confidence)
	}
	return l
}

// tokenSuffix ends the label of a token.
const tokenSuffix = " token"

// Label is the label of a token by its own words; there is none where they are not shown.
func (t Token) Label() (Label, bool) {
	switch {
	case t.Lookalike != "":
		return Label{Name: t.Imitation(), Category: "token", Source: t.Source, Origin: Imitation}, true
	case t.Symbol == "":
		return Label{}, false
	}
	l := Label{Name: t.Symbol + tokenSuffix, Category: "token", Source: t.Source}
	if t.Own() {
		l.Origin = ByToken
	}
	return l, true
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

// Accuser names who says what the category warns of; own: it is the user.
func (l Label) Accuser() (source string, own bool) {
	if l.WarnedBy != "" {
		return l.WarnedBy, false
	}
	return l.Source, l.Origin == ByUser
}

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
	// Claims are the words of a contract as it said them, symbol and name. Rules read them; they
	// are never shown.
	Claims string
}

// claim takes the words of the contract for what they are: what would be read as something
// else is not shown. A wrapped form may have the name of what it wraps, so a name alone does not
// make an imitation, but it is not shown either.
func (t *Token) claim(chainID uint64) {
	t.Claims = t.Symbol + "\n" + t.Name
	if t.Lookalike = Lookalike(chainID, t.Address, t.Symbol); t.Lookalike == "" && t.Symbol == "" {
		t.Lookalike = Lookalike(chainID, t.Address, t.Name)
	}
	t.Symbol, t.Name = Foreign(t.Symbol), Foreign(t.Name)
	if Lookalike(chainID, t.Address, t.Name) != "" {
		t.Name = ""
	}
}

// Named is a listed token under the words its contract answered. A list vouches for the contract,
// so its issuer may rename it; but a word that belongs to another listed token stays the other's,
// as that of a bridged USDC which calls itself as the native one does.
func (t Token) Named(chainID uint64, answer Token) Token {
	if t.Decimals == nil {
		t.Decimals = answer.Decimals
	}
	if answer.Symbol == "" || answer.Symbol == t.Symbol {
		return t
	}
	if !strings.EqualFold(skeleton(answer.Symbol), skeleton(t.Symbol)) && taken(chainID, answer.Symbol) {
		return t
	}
	if t.Name == t.Symbol {
		t.Name = answer.Symbol
	}
	if answer.Name != "" {
		t.Name = answer.Name
	}
	t.Symbol, t.Source, t.Latest = answer.Symbol, answer.Source, answer.Latest
	return t
}

// Own reports whether the symbol is the contract's own word, which nobody vouches for.
func (t Token) Own() bool { return !t.Listed && t.Source == ruleChain }

// Imitation is how a token that imitates another is called wherever it stands.
func (t Token) Imitation() string { return "imitation of " + t.Lookalike }

// MaxDecimals bounds the decimals that are believed: 10^77 is the largest power
// of ten a uint256 holds. What claims more is not a number of decimals.
const MaxDecimals = 77
