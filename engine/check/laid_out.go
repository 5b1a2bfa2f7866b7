package check

import (
	"math/big"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Bounds of what is laid out.
const (
	maxLaidDeals  = 40
	maxLaidAssets = 8
	maxLaidSide   = 20
)

// dealings lay out the transaction where a rule fired; nil elsewhere.
func (l *inspection) dealings() *verdict.Dealings {
	if len(l.matches) == 0 {
		return nil
	}
	out := &verdict.Dealings{Side: l.side()}
	for i := range l.f.ExternalCalls {
		if d := &l.f.ExternalCalls[i]; d.Into < 0 {
			given, taken := amounts(l.f.Given(i)), amounts(l.f.Taken(i))
			switch {
			case len(given)+len(taken) == 0:
			case len(out.Deals) == maxLaidDeals:
				out.More++
			default:
				out.Deals = append(out.Deals, verdict.Deal{
					Path: l.callFrame(i).Path(), Target: d.Target, Function: l.called(d), Given: given, Taken: taken,
				})
			}
		}
	}
	for _, who := range out.Side {
		out.Gained = l.holding(out.Gained, who)
	}
	seen := map[common.Address]bool{}
	for _, loss := range l.f.LossCandidates {
		seen[loss.Address] = true
		out.Lost = l.holding(out.Lost, loss.Address)
	}
	for i := range l.matches {
		for _, v := range l.matches[i].victims {
			if !seen[v] && !l.f.InAttackerCluster(v) {
				seen[v] = true
				out.Lost = l.holding(out.Lost, v)
			}
		}
	}
	return out
}

// side lists the accounts of the cluster, the sender first.
func (l *inspection) side() []common.Address {
	out := append([]common.Address{l.f.Tx.From}, l.f.Tools...)
	out = append(out, l.f.ProfitReceivers...)
	return out[:min(len(out), maxLaidSide)]
}

// called is the name of the function of an external call, or its selector.
func (l *inspection) called(d *facts.ExternalCall) string {
	if name := l.CallName(d.Frame); name != "" {
		return name
	}
	if len(l.frame(d.Frame).Input) >= 4 {
		return api.Hex(d.Selector[:]).String()
	}
	return ""
}

// holding adds what an account has more and less of, if anything.
func (l *inspection) holding(list []verdict.Holding, who common.Address) []verdict.Holding {
	var assets []verdict.Amount
	for _, p := range l.f.Changed(who) {
		if len(assets) < maxLaidAssets {
			assets = append(assets, amount(p.Key, p.Amount))
		}
	}
	if len(assets) == 0 || len(list) == maxLaidSide {
		return list
	}
	return append(list, verdict.Holding{Account: who, Assets: assets})
}

func amounts(list []facts.Position) (out []verdict.Amount) {
	for _, p := range list[:min(len(list), maxLaidAssets)] {
		out = append(out, amount(p.Key, new(big.Int).Set(p.Amount)))
	}
	return out
}
