package classify

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// summarise writes the one line, from what the actor gained and lost.
func (a *headlineWriter) summarise() string {
	o := a.v.Deciding
	k := verbs[o.act]
	via := ""
	if a.v.Protocol != nil {
		via = protocol.NameOf(*a.v.Protocol)
	}
	s := ""
	switch {
	case o.called && len(a.out)+len(a.in) == 0:
		return a.sumCalled(o) + a.onBehalf()
	case o.act == actNote, o.act == actTransfer && a.noCodeRan():
		return a.sumNote()
	}
	switch o.act {
	case actSwap:
		s = a.sumSwap(via)
	case actNFTSale:
		s = a.sumNFT(via)
	case actTransfer:
		s = a.sumTransfer()
	case actApproval:
		s = a.sumApproval()
	case actDeploy:
		s = a.sumDeploy(o)
	case actSandwich:
		s = a.sumLeg(via)
	case actBackrun, actBuilder:
		s = a.sumBribe(o, via)
	case "arbitrage":
		s = a.sumArbitrage(o)
	case actLiquidate:
		s = a.sumLiquidation(o, via)
	default:
		s = a.sumGeneral(o, k, via)
	}
	if at, ok := a.tradedBy(o); ok && o.act != actArbitrage {
		s += ", by contract " + a.Who(at)
	}
	switch {
	case a.inner && a.failedOps < a.operations:
		s = a.failedOfBundle() + ", the transaction itself succeeded: " + lowerFirst(s)
	case a.inner:
		s = "Inner act failed, the transaction itself succeeded: " + lowerFirst(s)
	}
	return s + a.onBehalf()
}

