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
		{name: "reenter", fires: (*inspection).reenter, sentence: render(verdict.CauseReentry, ofFaulty), proves: true},
		{name: "reenter_other", fires: (*inspection).reenterOther, sentence: render(verdict.CauseCrossReentry, ofFaulty, ofCallee)},
	},
})

// reentry is a call by a tool to a contract of which a call is running, made from code
// that the contract had called in between.
type reentry struct {
	outer, callback, inner int
	victim                 common.Address
}

// knownKind reports whether the callback is of the kinds by which re-entry is known to happen: plain
// coin, a hook of a token, or a function of a token.
func (l *inspection) knownKind(callback int) bool {
	x := l.frame(callback)
	sel := evmsig.Called(x.Input)
	return len(x.Input) == 0 && !x.Value.IsZero() || evmsig.TokenHooks[sel] || evmsig.AssetFunctions[sel]
}

// callbackAround is the innermost call by an outsider to a tool around a frame; -1 for
// none.
func (l *inspection) callbackAround(i int) int {
	for x := l.frame(i).Parent; x != nil; x = x.Parent {
		if x.Kind == trace.Call && l.f.Tool(x.To) && !l.f.Member(x.From) {
			return x.Index
		}
	}
	return -1
}

// passive are targets and functions of which a second call means nothing.
func (l *inspection) passive(d *facts.ExternalCall) bool {
	return evmsig.TokenFunctions[d.Selector] || l.Registry.Shared(d.Target) || d.Target == l.wrapped()
}

// ownShares reports whether an external call transfers tokens of a contract that pays the cluster here
// and so is more than a token.
func (l *inspection) ownShares(d *facts.ExternalCall) bool {
	return (d.Selector == evmsig.SelTransfer || d.Selector == evmsig.SelTransferFrom) && d.Target != l.wrapped() &&
		slices.ContainsFunc(l.f.ExternalCalls, func(o facts.ExternalCall) bool {
			return o.Target == d.Target && !evmsig.TokenFunctions[o.Selector] && len(o.Moves) > 0
		})
}

func (l *inspection) reentries() (out []reentry) {
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		if (l.passive(d) && !l.ownShares(d)) || len(l.callFrame(i).Input) < 4 {
			continue
		}
		cb := l.callbackAround(d.Frame)
		if cb < 0 {
			continue
		}
		for x := l.frame(cb).Parent; x != nil; x = x.Parent {
			if x.Kind == trace.Call && x.To == d.Target && x.From != d.Target && !evmsig.TokenFunctions[evmsig.Called(x.Input)] {
				out = append(out, reentry{x.Index, cb, d.Frame, d.Target})
				break
			}
		}
	}
	return out
}

// reenter: a contract that paid coin or moved tokens to a tool was entered again by it.
func (l *inspection) reenter() (out []match) {
	if !l.gained {
		return nil
	}
	for _, r := range l.reentries() {
		if !l.knownKind(r.callback) && l.f.Loses(r.victim) == nil {
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
				calls:    []int{l.f.ExternalCallAt(r.inner)},
			},
		)
	}
	return out
}

// reenterOther: while a call of one contract was running, another one that asks the same
// third contract paid the cluster.
func (l *inspection) reenterOther() (out []match) {
	if !l.gained {
		return nil
	}
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		if l.passive(d) || len(l.f.Taken(i)) == 0 {
			continue
		}
		cb := l.callbackAround(d.Frame)
		if cb < 0 || evmsig.Callbacks[evmsig.Called(l.frame(cb).Input)] {
			continue
		}
		for x := l.frame(cb).Parent; x != nil; x = x.Parent {
			if x.Kind != trace.Call || x.To == d.Target || l.f.InAttackerCluster(x.To) || !l.f.Tool(x.From) {
				continue
			}
			if third := l.common(x.Index, d.Frame); third != (common.Address{}) {
				out = append(
					out,
					match{
						grade:    decisive,
						category: api.Reentrancy,
						faulty:   d.Target,
						frames:   []int{x.Index, cb, d.Frame},
						calls:    []int{i},
						victims:  l.lossCandidatesOf([]int{i}),
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
func (l *inspection) common(one, other int) common.Address {
	called := map[common.Address]bool{}
	x, y := l.frame(one).To, l.frame(other).To
	for i := one; i < l.f.End[one]; i++ {
		if f := l.frame(i); f.From == x && (f.Kind == trace.Call || f.Kind == trace.StaticCall) {
			called[f.To] = true
		}
	}
	for i := other; i < l.f.End[other]; i++ {
		f := l.frame(i)
		if f.From == y && called[f.To] && f.To != x && f.To != y && !l.f.InAttackerCluster(f.To) && !l.token(f.To) &&
			(f.Kind == trace.Call || f.Kind == trace.StaticCall) {
			return f.To
		}
	}
	return common.Address{}
}

// token reports whether an account moved as a token here.
func (l *inspection) token(who common.Address) bool {
	return who == l.wrapped() || slices.ContainsFunc(l.f.Moves, func(m facts.Move) bool { return m.Key.Token == who })
}
