package narrate

import (
	"txlens/engine/api"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Dealings renders what the sender and its contracts gave and took.
func Dealings(n Names, d *verdict.Dealings) *api.Dealings {
	out := &api.Dealings{MoreDeals: d.More, Side: addresses(d.Side), Deals: []api.Deal{},
		Gained: holdings(n, d.Gained), Lost: holdings(n, d.Lost)}
	for _, x := range d.Deals {
		out.Deals = append(out.Deals, api.Deal{
			Frame: x.Path, Target: api.AddrOf(x.Target), Function: n.Foreign(x.Function), Given: amounts(n, x.Given), Taken: amounts(n, x.Taken),
		})
	}
	return out
}

func addresses(list []common.Address) []api.Addr {
	out := make([]api.Addr, len(list))
	for i, a := range list {
		out[i] = api.AddrOf(a)
	}
	return out
}

func holdings(n Names, list []verdict.Holding) []api.Holding {
	out := make([]api.Holding, len(list))
	for i, h := range list {
		out[i] = api.Holding{Account: api.AddrOf(h.Account), Assets: amounts(n, h.Assets)}
	}
	return out
}
