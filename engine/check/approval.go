package check

import (
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   70,
	Name:    "unlimited_approval",
	Title:   "unlimited approval to an unlabelled spender",
	Causes:  []api.Category{api.PhishingApproval},
	Flags:   []verdict.Flag{verdict.UnlimitedApproval, verdict.OperatorApproval},
	flag:    (*inspection).overSupply,
	ruleOut: always(verdict.Clean, verdict.WhyNoRight),
})

// The check reports the flag that the classification raises from the receipt.
var _ = register(&Check{
	order:   80,
	Name:    "reported_spender",
	Title:   "approval for an address that is reported for fraud",
	Flags:   []verdict.Flag{verdict.ApprovalToReported},
	ruleOut: always(verdict.Clean, verdict.WhyNoReportedSpender),
})

// supply asks how many units of a token there are; nil where that is not known.
func (l *inspection) supply(token common.Address) *big.Int {
	return l.number(Question{To: token, Data: evmsig.SelTotalSupply[:], When: Before, Asker: "how many units of a token there are"})
}

// overSupply: an allowance of more than all units of a token is unlimited, whatever its
// number. It is asked for where nobody knows the spender, and in a triage always.
func (l *inspection) overSupply() (out []verdict.Risk) {
	if l.flagged(verdict.UnlimitedApproval) {
		return nil
	}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		if len(g.Topics) != 3 || g.Topics[0] != evmsig.TopicApproval || len(g.Data) != 32 || evmsig.Uint(g.Data, 0).Sign() == 0 {
			continue
		}
		owner, spender := common.BytesToAddress(g.Topics[1][12:]), common.BytesToAddress(g.Topics[2][12:])
		if owner != l.Tx.From && owner != l.Actor {
			continue
		}
		if !l.Asked && l.Vouched(spender) {
			continue
		}
		all := l.supply(g.Address)
		if all != nil && all.Sign() > 0 && evmsig.Uint(g.Data, 0).Cmp(all) > 0 {
			out = append(
				out,
				risk(
					verdict.UnlimitedApproval,
					verdict.MaySpendMoreThanSupply,
					verdict.Who(spender),
					amount(flow.TokenKey{Token: g.Address}, evmsig.Uint(g.Data, 0)),
					verdict.Who(owner),
				),
			)
		}
	}
	return out
}
