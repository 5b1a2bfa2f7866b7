package classify

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Classify judges one transaction. It changes nothing in f, keeps nothing of it
// beyond what the Verdict points to, and is safe for concurrent use.
func Classify(a *facts.Reading) *Verdict {
	v := &Verdict{Roles: map[common.Address]string{}}
	switch {
	case a.Succeeded:
		judge(a, v)
	case a.OutcomeKnown():
		judgeAttempt(a, v, "attempted act")
		v.Attempted = true
	default:
		judgeAttempt(a, v, "asked for")
	}
	v.Actor, v.Sandwich, v.Protocols = a.Actor, a.Sandwich, protocolsOf(a)
	v.Risks = assess(a)
	assignRoles(a, v)
	trust(a, v)
	return v
}

// judge classifies what took effect.
func judge(a *facts.Reading, v *Verdict) {
	o := decide(a, v)
	v.Deciding = o
	settleType(a, v)
	if p := v.Votes[0].Protocol; p != "" {
		v.Protocol = &p
	}
	v.Seizures, _ = a.Seizures()
	if o.Act == facts.ActArbitrage {
		primaryGain(a, v)
		return
	}
	delivered(a, o)
	if l := primaryLeg(a, v, !gains[o.Act]); l != nil {
		sign := -1
		for i := range a.In {
			if l.Key == a.In[i].Key && l.Amount.Cmp(a.In[i].Amount) == 0 {
				sign = 1
			}
		}
		v.Primary = l.Delta(sign)
		besides(a, v, l, sign)
	}
}

// delivered finds to whom a bridge delivered what its event tells, where that is not the
// actor.
func delivered(a *facts.Reading, o *Opinion) {
	if o.Act != facts.ActBridgeIn && o.Act != facts.ActMessageIn || len(a.In) > 0 {
		return
	}
	for _, h := range o.Matches {
		if h.Act != facts.ActBridgeIn {
			continue
		}
		for _, p := range h.Party {
			if _, in := a.LegsOf(p); len(in) > 0 && p != a.Sender {
				o.Beneficiary, o.Benefit = p, in
				return
			}
		}
	}
}

// maxBesides bounds the movements whose values are added up.
const maxBesides = 8

// primaryGain makes the value of an arbitrage that of all it gained. What cannot be added
// up has none: a part would pass for the whole.
func primaryGain(a *facts.Reading, v *Verdict) {
	legs, _ := Gain(a, v.Deciding)
	if len(legs) == 0 || len(legs) > maxBesides+1 || facts.HasNFT(legs) {
		return
	}
	v.Primary = legs[0].Delta(1)
	for i := range legs[1:] {
		v.Besides = append(v.Besides, *legs[1+i].Delta(1))
	}
}

// besides lists the other assets of a liquidity act: a pair is worth both its sides.
func besides(a *facts.Reading, v *Verdict, primary *facts.Leg, sign int) {
	o := v.Deciding
	if o.Act != facts.ActAddLiq && o.Act != facts.ActRemoveLiq && o.Act != facts.ActCollect {
		return
	}
	legs := a.Out
	if sign > 0 {
		legs = a.In
	}
	for _, l := range facts.NotMinted(legs) {
		if l.Key != primary.Key && !l.Key.NFT && len(v.Besides) < maxBesides {
			v.Besides = append(v.Besides, *l.Delta(sign))
		}
	}
}

// gains are the acts whose value is what came in.
var gains = map[facts.Act]bool{
	facts.ActWithdraw:   true,
	facts.ActBorrow:     true,
	facts.ActVaultOut:   true,
	facts.ActClaim:      true,
	"receive":           true,
	facts.ActClaimStake: true,
	facts.ActUnstake:    true,
	facts.ActRemoveLiq:  true,
	facts.ActCollect:    true,
	facts.ActBridgeIn:   true,
	facts.ActMessageIn:  true,
}

func settleType(a *facts.Reading, v *Verdict) {
	t := TypeOf(v.Deciding.Act)
	if len(a.Actors) > 1 && a.ActorKind == facts.ActorUserOp {
		t = bundleType(a, t)
	}
	v.TxType = &t
	v.SubType = v.Votes[0].SubType
}

// bundleType: a bundle of several users' operations has a type only when the rules
// would give each of them the same; that is known only for bundles of transfers.
func bundleType(a *facts.Reading, t api.TxType) api.TxType {
	if t == api.TypeTransfer || t == api.TypeSwap && !mixed(a) {
		return t
	}
	return api.TypeOther
}

