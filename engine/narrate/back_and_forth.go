package narrate

import (
	"txlens/engine/api"
	"txlens/engine/facts"

	"github.com/ethereum/go-ethereum/common"
)

// backAndForthHeadline tells trades that bought nothing: what went in, what came back and what
// was lost. It is empty for others.
func (a *headlineWriter) backAndForthHeadline(via string) string {
	b, ok := a.BackAndForth(a.v.Deciding.Matches)
	if !ok {
		return ""
	}
	pools := []common.Address{}
	for i := range b.Trades {
		pools = append(pools, b.Trades[i].Match.Emitter)
	}
	key := b.Lost[0].Key
	s := "Traded back and forth" + on("on", via) + ", " + api.Count(len(b.Trades), "trade") +
		" over " + api.Count(len(facts.Distinct(pools)), "pool") +
		": gave " + a.Amount(key, b.Gave) + " in all, got " + a.Amount(key, b.Back) + " back and lost " + a.legs(b.Lost)
	if b.Trader != a.Actor {
		s += ", with contract " + a.Who(b.Trader)
	}
	return s
}
