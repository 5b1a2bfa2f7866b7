package check

import (
	"math/big"
	"slices"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by tokens and pairs that do not expect each other.
var _ = register(&Check{
	order:  370,
	Name:   "pair_balance",
	Title:  "reserves and balance of a pair that differ",
	Causes: []api.Category{api.TokenIncompatibility},
	rules: []rule{
		{name: "product_fell", fires: (*attack).productFell, sentence: render(verdict.CauseProductFell, ofVictim)},
		{name: "skim_loop", fires: (*attack).skimLoop, sentence: render(verdict.CausePairCalls, ofVictim), proves: true},
		{name: "sync_trade", fires: (*attack).syncTrade, sentence: render(verdict.CausePairCalls, ofVictim)},
		{name: "pair_off_stack", fires: (*attack).pairOffStack, sentence: render(verdict.CausePairBalance, ofAmount, ofVictim)},
		{name: "self_transfer", fires: (*attack).selfTransfer, sentence: render(verdict.CauseSelfTransfer, ofFaulty)},
	},
})

// callsTo are the external calls that call a function, by target.
func (a *attack) callsTo(sel evmsig.Selector) (out map[common.Address][]int, order []common.Address) {
	out = map[common.Address][]int{}
	for i := range a.f.ExternalCalls {
		if d := &a.f.ExternalCalls[i]; d.Selector == sel && len(a.callFrame(i).Input) >= 4 {
			if out[d.Target] == nil {
				order = append(order, d.Target)
			}
			out[d.Target] = append(out[d.Target], i)
		}
	}
	return out, order
}

// skimLoop: the party had a pair give away its surplus three times or more. Once is
// scavenging.
func (a *attack) skimLoop() (out []match) {
	calls, order := a.callsTo(evmsig.SelSkim)
	for _, pair := range order {
		if n := len(calls[pair]); n >= 3 && a.gain {
			out = append(
				out,
				match{
					faulty:   a.tokenOf(pair),
					grade:    decisive,
					category: api.TokenIncompatibility,
					victims:  []common.Address{pair},
					calls:    []int{calls[pair][0], calls[pair][n-1]},
					count:    n,
				},
			)
		}
	}
	return out
}

// syncTrade: the party set the reserves of a pair that it trades with.
func (a *attack) syncTrade() (out []match) {
	calls, order := a.callsTo(evmsig.SelSync)
	for _, pair := range order {
		i := slices.IndexFunc(a.f.Trades, func(t facts.Trade) bool { return t.Pool == pair })
		if i >= 0 && a.gain {
			h := match{
				grade:    decisive,
				category: api.TokenIncompatibility,
				faulty:   a.tokenOf(pair),
				victims:  []common.Address{pair},
				calls:    []int{calls[pair][0], a.f.Trades[i].ExternalCall},
				count:    len(calls[pair]),
			}
			if d := a.namesPair(h.faulty, pair, calls[pair][0]); d >= 0 {
				h.category, h.calls = api.AccessControl, []int{d, calls[pair][0], a.f.Trades[i].ExternalCall}
			}
			out = append(out, h)
		}
	}
	return out
}

// tokenOf is the token of a pair that is neither the coin nor a dollar; zero where the cluster
// did not trade with it.
func (a *attack) tokenOf(pair common.Address) common.Address {
	for i := range a.f.Trades {
		if t := &a.f.Trades[i]; t.Pool == pair {
			return a.odd(t.Paid, t.Got)
		}
	}
	return common.Address{}
}

// namesPair is an external call before another by which the party had a token do something to a pair
// that no token should do for a stranger: burn or move what the pair holds; -1 for none.
func (a *attack) namesPair(token, pair common.Address, before int) int {
	for i := range a.f.ExternalCalls[:before] {
		d := &a.f.ExternalCalls[i]
		if d.Target == token && !evmsig.TokenFunctions[d.Selector] && d.Selector != evmsig.SelBalanceOf &&
			a.f.Names(d.Frame, map[common.Address]bool{pair: true}) != (common.Address{}) {
			return i
		}
	}
	return -1
}

// maxPools bounds how many pools are looked at.
const maxPools = 64

// pairOffStack: tokens left a pair while it was not running, and the party took from it
// later.
func (a *attack) pairOffStack() (out []match) {
	if !a.gain {
		return nil
	}
	last := map[common.Address]int{} // of each pool: its last exchange, before which to look
	for i := range a.f.Trades {
		last[a.f.Trades[i].Pool] = i
	}
	seen := 0
	for i := range a.f.Trades {
		t := &a.f.Trades[i]
		if a.l.Registry.Shared(t.Pool) || last[t.Pool] != i || seen == maxPools {
			continue
		}
		seen++
		for j := range a.f.Before(a.f.ExternalCalls[t.ExternalCall].Frame) {
			m := &a.f.Moves[j]
			if m.From != t.Pool || m.Key == (facts.Key{}) || m.Amount.Sign() == 0 || a.onStack(m.Frame, t.Pool) {
				continue
			}
			h := match{
				grade:    suspicious,
				category: api.TokenIncompatibility,
				faulty:   m.Key.Token,
				victims:  []common.Address{t.Pool},
				moves:    []int{j},
				calls:    []int{t.ExternalCall},
				position: facts.Position{Key: m.Key, Amount: m.Amount},
			}
			if m.ExternalCall >= 0 {
				h.calls = []int{m.ExternalCall, t.ExternalCall}
			}
			if a.loan || len(a.f.Fresh) > 0 {
				h.grade = decisive
			}
			out = append(out, h)
			break
		}
	}
	return out
}

// selfTransfer: a tool sent a token to itself twice or more.
func (a *attack) selfTransfer() []match {
	n := map[facts.Key][]int{}
	for i := range a.f.Moves {
		if m := &a.f.Moves[i]; m.From == m.To && a.f.Tool(m.From) && m.Amount.Sign() > 0 && a.gain {
			if n[m.Key] = append(n[m.Key], i); len(n[m.Key]) == 2 {
				h := match{
					grade:    decisive,
					category: api.TokenIncompatibility,
					faulty:   m.Key.Token,
					moves:    n[m.Key],
					calls:    a.callsOf(n[m.Key]),
					position: facts.Position{Key: m.Key, Amount: m.Amount},
				}
				return []match{h}
			}
		}
	}
	return nil
}

// productFell: the product of the reserves that a pair told fell by more than 1 % although
// nobody withdrew liquidity. A token that burns from its pairs does that too: without a
// loan or a contract made for it, it is only unusual.
func (a *attack) productFell() (out []match) {
	if !a.gain {
		return nil
	}
	last := map[common.Address]*big.Int{}
	done := map[common.Address]bool{}
	for i := range a.l.Receipt.Logs {
		g := &a.l.Receipt.Logs[i]
		switch {
		case len(g.Topics) == 0 || a.f.Created(g.Address) || a.f.InAttackerCluster(g.Address):
		case g.Topics[0] == evmsig.TopicBurnV2:
			delete(last, g.Address)
		case g.Topics[0] == evmsig.TopicSync:
			x, y := evmsig.Uint(g.Data, 0), evmsig.Uint(g.Data, 1)
			if x == nil || y == nil {
				continue
			}
			k, before := new(big.Int).Mul(x, y), last[g.Address]
			last[g.Address] = k
			if before == nil || done[g.Address] || !exceeds(before, k, 101) || a.left(g.Address) {
				continue
			}
			done[g.Address] = true
			h := match{
				grade:    suspicious,
				category: api.TokenIncompatibility,
				faulty:   a.tokenOf(g.Address),
				victims:  []common.Address{g.Address},
				values:   [2]*big.Int{before, k},
				position: facts.Position{},
			}
			if x := a.l.frameOf[i]; x != nil {
				h.frames = []int{x.Index}
			}
			if a.f.Loses(g.Address) != nil && (a.loan || len(a.f.Fresh) > 0) {
				h.grade = decisive
			}
			out = append(out, h)
		}
	}
	return out
}
