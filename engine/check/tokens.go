package check

import (
	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   110,
	Name:    "token_behaviour",
	Title:   "token with a fee or that rebases",
	Causes:  []api.Category{api.TokenIncompatibility},
	Flags:   []verdict.Flag{verdict.FakeTransferEvent},
	Open:    true,
	ruleOut: (*inspection).checkTokens,
})

var _ = register(&Check{
	order:   190,
	Name:    "conservation",
	Title:   "sum of a token's movements is what was minted less what was burnt",
	ruleOut: (*inspection).checkConservation,
})

func (l *inspection) checkTokens() verdict.Outcome {
	if len(l.Flow.Transfers) == 0 {
		return ruled(verdict.NotApplicable, verdict.WhyNoTokenMoved)
	}
	backed := 0
	for i := range l.Flow.Checks {
		c := &l.Flow.Checks[i]
		switch c.Match {
		case flow.LogsMatch:
			backed++
		case flow.FeeOnTransfer, flow.Rebasing:
			return ruled(verdict.NotChecked, verdict.WhySuchToken, verdict.Who(c.Token))
		default:
			return ruled(verdict.NotChecked, verdict.WhyMovedOtherwise, verdict.Who(c.Token))
		}
	}
	if backed == 0 {
		return ruled(verdict.NotChecked, verdict.WhyBalancesUnknown)
	}
	return ruled(verdict.Clean, verdict.WhyBalancesMatch, verdict.Count{N: backed, Of: verdict.OfTokens})
}

// checkConservation holds the balances that the state shows against the tokens' logs, of
// which what is minted and burnt is a part.
func (l *inspection) checkConservation() verdict.Outcome {
	if len(l.Flow.Transfers) == 0 {
		return ruled(verdict.NotApplicable, verdict.WhyNoTokenMoved)
	}
	holders, tokens := 0, 0
	for i := range l.Flow.Checks {
		switch c := &l.Flow.Checks[i]; c.Match {
		case flow.LogsMatch:
			holders += c.Holders
			tokens++
		case flow.FeeOnTransfer, flow.Rebasing:
		default:
			return ruled(verdict.NotChecked, verdict.WhyStoresDiffer, verdict.Who(c.Token))
		}
	}
	if tokens == 0 {
		return ruled(verdict.NotChecked, verdict.WhyNoStorage)
	}
	return ruled(
		verdict.Clean,
		verdict.WhyBalancesOfTokensMatch,
		verdict.Count{N: holders, Of: verdict.OfBalances},
		verdict.Count{N: tokens, Of: verdict.OfTokens},
	)
}