// failedOfBundle says how many operations of a bundle failed.
func (a *headlineWriter) failedOfBundle() string {
	return strconv.Itoa(a.failedOps) + " of " + strconv.Itoa(a.operations) + " user operations failed"
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// onBehalf says for whom, where that is not the sender.
func (a *headlineWriter) onBehalf() string {
	switch {
	case len(a.actors) > 1 && a.how == asUserOp:
		return ", in a bundle of " + strconv.Itoa(len(a.actors)) + " smart accounts"
	case len(a.actors) > 1:
		return ", in a batch of " + strconv.Itoa(len(a.actors)) + " orders"
	}
	switch a.how {
	case asUserOp:
		return ", for smart account " + a.Who(a.actor)
	case asSafe:
		return ", for Safe " + a.Who(a.actor)
	case asIntent:
		return ", for " + a.Who(a.actor)
	case asDelegate:
		return ", for account " + a.Who(a.actor)
	case asSigned:
		return ", by signed authorization of " + a.Who(a.actor)
	}
	return ""
}

func on(prep, via string) string {
	if via == "" {
		return ""
	}
	return " " + prep + " " + via
}

func (a *headlineWriter) sumSwap(via string) string {
	o := a.v.Deciding
	out, in := a.out, a.in
	if len(plain(out)) > 0 {
		out = plain(out)
	}
	if len(plain(in)) > 0 {
		in = plain(in)
	}
	if len(in) == 0 && len(o.benefit) > 0 {
		return "Swapped " + a.legs(out) + " for " + a.legs(o.benefit) + on("on", via) + ", paid to " + a.Who(o.beneficiary)
	}
	if len(out) == 0 || len(in) == 0 {
		legs := append(append([]leg(nil), out...), in...)
		if len(legs) == 0 {
			return "Swapped tokens" + on("on", via)
		}
		verb := "receiving "
		if len(in) == 0 {
			verb = "paying "
		}
		return "Swapped tokens" + on("on", via) + ", " + verb + a.legs(legs)
	}
	s := "Swapped " + a.legs(out) + " for " + a.legs(in) + on("on", via)
	if len(o.benefit) > 0 {
		s += "; " + a.legs(o.benefit) + " more went to " + a.Who(o.beneficiary)
	}
	return s
}

func (a *headlineWriter) sumNFT(via string) string {
	switch {
	case nfts(a.in) && len(a.out) > 0:
		return "Bought " + a.legs(a.in) + " for " + a.legs(a.out) + on("on", via)
	case nfts(a.out) && len(a.in) > 0:
		return "Sold " + a.legs(a.out) + " for " + a.legs(a.in) + on("on", via)
	case len(a.out) > 0:
		return "Settled an NFT sale" + on("on", via) + ", paying " + a.legs(a.out)
	}
	return "Settled an NFT sale" + on("on", via)
}

// sumTransfer names the one receiver, or counts them.
func (a *headlineWriter) sumTransfer() string {
	if len(a.out) == 0 && len(a.in) == 0 {
		return a.sumZeroTransfer()
	}
	if len(a.out) == 0 {
		return short(a.actor) + " received " + a.legs(a.in) + a.peers(a.in, " from ")
	}
	return "Sent " + a.legs(a.out) + a.peers(a.out, " to ")
}

// peers names the other side of legs: one address, or their number.
func (a *headlineWriter) peers(legs []leg, prep string) string {
	var others map[common.Address]struct{} // made for the second; most have one
	var first common.Address
	seen := false
	add := func(x common.Address) {
		switch {
		case !seen:
			first, seen = x, true
		case x == first:
		case others == nil:
			others = map[common.Address]struct{}{x: {}}
		default:
			others[x] = struct{}{}
		}
	}
	if a.Flow != nil {
		for i := range a.Flow.Transfers {
			t := &a.Flow.Transfers[i]
			if prep == " to " && t.From == a.actor {
				add(t.To)
			}
			if prep == " from " && t.To == a.actor {
				add(t.From)
			}
		}
	}
	for _, l := range legs {
		if l.native() && l.peer != (common.Address{}) {
			add(l.peer)
		}
	}
	switch {
	case !seen:
		return ""
	case others == nil:
		return prep + a.Who(first)
	}
	return prep + api.Thousands(strconv.Itoa(len(others)+1)) + " addresses"
}

func (a *headlineWriter) sumZeroTransfer() string {
	if a.poisons() {
		return "Moved nothing: " + api.Count(len(a.Flow.Transfers)+len(a.Flow.Fakes), "transfer event") + " between others, as address poisoning makes them, left out"
	}
	if a.Flow != nil && len(a.Flow.Transfers) > 0 {
		t := &a.Flow.Transfers[0]
		n := ""
		if len(a.Flow.Transfers) > 1 {
			n = " and " + strconv.Itoa(len(a.Flow.Transfers)-1) + " more transfers"
		}
		if t.From == a.sender && t.To == a.sender || t.Amount.Sign() == 0 {
			return "Moved " + a.Amount(keyOf(t), t.Amount) + " from " + a.Who(t.From) + " to " + a.Who(t.To) + n
		}
		return "Moved " + a.Amount(keyOf(t), t.Amount) + " from " + a.Who(t.From) + " to " + a.Who(t.To) + n + "; the sender itself paid only the fee"
	}
	if a.Tx.To != nil && *a.Tx.To == a.sender {
		return "Sent " + a.Amount(leg{}.key, a.Tx.Value) + " to itself"
	}
	if a.Tx.To != nil {
		return "Sent " + a.Amount(leg{}.key, a.Tx.Value) + " to " + a.Who(*a.Tx.To)
	}
	return "Moved nothing"
}

func (a *headlineWriter) sumDeploy(o *opinion) string {
	if a.Tx.To == nil {
		if a.Receipt != nil && a.Receipt.ContractAddress != nil {
			s := "Deployed contract " + a.whoNew(*a.Receipt.ContractAddress)
			if f := a.rootFrame(); f != nil {
				s += codeSize(f)
			}
			return s
		}
		return "Deployed a contract"
	}
	frames := o.frames
	if made := a.created(); len(frames) == 0 && len(made) == 1 && len(o.hits) == 1 {
		frames = made // the factory's event tells of the one contract that was made
	}
	if n := len(frames); n > 0 && a.Tree != nil && a.Tree.Frames[frames[0]].HasTo {
		first := a.Tree.Frames[frames[0]]
		if n == 1 {
			return "Deployed contract " + a.whoNew(first.To) + " through " + a.Who(a.entry)
		}
		return "Deployed " + strconv.Itoa(n) + " contracts through " + a.Who(a.entry)
	}
	return "Deployed a contract through " + a.Who(a.entry)
}

func (a *headlineWriter) whoNew(addr common.Address) string {
	if n := a.Who(addr); n != short(addr) {
		return n
	}
	return api.AddrOf(addr).String()
}

func (a *headlineWriter) sumArbitrage(o *opinion) string {
	pools := []common.Address{}
	for _, h := range o.hits {
		pools = append(pools, h.emitter)
	}
	s := "Closed an arbitrage over " + api.Count(len(distinct(pools)), "pool") + ", gaining "
	legs, whose := a.gain(o)
	if whose != (common.Address{}) {
		return s + a.legs(legs) + " for " + a.Who(whose) + " before the fee"
	}
	return s + a.legs(legs) + " before the fee"
}

func (a *headlineWriter) sumLiquidation(o *opinion, via string) string {
	s := "Liquidated a position"
	for _, h := range o.hits {
		if victim, ok := a.liquidated(h); ok {
			s = "Liquidated the position of " + a.Who(victim)
			break
		}
	}
	s += on("on", via)
	switch {
	case len(a.out) > 0 && len(a.in) > 0:
		s += ", paying " + a.legs(a.out) + " and receiving " + a.legs(a.in)
	case len(a.in) > 0:
		s += ", receiving " + a.legs(a.in)
	case len(a.out) > 0:
		s += ", paying " + a.legs(a.out)
	}
	return s
}

// sumGeneral serves every act that is said as verb, amounts, place. Acts with a
// sentence of their own come first; what is left says what was given and got.
func (a *headlineWriter) sumGeneral(o *opinion, k verb, via string) string {
	verb := k.past
	switch {
	case o.sub == "harvest":
		verb = "Harvested the yield of a vault"
	case verb == "":
		verb = "Ran " + strings.ReplaceAll(string(o.act), "_", " ")
	default:
		if s := a.sumOwn(o, verb, via); s != "" {
			return s
		}
	}
	s := verb + on("on", via)
	switch {
	case len(a.in) == 0 && len(a.out) == 1 && a.out[0].dust():
		return s
	case len(a.out) > 0 && len(a.in) > 0:
		s += ": gave " + a.legs(a.out) + ", got " + a.legs(a.in)
	case len(a.out) > 0:
		s += ": gave " + a.legs(a.out)
	case len(a.in) > 0:
		s += ": got " + a.legs(a.in)
	}
	return s
}

// sumOwn is the sentence of acts that have one, empty when the movements do not fit it.
func (a *headlineWriter) sumOwn(o *opinion, verb, via string) string {
	out, in := a.out, a.in
	switch o.act {
	case "contract_call":
		return a.sumCall()
	case "receive":
		return "Received " + a.legs(in) + a.peers(in, " from ")
	case "pay":
		return "Paid " + a.legs(out) + a.peers(out, " to ")
	case actMintNFT, actMint, actBurn:
		return a.sumMint(verb, o)
	case actOracle:
		if via == "" && len(o.hits) > 0 {
			return verb + " at " + a.Who(o.hits[0].emitter)
		}
	case actAuthorize:
		return a.sumAuthorize()
	case actBridgeIn, actMessageIn:
		if len(in) == 0 {
			return a.sumDelivery(o, via)
		}
		return "Received " + a.legs(in) + on("over", orBridge(via))
	case actBridgeOut, actMessageOut:
		if len(out) > 0 {
			return a.sumBridged(o, via)
		}
	case actWrap, actUnwrap:
		if len(out) > 0 && len(in) > 0 {
			return verb + " " + a.legs(out) + " to " + a.legs(in)
		}
		return strings.TrimSpace(verb + " " + a.legs(append(out, in...)))
	case actStake, actUnstake:
		return a.sumStake(o, verb, via)
	case actSupply, actRepay, actVaultIn:
		if p := plain(out); len(p) > 0 {
			return bare(o.act, verb) + " " + a.legs(p) + into(o.act, via)
		}
	case actWithdraw, actBorrow, actVaultOut, actClaim, actClaimStake:
		p := plain(in)
		if len(p) == 0 {
			p = in // rewards may be minted
		}
		if len(p) > 0 {
			return bare(o.act, verb) + " " + a.legs(p) + on("from", via)
		}
	}
	return ""
}

// sumStake names what went in or came out, and the share that stands for it.
func (a *headlineWriter) sumStake(o *opinion, verb, via string) string {
	prep := "with"
	if o.act == actUnstake {
		prep = "from"
	}
	switch {
	case o.sub != "" && o.sub != subTypeOf(o.act):
		return ""
	case len(a.out) > 0 && len(a.in) > 0:
		return verb + " " + a.legs(a.out) + " for " + a.legs(a.in) + on(prep, via)
	case len(a.out) > 0:
		return verb + " " + a.legs(a.out) + on(prep, via)
	case len(a.in) > 0:
		return verb + " " + a.legs(a.in) + on(prep, via)
	}
	return ""
}

// sumDelivery tells what a relayer brought to somebody else.
func (a *headlineWriter) sumDelivery(o *opinion, via string) string {
	if len(o.benefit) > 0 {
		return "Delivered " + a.legs(o.benefit) + " to " + a.Who(o.beneficiary) + on("over", orBridge(via))
	}
	return "Delivered a cross-chain message" + on("over", orBridge(via))
}

// bareVerbs are the verbs of acts whose own name their object, for when another follows.
var bareVerbs = map[act]string{actVaultIn: "Deposited", actVaultOut: "Withdrew", actClaimStake: "Claimed"}

func bare(x act, verb string) string { return cmp.Or(bareVerbs[x], verb) }

func into(what act, via string) string {
	switch {
	case via == "":
		if what == actVaultIn {
			return " into a contract"
		}
		return ""
	case what == actRepay:
		return " to " + via
	case what == actVaultIn:
		return " into " + via
	}
	return " to " + via
}

func orBridge(via string) string {
	if via == "" {
		return "a bridge"
	}
	return via
}

func (a *headlineWriter) sumMint(verb string, o *opinion) string {
	switch {
	case len(a.out) > 0 && len(a.in) > 0 && o.sub == "deposit":
		return "Deposited " + a.legs(a.out) + " for " + a.legs(a.in)
	case len(a.out) > 0 && len(a.in) > 0 && o.sub == "redeem":
		return "Redeemed " + a.legs(a.out) + " for " + a.legs(a.in)
	case len(a.out) > 0 && len(a.in) > 0:
		return verb + " " + a.legs(a.in) + " for " + a.legs(a.out)
	case len(a.in) > 0:
		return verb + " " + a.legs(a.in)
	case len(a.out) > 0:
		return verb + " " + a.legs(a.out)
	}
	return verb + " tokens"
}

func (a *headlineWriter) sumCall() string {
	s := "Called "
	if n := plainText(a.name); n != "" {
		s += n + " on "
	}
	if !a.hasTo {
		return "Made a call"
	}
	s += a.Who(a.entry)
	switch {
	case len(a.out) > 0 && len(a.in) > 0:
		s += ", giving " + a.legs(a.out) + " and getting " + a.legs(a.in)
	case len(a.out) > 0:
		s += ", giving " + a.legs(a.out)
	case len(a.in) > 0:
		s += ", getting " + a.legs(a.in)
	default:
		s += a.paidOut()
	}
	return s
}

// paidOut tells of a called contract that sent one token to others and did nothing else.
func (a *headlineWriter) paidOut() string {
	if a.Flow == nil || len(a.Flow.Transfers) == 0 || len(a.hits) > 0 {
		return ""
	}
	sum, to := new(big.Int), map[common.Address]struct{}{}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.Token != a.Flow.Transfers[0].Token || t.From != a.entry || t.ID != nil || (t.To == common.Address{}) {
			return ""
		}
		sum.Add(sum, t.Amount)
		to[t.To] = struct{}{}
	}
	whom := api.Thousands(strconv.Itoa(len(to))) + " addresses"
	if len(to) == 1 {
		whom = a.Who(a.Flow.Transfers[0].To)
	}
	return ", which sent " + a.Amount(leg20(a.Flow.Transfers[0].Token), sum) + " to " + whom
}
