package check

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by re-entry: what a contract of others calls comes back before it is done.
var _ = register(&Check{
	order:  340,
	Name:   "paid_reentry",
	Title:  "re-entry that paid",
	Causes: []api.Category{api.Reentrancy},
	rules: []rule{
		{name: "reenter", fires: (*attack).reenter, sentence: render(verdict.CauseReentry, ofFaulty), proves: true},
		{name: "reenter_other", fires: (*attack).reenterOther, sentence: render(verdict.CauseCrossReentry, ofFaulty, ofCallee)},
	},
})

// reentry is a call by a tool to a contract of which a call is running, made from code
// that the contract had called in between.
type reentry struct {
	outer, callback, inner int
	victim                 common.Address
}

// known is whether the callback is of the kinds by which re-entry is known to happen: plain
// coin, a hook of a token, or a function of a token.
func (a *attack) knownKind(callback int) bool {
	x := a.frame(callback)
	sel := evmsig.Called(x.Input)
	return len(x.Input) == 0 && !x.Value.IsZero() || len(x.Input) >= 4 && (evmsig.TokenHooks[sel] || evmsig.AssetFunctions[sel])
}

// callbackAround is the innermost call by an outsider to a tool around a frame; -1 for
// none.
func (a *attack) callbackAround(i int) int {
	for x := a.frame(i).Parent; x != nil; x = x.Parent {
		if x.Kind == trace.Call && a.f.Tool(x.To) && x.Parent != nil && !a.f.Member(x.From) {
			return x.Index
		}
	}
	return -1
}

// passive are targets and functions of which a second call means nothing.
func (a *attack) passive(d *facts.ExternalCall) bool {
	return evmsig.TokenFunctions[d.Selector] || a.l.Registry.Shared(d.Target) || d.Target == a.wrapped()
}

// ownShares reports whether an external call transfers tokens of a contract that pays the cluster here
// and so is more than a token.
func (a *attack) ownShares(d *facts.ExternalCall) bool {
	return (d.Selector == evmsig.SelTransfer || d.Selector == evmsig.SelTransferFrom) && d.Target != a.wrapped() &&
		slices.ContainsFunc(a.f.ExternalCalls, func(o facts.ExternalCall) bool {
			return o.Target == d.Target && !evmsig.TokenFunctions[o.Selector] && len(o.Moves) > 0
		})
}

func (a *attack) reentries() (out []reentry) {
	for i := range a.f.ExternalCalls {
		d := &a.f.ExternalCalls[i]
		if (a.passive(d) && !a.ownShares(d)) || len(a.callFrame(i).Input) < 4 {
			continue
		}
		cb := a.callbackAround(d.Frame)
		if cb < 0 {
			continue
		}
		for x := a.frame(cb).Parent; x != nil; x = x.Parent {
			if x.Kind == trace.Call && x.To == d.Target && x.From != d.Target && !evmsig.TokenFunctions[evmsig.Called(x.Input)] {
				out = append(out, reentry{x.Index, cb, d.Frame, d.Target})
				break
			}
		}
	}
	return out
}

// reenter: a contract that paid coin or moved tokens to a tool was entered again by it.
func (a *attack) reenter() (out []match) {
	if !a.gain {
		return nil
	}
	for _, r := range a.reentries() {
		if !a.knownKind(r.callback) && a.f.Loses(r.victim) == nil ||
			evmsig.Callbacks[evmsig.Called(a.frame(r.callback).Input)] && a.f.Loses(r.victim) == nil {
			continue
		}
		if slices.ContainsFunc(out, func(h match) bool { return h.faulty == r.victim }) {
			continue
		}
		out = append(
			out,
			match{
				grade:    decisive,
				category: api.Reentrancy,
				faulty:   r.victim,
				frames:   []int{r.outer, r.callback, r.inner},
				calls:    []int{a.f.ExternalCallAt(r.inner)},
			},
		)
	}
	return out
}

// reenterOther: while a call of one contract was running, another one that asks the same
// third contract paid the cluster.
func (a *attack) reenterOther() (out []match) {
	if !a.gain {
		return nil
	}
	for i := range a.f.ExternalCalls {
		d := &a.f.ExternalCalls[i]
		if a.passive(d) || len(a.f.Taken(i)) == 0 || d.Into >= 0 {
			continue
		}
		cb := a.callbackAround(d.Frame)
		if cb < 0 || evmsig.Callbacks[evmsig.Called(a.frame(cb).Input)] {
			continue
		}
		for x := a.frame(cb).Parent; x != nil; x = x.Parent {
			if x.Kind != trace.Call || x.To == d.Target || a.f.InAttackerCluster(x.To) || !a.f.Tool(x.From) {
				continue
			}
			if third := a.common(x.Index, d.Frame); third != (common.Address{}) {
				out = append(
					out,
					match{
						grade:    decisive,
						category: api.Reentrancy,
						faulty:   d.Target,
						frames:   []int{x.Index, cb, d.Frame},
						calls:    []int{i},
						victims:  a.lossCandidatesOf([]int{i}),
					},
				)
			}
			break
		}
	}
	return out
}

// common is a contract that the frames of both calls ask, and that is no token of the
// movements; zero for none.
func (a *attack) common(one, other int) common.Address {
	called := map[common.Address]bool{}
	x, y := a.frame(one).To, a.frame(other).To
	for i := one; i < a.f.End[one]; i++ {
		if f := a.frame(i); f.From == x && i > one && (f.Kind == trace.Call || f.Kind == trace.StaticCall) {
			called[f.To] = true
		}
	}
	for i := other; i < a.f.End[other]; i++ {
		f := a.frame(i)
		if f.From == y && i > other && called[f.To] && f.To != x && f.To != y && !a.f.InAttackerCluster(f.To) && !a.token(f.To) &&
			(f.Kind == trace.Call || f.Kind == trace.StaticCall) {
			return f.To
		}
	}
	return common.Address{}
}

// token reports whether an account moved as a token here.
func (a *attack) token(who common.Address) bool {
	return who != (common.Address{}) &&
		(slices.ContainsFunc(a.f.Moves, func(m facts.Move) bool { return m.Key.Token == who && m.Key != (facts.Key{}) }) ||
			who == a.wrapped())
}
