package classify

import (
	"sort"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Classify judges one transaction. It changes nothing in f, keeps nothing of it
// beyond what the Verdict points to, and is safe for concurrent use.
func Classify(f *Facts) *Verdict {
	a := newAnalysis(f)
	var o *opinion
	switch {
	case f.Succeeded:
		o = a.judge()
	case a.outcomeKnown():
		o = a.judgeFailed()
	default:
		o = a.judgeUnknown()
	}
	a.v.Actor = a.actor
	a.v.Risks, a.v.Words = a.assess(), Words{a}
	a.assignRoles(o)
	a.trust(o)
	return a.v
}

// judge classifies what took effect.
func (a *analysis) judge() *opinion {
	a.collect()
	a.unwrap()
	a.mark()
	a.measure()
	o := a.decide()
	a.settleType(o)
	protocol := a.v.Votes[0].Protocol
	if protocol != "" {
		a.v.Protocol = &protocol
	}
	a.v.Summary = a.summarise(o, protocol)
	a.v.tell(a.narrate(o))
	a.v.Seizures, _ = a.seizures()
	if o.act == actArbitrage {
		a.primaryGain()
		return o
	}
	if l := a.primaryLeg(!gains[o.act]); l != nil {
		sign := -1
		for i := range a.in {
			if l.key == a.in[i].key && l.amount.Cmp(a.in[i].amount) == 0 {
				sign = 1
			}
		}
		a.v.Primary = l.delta(sign)
		a.besides(o, l, sign)
	}
	return o
}

func (v *Verdict) tell(n *narrative) { v.Steps, v.Places = n.steps, n.places }

// maxBesides bounds the movements whose values are added up.
const maxBesides = 8

// primaryGain makes the value of an arbitrage that of all it gained. What cannot be added
// up has none: a part would pass for the whole.
func (a *analysis) primaryGain() {
	legs, _ := a.gain()
	if len(legs) == 0 || len(legs) > maxBesides+1 || nfts(legs) {
		return
	}
	a.v.Primary = legs[0].delta(1)
	for i := range legs[1:] {
		a.v.Besides = append(a.v.Besides, *legs[1+i].delta(1))
	}
}

// besides lists the other assets of a liquidity act: a pair is worth both its sides.
func (a *analysis) besides(o *opinion, primary *leg, sign int) {
	if o.act != actAddLiq && o.act != actRemoveLiq && o.act != actCollect {
		return
	}
	legs := a.out
	if sign > 0 {
		legs = a.in
	}
	for _, l := range plain(legs) {
		if l.key != primary.key && !l.key.NFT && len(a.v.Besides) < maxBesides {
			a.v.Besides = append(a.v.Besides, *l.delta(sign))
		}
	}
}

// gains are the acts whose value is what came in.
var gains = map[act]bool{actWithdraw: true, actBorrow: true, actVaultOut: true, actClaim: true, "receive": true, actClaimStake: true, actUnstake: true,
	actRemoveLiq: true, actCollect: true, actBridgeIn: true, actMessageIn: true}

func (a *analysis) settleType(o *opinion) {
	t := typeOf(o.act)
	if len(a.actors) > 1 && a.how == asUserOp {
		t = a.bundleType(t)
	}
	a.v.TxType = &t
	a.v.SubType = a.v.Votes[0].SubType
}

// bundleType: a bundle of several users' operations has a type only when the rules
// would give each of them the same; that is known only for bundles of transfers.
func (a *analysis) bundleType(t api.TxType) api.TxType {
	if t == api.TypeTransfer || t == api.TypeSwap && !a.mixed() {
		return t
	}
	return api.TypeOther
}

// mixed reports whether some account of a bundle did not trade.
func (a *analysis) mixed() bool {
	for _, x := range a.actors {
		if out, in := a.legsOf(x); len(plain(out)) == 0 || len(plain(in)) == 0 {
			return true
		}
	}
	return false
}

// judgeFailed classifies what was tried.
func (a *analysis) judgeFailed() *opinion {
	a.unwrapAttempt()
	a.actors = []common.Address{a.actor}
	o := a.attempt()
	a.v.Attempted = true
	a.v.Votes = append(a.v.Votes, a.asVote("attempted act", o))
	t := typeOf(o.act)
	a.v.TxType, a.v.SubType = &t, a.v.Votes[0].SubType
	if p := a.v.Votes[0].Protocol; p != "" {
		a.v.Protocol = &p
	}
	a.v.Summary = a.failedSummary(o)
	a.v.tell(a.failedSteps(o))
	return o
}

// outcomeKnown reports whether anything says how the transaction ended. Without a
// receipt that is a trace that failed: then nothing moved in any case.
func (a *analysis) outcomeKnown() bool {
	if a.NoReceipt {
		return a.traced() && a.Tree.Root.Err != ""
	}
	return a.Receipt != nil && a.Receipt.Status != nil || a.traced()
}

// judgeUnknown classifies what the calldata asks for, when no receipt tells whether it
// was done. What a call trace shows is told as what it is.
func (a *analysis) judgeUnknown() *opinion {
	a.unwrapAttempt()
	a.actors = []common.Address{a.actor}
	o := a.attempt()
	a.v.Votes = append(a.v.Votes, a.asVote("asked for", o))
	t := typeOf(o.act)
	a.v.TxType, a.v.SubType = &t, a.v.Votes[0].SubType
	if p := a.v.Votes[0].Protocol; p != "" {
		a.v.Protocol = &p
	}
	a.v.Summary = a.trySummary("Attempt", o) + "; the outcome is not known"
	n := &narrative{}
	n.add(a.opening(), Place{At: -1, Frames: []int{0}})
	if a.traced() {
		a.v.Summary = a.trySummary("Attempt", o) + "; the call trace ends in success, which no receipt confirms"
		a.tracedSteps(n)
	}
	a.v.tell(n)
	return o
}

// tracedSteps are the movements that a call trace shows and no receipt confirms.
func (a *analysis) tracedSteps(n *narrative) {
	steps := append(a.moveSteps(a.logsBefore()), a.transferSteps()...)
	sort.SliceStable(steps, func(i, j int) bool { return steps[i].at < steps[j].at })
	traced := a.tell(steps)
	for i, s := range traced.steps {
		n.add("By the call trace alone: "+s, traced.places[i])
	}
}

// unwrapAttempt: a failed Safe transaction was attempted by the Safe that was called.
func (a *analysis) unwrapAttempt() {
	if a.call != nil && a.call.act == actSafeExec && a.Tx.To != nil {
		a.actor, a.how = *a.Tx.To, asSafe
	}
}

// trust sets the confidence and says why it is not high.
func (a *analysis) trust(o *opinion) {
	c := api.High
	lower := func(to api.Confidence, why string) {
		if c.Lower(to) != c {
			c = c.Lower(to)
		}
		if to != api.High {
			a.v.Reasons = append(a.v.Reasons, why)
		}
	}
	a.trustTrace(lower)
	if o.unsure != "" {
		lower(api.Medium, o.unsure)
	}
	a.trustNames(o, lower)
	a.trustMoves(o, lower)
	a.v.Confidence = c
}

func (a *analysis) trustTrace(lower func(api.Confidence, string)) {
	if a.NoReceipt || a.Receipt == nil {
		lower(api.Low, "without a receipt nothing confirms what the transaction did")
	}
	if !a.Succeeded && !a.outcomeKnown() && !a.traced() {
		lower(api.Low, "nothing says whether the transaction succeeded")
	}
	if a.Tree == nil {
		lower(api.Low, "there is no call trace")
		return
	}
	switch a.Tree.Source {
	case trace.RungReceipt:
		if !a.bareTransfer() {
			lower(api.Low, "no call trace was available; only the receipt was")
		}
	case trace.RungReplayQuick:
		lower(api.Medium, "the trace was re-executed at the parent block's state, without the earlier transactions of the block")
	}
}

// bareTransfer: coin sent without calldata for the price of a plain transfer; no code
// can have run, so the receipt tells all.
func (a *analysis) bareTransfer() bool {
	return a.Succeeded && a.Tx.To != nil && len(a.Tx.Input) == 0 && a.Receipt != nil && len(a.Receipt.Logs) == 0 && a.Receipt.GasUsed == 21000
}

// needsProtocol are the types that mean little without a protocol.
var needsProtocol = map[api.TxType]bool{api.TypeSwap: true, api.TypeBridge: true, api.TypeStake: true,
	api.TypeLiquidation: true, api.TypeGovernance: true}

var plainActs = map[act]bool{actTransfer: true, actApproval: true, actWrap: true, actUnwrap: true, actDeploy: true, actSystem: true, actBatchPost: true, actNote: true, actAuthorize: true}

func (a *analysis) trustNames(o *opinion, lower func(api.Confidence, string)) {
	if a.v.Protocol == nil && (needsProtocol[typeOf(o.act)] || typeOf(o.act) == api.TypeOther && !plainActs[o.act]) {
		why := "the protocol is not known"
		if len(a.v.Votes) > 0 && a.v.Votes[0].Family != "" {
			why += "; its events are of the family " + a.v.Votes[0].Family
		}
		lower(api.Medium, why)
	}
	unknown := 0
	for _, addr := range a.called() {
		if !a.named(addr) && len(a.Tx.Input) > 0 && o.act != actSystem && o.act != actBatchPost && !a.noCodeRan() {
			unknown++
			lower(api.Medium, "the called contract "+short(addr)+" is not identified")
		}
	}
	for _, g := range a.grants() {
		if o.act == actApproval && !g.revoke && !a.named(g.spender) {
			lower(api.Medium, "who may spend, "+short(g.spender)+", is not identified")
			break
		}
	}
	if unknown > 0 && (o.act == "contract_call" || o.act == "pay") {
		lower(api.Low, "an unknown contract did something that no rule recognises")
	}
}

// named reports whether a contract is identified: labelled, a token with a symbol, or
// of verified source; the actor's own account is its own identity.
func (a *analysis) named(addr common.Address) bool {
	if a.known(addr) || contains(a.actors, addr) && a.how != asSender || a.Tokens[addr].Symbol != "" || a.labelOf(addr).Category == "token" {
		return true
	}
	c := a.Contracts[addr]
	return c != nil && c.Name != ""
}

// trustMoves: the summary must follow from what the actor gained and lost, in units
// that are known, by a ledger that agrees with the node.
func (a *analysis) trustMoves(o *opinion, lower func(api.Confidence, string)) {
	if !a.Succeeded {
		if !a.outcomeKnown() {
			return
		}
		known := false
		if f := a.origin(); f != nil {
			_, known = a.reason(f)
		}
		if !known {
			lower(api.Medium, "why it failed is not known")
		}
		return
	}
	switch typeOf(o.act) {
	case api.TypeSwap:
		if len(a.in)+len(a.benefit) == 0 || len(a.out) == 0 {
			lower(api.Medium, "the net movements of the actor do not show both sides of the exchange")
		}
	case api.TypeApproval:
		if len(a.grants()) == 0 {
			lower(api.Medium, "no approval event confirms the call")
		}
	}
	for _, l := range append(append([]leg(nil), a.out...), a.in...) {
		if l.key.NFT || l.key.ID != "" || l.native() {
			continue
		}
		if _, ok := a.decimals(l.key.Token); !ok {
			lower(api.Medium, "decimals of token "+short(l.key.Token)+" are not known")
			break
		}
	}
	a.trustEvents(lower)
	if a.Flow != nil && len(a.Flow.Mismatches) > 0 {
		lower(api.Medium, "the ledger of native coin disagrees with the node's state diff")
	}
	if a.how == asContract {
		lower(api.Medium, "the assets moved at contract "+short(a.trader)+", taken for the sender's own")
	}
}

// trustEvents: an amount that only a log claims is not what the actor has.
func (a *analysis) trustEvents(lower func(api.Confidence, string)) {
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
				lower(api.Medium, "the balances of token "+short(k.Token)+" did not change by what its logs say")
				break
			}
		}
	}
}
