package facts

import (
	"math/big"
	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// sale is one NFT that went from a seller to a buyer for money.
type sale struct {
	Seller, Buyer common.Address
	NFT           flow.TokenKey
	Price         Leg      // what the buyer gave
	Fee           *big.Int // of it, what the seller did not get; nil when not shown
	Log           int
}

// Sales pairs the NFTs that moved with the money that moved the other way. It answers
// only for one buyer and one seller of one NFT each: in a sweep the movements do not
// tell what was paid for which.
func (a *Case) Sales() []sale {
	if a.Flow == nil || !a.Has(ActNFTSale) {
		return nil
	}
	var x sale
	n := 0
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.Last != nil {
			return nil
		}
		if k := t.Key(); (k.NFT || k.ID != "") && (t.From != common.Address{}) {
			if n++; n == 1 {
				x.Seller, x.NFT, x.Log = t.From, k, t.Log
			} else if k != x.NFT {
				return nil
			}
			x.Buyer, x.Log = t.To, t.Log // passed on by a router: the last holder bought it
		}
	}
	if n == 0 || x.Buyer == x.Seller {
		return nil
	}
	gave, _ := a.NetOf(x.Buyer)
	_, got := a.NetOf(x.Seller)
	money, took := fungible(gave), fungible(got)
	if len(money) != 1 || len(took) != 1 {
		return nil
	}
	x.Price = money[0]
	same := money[0].Key == took[0].Key || a.coinLike(money[0]) && a.coinLike(took[0])
	if !same || took[0].Amount.Cmp(x.Price.Amount) > 0 {
		return nil
	}
	x.Fee = new(big.Int).Sub(x.Price.Amount, took[0].Amount)
	return []sale{x}
}

func fungible(legs []Leg) (list []Leg) {
	for _, l := range legs {
		if !l.Key.NFT && l.Key.ID == "" {
			list = append(list, l)
		}
	}
	return list
}

// coinLike: native coin and its wrapped form are one money.
func (a *Case) coinLike(l Leg) bool { return l.Native() || a.Wrapped(l.Key.Token) }
