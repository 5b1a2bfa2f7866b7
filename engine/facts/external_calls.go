package facts

import (
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// ExternalCall is an outermost call by the party to an account outside of it, with what passed the
// border of the cluster inside of it and outside of the external calls nested in it.
type ExternalCall struct {
	Frame    int
	Target   common.Address
	Selector evmsig.Selector
	Around   int   // the external call that this one is nested in; -1
	Into     int   // the external call that this one pays for, where it is the transfer of a payment; -1
	Parts    []int // the external calls that pay for this one
	Moves    []int // across the border of the cluster, of this external call alone
	Nested   bool  // in an external call nested in it something crossed the border too
}

// calls finds the external calls and gives each movement to the innermost one around it.
func (f *Layout) calls() {
	f.callOf = make([]int, len(f.Tree.Frames))
	for i, x := range f.Tree.Frames {
		f.callOf[i] = -1
		if x.Parent != nil {
			f.callOf[i] = f.callOf[x.Parent.Index]
		}
		if x.Kind == trace.Call && x.Status == trace.OK && f.members[x.From] && !f.InAttackerCluster(x.To) {
			c := ExternalCall{Frame: i, Target: x.To, Selector: evmsig.Called(x.Input), Around: f.callOf[i], Into: -1}
			f.ExternalCalls = append(f.ExternalCalls, c)
			f.callOf[i] = len(f.ExternalCalls) - 1
		}
	}
	for i := range f.Moves {
		m := &f.Moves[i]
		m.ExternalCall = f.callOf[m.Frame]
		if m.ExternalCall >= 0 && f.InAttackerCluster(m.From) != f.InAttackerCluster(m.To) && m.Amount.Sign() > 0 {
			d := &f.ExternalCalls[m.ExternalCall]
			d.Moves = append(d.Moves, i)
		}
	}
	for i := range f.ExternalCalls {
		if len(f.ExternalCalls[i].Moves) == 0 {
			continue
		}
		for up := f.ExternalCalls[i].Around; up >= 0 && !f.ExternalCalls[up].Nested; up = f.ExternalCalls[up].Around {
			f.ExternalCalls[up].Nested = true
		}
	}
}

// ExternalCallAt is the innermost external call around a frame; -1 for none.
func (f *Layout) ExternalCallAt(frame int) int { return f.callOf[frame] }

// settle joins the transfers by which the party pays somebody to the external call that they pay
// for: the one around, where the payee waits for it, or else the next one with the payee.
func (f *Layout) settle() {
	pending := map[common.Address][]int{}
	for i := range f.ExternalCalls {
		d := &f.ExternalCalls[i]
		if payee, pays := f.payment(d); pays {
			if up := f.waiting(d, payee); up >= 0 {
				d.Into = up
				f.ExternalCalls[up].Parts = append(f.ExternalCalls[up].Parts, i)
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

func (f *Layout) claim(call int, payee common.Address, pending map[common.Address][]int) {
	for _, p := range pending[payee] {
		f.ExternalCalls[p].Into = call
		f.ExternalCalls[call].Parts = append(f.ExternalCalls[call].Parts, p)
	}
	delete(pending, payee)
}

// payment reports whether an external call does nothing but send a token to one account outside.
func (f *Layout) payment(d *ExternalCall) (payee common.Address, ok bool) {
	for _, i := range d.Moves {
		m := &f.Moves[i]
		if !f.InAttackerCluster(m.From) || m.Key.Token != d.Target && m.Key != (Key{}) || ok && m.To != payee {
			return payee, false
		}
		payee, ok = m.To, true
	}
	return payee, ok && payee != d.Target && payee != (common.Address{})
}

// waiting is the external call around d inside of which the payee called the party.
func (f *Layout) waiting(d *ExternalCall, payee common.Address) int {
	if d.Around < 0 {
		return -1
	}
	for x := f.Tree.Frames[d.Frame].Parent; x != nil && x.Index >= f.ExternalCalls[d.Around].Frame; x = x.Parent {
		if f.Context[x.Index] == payee {
			return d.Around
		}
	}
	return -1
}

// Passed is what crossed the border of the cluster in an external call and the payments for it, as
// seen by the cluster.
func (f *Layout) Passed(i int) map[Key]*big.Int {
	out := map[Key]*big.Int{}
	add := func(d *ExternalCall) {
		for _, j := range d.Moves {
			m := &f.Moves[j]
			if out[m.Key] == nil {
				out[m.Key] = new(big.Int)
			}
			if f.InAttackerCluster(m.To) {
				out[m.Key].Add(out[m.Key], m.Amount)
			} else {
				out[m.Key].Sub(out[m.Key], m.Amount)
			}
		}
	}
	add(&f.ExternalCalls[i])
	for _, p := range f.ExternalCalls[i].Parts {
		add(&f.ExternalCalls[p])
	}
	return out
}

// Given and Taken list what the cluster gave and got in an external call.
func (f *Layout) Given(i int) []Position {
	out := sorted(f.Passed(i), func(n *big.Int) bool { return n.Sign() < 0 })
	for j := range out {
		out[j].Amount = new(big.Int).Neg(out[j].Amount)
	}
	return out
}

// Taken is what the cluster got in an external call.
func (f *Layout) Taken(i int) []Position {
	return sorted(f.Passed(i), func(n *big.Int) bool { return n.Sign() > 0 })
}
