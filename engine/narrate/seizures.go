package narrate

import (
	"math/big"
	"slices"

	"txlens/engine/classify"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

func (a *stepWriter) seizureSteps() (steps []step) {
	list, logs := a.Seizures()
	for i, x := range list {
		about := Detail{Kind: string(facts.ActLiquidate)}
		for _, d := range []*flow.Delta{x.Debt, x.Collateral} {
			if d != nil {
				about.Amounts = append(about.Amounts, verdict.Amount{Key: d.Key, N: d.Amount})
			}
		}
		steps = append(steps, step{at: 2*logs[i] + 2, logs: []int{logs[i]}, about: about, text: func() string { return a.saySeizure(&x) + "." }})
	}
	return steps
}

func (a *stepWriter) saySeizure(x *facts.Liquidation) string {
	whose := ""
	if (x.Borrower != common.Address{}) {
		whose = " of " + a.Who(x.Borrower)
	}
	s := ""
	switch {
	case x.Debt != nil && x.Collateral != nil:
		s = "A debt" + whose + " of " + a.Amount(
			x.Debt.Key,
			x.Debt.Amount,
		) + " was repaid, and " + a.Amount(
			x.Collateral.Key,
			x.Collateral.Amount,
		) + " of the collateral taken for it"
	case x.Debt != nil:
		s = "A debt" + whose + " of " + a.Amount(x.Debt.Key, x.Debt.Amount) + " was repaid"
	default:
		s = a.Amount(x.Collateral.Key, x.Collateral.Amount) + " of the collateral" + whose + " was taken"
	}
	if x.BadDebt {
		s += "; a part of the debt stayed with the lender"
	}
	return s
}

// lendingVerbs say what a lender's event with a token and an amount records.
var lendingVerbs = map[facts.Act]string{
	facts.ActSupply:   "took in",
	facts.ActWithdraw: "paid out",
	facts.ActBorrow:   "lent",
	facts.ActRepay:    "took back",
}

// sayLending tells what a lender took or gave, when its event names the asset.
func (a *stepWriter) sayLending(h *facts.Match, place string) string {
	verb, ok := lendingVerbs[h.Act]
	if !ok {
		return ""
	}
	l := a.EventOf(h)
	n := h.Rule.Number(l, "amount")
	for _, role := range []string{"token", "asset"} {
		if token, ok := h.Rule.Address(l, role); ok && n != nil && n.Sign() > 0 && n.BitLen() < 256 {
			s := place + " " + verb + " " + a.Amount(facts.FungibleKey(token), n)
			if len(h.Party) > 0 && h.Party[0] != (common.Address{}) {
				s += " for " + a.whoParty(h)
			}
			return s + " (" + verbs[h.Act].infinitive + ")"
		}
	}
	return ""
}

// sayPooled tells what a pool of two took in or gave for liquidity, when the transfers
// beside its event are of just the amounts that it names.
func (a *stepWriter) sayPooled(h *facts.Match, place string) string {
	l := a.EventOf(h)
	n0, n1 := h.Rule.Number(l, "amount0"), h.Rule.Number(l, "amount1")
	if n0 == nil || n1 == nil || h.Rule.Flags&facts.FlagPool == 0 {
		return ""
	}
	from, to, verb := common.Address{}, h.Emitter, " took in "
	if h.Act != facts.ActAddLiq {
		from, to, verb = h.Emitter, common.Address{}, " paid out "
	}
	var parts []string
	for _, n := range []*big.Int{n0, n1} {
		if n.Sign() == 0 {
			continue
		}
		key, ok := a.PaidAsset(from, to, n, h.Log+4) // a pool may pay after its event
		if !ok {
			return ""
		}
		parts = append(parts, a.Amount(key, n))
	}
	if len(parts) == 0 {
		return ""
	}
	return place + verb + join(parts) + " for liquidity"
}

func (a *headlineWriter) liquidationHeadline(o *classify.Opinion, via string) string {
	s := "Liquidated a position"
	for _, h := range o.Matches {
		if victim, ok := a.LiquidatedAccount(h); ok {
			s = "Liquidated the position of " + a.Who(victim)
			break
		}
	}
	s += on("on", via)
	if told := a.seized(); told != "" {
		s += ", " + told
	} else {
		s += a.paidAndReceived()
	}
	if loans := a.Loans(); len(loans) > 0 {
		s += ", with a flash loan of " + a.Amount(loans[0].Key, loans[0].Amount) + " from " + a.Who(loans[0].Lender)
	}
	return s
}

// seized tells what debt was repaid and what collateral was taken for it.
func (a *headlineWriter) seized() string {
	var debt, collateral []facts.Leg
	add := func(legs []facts.Leg, d *flow.Delta) []facts.Leg {
		if d == nil {
			return legs
		}
		if i := slices.IndexFunc(legs, func(l facts.Leg) bool { return l.Key == d.Key }); i >= 0 {
			legs[i].Amount = new(big.Int).Add(legs[i].Amount, d.Amount)
			return legs
		}
		return append(legs, facts.Leg{Key: d.Key, Amount: d.Amount})
	}
	for i := range a.v.Seizures {
		debt, collateral = add(debt, a.v.Seizures[i].Debt), add(collateral, a.v.Seizures[i].Collateral)
	}
	switch {
	case len(debt) > 0 && len(collateral) > 0:
		return "repaying " + a.legs(debt) + " of debt and seizing " + a.legs(collateral) + " of collateral"
	case len(debt) > 0:
		return "repaying " + a.legs(debt) + " of debt"
	case len(collateral) > 0:
		return "seizing " + a.legs(collateral) + " of collateral"
	}
	return ""
}
