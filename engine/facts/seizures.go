package facts

import (
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

// Seizures reads the liquidation events, one Liquidation each.
func (a *Case) Seizures() (list []Liquidation, logs []int) {
	for i, h := range a.Find(ActLiquidate) {
		if i == MaxStrangers || len(list) == MaxLoans {
			break
		}
		if h.Rule == nil {
			continue
		}
		l := a.EventOf(h)
		x := Liquidation{}
		x.Borrower, _ = h.Rule.Address(l, "borrower")
		x.Debt = a.side(h, "debt", common.Address{}, h.Emitter)
		x.Collateral = a.side(h, "collateral", h.Emitter, common.Address{})
		if n := h.Rule.Number(l, "bad_debt"); n != nil && n.Sign() > 0 {
			x.BadDebt = true
		}
		if x.Debt != nil || x.Collateral != nil {
			list, logs = append(list, x), append(logs, h.Log)
		}
	}
	return list, logs
}

// side reads the debt or the collateral of a liquidation event. Where the event names no
// token, the movement of just that amount does.
func (a *Case) side(h *Match, role string, from, to common.Address) *flow.Delta {
	l := a.EventOf(h)
	n := h.Rule.Number(l, role+"_amount")
	if n == nil || n.Sign() <= 0 {
		return nil
	}
	if token, ok := h.Rule.Address(l, role+"_token"); ok {
		return &flow.Delta{Key: keyOfAddress(token), Amount: n}
	}
	if key, ok := a.PaidAsset(from, to, n, len(a.Receipt.Logs)); ok {
		return &flow.Delta{Key: key, Amount: n}
	}
	return nil
}
