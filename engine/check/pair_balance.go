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
	Causes: []api.Category{api.TokenIncompatibility, api.AccessControl},
	rules: []rule{
		{name: "product_fell", fires: (*inspection).productFell, sentence: render(verdict.CauseProductFell, ofVictim)},
		{name: "skim_loop", fires: (*inspection).skimLoop, sentence: render(verdict.CausePairCalls, ofVictim), proves: true},
		{name: "sync_trade", fires: (*inspection).syncTrade, sentence: render(verdict.CausePairCalls, ofVictim)},
		{name: "pair_off_stack", fires: (*inspection).pairOffStack, sentence: render(verdict.CausePairBalance, ofAmount, ofVictim)},
		{name: "self_transfer", fires: (*inspection).selfTransfer, sentence: render(verdict.CauseSelfTransfer, ofFaulty)},
	},
})

// callsTo are the external calls that call a function, by target.
func (l *inspection) callsTo(sel evmsig.Selector) (out map[common.Address][]int, order []common.Address) {
	out = map[common.Address][]int{}
	for i := range l.f.ExternalCalls {
		if d := &l.f.ExternalCalls[i]; d.Selector == sel {
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
func (l *inspection) skimLoop() (out []match) {
	calls, order := l.callsTo(evmsig.SelSkim)
	for _, pair := range order {
		if n := len(calls[pair]); n >= 3 && l.gained {
			out = append(
				out,
				match{
					faulty:   l.tokenOf(pair),
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
func (l *inspection) syncTrade() (out []match) {
	calls, order := l.callsTo(evmsig.SelSync)
	for _, pair := range order {
		i := slices.IndexFunc(l.f.Trades, func(t facts.Trade) bool { return t.Pool == pair })
		if i >= 0 && l.gained {
			h := match{
				grade:    decisive,
				category: api.TokenIncompatibility,
				faulty:   l.tokenOf(pair),
				victims:  []common.Address{pair},
				calls:    []int{calls[pair][0], l.f.Trades[i].ExternalCall},
				count:    len(calls[pair]),
			}
			if d := l.namesPair(h.faulty, pair, calls[pair][0]); d >= 0 {
				h.category, h.calls = api.AccessControl, []int{d, calls[pair][0], l.f.Trades[i].ExternalCall}
			}
			out = append(out, h)
		}
	}
	return out
}

// tokenOf is the token of a pair that is neither the coin nor a dollar; zero where the cluster
// did not trade with it.
func (l *inspection) tokenOf(pair common.Address) common.Address {
	for i := range l.f.Trades {
		if t := &l.f.Trades[i]; t.Pool == pair {
			return l.odd(t.Paid, t.Got)
		}
	}
	return common.Address{}
}

// namesPair is an external call before another by which the party had a token do something to a pair
// that no token should do for a stranger: burn or move what the pair holds; -1 for none.
func (l *inspection) namesPair(token, pair common.Address, before int) int {
	for i := range l.f.ExternalCalls[:before] {
		d := &l.f.ExternalCalls[i]
		if d.Target == token && !evmsig.TokenFunctions[d.Selector] && d.Selector != evmsig.SelBalanceOf &&
			l.f.Names(d.Frame, map[common.Address]bool{pair: true}) != (common.Address{}) {
			return i
		}
	}
	return -1
}

// maxPools bounds how many pools are looked at.
const maxPools = 64

// pairOffStack: tokens left a pair while it was not running, and the party took from it
// later.
func (l *inspection) pairOffStack() (out []match) {
	if !l.gained {
		return nil
	}
	last := map[common.Address]int{} // of each pool: its last exchange, before which to look
	for i := range l.f.Trades {
		last[l.f.Trades[i].Pool] = i
	}
	seen := 0
	for i := range l.f.Trades {
		t := &l.f.Trades[i]
		if l.Registry.Shared(t.Pool) || last[t.Pool] != i || seen == maxPools {
			continue
		}
		seen++
		for j := range l.f.Before(l.f.ExternalCalls[t.ExternalCall].Frame) {
			m := &l.f.Moves[j]
			if m.From != t.Pool || m.Key == (facts.Key{}) || m.Amount.Sign() == 0 || l.onStack(m.Frame, t.Pool) {
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
			if l.borrowed || len(l.f.Fresh) > 0 {
				h.grade = decisive
			}
			out = append(out, h)
			break
		}
	}
	return out
}

// selfTransfer: a tool sent a token to itself twice or more.
func (l *inspection) selfTransfer() []match {
	n := map[facts.Key][]int{}
	for i := range l.f.Moves {
		if m := &l.f.Moves[i]; m.From == m.To && l.f.Tool(m.From) && m.Amount.Sign() > 0 && l.gained {
			if n[m.Key] = append(n[m.Key], i); len(n[m.Key]) == 2 {
				h := match{
					grade:    decisive,
					category: api.TokenIncompatibility,
					faulty:   m.Key.Token,
					moves:    n[m.Key],
					calls:    l.callsOf(n[m.Key]),
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
func (l *inspection) productFell() (out []match) {
	if !l.gained {
		return nil
	}
	last := map[common.Address]*big.Int{}
	done := map[common.Address]bool{}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		switch {
		case len(g.Topics) == 0 || l.f.Created(g.Address) || l.f.InAttackerCluster(g.Address):
		case g.Topics[0] == evmsig.TopicBurnV2:
			delete(last, g.Address)
		case g.Topics[0] == evmsig.TopicSync:
			x, y := evmsig.Uint(g.Data, 0), evmsig.Uint(g.Data, 1)
			if x == nil || y == nil {
				continue
			}
			k, before := new(big.Int).Mul(x, y), last[g.Address]
			last[g.Address] = k
			if before == nil || done[g.Address] || !exceeds(before, k, 101) || l.left(g.Address) {
				continue
			}
			done[g.Address] = true
			h := match{
				grade:    suspicious,
				category: api.TokenIncompatibility,
				faulty:   l.tokenOf(g.Address),
				victims:  []common.Address{g.Address},
				values:   [2]*big.Int{before, k},
				position: facts.Position{},
			}
			if x := l.logFrame[i]; x != nil {
				h.frames = []int{x.Index}
			}
			if l.f.Loses(g.Address) != nil && (l.borrowed || len(l.f.Fresh) > 0) {
				h.grade = decisive
			}
			out = append(out, h)
		}
	}
	return out
}
