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

// Rules by addresses that a contract should have rejected.
var _ = register(&Check{
	order:  350,
	Name:   "fake_input",
	Title:  "address of the sender taken for a token or a pool",
	Causes: []api.Category{api.InsufficientValidation},
	rules: []rule{
		{name: "fake_input", fires: (*inspection).fakeInput, sentence: render(verdict.CauseFakeInput, ofFaulty)},
	},
})

// fakeInput: a contract asked a tool what it would ask a token or a pool, because the
// party had passed the tool's address.
func (l *inspection) fakeInput() (out []match) {
	for i, x := range l.f.Tree.Frames {
		if x.Kind != trace.Call && x.Kind != trace.StaticCall || !l.f.Live(i) || !l.f.Tool(x.To) ||
			l.f.InAttackerCluster(x.From) ||
			!evmsig.AssetFunctions[evmsig.Called(x.Input)] ||
			l.traded(x.To) {
			continue
		}
		d := l.f.ExternalCallAt(i)
		if d < 0 || !l.passed(l.f.ExternalCalls[d].Frame, x.To[:]) || slices.ContainsFunc(out, func(h match) bool { return h.faulty == x.From }) {
			continue
		}
		if lost := l.f.Robbed(x.From); lost != nil || l.gained && len(l.f.LossCandidates) > 0 || l.gained && l.borrowed {
			h := match{grade: decisive, category: api.InsufficientValidation, faulty: x.From, calls: []int{d}, frames: []int{i}}
			if lost != nil {
				h.victims, h.position = []common.Address{x.From}, lost[0]
			}
			out = append(out, h)
		}
	}
	return out
}

// traded reports whether the cluster exchanged a token with a pool. Tokens that sell their own
// fees pass themselves to routers.
func (l *inspection) traded(token common.Address) bool {
	return slices.ContainsFunc(l.f.Trades, func(t facts.Trade) bool { return t.Paid.Token == token || t.Got.Token == token })
}
