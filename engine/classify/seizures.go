package classify

import (
	"math/big"

	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// Liquidation is one seizure of collateral against a debt. Amounts are positive; a
// side that the evidence does not show is nil.
type Liquidation struct {
	Borrower         common.Address
	Debt, Collateral *flow.Delta
	BadDebt          bool // the lender was left with a part of the debt
}

// seizures reads the liquidation events, one Liquidation each.
func (a *Reading) seizures() (list []Liquidation, logs []int) {
	for i, h := range a.find(actLiquidate) {
		if i == maxTried || len(list) == maxLoans {
			break
		}
		if h.rule == nil {
			continue
		}
		l := a.eventOf(h)
		x := Liquidation{}
		x.Borrower, _ = h.rule.address(l, "borrower")
		x.Debt = a.side(h, "debt", common.Address{}, h.emitter)
		x.Collateral = a.side(h, "collateral", h.emitter, common.Address{})
		if n := h.rule.number(l, "bad_debt"); n != nil && n.Sign() > 0 {
			x.BadDebt = true
		}
		if x.Debt != nil || x.Collateral != nil {
			list, logs = append(list, x), append(logs, h.log)
		}
	}
	return list, logs
}

// side reads the debt or the collateral of a liquidation event. Where the event names no
// token, the movement of just that amount does.
func (a *Reading) side(h *hit, role string, from, to common.Address) *flow.Delta {
	l := a.eventOf(h)
	n := h.rule.number(l, role+"_amount")
	if n == nil || n.Sign() <= 0 {
		return nil
	}
	if token, ok := h.rule.address(l, role+"_token"); ok {
		return &flow.Delta{Key: keyOfAddress(token), Amount: n}
	}
	if key, ok := a.paid(from, to, n, len(a.Receipt.Logs)); ok {
		return &flow.Delta{Key: key, Amount: n}
	}
	return nil
}

func (a *stepWriter) seizureSteps() (steps []step) {
	list, logs := a.seizures()
	for i, x := range list {
		steps = append(steps, step{at: 2*logs[i] + 2, text: func() string { return a.saySeizure(&x) + "." }})
	}
	return steps
}

func (a *stepWriter) saySeizure(x *Liquidation) string {
	whose := ""
	if (x.Borrower != common.Address{}) {
		whose = " of " + a.Who(x.Borrower)
	}
	s := ""
	switch {
	case x.Debt != nil && x.Collateral != nil:
		s = "A debt" + whose + " of " + a.Amount(x.Debt.Key, x.Debt.Amount) + " was repaid, and " + a.Amount(x.Collateral.Key, x.Collateral.Amount) + " of the collateral taken for it"
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
var lendingVerbs = map[act]string{actSupply: "took in", actWithdraw: "paid out", actBorrow: "lent", actRepay: "took back"}

// sayLending tells what a lender took or gave, when its event names the asset.
func (a *stepWriter) sayLending(h *hit, place string) string {
	verb, ok := lendingVerbs[h.act]
	if !ok {
		return ""
	}
	l := a.eventOf(h)
	n := h.rule.number(l, "amount")
	for _, role := range []string{"token", "asset"} {
		if token, ok := h.rule.address(l, role); ok && n != nil && n.Sign() > 0 && n.Cmp(wordTop) < 0 {
			s := place + " " + verb + " " + a.Amount(leg20(token), n)
			if len(h.party) > 0 && h.party[0] != (common.Address{}) {
				s += " for " + a.whoParty(h)
			}
			return s + " (" + verbs[h.act].infinitive + ")"
		}
	}
	return ""
}

// sayPooled tells what a pool of two took in or gave for liquidity, when the transfers
// beside its event are of just the amounts that it names.
func (a *stepWriter) sayPooled(h *hit, place string) string {
	l := a.eventOf(h)
	n0, n1 := h.rule.number(l, "amount0"), h.rule.number(l, "amount1")
	if n0 == nil || n1 == nil || h.rule.flags&flagPool == 0 {
		return ""
	}
	from, to, verb := common.Address{}, h.emitter, " took in "
	if h.act != actAddLiq {
		from, to, verb = h.emitter, common.Address{}, " paid out "
	}
	var parts []string
	for _, n := range []*big.Int{n0, n1} {
		if n.Sign() == 0 {
			continue
		}
		key, ok := a.paid(from, to, n, h.log+4) // a pool may pay after its event
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
