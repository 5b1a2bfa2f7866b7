package check

import (
	"bytes"
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// State around the transaction: the reserves of a pair before it, and the balances of who
// paid and who was paid before and after. It is asked for where rules fire of which none
// decides. Without the answers the matches stay as they are, and say less.

// observed is what the state says of the first victim of a match.
type observed struct {
	explained bool           // the pair ended no poorer, or no balance changed
	balances  [2]*big.Int    // of the victim before and after, where it fell; nil: not known
	token     common.Address // whose balances these are
	percent   *big.Int       // by which the product of a pair's reserves fell; nil: not known
}

// useState removes the matches that the state explains, and notes what it shows of the others.
func (l *inspection) useState() {
	if l.cause() != nil {
		return
	}
	var first common.Address
	var seen *observed
	kept := l.matches[:0]
	for _, h := range l.matches {
		if len(h.victims) == 0 || h.rule.owners { // drains ask for balances themselves
			kept = append(kept, h)
			continue
		}
		if seen == nil { // one account is enough for the questions
			first, seen = h.victims[0], l.observe(h.victims[0])
		}
		if h.victims[0] == first {
			if seen.explained {
				continue
			}
			h.state = seen
		}
		kept = append(kept, h)
	}
	l.matches = kept
}

// observe asks for the state of an account that lost something.
func (l *inspection) observe(v common.Address) *observed {
	o := &observed{}
	l.observePair(v, o)
	if !o.explained {
		l.observeBalances(v, o)
	}
	return o
}

// observePair compares the product of a pair's reserves at the price at rest with the product
// after the transaction. Trades leave a pair no poorer at its own price: the profit came from
// a difference to another market.
func (l *inspection) observePair(v common.Address, o *observed) {
	changed := l.f.Changed(v)
	if len(changed) != 2 || !facts.Fungible(changed[0].Key) || !facts.Fungible(changed[1].Key) {
		return
	}
	first, second := changed[0], changed[1]
	if x, y := l.address(first.Key), l.address(second.Key); bytes.Compare(x[:], y[:]) > 0 {
		first, second = second, first
	}
	view, _ := l.ask(Question{To: v, Data: evmsig.SelGetReserves[:], When: Before, Asker: "what the pair held before the transaction"})
	if view.Reverted || len(view.Output) != 96 {
		return
	}
	x, y := evmsig.Uint(view.Output, 0), evmsig.Uint(view.Output, 1)
	before := new(big.Int).Mul(x, y)
	x, y = new(big.Int).Add(x, first.Amount), new(big.Int).Add(y, second.Amount)
	if before.Sign() == 0 || x.Sign() < 0 || y.Sign() < 0 {
		return // these were no reserves of the assets
	}
	fell := new(big.Int).Sub(before, new(big.Int).Mul(x, y))
	if fell.Sign() <= 0 {
		o.explained = true
		return
	}
	if fell.Quo(fell.Mul(fell, big.NewInt(100)), before).Sign() > 0 {
		o.percent = fell
	}
}

// address is the contract of a token; that of the wrapped coin for the coin.
func (l *inspection) address(k facts.Key) common.Address {
	if w := l.f.Chain.WrappedNative; k == (facts.Key{}) && w != nil {
		return *w
	}
	return k.Token
}

// observeBalances asks the token itself what an account and the payee of its first payment
// held. Where the one has no less and the other no more, nothing but events moved.
func (l *inspection) observeBalances(v common.Address, o *observed) {
	p := l.firstPayment(v)
	if p == nil || p.Key == (facts.Key{}) || !l.balanceMoved(v, p.Key, -1) || !l.balanceMoved(p.To, p.Key, 1) {
		return
	}
	known := true
	balance := func(who common.Address, when When) *big.Int {
		data := append(evmsig.SelBalanceOf[:], common.LeftPadBytes(who[:], 32)...)
		n := l.number(Question{To: p.Key.Token, Data: data, When: when, Asker: "what was held before and after the transaction"})
		known = known && n != nil
		return n
	}
	had, has := balance(v, Before), balance(v, After)
	if !known {
		return
	}
	if has.Cmp(had) < 0 {
		o.balances, o.token = [2]*big.Int{had, has}, p.Key.Token
		return
	}
	got, gets := balance(p.To, Before), balance(p.To, After) // in a second request, which is rare
	o.explained = known && gets.Cmp(got) <= 0
}

// balanceMoved reports whether the movements leave an account with less of an asset (sign -1), or
// with more (sign 1).
func (l *inspection) balanceMoved(who common.Address, k facts.Key, sign int) bool {
	for _, p := range l.f.Changed(who) {
		if p.Key == k {
			return p.Amount.Sign() == sign
		}
	}
	return false
}

// withState adds to a sentence what the state shows of an account.
func (o *observed) withState(s verdict.Sentence, v common.Address) verdict.Sentence {
	if o == nil {
		return s
	}
	if o.balances[0] != nil {
		k := flow.TokenKey{Token: o.token}
		s = verdict.Say(verdict.AndBalanceFell, s, verdict.Who(v), amount(k, o.balances[0]), amount(k, o.balances[1]))
	}
	if o.percent != nil {
		s = verdict.Say(verdict.AndProductFell, s, verdict.Who(v), verdict.Num(o.percent))
	}
	return s
}
