package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// merge makes one of the rows that sources have of one chain. An id alone does not make them
// rows of one chain: two chains have used 360. What one of them says of endpoints and prices is
// wrong of the other, so a row of another symbol or name is refused.
func merge(list []source) ([]source, error) {
	var out []source
	at := map[uint64]int{}
	for _, s := range list {
		i, seen := at[s.ChainID]
		if !seen {
			at[s.ChainID] = len(out)
			out = append(out, s)
			continue
		}
		first := &out[i]
		if first.Native.Symbol != s.Native.Symbol || chainName(*first) != chainName(s) {
			return nil, fmt.Errorf("chain %d is %s with %s and %s with %s: two chains",
				s.ChainID, first.Name, first.Native.Symbol, s.Name, s.Native.Symbol)
		}
		first.add(s)
	}
	return out, nil
}

// chainName is the name of a chain without what sources add to it.
func chainName(s source) string {
	return strings.ToLower(strings.TrimSuffix(s.Name, " Mainnet"))
}

// add fills in what the row lacks from another row of the same chain.
func (s *source) add(t source) {
	for _, url := range t.RPC {
		if !slices.Contains(s.RPC, url) {
			s.RPC = append(s.RPC, url)
		}
	}
	s.Explorer = cmp.Or(s.Explorer, t.Explorer)
	s.WrappedNative = cmp.Or(s.WrappedNative, t.WrappedNative)
	s.Multicall3 = cmp.Or(s.Multicall3, t.Multicall3)
	s.Support.Blockscout = cmp.Or(s.Support.Blockscout, t.Support.Blockscout)
	s.Coingecko = cmp.Or(s.Coingecko, t.Coingecko)
	s.LlamaCoins = cmp.Or(s.LlamaCoins, t.LlamaCoins)
	s.BlockTimeMs = cmp.Or(s.BlockTimeMs, t.BlockTimeMs)
}

// onePrice checks that the coin of several chains has one price: a row with another is that of
// a chain with the same id.
func onePrice(rows []row) error {
	type coin struct{ symbol, name string }
	known := map[coin]row{}
	for _, r := range rows {
		k := coin{r.Symbol, r.Coin}
		first, ok := known[k]
		switch {
		case r.Coingecko == "":
		case !ok:
			known[k] = r
		case first.Coingecko != r.Coingecko:
			return fmt.Errorf("%s of %s has the price of %s, of %s that of %s", r.Symbol, r.Slug, r.Coingecko, first.Slug, first.Coingecko)
		}
	}
	return nil
}
