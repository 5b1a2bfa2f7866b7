package facts

import (
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Deal is an outermost call by the party to an account outside of it, with what passed the
// border of the side inside of it and outside of the deals nested in it.
type Deal struct {
	Frame    int
	Target   common.Address
	Selector evmsig.Selector
	Around   int   // the deal that this one is nested in; -1
	Into     int   // the deal that this one pays for, where it is the transfer of a payment; -1
	Parts    []int // the deals that pay for this one
	Moves    []int // across the border of the side, of this deal alone
	Nested   bool  // in a deal nested in it something crossed the border too
}

// deals finds the deals and gives each movement to the innermost one around it.
func (f *Facts) deals() {
	f.dealOf = make([]int, len(f.Tree.Frames))
	for i, x := range f.Tree.Frames {
		f.dealOf[i] = -1
		if x.Parent != nil {
			f.dealOf[i] = f.dealOf[x.Parent.Index]
		}
		if x.Kind == trace.Call && x.Status == trace.OK && f.members[x.From] && !f.Side(x.To) {
			f.Deals = append(f.Deals, Deal{Frame: i, Target: x.To, Selector: evmsig.Called(x.Input), Around: f.dealOf[i], Into: -1})
			f.dealOf[i] = len(f.Deals) - 1
		}
	}
	for i := range f.Moves {
		m := &f.Moves[i]
		if m.Deal = f.dealOf[m.Frame]; m.Deal >= 0 && f.Side(m.From) != f.Side(m.To) && m.Amount.Sign() > 0 {
			d := &f.Deals[m.Deal]
			d.Moves = append(d.Moves, i)
		}
	}
	for i := range f.Deals {
		for up := f.Deals[i].Around; up >= 0 && len(f.Deals[i].Moves) > 0 && !f.Deals[up].Nested; up = f.Deals[up].Around {
			f.Deals[up].Nested = true
		}
	}
}

// DealAt is the innermost deal around a frame; -1 for none.
func (f *Facts) DealAt(frame int) int { return f.dealOf[frame] }

// settle joins the transfers by which the party pays somebody to the deal that they pay
// for: the one around, where the payee waits for it, or else the next one with the payee.
func (f *Facts) settle() {
	pending := map[common.Address][]int{}
	for i := range f.Deals {
		d := &f.Deals[i]
		if payee, pays := f.payment(d); pays {
			if up := f.waiting(d, payee); up >= 0 {
				d.Into = up
				f.Deals[up].Parts = append(f.Deals[up].Parts, i)
			} else {
				pending[payee] = append(pending[payee], i)
			}
			continue
		}
		if len(pending) == 0 {
			continue
		}
		f.claim(i, d.Target, pending)
		for _, j := range d.Moves {
			f.claim(i, f.Moves[j].From, pending)
		}
	}
}

func (f *Facts) claim(deal int, payee common.Address, pending map[common.Address][]int) {
	for _, p := range pending[payee] {
		f.Deals[p].Into = deal
		f.Deals[deal].Parts = append(f.Deals[deal].Parts, p)
	}
	delete(pending, payee)
}

// payment reports whether a deal does nothing but send a token to one account outside.
func (f *Facts) payment(d *Deal) (payee common.Address, ok bool) {
	for _, i := range d.Moves {
		m := &f.Moves[i]
		if !f.Side(m.From) || m.Key.Token != d.Target && m.Key != (Key{}) || ok && m.To != payee {
			return payee, false
		}
		payee, ok = m.To, true
	}
	return payee, ok && payee != d.Target && payee != (common.Address{})
}

// waiting is the deal around d inside of which the payee called the party.
func (f *Facts) waiting(d *Deal, payee common.Address) int {
	if d.Around < 0 {
		return -1
	}
	for x := f.Tree.Frames[d.Frame].Parent; x != nil && x.Index >= f.Deals[d.Around].Frame; x = x.Parent {
		if f.Context[x.Index] == payee {
			return d.Around
		}
	}
	return -1
}

// Passed is what crossed the border of the side in a deal and the payments for it, as
// seen by the side.
func (f *Facts) Passed(i int) map[Key]*big.Int {
	out := map[Key]*big.Int{}
	add := func(d *Deal) {
		for _, j := range d.Moves {
			m := &f.Moves[j]
			if out[m.Key] == nil {
				out[m.Key] = new(big.Int)
			}
			if f.Side(m.To) {
				out[m.Key].Add(out[m.Key], m.Amount)
			} else {
				out[m.Key].Sub(out[m.Key], m.Amount)
			}
		}
	}
	add(&f.Deals[i])
	for _, p := range f.Deals[i].Parts {
		add(&f.Deals[p])
	}
	return out
}

// Given and Taken list what the side gave and got in a deal.
func (f *Facts) Given(i int) []Position {
	out := sorted(f.Passed(i), func(n *big.Int) bool { return n.Sign() < 0 })
	for j := range out {
		out[j].Amount = new(big.Int).Neg(out[j].Amount)
	}
	return out
}

// Taken is what the side got in a deal.
func (f *Facts) Taken(i int) []Position {
	return sorted(f.Passed(i), func(n *big.Int) bool { return n.Sign() > 0 })
}
