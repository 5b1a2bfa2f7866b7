package classify

import (
	"slices"

	"txlens/engine/facts"
	"txlens/engine/verdict"
)

// sandwichLeg: neighbours show a trade of somebody else closed in on by this searcher.
func sandwichLeg(a *facts.Case) *Opinion {
	if w := a.Sandwich; w == nil || !w.Leg || !a.IsSearcher() {
		return nil
	}
	swaps := a.Find(facts.ActSwap)
	inPool := slices.DeleteFunc(slices.Clone(swaps), func(m *facts.Match) bool { return m.Emitter != a.Sandwich.Pool })
	if len(inPool) > 0 {
		swaps = inPool // what it traded elsewhere is no part of the sandwich
	}
	return &Opinion{Act: facts.ActSandwich, Matches: swaps}
}

func jitLiquidity(a *facts.Case) *Opinion {
	if _, ok := a.JustInTime(); !ok {
		return nil
	}
	return &Opinion{Act: facts.ActJIT, Matches: a.Find(facts.ActAddLiq, facts.ActRemoveLiq, facts.ActLiquidity)}
}

// riskSandwich tells the victim who stood around its trade.
func riskSandwich(a *facts.Case) []verdict.Risk {
	w := a.Sandwich
	if w == nil || w.Leg {
		return nil
	}
	if w.Loss != nil {
		loss := verdict.Amount{Key: w.Loss.Key, N: w.Loss.Amount}
		return []verdict.Risk{flag(verdict.Sandwich, verdict.TradedAroundLoss, verdict.Who(w.Searcher), verdict.Who(w.Pool), loss)}
	}
	return []verdict.Risk{flag(verdict.Sandwich, verdict.TradedAround, verdict.Who(w.Searcher), verdict.Who(w.Pool))}
}
