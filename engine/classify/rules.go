package classify

import (
	"strings"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// opinion is what a rule answers: the act that it saw, and the evidence.
type opinion struct {
	act    act
	sub    string // replaces the act's own sub-type when set
	hits   []*hit
	frames []int
	unsure verdict.Form   // why the opinion alone does not deserve high confidence; 0: it does
	called bool           // nothing but the called function speaks for it: no event, no movement
	place  common.Address // where the act happened, when only a movement shows it
	trade
}

// trade is what a rule found of a trade beside the movements of the actor.
type trade struct {
	trader      common.Address // the contract that traded, where the movements are not the actor's own
	beneficiary common.Address // who got what a swap bought, when not the actor
	benefit     []leg
	gained      []leg // of an arbitrage, by all of the searcher's accounts
}

// rule is one line of the precedence. Rules are asked in order; the first that
// answers decides, the others stay as votes.
type rule struct {
	name string
	vote func(*Reading) *opinion
}

// rules in order of precedence. A type that an earlier line claims is not open to a
// later one, so the conditions under which a rule must stay silent stand in the rule.
var rules = []rule{
	{"system transaction", systemTx},
	{"rollup, oracle or keeper work", infraWork},
	{"data without code", dataOnly},
	{"liquidation event", liquidation},
	{"sandwich leg", sandwichLeg},
	{"liquidity for one trade", jitLiquidity},
	{"closed arbitrage", arbitrage},
	{"paid place in the block", builderPaid},
	{"governance event", governance},
	{"bridge event", bridge},
	{"contract creation", createdCode},
	{"staking act of the actor", stakeMine},
	{"lending act of the actor", lendingMine},
	{"liquidity act of the actor", liquidityMine},
	{"vault act of the actor", vaultMine},
	{"settled order", settledOrder},
	{"name registered", registered},
	{"NFT for money", nftSale},
	{"assets exchanged", exchange},
	{"wrapped native coin", wrapping},
	{"harvest", harvest},
	{"liquidity or lending event", poolAct},
	{"staking through a contract", stakeVia},
	{"name service", nameService},
	{"protocol event", otherEvent},
	{"staking by name", stakeNamed},
	{"share against two assets", poolShare},
	{"minted or burnt", mintBurn},
	{"claim", claimed},
	{"approval only", approval},
	{"one-sided movement", transfer},
	{"control of a contract", administered},
	{"called function", byCall},
	{"cross-chain message", message},
	{"account delegation", delegation},
	{"deposit", deposit},
	{"nothing recognised", nothing},
}

// decide asks all rules.
func (a *Reading) decide(v *Verdict) *opinion {
	var first *opinion
	for i := range rules {
		o := rules[i].vote(a)
		if o == nil || first != nil && i == len(rules)-1 {
			continue
		}
		v.Votes = append(v.Votes, a.asVote(rules[i].name, o))
		switch {
		case first == nil:
			first = o
		case len(first.benefit) == 0: // whoever a trade was for, the deciding rule may not have looked
			first.beneficiary, first.benefit = o.beneficiary, o.benefit
		}
	}
	return first
}

func (a *Reading) asVote(name string, o *opinion) Vote {
	v := Vote{Rule: name, TxType: api.TypeOther, SubType: o.sub, Frames: o.frames}
	if k, ok := kinds[o.act]; ok {
		v.TxType = k.txType
		if v.SubType == "" {
			v.SubType = k.sub
		}
	} else if v.SubType == "" {
		v.SubType = string(o.act)
	}
	for _, h := range o.hits {
		if h.log == noLog {
			v.Frames = append(v.Frames, h.frame)
		} else {
			v.Logs = append(v.Logs, h.log)
		}
		if len(v.Logs)+len(v.Frames) >= 20 { // evidence, not a list of everything
			break
		}
	}
	if v.Protocol = a.protocolOf(o); v.Protocol == "" {
		v.Family = familyOf(o)
	}
	return v
}

// familyOf is the family of the events of an opinion, when they are of one.
func familyOf(o *opinion) (family string) {
	for _, h := range o.hits {
		if h.rule == nil || h.slug != "" || family != "" && h.rule.family != family {
			return ""
		}
		family = h.rule.family
	}
	return family
}

func opine(hits []*hit) *opinion {
	if len(hits) == 0 {
		return nil
	}
	return &opinion{act: hits[0].act, hits: hits}
}

// batchInboxPrefix opens the addresses of OP-stack batch inboxes: 0xff, zeros, the
// chain ID in decimal digits.
const batchInboxPrefix = byte(0xff)

// systemTx: transactions that the chain itself makes each block.
func systemTx(a *Reading) *opinion {
	o := &opinion{act: actSystem, frames: []int{0}}
	switch {
	case a.Tx.IsSystemTx:
		return o
	case a.call != nil && a.call.act == actSystem:
		return o
	case a.Chain != nil && a.Chain.Stack.Housekeeping(a.Tx.Type, a.Tx.From):
		return o
	}
	return nil
}

// infraWork: data posted by rollups and oracles, jobs of keepers, and nothing that
// the sender gained or lost by it.
func infraWork(a *Reading) *opinion {
	if o := batchPost(a); o != nil {
		return o
	}
	if a.has(actBridgeIn, actBridgeOut, actMessageIn) {
		return nil
	}
	if a.call != nil && (a.call.act == actOracle || a.call.act == actKeeper) && len(a.out) <= 1 && len(a.in) == 0 {
		return &opinion{act: a.call.act, hits: a.find(actOracle, actKeeper), frames: []int{0}}
	}
	if hits := a.find(actOracle, actBatchPost, actKeeper, "routine"); len(hits) > 0 && len(a.out)+len(a.in) == 0 {
		return opine(hits)
	}
	return nil
}

func batchPost(a *Reading) *opinion {
	if hits := a.find(actBatchPost); len(hits) > 0 && len(a.in) == 0 {
		return opine(hits)
	}
	quiet := a.Receipt != nil && len(a.Receipt.Logs) == 0 && len(a.out)+len(a.in) == 0
	if a.Tx.To == nil || !quiet || !a.Succeeded {
		return nil
	}
	inbox := a.Tx.To[0] == batchInboxPrefix && allZero(a.Tx.To[1:12]) && len(a.Tx.Input) > 0
	if inbox || len(a.Tx.BlobHashes) > 0 && len(a.Tx.Input) <= 1 {
		return &opinion{act: actBatchPost, frames: []int{0}}
	}
	return nil
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// dataOnly: data went to an address that ran no code. With coin it is a transfer.
func dataOnly(a *Reading) *opinion {
	if !a.noCodeRan() {
		return nil
	}
	if a.Tx.Value.Sign() > 0 {
		return &opinion{act: actTransfer, frames: []int{0}}
	}
	return &opinion{act: actNote, frames: []int{0}}
}

// delegation: EIP-7702 authorizations in a transaction that did nothing else.
func delegation(a *Reading) *opinion {
	if len(a.Tx.Authorizations) == 0 || len(a.out)+len(a.in) > 0 {
		return nil
	}
	o := &opinion{act: actAuthorize, frames: []int{0}}
	for _, x := range a.authorizations() {
		if x.Outcome == decode.Unknown {
			o.unsure = verdict.AuthorizationsUnknown
		}
	}
	return o
}

func liquidation(a *Reading) *opinion { return opine(a.find(actLiquidate)) }

// governance: proposals, votes and timelocks. Delegating votes in passing, while
// tokens move, is a step of something else.
func governance(a *Reading) *opinion {
	if hits := a.find("execute_proposal", "propose", "queue_proposal", "cancel_proposal", actVote); len(hits) > 0 {
		return opine(hits)
	}
	if hits := a.find(actDelegate); len(hits) > 0 && len(a.out)+len(a.in) == 0 {
		for _, h := range hits {
			if h.mine {
				return opine(hits)
			}
		}
	}
	return nil
}

// bridge: assets leave for, or come from, another chain. A message that carries
// nothing out of here is no bridging of assets, unless a messenger delivers it.
func bridge(a *Reading) *opinion {
	if hits := a.find(actBridgeOut, actBridgeIn, actBridgeProv); len(hits) > 0 {
		return &opinion{act: hits[0].act, hits: append(hits, a.find(actMessageOut, actMessageIn)...)}
	}
	if hits := a.find(actMessageIn); len(hits) > 0 {
		return opine(hits)
	}
	hits := a.find(actMessageOut)
	if len(hits) > 0 && a.leaves(hits) {
		return &opinion{act: actBridgeOut, hits: hits}
	}
	for i := range a.out {
		if l := &a.out[i]; a.bridgeAt(l.peer) && len(a.in) == 0 {
			return &opinion{act: actBridgeOut, sub: "send", place: l.peer, unsure: verdict.NoBridgeEvent}
		}
	}
	return nil
}

// generic messengers carry words as well as assets: votes, locks and rewards. What the
// actor gave leaves the chain with them only when it was burnt or handed to a bridge.
var generic = map[string]bool{"layerzero": true, "wormhole": true, "ccip": true, "hyperlane": true}

// leaves reports whether what the actor gave goes with the messages.
func (a *Reading) leaves(hits []*hit) bool {
	canonical := false // a rollup's own messenger takes native coin along
	for _, h := range hits {
		canonical = canonical || !generic[h.slug]
	}
	if canonical {
		return len(a.out) > 0
	}
	if a.has(actStake, actVote, actVaultIn) {
		return false
	}
	for i := range a.out {
		if l := &a.out[i]; !l.native() && (l.minted || a.bridgeAt(l.peer)) {
			return true
		}
	}
	return false
}

func (a *Reading) bridgeAt(addr common.Address) bool { return a.labelOf(addr).Category == "bridge" }

// createdCode: the transaction creates code, and nothing changes hands.
func createdCode(a *Reading) *opinion {
	if a.Tx.To == nil {
		return &opinion{act: actDeploy, frames: []int{0}}
	}
	tokens := false
	for _, l := range append(a.out, a.in...) {
		tokens = tokens || !l.native()
	}
	if tokens || len(a.in) > 0 || a.has(actSwap, actNFTSale, actAddLiq, actSupply, actBorrow, actStake, actName) {
		return nil
	}
	if hits := a.find(actDeploy, actCreatePool, actDeployAcct); len(hits) > 0 {
		return opine(hits)
	}
	if made := a.created(); len(made) > 0 && len(a.out) == 0 && a.how == asSender {
		return &opinion{act: actDeploy, frames: made}
	}
	return nil
}

func stakeHits(a *Reading) []*hit {
	return a.find(actStake, actUnstake, actClaimStake, "restake_delegate")
}

// stakeMine: collateral put into a lender's pool is staked there only on the way of a
// loan that the actor took.
func stakeMine(a *Reading) *opinion {
	if len(mine(a.find(actBorrow, actRepay))) > 0 {
		return nil
	}
	return stakeWhere(a, true)
}

func stakeVia(a *Reading) *opinion { return stakeWhere(a, false) }

func stakeWhere(a *Reading, mine bool) *opinion {
	hits := stakeHits(a)
	var own []*hit
	for _, h := range hits {
		if h.mine == mine {
			own = append(own, h)
		}
	}
	if len(own) == 0 {
		if mine {
			return a.stakerCalled()
		}
		return nil
	}
	o := opine(own)
	// Staking farms pay rewards whenever a stake changes: the change is the act.
	for _, h := range own {
		if h.act == actStake || h.act == actUnstake {
			o.act = h.act
			break
		}
	}
	if o.act == actClaimStake && len(plain(a.out)) > 0 && !o.hits[0].mine {
		return nil
	}
	if gave, got := len(plain(a.out)) > 0, len(plain(a.in)) > 0; o.act == actStake && got && !gave {
		o.act = actUnstake // the event tells a change, the movement its direction
	}
	return o
}

// staking reports whether a label says that a contract holds stakes.
func (a *Reading) staking(addr common.Address) bool {
	c := a.labelOf(addr).Category
	return c == "staking" || c == "restaking"
}

// stakerCalled: tokens went to a staking contract, or a staking protocol was called directly and moved assets one way, or
// took a request.
func (a *Reading) stakerCalled() *opinion {
	for i := range a.out {
		l := &a.out[i]
		if !l.native() && a.staking(l.peer) && len(a.in) == 0 {
			return &opinion{act: actStake, place: l.peer, unsure: verdict.NoStakeEvent}
		}
	}
	if !a.hasTo || !stakers[a.ProtocolAt(a.entry)] || a.isToken(a.entry) || len(a.Tx.Input) < 4 {
		return nil
	}
	gave, got := tokensIn(plain(a.out)), len(plain(a.in)) > 0
	switch {
	case got && !gave:
		return &opinion{act: actUnstake, frames: []int{a.frameIndex()}}
	case gave && !got:
		return &opinion{act: actStake, frames: []int{a.frameIndex()}}
	case !gave && !got:
		return &opinion{act: actStake, sub: "request", frames: []int{a.frameIndex()}}
	}
	return nil
}

func mine(hits []*hit) (own []*hit) {
	for _, h := range hits {
		if h.mine {
			own = append(own, h)
		}
	}
	return own
}

func lendingMine(a *Reading) *opinion {
	hits := mine(a.find(actSupply, actWithdraw, actBorrow, actRepay, "mint_py", "redeem_py"))
	if len(hits) == 0 {
		return nil
	}
	o := opine(hits)
	if a.acted(hits, actSupply) && a.has(actWithdraw) && !a.has(actBorrow, actRepay) && len(a.out) == 1 && len(a.in) == 1 {
		o.act, o.sub = actSwap, "collateral_swap" // one collateral for another
		return o
	}
	in, out := a.acted(hits, actSupply), a.acted(hits, actWithdraw)
	borrow, repay := a.acted(hits, actBorrow), a.acted(hits, actRepay)
	switch {
	case borrow && in && a.has(actSwap):
		o.act, o.sub = actBorrow, "leverage"
	case repay && out && a.has(actSwap):
		o.act, o.sub = actRepay, "deleverage"
	case borrow:
		o.act = actBorrow
	case repay:
		o.act = actRepay
	}
	return o
}

func registered(a *Reading) *opinion { return opine(a.find(actName)) }

// harvest: somebody was paid for compounding the yield of a vault.
func harvest(a *Reading) *opinion {
	n := strings.ToLower(a.name)
	for _, w := range []string{"harvest", "reinvest", "compound", "earn", "tend"} {
		if n != "" && strings.HasPrefix(n, w) && len(plain(a.out)) == 0 {
			return &opinion{act: actClaim, sub: "harvest", frames: []int{a.frameIndex()}}
		}
	}
	return nil
}

func (a *Reading) acted(hits []*hit, what act) bool {
	for _, h := range hits {
		if h.act == what {
			return true
		}
	}
	return false
}

// liquidityMine: the actor is named by the pool, or holds the share that the pool
// minted or burnt for it.
func liquidityMine(a *Reading) *opinion {
	var own []*hit
	for _, h := range a.find(actAddLiq, actRemoveLiq, actLiquidity, actCollect) {
		if h.mine || a.sharesOf(h.emitter) {
			own = append(own, h)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return a.directed(opine(own))
}

// sharesOf reports whether the actor got or gave shares of a contract.
func (a *Reading) sharesOf(addr common.Address) bool {
	for _, l := range append(a.out, a.in...) {
		if l.key.Token == addr && (l.minted || l.key.NFT) { // a share, or a position
			return true
		}
	}
	return false
}

// directed tells adding from removing by what the actor netted: events of the same
// transaction may show both (a rebalance), or not say (v4, Balancer).
func (a *Reading) directed(o *opinion) *opinion {
	add, remove := a.acted(o.hits, actAddLiq), a.acted(o.hits, actRemoveLiq)
	unsaid := a.acted(o.hits, actLiquidity)
	gave, got := len(plain(a.out)) > 0, len(plain(a.in)) > 0
	switch {
	case unsaid && !add && !remove && gave && !got, add && !remove:
		o.act = actAddLiq
	case unsaid && !add && !remove && got && !gave, remove && !add:
		o.act = actRemoveLiq
	case add && remove && got && !gave:
		o.act = actRemoveLiq
	case add && remove:
		o.act, o.sub = actAddLiq, "rebalance_liquidity"
	case unsaid:
		o.act, o.sub = actLiquidity, "change_liquidity"
	}
	return o
}

// vaultMine: a tokenised vault names the actor. Vaults of stakers are staking.
func vaultMine(a *Reading) *opinion {
	hits := mine(a.find(actVaultIn, actVaultOut))
	if len(hits) == 0 {
		return nil
	}
	o := opine(hits)
	if gave, got := len(plain(a.out)) > 0, len(plain(a.in)) > 0; gave != got {
		o.act = actVaultOut
		if gave {
			o.act = actVaultIn
		}
	} else if gave && got && !hits[0].strong() && a.has(actSwap) {
		return nil
	}
	if stakers[o.hits[0].slug] {
		o.act = map[act]act{actVaultIn: actStake, actVaultOut: actUnstake}[o.act]
	}
	return o
}

func (h *hit) strong() bool { return !h.weak && h.mine }

// stakers are the protocols whose vaults stake the network's own coin or token.
var stakers = map[string]bool{"lido": true, "rocket_pool": true, "eigenlayer": true, "beacon_deposit": true,
	"frax_ether": true, "ether_fi": true, "kelp": true, "puffer": true, "swell": true, "stader": true}

func wrapping(a *Reading) *opinion {
	if hits := a.find(actWrap, actUnwrap); len(hits) > 0 && a.onlyWrap() && !a.asksSwap() {
		o := opine(hits)
		o.act = actUnwrap
		for _, l := range a.out {
			if l.native() {
				o.act = actWrap
			}
		}
		return o
	}
	return nil
}

// asksSwap reports whether a swap was asked for, even where it came down to wrapping.
func (a *Reading) asksSwap() bool {
	return a.calledRouter() && (a.call != nil && a.call.act == actSwap || a.swapName() || a.call == nil && a.name == "")
}

// onlyWrap reports whether native coin against its wrapped form is all that moved.
func (a *Reading) onlyWrap() bool {
	legs := append(append([]leg(nil), a.out...), a.in...)
	native := false
	for _, l := range legs {
		native = native || l.native()
		if !l.native() && !a.wrapped(l.key.Token) {
			return false
		}
	}
	return native && len(legs) == 2 || len(legs) > 0 && len(legs) <= 2 && !a.has(actSwap)
}

// wrappedNative reports whether a token is the chain's own wrapped coin.
func (a *Reading) wrappedNative(token common.Address) bool {
	return a.Chain != nil && a.Chain.WrappedNative != nil && *a.Chain.WrappedNative == token
}

func (a *Reading) wrapped(token common.Address) bool {
	if a.wrappedNative(token) {
		return true
	}
	if a.Flow != nil {
		for i := range a.Flow.Transfers {
			if t := &a.Flow.Transfers[i]; t.Wrap && t.Token == token {
				return true
			}
		}
	}
	return false
}

// poolAct: lending or liquidity events that name nobody, or a contract in between.
func poolAct(a *Reading) *opinion {
	if hits := a.find(actAddLiq, actRemoveLiq, actLiquidity, actCollect); len(hits) > 0 {
		return a.directed(opine(hits))
	}
	o := opine(a.find(actBorrow, actRepay, actSupply, actWithdraw, actVaultIn, actVaultOut))
	// Into a vault and out again: what the actor has of it in the end says which it was.
	if o != nil && o.act == actVaultIn && a.has(actVaultOut) && len(plain(a.out)) == 0 && len(plain(a.in)) > 0 {
		o.act = actVaultOut
	}
	return o
}

func nameService(a *Reading) *opinion { return opine(a.find("name_note")) }

// message: something was told to another chain, and nothing went with it.
func message(a *Reading) *opinion {
	if hits := a.find(actMessageOut); len(hits) > 0 {
		return &opinion{act: "message", hits: hits}
	}
	return nil
}

// otherEvent: any act left that the table names.
func otherEvent(a *Reading) *opinion {
	return opine(a.find("order", "cancel_order", "order_refund", "perp", "mint_py", "redeem_py", "attest", actFlashLoan, actKeeper, actOracle, actBatchPost, actDelegate))
}
