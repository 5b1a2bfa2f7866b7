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
func (a *attack) dealings() *verdict.Dealings {
	if a == nil || len(a.all) == 0 {
		return nil
	}
	out := &verdict.Dealings{Side: a.side()}
	for i := range a.f.ExternalCalls {
		if d := &a.f.ExternalCalls[i]; d.Into < 0 {
			given, taken := amounts(a.f.Given(i)), amounts(a.f.Taken(i))
			switch {
			case len(given)+len(taken) == 0:
			case len(out.Deals) == maxLaidDeals:
				out.More++
			default:
				out.Deals = append(out.Deals, verdict.Deal{
					Path: a.callFrame(i).Path(), Target: d.Target, Function: a.called(d), Given: given, Taken: taken,
				})
			}
		}
	}
	for _, who := range out.Side {
		out.Gained = a.holding(out.Gained, who)
	}
	seen := map[common.Address]bool{}
	for _, l := range a.f.LossCandidates {
		seen[l.Address] = true
		out.Lost = a.holding(out.Lost, l.Address)
	}
	for i := range a.all {
		for _, v := range a.all[i].victims {
			if !seen[v] && !a.f.InAttackerCluster(v) && len(out.Lost) < maxLaidSide {
				seen[v] = true
				out.Lost = a.holding(out.Lost, v)
			}
		}
	}
	return out
}

// side lists the accounts of the cluster, the sender first.
func (a *attack) side() []common.Address {
	out := append([]common.Address{a.f.Tx.From}, a.f.Tools...)
	out = append(out, a.f.ProfitReceivers...)
	return out[:min(len(out), maxLaidSide)]
}

// called is the name of the function of an external call, or its selector.
func (a *attack) called(d *facts.ExternalCall) string {
	if name := a.l.function(d.Frame); name != "" {
		return name
	}
	if len(a.frame(d.Frame).Input) >= 4 {
		return api.Hex(d.Selector[:]).String()
	}
	return ""
}

// holding adds what an account has more and less of, if anything.
func (a *attack) holding(list []verdict.Holding, who common.Address) []verdict.Holding {
	var assets []verdict.Amount
	for _, p := range a.f.Changed(who) {
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