// mixed reports whether some account of a bundle did not trade.
func mixed(a *facts.Reading) bool {
	for _, x := range a.Actors {
		if out, in := a.LegsOf(x); len(facts.NotMinted(out)) == 0 || len(facts.NotMinted(in)) == 0 {
			return true
		}
	}
	return false
}

// judgeAttempt classifies what the calldata asks for: of a transaction that failed, or of
// which no receipt tells whether it was done.
func judgeAttempt(a *facts.Reading, v *Verdict, rule string) {
	o := attempt(a)
	v.Deciding = o
	v.Votes = append(v.Votes, asVote(a, rule, o))
	t := TypeOf(o.Act)
	v.TxType, v.SubType = &t, v.Votes[0].SubType
	if p := v.Votes[0].Protocol; p != "" {
		v.Protocol = &p
	}
}

// trust sets the confidence and says why it is not high.
func trust(a *facts.Reading, v *Verdict) {
	c := api.High
	lower := func(to api.Confidence, why verdict.Form, args ...verdict.Arg) {
		c = c.Lower(to)
		v.Reasons = append(v.Reasons, verdict.Say(why, args...))
	}
	trustTrace(a, lower)
	if v.Deciding.doubt != 0 {
		lower(api.Medium, v.Deciding.doubt)
	}
	if v.Attempted || a.Succeeded {
		trustVotes(v, lower)
	}
	trustNames(a, v, lower)
	trustMoves(a, v.Deciding, lower)
	v.Confidence = c
}

// trustVotes: a trade and a deposit, a loan or a stake look alike. Where rules see both,
// the one that decides is less than certain.
func trustVotes(v *Verdict, lower lowering) {
	decided := v.Votes[0].TxType
	if decided != api.TypeSwap && decided != api.TypeStake && decided != api.TypeOther {
		return
	}
	if v.Deciding.Act == facts.ActName || v.Deciding.Act == "perp" {
		return // what its own event tells, with the payment for it
	}
	for i := range v.Votes[1:] {
		if t := v.Votes[i+1].TxType; t != decided && (t == api.TypeSwap || t == api.TypeStake) {
			lower(api.Medium, verdict.AlsoReadAs, verdict.Stated(t))
			return
		}
	}
}

// lowering lowers the confidence for a reason.
type lowering func(to api.Confidence, why verdict.Form, args ...verdict.Arg)

func trustTrace(a *facts.Reading, lower lowering) {
	if a.NoReceipt || a.Receipt == nil {
		lower(api.Low, verdict.NoReceiptConfirms)
	}
	if !a.Succeeded && !a.OutcomeKnown() && !a.HasTrace() {
		lower(api.Low, verdict.SuccessUnknown)
	}
	if a.Tree == nil {
		lower(api.Low, verdict.NoCallTrace)
		return
	}
	switch a.Tree.Source {
	case trace.SourceReceipt:
		if !a.BareTransfer() {
			lower(api.Low, verdict.OnlyReceiptAvailable)
		}
	case trace.SourceReplayQuick:
		lower(api.Medium, verdict.ReexecutedAtParent)
	}
}

// needsProtocol are the types that mean little without a protocol.
var needsProtocol = map[api.TxType]bool{api.TypeSwap: true, api.TypeBridge: true, api.TypeStake: true,
	api.TypeLiquidation: true, api.TypeGovernance: true}

var plainActs = map[facts.Act]bool{
	facts.ActTransfer:  true,
	facts.ActApproval:  true,
	facts.ActWrap:      true,
	facts.ActUnwrap:    true,
	facts.ActDeploy:    true,
	facts.ActSystem:    true,
	facts.ActBatchPost: true,
	facts.ActStatePost: true,
	facts.ActRelayFill: true,
	facts.ActNote:      true,
	facts.ActAuthorize: true,
}

// unaddressed are acts that say the same whichever contract is called.
var unaddressed = map[facts.Act]bool{facts.ActSystem: true, facts.ActBatchPost: true, facts.ActStatePost: true}

