package classify

import (
	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Classify judges one transaction. It changes nothing in f, keeps nothing of it
// beyond what the Verdict points to, and is safe for concurrent use.
func Classify(a *Reading) *Verdict {
	v := &Verdict{Roles: map[common.Address]string{}}
	switch {
	case a.Succeeded:
		a.judge(v)
	case a.outcomeKnown():
		a.judgeAttempt(v, "attempted act")
		v.Attempted = true
	default:
		a.judgeAttempt(v, "asked for")
	}
	v.Actor, v.Sandwich = a.actor, a.sandwich
	v.Risks = a.assess()
	a.assignRoles(v)
	a.trust(v)
	return v
}

// judge classifies what took effect.
func (a *Reading) judge(v *Verdict) {
	o := a.decide(v)
	v.Deciding = o
	a.settleType(v)
	if p := v.Votes[0].Protocol; p != "" {
		v.Protocol = &p
	}
	v.Seizures, _ = a.seizures()
	if o.act == actArbitrage {
		a.primaryGain(v)
		return
	}
	a.delivered(o)
	if l := a.primaryLeg(v, !gains[o.act]); l != nil {
		sign := -1
		for i := range a.in {
			if l.key == a.in[i].key && l.amount.Cmp(a.in[i].amount) == 0 {
				sign = 1
			}
		}
		v.Primary = l.delta(sign)
		a.besides(v, l, sign)
	}
}

// delivered finds to whom a bridge delivered what its event tells, where that is not the
// actor.
func (a *Reading) delivered(o *opinion) {
	if o.act != actBridgeIn && o.act != actMessageIn || len(a.in) > 0 {
		return
	}
	for _, h := range o.hits {
		if h.act != actBridgeIn {
			continue
		}
		for _, p := range h.party {
			if _, in := a.legsOf(p); len(in) > 0 && p != a.sender {
				o.beneficiary, o.benefit = p, in
				return
			}
		}
	}
}

// maxBesides bounds the movements whose values are added up.
const maxBesides = 8

// primaryGain makes the value of an arbitrage that of all it gained. What cannot be added
// up has none: a part would pass for the whole.
func (a *Reading) primaryGain(v *Verdict) {
	legs, _ := a.gain(v.Deciding)
	if len(legs) == 0 || len(legs) > maxBesides+1 || nfts(legs) {
		return
	}
	v.Primary = legs[0].delta(1)
	for i := range legs[1:] {
		v.Besides = append(v.Besides, *legs[1+i].delta(1))
	}
}

// besides lists the other assets of a liquidity act: a pair is worth both its sides.
func (a *Reading) besides(v *Verdict, primary *leg, sign int) {
	o := v.Deciding
	if o.act != actAddLiq && o.act != actRemoveLiq && o.act != actCollect {
		return
	}
	legs := a.out
	if sign > 0 {
		legs = a.in
	}
	for _, l := range plain(legs) {
		if l.key != primary.key && !l.key.NFT && len(v.Besides) < maxBesides {
			v.Besides = append(v.Besides, *l.delta(sign))
		}
	}
}

// gains are the acts whose value is what came in.
var gains = map[act]bool{actWithdraw: true, actBorrow: true, actVaultOut: true, actClaim: true, "receive": true, actClaimStake: true, actUnstake: true,
	actRemoveLiq: true, actCollect: true, actBridgeIn: true, actMessageIn: true}

func (a *Reading) settleType(v *Verdict) {
	t := typeOf(v.Deciding.act)
	if len(a.actors) > 1 && a.how == asUserOp {
		t = a.bundleType(t)
	}
	v.TxType = &t
	v.SubType = v.Votes[0].SubType
}

// bundleType: a bundle of several users' operations has a type only when the rules
// would give each of them the same; that is known only for bundles of transfers.
func (a *Reading) bundleType(t api.TxType) api.TxType {
	if t == api.TypeTransfer || t == api.TypeSwap && !a.mixed() {
		return t
	}
	return api.TypeOther
}

// mixed reports whether some account of a bundle did not trade.
func (a *Reading) mixed() bool {
	for _, x := range a.actors {
		if out, in := a.legsOf(x); len(plain(out)) == 0 || len(plain(in)) == 0 {
			return true
		}
	}
	return false
}

// judgeAttempt classifies what the calldata asks for: of a transaction that failed, or of
// which no receipt tells whether it was done.
func (a *Reading) judgeAttempt(v *Verdict, rule string) {
	o := a.attempt()
	v.Deciding = o
	v.Votes = append(v.Votes, a.asVote(rule, o))
	t := typeOf(o.act)
	v.TxType, v.SubType = &t, v.Votes[0].SubType
	if p := v.Votes[0].Protocol; p != "" {
		v.Protocol = &p
	}
}

// outcomeKnown reports whether anything says how the transaction ended. Without a
// receipt that is a trace that failed: then nothing moved in any case.
func (a *Reading) outcomeKnown() bool {
	if a.NoReceipt {
		return a.traced() && a.Tree.Root.Err != ""
	}
	return a.Receipt != nil && a.Receipt.Status != nil || a.traced()
}

// unwrapAttempt: a failed Safe transaction was attempted by the Safe that was called.
func (a *Reading) unwrapAttempt() {
	if a.call != nil && a.call.act == actSafeExec && a.Tx.To != nil {
		a.actor, a.how = *a.Tx.To, asSafe
	}
}

// trust sets the confidence and says why it is not high.
func (a *Reading) trust(v *Verdict) {
	c := api.High
	lower := func(to api.Confidence, why verdict.Form, args ...verdict.Arg) {
		c = c.Lower(to)
		v.Reasons = append(v.Reasons, verdict.Say(why, args...))
	}
	a.trustTrace(lower)
	if v.Deciding.unsure != 0 {
		lower(api.Medium, v.Deciding.unsure)
	}
	a.trustNames(v, lower)
	a.trustMoves(v.Deciding, lower)
	v.Confidence = c
}

// lowering lowers the confidence for a reason.
type lowering func(to api.Confidence, why verdict.Form, args ...verdict.Arg)

func (a *Reading) trustTrace(lower lowering) {
	if a.NoReceipt || a.Receipt == nil {
		lower(api.Low, verdict.NoReceiptConfirms)
	}
	if !a.Succeeded && !a.outcomeKnown() && !a.traced() {
		lower(api.Low, verdict.SuccessUnknown)
	}
	if a.Tree == nil {
		lower(api.Low, verdict.NoCallTrace)
		return
	}
	switch a.Tree.Source {
	case trace.RungReceipt:
		if !a.bareTransfer() {
			lower(api.Low, verdict.OnlyReceiptAvailable)
		}
	case trace.RungReplayQuick:
		lower(api.Medium, verdict.ReexecutedAtParent)
	}
}

// bareTransfer: coin sent without calldata for the price of a plain transfer; no code
// can have run, so the receipt tells all.
func (a *Reading) bareTransfer() bool {
	return a.Succeeded && a.Tx.To != nil && len(a.Tx.Input) == 0 && a.Receipt != nil && len(a.Receipt.Logs) == 0 && a.Receipt.GasUsed == 21000
}

// needsProtocol are the types that mean little without a protocol.
var needsProtocol = map[api.TxType]bool{api.TypeSwap: true, api.TypeBridge: true, api.TypeStake: true,
	api.TypeLiquidation: true, api.TypeGovernance: true}

var plainActs = map[act]bool{actTransfer: true, actApproval: true, actWrap: true, actUnwrap: true, actDeploy: true, actSystem: true, actBatchPost: true, actNote: true, actAuthorize: true}

func (a *Reading) trustNames(v *Verdict, lower lowering) {
	o := v.Deciding
	if v.Protocol == nil && (needsProtocol[typeOf(o.act)] || typeOf(o.act) == api.TypeOther && !plainActs[o.act]) {
		if family := v.Votes[0].Family; family != "" {
			lower(api.Medium, verdict.ProtocolUnknownOfFamily, verdict.Family(family))
		} else {
			lower(api.Medium, verdict.ProtocolUnknown)
		}
	}
	unknown := 0
	for _, addr := range a.called() {
		if !a.named(addr) && len(a.Tx.Input) > 0 && o.act != actSystem && o.act != actBatchPost && !a.noCodeRan() {
			unknown++
			lower(api.Medium, verdict.CalledUnidentified, verdict.Abbreviated(addr))
		}
	}
	for _, g := range a.grants() {
		if o.act == actApproval && !g.revoke && !a.named(g.spender) {
			lower(api.Medium, verdict.SpenderUnidentified, verdict.Abbreviated(g.spender))
			break
		}
	}
	if unknown > 0 && (o.act == "contract_call" || o.act == "pay") {
		lower(api.Low, verdict.ContractUnrecognised)
	}
}

// named reports whether a contract is identified: labelled, a token with a symbol, or
// of verified source; the actor's own account is its own identity.
func (a *Reading) named(addr common.Address) bool {
	if a.known(addr) || contains(a.actors, addr) && a.how != asSender || a.Tokens[addr].Symbol != "" || a.labelOf(addr).Category == "token" {
		return true
	}
	c := a.Contracts[addr]
	return c != nil && c.Name != ""
}

// trustMoves: the summary must follow from what the actor gained and lost, in units
// that are known, by a ledger that agrees with the node.
func (a *Reading) trustMoves(o *opinion, lower lowering) {
	if !a.Succeeded {
		if !a.outcomeKnown() {
			return
		}
		if f := a.origin(); f == nil || !a.explained(f) {
			lower(api.Medium, verdict.FailureUnexplained)
		}
		return
	}
	switch typeOf(o.act) {
	case api.TypeSwap:
		if len(a.in)+len(o.benefit) == 0 || len(a.out) == 0 {
			lower(api.Medium, verdict.ExchangeSidesUnseen)
		}
	case api.TypeApproval:
		if len(a.grants()) == 0 {
			lower(api.Medium, verdict.NoApprovalEvent)
		}
	}
	for _, l := range append(append([]leg(nil), a.out...), a.in...) {
		if l.key.NFT || l.key.ID != "" || l.native() {
			continue
		}
		if _, ok := a.decimals(l.key.Token); !ok {
			lower(api.Medium, verdict.DecimalsUnknown, verdict.Abbreviated(l.key.Token))
			break
		}
	}
	a.trustEvents(lower)
	if a.Flow != nil && len(a.Flow.Mismatches) > 0 {
		lower(api.Medium, verdict.LedgerDisagrees)
	}
	if at, ok := a.tradedBy(o); ok {
		lower(api.Medium, verdict.AssetsMovedAt, verdict.Abbreviated(at))
	}
}

// trustEvents: an amount that only a log claims is not what the actor has.
func (a *Reading) trustEvents(lower lowering) {
	if a.Flow == nil {
		return
	}
	for i := range a.Flow.Checks {
		k := &a.Flow.Checks[i]
		if k.Backing != flow.KeepsPart && k.Backing != flow.Differs {
			continue
		}
		for _, l := range append(append([]leg(nil), a.out...), a.in...) {
			if l.key.Token == k.Token {
				lower(api.Medium, verdict.BalancesDiffer, verdict.Abbreviated(k.Token))
				break
			}
		}
	}
}

// tradedBy is the contract that the movements of a trade were taken from, where that is
// not the actor's account.
func (a *Reading) tradedBy(o *opinion) (common.Address, bool) {
	if (o.trader != common.Address{}) {
		return o.trader, true
	}
	return a.trader, a.how == asContract
}
