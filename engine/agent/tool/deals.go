package tool

import (
	"context"

	"txlens/engine/api"
)

type dealsInput struct {
	Offset int `json:"offset" max:"100000" doc:"deals to pass over" min:"0"`
}

// DealsView is what the sender and its contracts gave and took, and who lost.
type DealsView struct {
	Page
	Side   []api.Addr    `json:"side"`
	Deals  []api.Deal    `json:"deals"`
	Gained []api.Holding `json:"gained"`
	Lost   []api.Holding `json:"lost"`
}

// noDeals is said where the rules did not lay the transaction out.
const noDeals = "no rule about outcomes fired, so that nothing is laid out"

var getDeals = define(
	"get_deals",
	"What the sender and its contracts gave and took in each call to others, what they have more or less of, and who lost without payment.",
	limitLocal,
	func(_ context.Context, d *Env, in *dealsInput) (any, error) {
		all := d.Case.Result.Dealings
		if all == nil {
			return unavailable(noDeals)
		}
		v := DealsView{Side: all.Side, Gained: all.Gained, Lost: all.Lost}
		v.Deals, v.Page = pageOf(len(all.Deals), in.Offset, 20, func(i int) api.Deal { return all.Deals[i] })
		return v, nil
	},
)
