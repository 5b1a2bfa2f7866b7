package check

import (
	"txlens/engine/api"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules that never decide alone.
var looseRules = []rule{
	{name: "long_flash", cause: verdict.ByUnpaid, fires: (*attack).longFlash},
	{name: "constructor_attack", cause: verdict.ByUnpaid, fires: (*attack).constructed},
	{name: "unpaid", cause: verdict.ByUnpaid, fires: (*attack).unpaid},
}

// longFlash: very many deals with borrowed money, and a gain.
func (a *attack) longFlash() []hit {
	if !a.loan || !a.gain || a.old || len(a.f.Deals) < 25 {
		return nil
	}
	return []hit{{grade: suspicious, category: api.BusinessLogic, count: len(a.f.Deals)}}
}

// constructed: the whole transaction is the constructor of a contract that deals with
// others and gains.
func (a *attack) constructed() []hit {
	if !a.f.Tree.Root.Kind.Creates() || !a.gain || len(a.f.Deals) < 4 {
		return nil
	}
	return []hit{{grade: suspicious, category: api.BusinessLogic, count: len(a.f.Deals)}}
}

// unpaid: somebody has less for nothing, in a transaction that does more than collect: it
// trades, or has four deals or more.
func (a *attack) unpaid() (out []hit) {
	if !a.gain || a.old || len(a.f.Deals) < 4 && len(a.f.Trades) == 0 {
		return nil
	}
	for i := range a.f.Losers {
		if v := a.f.Losers[i].Address; !many[v] {
			out = append(out, hit{grade: suspicious, category: api.BusinessLogic, victims: []common.Address{v}, deals: a.dealsOf(a.paidBy(v)), position: a.f.Losers[i].Lost[0]})
		}
	}
	return out
}
