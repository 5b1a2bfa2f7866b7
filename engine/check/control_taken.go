package check

import (
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by control that was taken before the contract paid.
var _ = register(&Check{
	order:  360,
	Name:   "paid_takeover",
	Title:  "control that was taken and paid",
	Causes: []api.Category{api.AccessControl},
	rules: []rule{
		{name: "initialised_anew", fires: (*attack).initialisedAnew, sentence: render(verdict.CauseInitialised, ofVictim)},
		{name: "took_control", fires: (*attack).tookControl, sentence: render(verdict.CauseControl, ofVictim)},
	},
})

// initialisedAnew: the party called the initialiser of a contract that was there before,
// and after that the contract paid the cluster for nothing. It needs no event: a contract that
// may be initialised twice often emits none.
func (a *attack) initialisedAnew() (out []match) {
	for i, x := range a.f.Tree.Frames {
		if x.Kind != trace.Call || !a.f.Live(i) || !a.f.Member(x.From) || a.f.InAttackerCluster(x.To) ||
			a.f.Created(x.To) || !initialiser(a.l.function(i)) {
			continue
		}
		l := a.f.Loses(x.To)
		if l == nil || a.explained(x.To) || slices.ContainsFunc(out, func(h match) bool { return h.victims[0] == x.To }) {
			continue
		}
		later := slices.DeleteFunc(a.paidBy(x.To), func(m int) bool { return a.f.Moves[m].Frame <= i })
		if len(later) == 0 || len(a.gave(x.To)) > 0 {
			continue
		}
		out = append(out, match{
			grade:    decisive,
			category: api.AccessControl,
			victims:  []common.Address{x.To},
			frames:   []int{i},
			moves:    later,
			calls:    a.callsOf(later),
			position: l.Lost[0],
		})
	}
	return out
}

// initialiser reports whether a function sets a contract up: initialize, init, initWallet.
// A function that initiates something, such as a withdrawal, does not.
func initialiser(name string) bool {
	name = strings.TrimLeft(strings.ToLower(name), "_")
	return strings.HasPrefix(name, "init") && !strings.HasPrefix(name, "initiat")
}

// tookControl: a contract that was there before made a member of the party its owner, who
// had not been, and after that paid the cluster for nothing.
func (a *attack) tookControl() (out []match) {
	if a.l.Diff != nil { // the check of changes of control knows more
		return nil
	}
	for i := range a.l.Receipt.Logs {
		g := &a.l.Receipt.Logs[i]
		if len(g.Topics) != 3 || g.Topics[0] != evmsig.TopicOwnershipTransferred || a.f.InAttackerCluster(g.Address) || a.f.Created(g.Address) {
			continue
		}
		from, to := common.BytesToAddress(g.Topics[1][12:]), common.BytesToAddress(g.Topics[2][12:])
		l := a.f.Loses(g.Address)
		if a.f.InAttackerCluster(from) || !a.f.Member(to) || l == nil || a.redeemed(g.Address) {
			continue
		}
		// An owner who accepts what the former owner transferred looks the same; only the state tells
		// them apart.
		h := match{
			grade:    suspicious,
			category: api.AccessControl,
			victims:  []common.Address{g.Address},
			moves:    a.paidBy(g.Address),
			position: l.Lost[0],
		}
		h.calls = a.callsOf(h.moves)
		if x := a.l.frameOf[i]; x != nil && x.Parent != nil {
			h.frames = []int{x.Index}
		}
		out = append(out, h)
	}
	return out
}
