package label

import (
	"cmp"
	"strings"
	"sync"

	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
)

// majorChains is on how many chains a symbol must be listed to count as one that
// everybody knows, and majorLength how long it must be. Small and short symbols
// are reused in good faith; these are not.
const (
	majorChains = 6
	majorLength = 3
)

// symbols indexes the listed symbols for imitation checks.
type symbols struct {
	plain map[string]string // skeleton -> symbol
	glyph map[string]string // skeleton that also folds 1lI and 0O -> symbol
	named map[string]string // skeleton of the name -> symbol
}

func newSymbols() *symbols {
	return &symbols{plain: map[string]string{}, glyph: map[string]string{}, named: map[string]string{}}
}

// add files a symbol; of several with one skeleton the first stays.
func (s *symbols) add(symbol string) {
	sk := skeleton(symbol)
	if strings.ContainsAny(symbol, "+$*") {
		sk = symbol // USD is no imitation of USD+
	}
	if k := strings.ToLower(sk); k != "" && s.plain[k] == "" {
		s.plain[k] = symbol
	}
	if k := glyphs(sk); k != "" && s.glyph[k] == "" {
		s.glyph[k] = symbol
	}
}

// name files the name of a token whose symbol is filed, if it has several words: MAGA is the
// name of one token and the symbol of others.
func (s *symbols) name(name, symbol string) {
	if words := skeletons(name); len(words) > 1 {
		s.spell(name, symbol)
	}
}

// spell files a name of any length.
func (s *symbols) spell(name, symbol string) {
	if k := strings.ToLower(skeleton(name)); s.named[k] == "" {
		s.named[k] = symbol
	}
}

// majors are the symbols listed on many chains: of all chains, and per chain.
var majors = sync.OnceValue(func() map[uint64]*symbols {
	t := tokens()
	on := map[string]map[uint64]bool{}
	for _, id := range t.Chains() {
		for i, end := t.Rows(id); i < end; i++ {
			s := t.Field(i, tokenSymbol)
			if on[s] == nil {
				on[s] = map[uint64]bool{}
			}
			on[s][id] = true
		}
	}
	m := map[uint64]*symbols{anywhere: newSymbols()}
	for _, c := range chain.All() {
		m[c.ID] = newSymbols()
		m[c.ID].add(c.Native.Symbol)
		m[anywhere].add(c.Native.Symbol)
		m[c.ID].spell(c.Native.Name, c.Native.Symbol)
	}
	for _, id := range t.Chains() {
		for i, end := t.Rows(id); i < end; i++ {
			if s := t.Field(i, tokenSymbol); len(on[s]) >= majorChains && len(s) >= majorLength && m[id] != nil {
				m[id].add(s)
				m[anywhere].add(s)
				m[id].name(t.Field(i, tokenName), s)
			}
		}
	}
	return m
})

// listed are all listed symbols of one chain; built when first needed, for symbols that are not
// plain ASCII and for listed tokens that call themselves otherwise than the list.
var listed sync.Map // uint64 -> *symbols

func listedOn(chainID uint64) *symbols {
	if s, ok := listed.Load(chainID); ok {
		return s.(*symbols)
	}
	s := newSymbols()
	t := tokens()
	for i, end := t.Rows(chainID); i < end; i++ {
		s.add(t.Field(i, tokenSymbol))
	}
	got, _ := listed.LoadOrStore(chainID, s)
	return got.(*symbols)
}

// Lookalike names the listed symbol that the token at an address imitates, or gives "". A
// listed token imitates nobody. Three tricks count:
//
//   - characters that look like others (Cyrillic С in USDC, full-width letters,
//     accents, l for I): checked against all listed symbols of the chain and the
//     well-known ones of every chain;
//   - the very symbol of a well-known token of this chain, or of its native coin,
//     at another address, whatever marks and praise stand around it;
//   - the spelled-out name of such a token.
func Lookalike(chainID uint64, a common.Address, symbol string) string {
	if genuine(chainID, a) {
		return ""
	}
	return cmp.Or(imitated(chainID, symbol, skeleton(symbol)), imitated(chainID, symbol, unpraised(symbol)), imitated(chainID, symbol, symbol))
}

// imitated is whose symbol a symbol of this skeleton looks like.
func imitated(chainID uint64, symbol, sk string) string {
	folded, seen := strings.ToLower(sk), glyphs(sk)
	if folded == "" {
		return ""
	}
	if m := majors()[chainID]; m != nil {
		if s := cmp.Or(m.plain[folded], m.glyph[seen], m.named[folded]); s != "" {
			return s
		}
	}
	if ascii(symbol) {
		return ""
	}
	// A symbol with no trick in it is its own skeleton: 猫 is no imitation of 猫.
	if s := listedOn(chainID).plain[folded]; s != "" && s != symbol {
		return s
	}
	if s := majors()[anywhere].plain[folded]; s != "" && s != symbol {
		return s
	}
	return ""
}

// taken reports whether a symbol is that of a listed token of the chain or of its native coin, or
// is drawn like it.
func taken(chainID uint64, symbol string) bool {
	for _, sk := range [...]string{skeleton(symbol), unpraised(symbol), symbol} {
		folded, seen := strings.ToLower(sk), glyphs(sk)
		for _, s := range [...]*symbols{listedOn(chainID), majors()[chainID]} {
			if s != nil && cmp.Or(s.plain[folded], s.glyph[seen], s.named[folded]) != "" {
				return true
			}
		}
	}
	return false
}

// genuine tokens are listed, or known to the table of chains.
func genuine(chainID uint64, a common.Address) bool {
	if _, ok := LookupToken(chainID, a); ok {
		return true
	}
	c, ok := chain.ByID(chainID)
	return ok && c.WrappedNative != nil && *c.WrappedNative == a
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// glyphs folds the characters that many typefaces draw alike.
func glyphs(s string) string {
	return strings.NewReplacer("l", "1", "I", "1", "|", "1", "O", "0").Replace(s)
}
