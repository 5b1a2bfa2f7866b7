package facts

import (
	"math/big"

	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// BackAndForth are trades by which an account bought nothing: whatever it got from one pool went
// into another trade, and it ended with less of what it began with.
type BackAndForth struct {
	Trader     common.Address
	Trades     []PoolTrade
	Lost       []Leg
	Gave, Back *big.Int // of the first asset that was lost, in all trades together
}

// BackAndForth finds them among swaps, of the actor or of the contract that the sender called.
func (a *Case) BackAndForth(swaps []*Match) (b BackAndForth, ok bool) {
	if len(swaps) < 2 || a.Flow == nil || a.ActorKind == ActorOrder || a.ActorKind == ActorFill || len(a.Actors) > 1 {
		return b, false
	}
	b.Trades = a.PoolTrades(swaps)
	if len(b.Trades) != len(swaps) || !closed(b.Trades) {
		return b, false
	}
	candidates := []common.Address{a.Actor}
	if a.HasTo && !a.HasLabel(a.Entry) && !a.IsPool(a.Entry) && !a.IsToken(a.Entry) {
		candidates = append(candidates, a.Entry)
	}
	for _, who := range candidates {
		out, in := a.LegsOf(who)
		if len(out) == 0 || len(in) > 0 || !Fungible(out[0].Key) {
			continue
		}
		b.Trader, b.Lost = who, out
		b.Gave, b.Back = a.gross(who, out[0].Key)
		if b.Gave.Cmp(a.firstPaid(b.Trades, out[0].Key)) >= 0 && b.Back.Sign() > 0 && a.soldAgain(b.Trades, out[0].Key) {
			return b, true
		}
	}
	return b, false
}

// closed reports whether each asset that the pools took is one that they gave too.
func closed(trades []PoolTrade) bool {
	took, gave := map[flow.TokenKey]bool{}, map[flow.TokenKey]bool{}
	for i := range trades {
		took[trades[i].In], gave[trades[i].Out] = true, true
	}
	for k := range took {
		if !gave[k] {
			return false
		}
	}
	return len(took) == len(gave)
}

// soldPart is the least part of what was bought that must have been sold again, in percent:
// tokens that take a fee of each transfer leave less than all.
const soldPart = 90

// soldAgain reports whether what pools gave of each asset but that of k went into pools again,
// and not somewhere else.
func (a *Case) soldAgain(trades []PoolTrade, k flow.TokenKey) bool {
	took, gave := map[flow.TokenKey]*big.Int{}, map[flow.TokenKey]*big.Int{}
	sum := func(m map[flow.TokenKey]*big.Int, key flow.TokenKey, n *big.Int) {
		if m[key] == nil {
			m[key] = new(big.Int)
		}
		m[key].Add(m[key], n)
	}
	for i := range trades {
		sum(took, trades[i].In, trades[i].Took)
		sum(gave, trades[i].Out, trades[i].Gave)
	}
	for key, n := range gave {
		if key == k || k == (flow.TokenKey{}) && a.WrappedNative(key.Token) {
			continue
		}
		sold := new(big.Int).Mul(took[key], big.NewInt(100))
		if sold.Cmp(new(big.Int).Mul(n, big.NewInt(soldPart))) < 0 {
			return false
		}
	}
	return true
}

// gross sums up what an account gave and got of an asset.
func (a *Case) gross(who common.Address, k flow.TokenKey) (gave, back *big.Int) {
	gave, back = new(big.Int), new(big.Int)
	add := func(from, to common.Address, n *big.Int) {
		if from == who {
			gave.Add(gave, n)
		}
		if to == who {
			back.Add(back, n)
		}
	}
	for i := range a.Flow.Transfers {
		if t := &a.Flow.Transfers[i]; t.Key() == k {
			add(t.From, t.To, t.Amount)
		}
	}
	for i := range a.Flow.Moves {
		if m := &a.Flow.Moves[i]; k == (flow.TokenKey{}) && m.Kind != flow.MoveFee {
			add(m.From, m.To, m.Amount)
		}
	}
	return gave, back
}

// firstPaid is what the first trade took that was paid in an asset, or in its wrapped form.
func (a *Case) firstPaid(trades []PoolTrade, k flow.TokenKey) *big.Int {
	for i := range trades {
		if in := trades[i].In; in == k || k == (flow.TokenKey{}) && a.WrappedNative(in.Token) {
			return trades[i].Took
		}
	}
	return new(big.Int)
}
