package classify

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// riskRules in the order in which their flags stand in a result. Each writes
// sentences of the form "flag: explanation".
var riskRules = []func(*analysis) []string{
	riskApprovals, riskDelegation, riskPoisoning, riskLookalike, riskFake, riskCaught, riskInner, riskAdmin, riskInitialised, riskBadDebt,
	riskFlashLoan, riskSlippage, riskDelegateCode, riskPaymaster, riskCoinbase, riskSandwich, riskStuck,
}

// assess collects the risks of a transaction that took effect.
func (a *analysis) assess() (risks []string) {
	if !a.Succeeded {
		return nil
	}
	seen := map[string]bool{}
	for _, r := range riskRules {
		for _, s := range r(a) {
			if !seen[s] && len(risks) < 40 {
				seen[s] = true
				risks = append(risks, s)
			}
		}
	}
	return risks
}

func riskApprovals(a *analysis) (risks []string) {
	for _, g := range a.grants() {
		if g.revoke || !a.ownGrant(&g) {
			continue
		}
		known := a.known(g.spender)
		doubt := ""
		if !known {
			doubt = ", which no label knows,"
		}
		switch {
		case g.operator && !known:
			risks = append(risks, "operator_approval: "+a.who(g.spender)+doubt+" may move every "+a.symbol(g.token)+" token of "+a.who(g.owner))
		case g.unlimited():
			risks = append(risks, "unlimited_approval: "+a.who(g.spender)+doubt+" may spend any amount of "+a.symbol(g.token)+" of "+a.who(g.owner))
		}
	}
	return risks
}

// ownGrant reports whether a right is one that a user gave: the actor, the sender, or
// somebody whose signature was brought. What contracts allow each other is plumbing.
func (a *analysis) ownGrant(g *grant) bool {
	return contains(a.actors, g.owner) || g.owner == a.sender || a.signed(g)
}

// permits are functions that give a right by the owner's signature, the owner first.
var permits = map[[4]byte]bool{
	evmsig.SelPermit:       true,
	evmsig.SelPermitDAI:    true,
	evmsig.SelPermit2:      true,
	evmsig.SelPermit2Batch: true,
	evmsig.SelPermitForAll: true,
	evmsig.SelPermitPacked: true,
}

// signed reports whether a right was given by a permit: a call to who emitted the event
// that carries the owner first.
func (a *analysis) signed(g *grant) bool {
	emitter := a.Receipt.Logs[g.log].Address
	isPermit := func(to common.Address, input []byte) bool {
		if to != emitter || len(input) < 36 || !permits[[4]byte(input[:4])] {
			return false
		}
		owner, ok := evmsig.Address(input[4:36])
		return ok && owner == g.owner
	}
	if a.Tree == nil {
		return a.Tx.To != nil && isPermit(*a.Tx.To, a.Tx.Input)
	}
	return slices.ContainsFunc(a.Tree.Frames, func(f *trace.Frame) bool { return f.Status == trace.OK && isPermit(f.To, f.Input) })
}

// riskDelegation: an EIP-7702 authorization hands an account to the code that it names.
func riskDelegation(a *analysis) (risks []string) {
	delegates, _ := a.delegates()
	for i, d := range delegates {
		if i == 5 {
			break
		}
		if !a.known(d) {
			risks = append(risks, "account_delegation: an EIP-7702 authorization names the code of "+a.who(d)+", which no label knows; code that an account runs may move all it holds")
		}
	}
	return risks
}

// known reports whether anybody vouches for who stands at an address.
func (a *analysis) known(addr common.Address) bool {
	l := a.labelOf(addr)
	// A name that the contract gave itself vouches for nothing.
	return l.Protocol != "" || l.Name != "" && l.Category != "token" && l.Category != "contract"
}

func riskCaught(a *analysis) []string {
	frames := slices.DeleteFunc(a.caught(), func(f *trace.Frame) bool { return a.labelOf(f.To).Category == "precompile" })
	if len(frames) == 0 {
		return nil // a precompile changes nothing, so its failure undid nothing
	}
	s := "caught_inner_failure: a call to " + a.target(frames[0]) + " failed and the transaction went on: " + a.why(frames[0])
	if len(frames) > 1 {
		s += "; " + api.Count(len(frames)-1, "more inner call") + " failed too"
	}
	return []string{s}
}

func riskInner(a *analysis) []string {
	switch {
	case !a.inner:
		return nil
	case a.operations > 1:
		return []string{"inner_failure: " + a.failedOfBundle() + " although the transaction succeeded"}
	}
	return []string{"inner_failure: the " + string(a.how) + " failed although the transaction succeeded"}
}

func riskBadDebt(a *analysis) (risks []string) {
	for i := range a.hits {
		h := &a.hits[i]
		bad := h.act == "flag:bad_debt"
		if h.act == actLiquidate && h.slug == "morpho_blue" && h.log != noLog {
			// repaid assets, repaid shares, seized, bad debt assets, bad debt shares
			w := evmsig.Word(a.eventOf(h).Data, 3)
			bad = w != nil && !allZero(w)
		}
		if bad {
			risks = append(risks, "bad_debt: "+a.who(h.emitter)+" booked debt that nobody will repay")
		}
	}
	return risks
}

// riskFlashLoan: a known event of a loan inside the transaction, or a callback that
// only lenders make.
func riskFlashLoan(a *analysis) []string {
	for i := range a.hits {
		h := &a.hits[i]
		if h.act == actFlashLoan {
			from := a.who(h.emitter)
			if h.slug != "" {
				from = protocolName(h.slug)
			}
			return []string{"flash_loan: assets were borrowed from " + from + " and repaid inside the transaction"}
		}
	}
	return nil
}

func riskPaymaster(a *analysis) (risks []string) {
	for i := range a.hits {
		switch a.hits[i].act {
		case "userop_postop":
			risks = append(risks, "paymaster_or_postop_failure: the paymaster's work after the operation reverted")
		case "userop_prefund":
			risks = append(risks, "paymaster_or_postop_failure: the prefund did not cover the gas of the operation")
		}
	}
	return risks
}

// riskCoinbase: the block's producer was paid inside the transaction, the usual way to
// buy a place in the block.
func riskCoinbase(a *analysis) []string {
	sum := a.bribe()
	if sum.Sign() == 0 {
		return nil
	}
	return []string{"coinbase_payment: " + a.amount(flow.TokenKey{}, sum) + " was paid to the block producer inside the transaction"}
}

// directTransfer: the sender itself called transfer on the token, to where this went: a
// token may also keep a part for itself.
func directTransfer(tx *ethrpc.Transaction, t *flow.Transfer) bool {
	if tx.To == nil || *tx.To != t.Token || len(tx.Input) < 36 || !evmsig.SelTransfer.Begins(tx.Input) {
		return false
	}
	to, ok := evmsig.Address(tx.Input[4:36])
	return ok && to == t.To
}
