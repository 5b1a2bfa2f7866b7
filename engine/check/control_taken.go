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
		{name: "initialised_anew", fires: (*inspection).initialisedAnew, sentence: render(verdict.CauseInitialised, ofVictim)},
		{name: "took_control", fires: (*inspection).tookControl, sentence: render(verdict.CauseControl, ofVictim)},
	},
})

// initialisedAnew: the party called the initialiser of a contract that was there before,
// and after that the contract paid the cluster for nothing. It needs no event: a contract that
// may be initialised twice often emits none.
func (l *inspection) initialisedAnew() (out []match) {
	for i, x := range l.f.Tree.Frames {
		if x.Kind != trace.Call || !l.f.Live(i) || !l.f.Member(x.From) || l.f.InAttackerCluster(x.To) ||
			l.f.Created(x.To) || !initialiser(l.CallName(i)) {
			continue
		}
		loss := l.f.Loses(x.To)
		if loss == nil || l.explained(x.To) || slices.ContainsFunc(out, func(h match) bool { return h.victims[0] == x.To }) {
			continue
		}
		later := slices.DeleteFunc(l.paidBy(x.To), func(m int) bool { return l.f.Moves[m].Frame <= i })
		if len(later) == 0 || len(l.gave(x.To)) > 0 {
			continue
		}
		out = append(out, match{
			grade:    decisive,
			category: api.AccessControl,
			victims:  []common.Address{x.To},
			frames:   []int{i},
			moves:    later,
			calls:    l.callsOf(later),
			position: loss.Lost[0],
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
func (l *inspection) tookControl() (out []match) {
	if l.Diff != nil { // the check of changes of control knows more
		return nil
	}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		if len(g.Topics) != 3 || g.Topics[0] != evmsig.TopicOwnershipTransferred || l.f.InAttackerCluster(g.Address) || l.f.Created(g.Address) {
			continue
		}
		from, to := common.BytesToAddress(g.Topics[1][12:]), common.BytesToAddress(g.Topics[2][12:])
		loss := l.f.Loses(g.Address)
		if l.f.InAttackerCluster(from) || !l.f.Member(to) || loss == nil || l.redeemed(g.Address) {
			continue
		}
		// An owner who accepts what the former owner transferred looks the same; only the state tells
		// them apart.
		h := match{
			grade:    suspicious,
			category: api.AccessControl,
			victims:  []common.Address{g.Address},
			moves:    l.paidBy(g.Address),
			position: loss.Lost[0],
		}
		h.calls = l.callsOf(h.moves)
		if x := l.logFrame[i]; x != nil && x.Parent != nil {
			h.frames = []int{x.Index}
		}
		out = append(out, h)
	}
	return out
}
