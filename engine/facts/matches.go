package facts

import (
	"slices"
	"txlens/engine/flow"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

func AllZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// BridgeAt reports whether a label that somebody reviewed says that a contract is a bridge.
func (a *Case) BridgeAt(addr common.Address) bool {
	l := a.LabelOf(addr)
	return l.Category == "bridge" && l.Confidence != label.Scraped
}

// Staking reports whether a label says that a contract holds stakes.
func (a *Case) Staking(addr common.Address) bool {
	l := a.LabelOf(addr)
	return (l.Category == "staking" || l.Category == "restaking") && l.Confidence != label.Scraped
}

func OwnMatches(hits []*Match) (own []*Match) {
	for _, h := range hits {
		if h.Mine {
			own = append(own, h)
		}
	}
	return own
}

// HoldsShares reports whether the actor got or gave shares of a contract.
func (a *Case) HoldsShares(addr common.Address) bool {
	for _, l := range append(a.Out, a.In...) {
		if l.Key.Token == addr && (l.Minted || l.Key.NFT) { // a share, or a position
			return true
		}
	}
	return false
}

func (h *Match) Certain() bool { return !h.Weak && h.Mine }

// OnlyWrap reports whether native coin against its wrapped form is all that moved.
func (a *Case) OnlyWrap() bool {
	legs := append(append([]Leg(nil), a.Out...), a.In...)
	native := false
	for _, l := range legs {
		native = native || l.Native()
		if !l.Native() && !a.Wrapped(l.Key.Token) {
			return false
		}
	}
	return native && len(legs) == 2 || len(legs) > 0 && len(legs) <= 2 && !a.Has(ActSwap)
}

// WrappedNative reports whether a token is the chain's own wrapped coin.
func (a *Case) WrappedNative(token common.Address) bool {
	return a.Chain != nil && a.Chain.WrappedNative != nil && *a.Chain.WrappedNative == token
}

// WrapsCoin reports whether deposit() and withdraw(uint256) of a contract wrap and unwrap
// native coin as far as is known: it is the chain's own wrapped coin, wrapped some here, or
// somebody lists it as a token. Stakes, vaults and lotteries have functions of these names.
func (a *Case) WrapsCoin(addr common.Address) bool {
	return a.Wrapped(addr) || a.Tokens[addr].Listed || a.LabelOf(addr).Category == "token"
}

// wrapping reports whether an act is that of a wrapped coin.
func wrapping(x Act) bool { return x == ActWrap || x == ActUnwrap }

func (a *Case) Wrapped(token common.Address) bool {
	if a.WrappedNative(token) {
		return true
	}
	if a.Flow != nil {
		for i := range a.Flow.Transfers {
			if t := &a.Flow.Transfers[i]; t.Wrap && t.Token == token {
				return true
			}
		}
	}
	return false
}

// IsPoisoning reports whether there are nothing but transfers of nothing, between others than
// the sender; their only use is to put a look-alike address into somebody's history.
func (a *Case) IsPoisoning() bool {
	if a.Flow == nil || len(a.Flow.Transfers)+len(a.Flow.Fakes) == 0 || len(a.Matches) > 0 {
		return false
	}
	something := func(t flow.Transfer) bool { return t.Amount.Sign() != 0 || t.From == a.Sender || t.To == a.Sender }
	return !slices.ContainsFunc(a.Flow.Transfers, something) && !slices.ContainsFunc(a.Flow.Fakes, something)
}
