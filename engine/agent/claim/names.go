package claim

import (
	"slices"
	"strings"
	"unicode"

	"txlens/engine/api"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// name takes the words of a name: a text may use them.
func (ix *Index) name(s string) {
	s = api.Clean(s, 2*maxText)
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !wordRune(r) }) {
		ix.vocab[strings.Trim(strings.ToLower(w), "_")] = true
	}
}

// names takes all names of the evidence.
func (ix *Index) names() {
	r, ev := ix.r, ix.c.Evidence
	for _, a := range r.Addresses {
		ix.address(a.Address)
		ix.name(a.Label)
		ix.name(a.Role)
		if l, ok := label.Lookup(ev.Chain.ID, common.Address(a.Address)); ok {
			ix.name(l.Protocol)
			ix.phrases = append(ix.phrases, plainText(l.Name))
		}
		// A transfer that failed moved nothing, and its token is known all the same.
		if t, ok := label.LookupToken(ev.Chain.ID, common.Address(a.Address)); ok && t.Decimals != nil && t.Lookalike == "" {
			ix.in(t.Symbol, int(*t.Decimals))
		}
	}
	slices.SortFunc(ix.phrases, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	// The words that the rules use would be shown without a model, too.
	for _, s := range slices.Concat([]string{r.Summary}, r.Steps, r.Risks) {
		ix.name(s)
	}
	for _, k := range r.Contracts {
		ix.name(k.Name)
	}
	for _, t := range ev.Tokens {
		ix.name(t.Symbol)
		ix.name(t.Name)
		if t.Decimals != nil {
			ix.uint(uint64(*t.Decimals))
		}
	}
	for _, k := range ev.Contracts {
		ix.name(k.Name)
		ix.name(strings.ReplaceAll(k.ProxyKind, "eip", "EIP "))
		if k.ABI != nil {
			ix.verified = true
			ix.sources[api.AddrOf(k.Address)] = true
		}
		if k.Implementation != nil {
			ix.address(api.AddrOf(*k.Implementation))
		}
	}
	for _, s := range []string{r.Chain, r.ChainName, ev.Chain.Native.Name, ev.Chain.Native.Symbol, ev.Chain.Stack.Name(), r.SubType} {
		ix.name(s)
	}
	if r.Protocol != nil {
		ix.name(*r.Protocol)
		ix.name(strings.ReplaceAll(*r.Protocol, "_", " "))
	}
	if v := ix.c.Verdict; v != nil {
		for _, vote := range v.Votes {
			ix.name(strings.ReplaceAll(vote.Protocol, "_", " "))
			ix.name(vote.Rule)
		}
	}
	if r.Fee != nil {
		for _, s := range r.Fee.Recipients {
			ix.address(s.Address)
			ix.name(s.Role)
		}
	}
	for i := range r.PrettyTrace {
		n := &r.PrettyTrace[i]
		ix.name(n.FunctionName)
		if n.EventSignature != nil {
			name, _, _ := strings.Cut(*n.EventSignature, "(")
			ix.name(name)
		}
		for _, a := range n.DecodedArgs {
			ix.name(a.Name)
		}
	}
}

// count takes the numbers of things that a text may give.
func (ix *Index) count() {
	by := map[string]int{}
	seen := map[string]bool{}
	// once counts different values of a thing, and how often the thing itself occurs.
	once := func(what, value string) {
		if key := what + " " + value; !seen[key] {
			seen[key] = true
			by[what]++
		}
	}
	for i := range ix.r.PrettyTrace {
		n := &ix.r.PrettyTrace[i]
		by[n.Type]++
		by["status "+string(n.Status)]++
		by["call "+n.FunctionName]++
		if n.Type != "LOG" {
			by["frames"]++
		}
		if n.To != nil {
			by["to "+n.Type+n.To.String()]++
			by["to "+n.To.String()+n.FunctionName]++
			once("callees of "+n.FunctionName, n.To.String())
			once("callees of "+n.From.String(), n.To.String())
		}
		ix.counts[n.Depth], ix.counts[len(n.DecodedArgs)] = true, true
	}
	for _, t := range ix.r.TokenTransfers {
		token := t.TokenAddress.String()
		by["transfers"]++
		by[token]++
		by[token+" from "+t.From.String()]++
		by[token+" to "+t.To.String()]++
		by[token+" from "+t.From.String()+" to "+t.To.String()]++
		once("tokens", token)
		once("receivers of "+token, t.To.String())
		once("senders of "+token, t.From.String())
		once("receivers from "+t.From.String(), t.To.String())
		once("ids of "+token, t.TokenID)
	}
	for _, a := range ix.r.Addresses {
		by["role "+a.Role]++
	}
	for _, n := range by {
		ix.counts[n] = true
	}
	for _, n := range []int{len(ix.r.Addresses), len(ix.r.Contracts), len(ix.r.BalanceChanges)} {
		ix.counts[n] = true
	}
	if t := ix.c.Tree; t != nil {
		ix.counts[t.Total], ix.counts[t.Failed] = true, true
	}
	for _, c := range ix.r.BalanceChanges {
		ix.counts[len(c.Tokens)] = true
	}
	if tx := ix.c.Evidence.Tx; tx != nil {
		ix.counts[len(tx.Authorizations)], ix.counts[len(tx.BlobHashes)] = true, true
	}
}

// known reports whether a word is of the evidence's names or of the field's own.
func (ix *Index) known(word string) bool {
	w := strings.ToLower(word)
	return ix.vocab[w] || glossary[w] || ix.of[w] != nil
}

// asciiWord reports whether a word is written as English is.
func asciiWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
