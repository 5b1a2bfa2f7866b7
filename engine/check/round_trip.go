package check

import (
	"math/big"
	"slices"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// roundTrips: the cluster bought an asset in a pool and sold it to the same pool for more
// than it had paid, or it did so with borrowed money and gained elsewhere by it.
func (l *inspection) roundTrips() (out []match) {
	if !l.gained {
		return nil
	}
	for i, r := range l.f.RoundTrips() {
		if l.Registry.Shared(r.Pool) || i >= maxPools {
			continue
		}
		h := match{grade: suspicious, category: api.PriceManipulation, victims: []common.Address{r.Pool}, calls: []int{r.First, r.Last},
			position: facts.Position{Key: r.Paid, Amount: new(big.Int).Sub(r.Back, r.Spent)}}
		kept := new(big.Int).Mul(r.Bought, big.NewInt(1001))
		// The rates at which it sold and bought tell whether this pool paid for the gain.
		better := new(big.Int).Mul(r.Back, r.Bought).Cmp(new(big.Int).Mul(r.Spent, r.Sold)) > 0
		broken := l.between(&h, &r)
		switch {
		case r.Back.Cmp(r.Spent) > 0 && new(big.Int).Mul(r.Sold, big.NewInt(1000)).Cmp(kept) <= 0, exceeds(r.Back, r.Spent, 105):
			h.grade = decisive
		case l.borrowed && (better || broken):
			h.grade = decisive
			h.victims, h.position = nil, facts.Position{}
		case !better:
			continue // it sold more than it had bought, and at a worse rate
		}
		out = append(out, h)
	}
	return out
}

// between names what the party did between a purchase and the sale: it had tokens leave the
// pool, called somebody who read the pool's price, or called a contract that is no market. It
// reports whether there was any such thing.
func (l *inspection) between(h *match, r *facts.RoundTrip) (broken bool) {
	token := l.odd(r.Paid, r.Held)
	if l.losesOffStack(r.Pool) {
		h.category, h.faulty = api.TokenIncompatibility, token
		return true
	}
	for i := r.First; i <= r.Last; i++ {
		if !l.custom(i) {
			continue
		}
		h.faulty, h.calls = l.f.ExternalCalls[i].Target, []int{r.First, i, r.Last}
		if l.reads(i, r.Pool) {
			h.category = api.PriceManipulation
			return true
		}
		h.category, broken = api.BusinessLogic, true
	}
	return broken
}

// custom reports whether an external call is neither an exchange, a payment, a loan nor the business
// of a token: a call of a protocol.
func (l *inspection) custom(i int) bool {
	d := &l.f.ExternalCalls[i]
	if d.Into >= 0 || evmsig.TokenFunctions[d.Selector] || evmsig.AssetFunctions[d.Selector] ||
		l.calledLike(i, trading) || l.calledLike(i, viewing) ||
		l.f.Lends(d.Target) ||
		l.Registry.Shared(d.Target) ||
		evmsig.LeavePool[d.Selector] ||
		len(l.callFrame(i).Input) < 4 {
		return false
	}
	return !slices.ContainsFunc(l.f.Trades, func(t facts.Trade) bool { return t.ExternalCall == i || t.Pool == d.Target })
}

// viewing are the beginnings of names of functions that only tell something.
var viewing = []string{"get", "balance", "view", "preview", "quote", "total", "decimals", "price", "allpairs", "pair"}

// reads reports whether a pool was asked for its state inside of an external call.
func (l *inspection) reads(call int, pool common.Address) bool {
	from := l.f.ExternalCalls[call].Frame
	for i := from; i < l.f.End[from]; i++ {
		x := l.frame(i)
		if x.Kind == trace.StaticCall &&
			(x.To == pool || evmsig.SelBalanceOf.Begins(x.Input) && len(x.Input) == 36 && common.BytesToAddress(x.Input[4:]) == pool) {
			return true
		}
	}
	return false
}

// odd is, of two assets of a pool, the token that is neither the coin nor a dollar.
func (l *inspection) odd(k, other facts.Key) common.Address {
	if _, _, known := l.f.Bounds(facts.Position{Key: other, Amount: new(big.Int)}); known || k == (facts.Key{}) {
		if k != (facts.Key{}) {
			return k.Token
		}
		return other.Token
	}
	return other.Token
}

// losesOffStack reports whether tokens left a pool while it was not running.
func (l *inspection) losesOffStack(pool common.Address) bool {
	for i := range l.f.Moves {
		if m := &l.f.Moves[i]; m.From == pool && m.Key != (facts.Key{}) && m.Amount.Sign() > 0 && !l.onStack(m.Frame, pool) {
			return true
		}
	}
	return false
}

// onStack reports whether an account's code is running when a frame does.
func (l *inspection) onStack(frame int, who common.Address) bool {
	for x := l.frame(frame); x != nil; x = x.Parent {
		if l.f.Context[x.Index] == who {
			return true
		}
	}
	return false
}

// renderRoundTrip tell of the pool between two halves, where no amount decides.
func renderRoundTrip(t *described) verdict.Sentence {
	if t.position.Amount != nil {
		return verdict.Say(verdict.CauseRoundTrip, t.victim, ofAmount(t))
	}
	return verdict.Say(verdict.CauseRoundTripBetween, verdict.Who(t.l.pool(t.match)))
}

// pool is the pool of a round trip.
func (l *inspection) pool(h *match) common.Address {
	for i := range l.f.Trades {
		if t := &l.f.Trades[i]; t.ExternalCall == h.calls[0] {
			return t.Pool
		}
	}
	return l.f.ExternalCalls[h.calls[0]].Target
}