func trustNames(a *facts.Reading, v *Verdict, lower lowering) {
	o := v.Deciding
	if v.Protocol == nil && (needsProtocol[TypeOf(o.Act)] || TypeOf(o.Act) == api.TypeOther && !plainActs[o.Act]) {
		if family := v.Votes[0].Family; family != "" {
			lower(api.Medium, verdict.ProtocolUnknownOfFamily, verdict.Family(family))
		} else {
			lower(api.Medium, verdict.ProtocolUnknown)
		}
	}
	unknown := 0
	for _, addr := range a.CalledContracts() {
		if !named(a, addr) && len(a.Tx.Input) > 0 && !unaddressed[o.Act] && !a.NoCodeRan() {
			unknown++
			lower(api.Medium, verdict.CalledUnidentified, verdict.Abbreviated(addr))
		}
	}
	for _, g := range a.Grants() {
		if o.Act == facts.ActApproval && !g.Revoke && !named(a, g.Spender) {
			lower(api.Medium, verdict.SpenderUnidentified, verdict.Abbreviated(g.Spender))
			break
		}
	}
	if unknown > 0 && (o.Act == "contract_call" || o.Act == "pay") {
		lower(api.Low, verdict.ContractUnrecognised)
	}
}

// named reports whether a contract is identified: labelled, a token with a symbol, or
// of verified source; the actor's own account is its own identity.
func named(a *facts.Reading, addr common.Address) bool {
	if a.HasLabel(addr) || facts.Contains(a.Actors, addr) && a.ActorKind != facts.ActorSender || a.Tokens[addr].Symbol != "" ||
		a.LabelOf(addr).Category == "token" {
		return true
	}
	c := a.Contracts[addr]
	return c != nil && c.Name != ""
}

// trustMoves: the summary must follow from what the actor gained and lost, in units
// that are known, by a ledger that agrees with the node.
func trustMoves(a *facts.Reading, o *Opinion, lower lowering) {
	if !a.Succeeded {
		if !a.OutcomeKnown() {
			return
		}
		if f := a.FailureOrigin(); f == nil || !a.Explained(f) {
			lower(api.Medium, verdict.FailureUnexplained)
		}
		return
	}
	switch TypeOf(o.Act) {
	case api.TypeSwap:
		if len(a.In)+len(o.Benefit) == 0 || len(a.Out) == 0 {
			lower(api.Medium, verdict.ExchangeSidesUnseen)
		}
	case api.TypeApproval:
		if len(a.Grants()) == 0 {
			lower(api.Medium, verdict.NoApprovalEvent)
		}
	}
	for _, l := range append(append([]facts.Leg(nil), a.Out...), a.In...) {
		if l.Key.NFT || l.Key.ID != "" || l.Native() {
			continue
		}
		if _, ok := a.Decimals(l.Key.Token); !ok {
			lower(api.Medium, verdict.DecimalsUnknown, verdict.Abbreviated(l.Key.Token))
			break
		}
	}
	trustEvents(a, lower)
	if ledgerDisagrees(a) {
		lower(api.Medium, verdict.LedgerDisagrees)
	}
	if at, ok := TradedBy(a, o); ok {
		lower(api.Medium, verdict.AssetsMovedAt, verdict.Abbreviated(at))
	}
}

// ledgerDisagrees reports whether the state diff of the node contradicts the movements. A
// tracer that runs a transaction outside its block may leave out what the rollup credits
// to its fee vaults; no account of a user is concerned by that.
func ledgerDisagrees(a *facts.Reading) bool {
	return a.Flow != nil && slices.ContainsFunc(a.Flow.Mismatches, func(m flow.Mismatch) bool {
		return m.Recorded.Sign() != 0 || a.LabelOf(m.Address).Category != "fee_vault"
	})
}

// trustEvents: an amount that only a log claims is not what the actor has.
func trustEvents(a *facts.Reading, lower lowering) {
	if a.Flow == nil {
		return
	}
	for i := range a.Flow.Checks {
		k := &a.Flow.Checks[i]
		if k.Match != flow.FeeOnTransfer && k.Match != flow.LogsDiffer {
			continue
		}
		for _, l := range append(append([]facts.Leg(nil), a.Out...), a.In...) {
			if l.Key.Token == k.Token {
				lower(api.Medium, verdict.BalancesDiffer, verdict.Abbreviated(k.Token))
				break
			}
		}
	}
}

// TradedBy is the contract that the movements of a trade were taken from, where that is
// not the actor's account.
func TradedBy(a *facts.Reading, o *Opinion) (common.Address, bool) {
	if (o.trader != common.Address{}) {
		return o.trader, true
	}
	return a.Trader, a.ActorKind == facts.ActorContract
}
