package classify

import (
	"math/big"

	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// sale is one NFT that went from a seller to a buyer for money.
type sale struct {
	seller, buyer common.Address
	nft           flow.TokenKey
	price         leg      // what the buyer gave
	fee           *big.Int // of it, what the seller did not get; nil when not shown
	log           int
}

// sales pairs the NFTs that moved with the money that moved the other way. It answers
// only for one buyer and one seller of one NFT each: in a sweep the movements do not
// tell what was paid for which.
func (a *Reading) sales() []sale {
	if a.Flow == nil || !a.has(actNFTSale) {
		return nil
	}
	var x sale
	n := 0
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if k := keyOf(t); (k.NFT || k.ID != "") && (t.From != common.Address{}) {
			if n++; n == 1 {
				x.seller, x.nft, x.log = t.From, k, t.Log
			} else if k != x.nft {
				return nil
			}
			x.buyer, x.log = t.To, t.Log // passed on by a router: the last holder bought it
		}
	}
	if n == 0 || x.buyer == x.seller {
		return nil
	}
	gave, _ := a.netOf(x.buyer)
	_, got := a.netOf(x.seller)
	money, took := fungible(gave), fungible(got)
	if len(money) != 1 || len(took) != 1 {
		return nil
	}
	x.price = money[0]
	same := money[0].key == took[0].key || a.coinLike(money[0]) && a.coinLike(took[0])
	if !same || took[0].amount.Cmp(x.price.amount) > 0 {
		return nil
	}
	x.fee = new(big.Int).Sub(x.price.amount, took[0].amount)
	return []sale{x}
}

func fungible(legs []leg) (list []leg) {
	for _, l := range legs {
		if !l.key.NFT && l.key.ID == "" {
			list = append(list, l)
		}
	}
	return list
}

// coinLike: native coin and its wrapped form are one money.
func (a *Reading) coinLike(l leg) bool { return l.native() || a.wrapped(l.key.Token) }

func (a *stepWriter) saleSteps() (steps []step) {
	for _, x := range a.sales() {
		steps = append(steps, step{at: 2*x.log + 2, text: func() string {
			s := a.Who(x.buyer) + " bought " + a.Amount(x.nft, big.NewInt(1)) + " from " + a.Who(x.seller) + " for " + a.Amount(x.price.key, x.price.amount)
			if x.fee.Sign() > 0 {
				s += ", of which " + a.Amount(x.price.key, x.fee) + " did not reach the seller (fees)"
			}
			return s + "."
		}})
	}
	return steps
}
