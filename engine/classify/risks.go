package classify

import (
	"slices"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// riskRules in the order in which their flags stand in a result.
var riskRules = []func(*Reading) []verdict.Risk{
	riskApprovals, riskDelegation, riskPoisoning, riskLookalike, riskFake, riskCaught, riskInner, riskAdmin, riskInitialised, riskBadDebt,
	riskFlashLoan, riskSlippage, riskDelegateCode, riskPaymaster, riskCoinbase, riskSandwich, riskStuck,
}

// assess collects the risks of a transaction that took effect.
func (a *Reading) assess() (risks []verdict.Risk) {
	if !a.Succeeded {
		return nil
	}
	for _, r := range riskRules {
		risks = verdict.Add(risks, maxRisks, r(a)...)
	}
	return risks
}

// maxRisks bounds the risks of a transaction.
const maxRisks = 40

// flag makes a risk.
func flag(f verdict.Flag, why verdict.Form, args ...verdict.Arg) verdict.Risk {
	return verdict.Risk{Flag: f, Why: verdict.Say(why, args...)}
}

func riskApprovals(a *Reading) (risks []verdict.Risk) {
	for _, g := range a.grants() {
		if g.revoke || !a.ownGrant(&g) {
			continue
		}
		known := a.known(g.spender)
		args := []verdict.Arg{verdict.Who(g.spender), verdict.Symbol(g.token), verdict.Who(g.owner)}
		switch {
		case g.operator && !known:
			risks = append(risks, flag(verdict.OperatorApproval, verdict.OperatorMayMoveAll, args...))
		case g.unlimited() && !known:
			risks = append(risks, flag(verdict.UnlimitedApproval, verdict.UnknownMaySpendAll, args...))
		case g.unlimited():
			risks = append(risks, flag(verdict.UnlimitedApproval, verdict.MaySpendAll, args...))
		}
	}
	return risks
}

// ownGrant reports whether a right is one that a user gave: the actor, the sender, or
// somebody whose signature was brought. What contracts allow each other is plumbing.
func (a *Reading) ownGrant(g *grant) bool {
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
func (a *Reading) signed(g *grant) bool {
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
func riskDelegation(a *Reading) (risks []verdict.Risk) {
	delegates, _ := a.delegates()
	for i, d := range delegates {
		if i == 5 {
			break
		}
		if !a.known(d) {
			risks = append(risks, flag(verdict.AccountDelegation, verdict.DelegatesToUnknown, verdict.Who(d)))
		}
	}
	return risks
}

// known reports whether anybody vouches for who stands at an address.
func (a *Reading) known(addr common.Address) bool {
	l := a.labelOf(addr)
	// A name that the contract gave itself vouches for nothing.
	return l.Protocol != "" || l.Name != "" && l.Category != "token" && l.Category != "contract"
}

func riskCaught(a *Reading) []verdict.Risk {
	frames := slices.DeleteFunc(a.caught(), func(f *trace.Frame) bool { return a.labelOf(f.To).Category == "precompile" })
	if len(frames) == 0 {
		return nil // a precompile changes nothing, so its failure undid nothing
	}
	at := frames[0].Index
	if len(frames) > 1 {
		more := verdict.Count{N: len(frames) - 1, Of: verdict.OfMoreInnerCalls}
		return []verdict.Risk{flag(verdict.CaughtInnerFailure, verdict.InnerCallsFailed, verdict.Callee(at), verdict.Reason(at), more)}
	}
	return []verdict.Risk{flag(verdict.CaughtInnerFailure, verdict.InnerCallFailed, verdict.Callee(at), verdict.Reason(at))}
}

func riskInner(a *Reading) []verdict.Risk {
	switch {
	case !a.inner:
		return nil
	case a.operations > 1:
		return []verdict.Risk{flag(verdict.InnerFailure, verdict.OperationsFailed, verdict.Int(a.failedOps), verdict.Int(a.operations))}
	case a.how == asUserOp:
		return []verdict.Risk{flag(verdict.InnerFailure, verdict.OperationFailed)}
	}
	return []verdict.Risk{flag(verdict.InnerFailure, verdict.SafeCallFailed)}
}

func riskBadDebt(a *Reading) (risks []verdict.Risk) {
	for i := range a.hits {
		h := &a.hits[i]
		bad := h.act.flag() == verdict.BadDebt
		if h.act == actLiquidate && h.slug == "morpho_blue" && h.log != noLog {
			// repaid assets, repaid shares, seized, bad debt assets, bad debt shares
			w := evmsig.Word(a.eventOf(h).Data, 3)
			bad = w != nil && !allZero(w)
		}
		if bad {
			risks = append(risks, flag(verdict.BadDebt, verdict.BookedBadDebt, verdict.Who(h.emitter)))
		}
	}
	return risks
}

// riskFlashLoan: a known event of a loan inside the transaction, or a callback that
// only lenders make.
func riskFlashLoan(a *Reading) []verdict.Risk {
	for i := range a.hits {
		h := &a.hits[i]
		if h.act == actFlashLoan {
			var from verdict.Arg = verdict.Who(h.emitter)
			if h.slug != "" {
				from = verdict.Protocol(h.slug)
			}
			return []verdict.Risk{flag(verdict.FlashLoan, verdict.Borrowed, from)}
		}
	}
	return nil
}

func riskPaymaster(a *Reading) (risks []verdict.Risk) {
	for i := range a.hits {
		switch a.hits[i].act {
		case "userop_postop":
			risks = append(risks, flag(verdict.PaymasterOrPostopFailure, verdict.PostOpReverted))
		case "userop_prefund":
			risks = append(risks, flag(verdict.PaymasterOrPostopFailure, verdict.PrefundTooLow))
		}
	}
	return risks
}

// riskCoinbase: the block's producer was paid inside the transaction, the usual way to
// buy a place in the block.
func riskCoinbase(a *Reading) []verdict.Risk {
	sum := a.bribe()
	if sum.Sign() == 0 {
		return nil
	}
	return []verdict.Risk{flag(verdict.CoinbasePayment, verdict.PaidProducer, verdict.Amount{N: sum})}
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
