package facts

import (
	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// HybridOf is the token of amounts that the items of an NFT contract stand for: the contract itself
// where it logs both (ERC-404), or the token that called it to log them (DN-404). Such a token burns
// an item of whoever falls below a whole unit, and mints one for whoever reaches it.
func (a *Case) HybridOf(items common.Address) (token common.Address, ok bool) {
	if a.hybrids == nil {
		a.hybrids = a.findHybrids()
	}
	token, ok = a.hybrids[items]
	return token, ok
}

func (a *Case) findHybrids() map[common.Address]common.Address {
	hybrids, amounts := map[common.Address]common.Address{}, map[common.Address]bool{}
	if a.Flow == nil {
		return hybrids
	}
	for i := range a.Flow.Transfers {
		if t := &a.Flow.Transfers[i]; t.ID == nil {
			amounts[t.Token] = true
		}
	}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.Standard != flow.ERC721 {
			continue
		}
		if amounts[t.Token] {
			hybrids[t.Token] = t.Token
		} else if f := a.CallBehind(t); f != nil && f.To == t.Token && amounts[f.From] {
			hybrids[t.Token] = f.From
		}
	}
	return hybrids
}

// WithoutItems leaves out the items of hybrid tokens whose amounts moved with them.
func (a *Case) WithoutItems(legs []Leg) []Leg {
	if !HasNFT(legs) {
		return legs
	}
	amounts := map[common.Address]bool{}
	for i := range legs {
		amounts[legs[i].Key.Token] = amounts[legs[i].Key.Token] || !legs[i].Key.NFT && legs[i].Key.ID == ""
	}
	kept := make([]Leg, 0, len(legs))
	for i := range legs {
		if token, ok := a.HybridOf(legs[i].Key.Token); !ok || !legs[i].Key.NFT || !amounts[token] {
			kept = append(kept, legs[i])
		}
	}
	return kept
}

// ItemsOf are the items that a transaction moved, minted or burnt because amounts of the token
// moved, in order.
func (a *Case) ItemsOf(token common.Address) (items []*flow.Transfer) {
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.Standard != flow.ERC721 {
			continue
		}
		if of, ok := a.HybridOf(t.Token); ok && of == token {
			items = append(items, t)
		}
	}
	return items
}
