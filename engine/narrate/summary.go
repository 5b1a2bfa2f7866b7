package narrate

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
	"txlens/engine/api"
	"txlens/engine/classify"
	"txlens/engine/facts"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// summarise writes the one line, from what the actor gained and lost.
func (a *headlineWriter) summarise() string {
	o := a.v.Deciding
	k := verbs[o.Act]
	via := ""
	if a.v.Protocol != nil {
		via = protocol.NameOf(*a.v.Protocol)
	}
	s := ""
	switch {
	case o.OnlyCalled && len(a.Out)+len(a.In) == 0:
		return a.sumCalled(o) + a.onBehalf()
	case o.Act == facts.ActNote, o.Act == facts.ActTransfer && a.NoCodeRan():
		return a.sumNote()
	}
	switch o.Act {
	case facts.ActSwap:
		s = a.sumSwap(via)
	case facts.ActNFTSale:
		s = a.sumNFT(via)
	case facts.ActTransfer:
		s = a.sumTransfer()
	case facts.ActApproval:
		s = a.sumApproval()
	case facts.ActDeploy:
		s = a.sumDeploy(o)
	case facts.ActSandwich:
		s = a.sumLeg(via)
	case facts.ActBackrun, facts.ActBuilder:
		s = a.sumBribe(o, via)
	case "arbitrage":
		s = a.sumArbitrage(o)
	case facts.ActLiquidate:
		s = a.sumLiquidation(o, via)
	default:
		s = a.sumGeneral(o, k, via)
	}
	if at, ok := classify.TradedBy(a.Reading, o); ok && o.Act != facts.ActArbitrage {
		s += ", by contract " + a.Who(at)
	}
	switch {
	case a.InnerFailed && a.FailedOperations < a.Operations:
		s = a.failedOfBundle() + ", the transaction itself succeeded: " + lowerFirst(s)
	case a.InnerFailed:
		s = "Inner act failed, the transaction itself succeeded: " + lowerFirst(s)
	}
	return s + a.onBehalf()
}

// failedOfBundle says how many operations of a bundle failed.
func (a *headlineWriter) failedOfBundle() string {
	return strconv.Itoa(a.FailedOperations) + " of " + strconv.Itoa(a.Operations) + " user operations failed"
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
	case len(a.Actors) > 1 && a.ActorKind == facts.ActorUserOp:
		return ", in a bundle of " + strconv.Itoa(len(a.Actors)) + " smart accounts"
	case len(a.Actors) > 1:
		return ", in a batch of " + strconv.Itoa(len(a.Actors)) + " orders"
	}
	switch a.ActorKind {
	case facts.ActorUserOp:
		return ", for smart account " + a.Who(a.Actor)
	case facts.ActorSafe:
		return ", for Safe " + a.Who(a.Actor)
	case facts.ActorOrder:
		return ", for " + a.Who(a.Actor)
	case facts.ActorDelegated:
		return ", for account " + a.Who(a.Actor)
	case facts.ActorSigned:
		return ", by signed authorization of " + a.Who(a.Actor)
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
	out, in := a.Out, a.In
	if len(facts.NotMinted(out)) > 0 {
		out = facts.NotMinted(out)
	}
	if len(facts.NotMinted(in)) > 0 {
		in = facts.NotMinted(in)
	}
	if len(in) == 0 && len(o.Benefit) > 0 {
		return "Swapped " + a.legs(out) + " for " + a.legs(o.Benefit) + on("on", via) + ", paid to " + a.Who(o.Beneficiary)
	}
	if len(out) == 0 || len(in) == 0 {
		legs := append(append([]facts.Leg(nil), out...), in...)
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
	if len(o.Benefit) > 0 {
		s += "; " + a.legs(o.Benefit) + " more went to " + a.Who(o.Beneficiary)
	}
	return s
}

func (a *headlineWriter) sumNFT(via string) string {
	switch {
	case facts.HasNFT(a.In) && len(a.Out) > 0:
		return "Bought " + a.legs(a.In) + " for " + a.legs(a.Out) + on("on", via)
	case facts.HasNFT(a.Out) && len(a.In) > 0:
		return "Sold " + a.legs(a.Out) + " for " + a.legs(a.In) + on("on", via)
	case len(a.Out) > 0:
		return "Settled an NFT sale" + on("on", via) + ", paying " + a.legs(a.Out)
	}
	return "Settled an NFT sale" + on("on", via)
}

// sumTransfer names the one receiver, or counts them.
func (a *headlineWriter) sumTransfer() string {
	if len(a.Out) == 0 && len(a.In) == 0 {
		return a.sumZeroTransfer()
	}
	if len(a.Out) == 0 {
		return short(a.Actor) + " received " + a.legs(a.In) + a.peers(a.In, " from ")
	}
	return "Sent " + a.legs(a.Out) + a.peers(a.Out, " to ")
}

// peers names the other side of legs: one address, or their number.
func (a *headlineWriter) peers(legs []facts.Leg, prep string) string {
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
			if prep == " to " && t.From == a.Actor {
				add(t.To)
			}
			if prep == " from " && t.To == a.Actor {
				add(t.From)
			}
		}
	}
	for _, l := range legs {
		if l.Native() && l.Counterparty != (common.Address{}) {
			add(l.Counterparty)
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
	if a.IsPoisoning() {
		return "Moved nothing: " + api.Count(
			len(a.Flow.Transfers)+len(a.Flow.Fakes),
			"transfer event",
		) + " between others, as address poisoning makes them, left out"
	}
	if a.Flow != nil && len(a.Flow.Transfers) > 0 {
		t := &a.Flow.Transfers[0]
		n := ""
		if len(a.Flow.Transfers) > 1 {
			n = " and " + strconv.Itoa(len(a.Flow.Transfers)-1) + " more transfers"
		}
		if t.From == a.Sender && t.To == a.Sender || t.Amount.Sign() == 0 {
			return "Moved " + a.Amount(facts.TransferKey(t), t.Amount) + " from " + a.Who(t.From) + " to " + a.Who(t.To) + n
		}
		return "Moved " + a.Amount(
			facts.TransferKey(t),
			t.Amount,
		) + " from " + a.Who(
			t.From,
		) + " to " + a.Who(
			t.To,
		) + n + "; the sender itself paid only the fee"
	}
	if a.Tx.To != nil && *a.Tx.To == a.Sender {
		return "Sent " + a.Amount(facts.Leg{}.Key, a.Tx.Value) + " to itself"
	}
	if a.Tx.To != nil {
		return "Sent " + a.Amount(facts.Leg{}.Key, a.Tx.Value) + " to " + a.Who(*a.Tx.To)
	}
	return "Moved nothing"
}

func (a *headlineWriter) sumDeploy(o *classify.Opinion) string {
	if a.Tx.To == nil {
		if a.Receipt != nil && a.Receipt.ContractAddress != nil {
			s := "Deployed contract " + a.whoNew(*a.Receipt.ContractAddress)
			if f := a.RootFrame(); f != nil {
				s += codeSize(f)
			}
			return s
		}
		return "Deployed a contract"
	}
	frames := o.Frames
	if made := a.CreatedFrames(); len(frames) == 0 && len(made) == 1 && len(o.Matches) == 1 {
		frames = made // the factory's event tells of the one contract that was made
	}
	if n := len(frames); n > 0 && a.Tree != nil && a.Tree.Frames[frames[0]].HasTo {
		first := a.Tree.Frames[frames[0]]
		if n == 1 {
			return "Deployed contract " + a.whoNew(first.To) + " through " + a.Who(a.Entry)
		}
		return "Deployed " + strconv.Itoa(n) + " contracts through " + a.Who(a.Entry)
	}
	return "Deployed a contract through " + a.Who(a.Entry)
}

func (a *headlineWriter) whoNew(addr common.Address) string {
	if n := a.Who(addr); n != short(addr) {
		return n
	}
	return api.AddrOf(addr).String()
}

func (a *headlineWriter) sumArbitrage(o *classify.Opinion) string {
	pools := []common.Address{}
	for _, h := range o.Matches {
		pools = append(pools, h.Emitter)
	}
	s := "Closed an arbitrage over " + api.Count(len(facts.Distinct(pools)), "pool") + ", gaining "
	legs, whose := classify.Gain(a.Reading, o)
	if whose != (common.Address{}) {
		return s + a.legs(legs) + " for " + a.Who(whose) + " before the fee"
	}
	return s + a.legs(legs) + " before the fee"
}

func (a *headlineWriter) sumLiquidation(o *classify.Opinion, via string) string {
	s := "Liquidated a position"
	for _, h := range o.Matches {
		if victim, ok := a.LiquidatedAccount(h); ok {
			s = "Liquidated the position of " + a.Who(victim)
			break
		}
	}
	s += on("on", via)
	switch {
	case len(a.Out) > 0 && len(a.In) > 0:
		s += ", paying " + a.legs(a.Out) + " and receiving " + a.legs(a.In)
	case len(a.In) > 0:
		s += ", receiving " + a.legs(a.In)
	case len(a.Out) > 0:
		s += ", paying " + a.legs(a.Out)
	}
	return s
}

// sumGeneral serves every act that is said as verb, amounts, place. Acts with a
// sentence of their own come first; what is left says what was given and got.
func (a *headlineWriter) sumGeneral(o *classify.Opinion, k verb, via string) string {
	verb := k.past
	switch {
	case o.SubType == "harvest":
		verb = "Harvested the yield of a vault"
	case verb == "":
		verb = "Ran " + strings.ReplaceAll(string(o.Act), "_", " ")
	default:
		if s := a.sumOwn(o, verb, via); s != "" {
			return s
		}
	}
	s := verb + on("on", via)
	switch {
	case len(a.In) == 0 && len(a.Out) == 1 && a.Out[0].Dust():
		return s
	case len(a.Out) > 0 && len(a.In) > 0:
		s += ": gave " + a.legs(a.Out) + ", got " + a.legs(a.In)
	case len(a.Out) > 0:
		s += ": gave " + a.legs(a.Out)
	case len(a.In) > 0:
		s += ": got " + a.legs(a.In)
	}
	return s
}

// sumOwn is the sentence of acts that have one, empty when the movements do not fit it.
func (a *headlineWriter) sumOwn(o *classify.Opinion, verb, via string) string {
	out, in := a.Out, a.In
	switch o.Act {
	case "contract_call":
		return a.sumCall()
	case "receive":
		return "Received " + a.legs(in) + a.peers(in, " from ")
	case "pay":
		return "Paid " + a.legs(out) + a.peers(out, " to ")
	case facts.ActMintNFT, facts.ActMint, facts.ActBurn:
		return a.sumMint(verb, o)
	case facts.ActOracle:
		if via == "" && len(o.Matches) > 0 {
			return verb + " at " + a.Who(o.Matches[0].Emitter)
		}
	case facts.ActAuthorize:
		return a.sumAuthorize()
	case facts.ActBridgeIn, facts.ActMessageIn:
		if len(in) == 0 {
			return a.sumDelivery(o, via)
		}
		return "Received " + a.legs(in) + on("over", orBridge(via))
	case facts.ActBridgeOut, facts.ActMessageOut:
		if len(out) > 0 {
			return a.sumBridged(o, via)
		}
	case facts.ActWrap, facts.ActUnwrap:
		if len(out) > 0 && len(in) > 0 {
			return verb + " " + a.legs(out) + " to " + a.legs(in)
		}
		return strings.TrimSpace(verb + " " + a.legs(append(out, in...)))
	case facts.ActStake, facts.ActUnstake:
		return a.sumStake(o, verb, via)
	case facts.ActSupply, facts.ActRepay, facts.ActVaultIn:
		if p := facts.NotMinted(out); len(p) > 0 {
			return bare(o.Act, verb) + " " + a.legs(p) + into(o.Act, via)
		}
	case facts.ActWithdraw, facts.ActBorrow, facts.ActVaultOut, facts.ActClaim, facts.ActClaimStake:
		p := facts.NotMinted(in)
		if len(p) == 0 {
			p = in // rewards may be minted
		}
		if len(p) > 0 {
			return bare(o.Act, verb) + " " + a.legs(p) + on("from", via)
		}
	}
	return ""
}

// sumStake names what went in or came out, and the share that stands for it.
func (a *headlineWriter) sumStake(o *classify.Opinion, verb, via string) string {
	prep := "with"
	if o.Act == facts.ActUnstake {
		prep = "from"
	}
	switch {
	case o.SubType != "" && o.SubType != classify.SubTypeOf(o.Act):
		return ""
	case len(a.Out) > 0 && len(a.In) > 0:
		return verb + " " + a.legs(a.Out) + " for " + a.legs(a.In) + on(prep, via)
	case len(a.Out) > 0:
		return verb + " " + a.legs(a.Out) + on(prep, via)
	case len(a.In) > 0:
		return verb + " " + a.legs(a.In) + on(prep, via)
	}
	return ""
}

// sumDelivery tells what a relayer brought to somebody else.
func (a *headlineWriter) sumDelivery(o *classify.Opinion, via string) string {
	if len(o.Benefit) > 0 {
		return "Delivered " + a.legs(o.Benefit) + " to " + a.Who(o.Beneficiary) + on("over", orBridge(via))
	}
	return "Delivered a cross-chain message" + on("over", orBridge(via))
}

// bareVerbs are the verbs of acts whose own name their object, for when another follows.
var bareVerbs = map[facts.Act]string{facts.ActVaultIn: "Deposited", facts.ActVaultOut: "Withdrew", facts.ActClaimStake: "Claimed"}

func bare(x facts.Act, verb string) string { return cmp.Or(bareVerbs[x], verb) }

func into(what facts.Act, via string) string {
	switch {
	case via == "":
		if what == facts.ActVaultIn {
			return " into a contract"
		}
		return ""
	case what == facts.ActRepay:
		return " to " + via
	case what == facts.ActVaultIn:
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

func (a *headlineWriter) sumMint(verb string, o *classify.Opinion) string {
	switch {
	case len(a.Out) > 0 && len(a.In) > 0 && o.SubType == "deposit":
		return "Deposited " + a.legs(a.Out) + " for " + a.legs(a.In)
	case len(a.Out) > 0 && len(a.In) > 0 && o.SubType == "redeem":
		return "Redeemed " + a.legs(a.Out) + " for " + a.legs(a.In)
	case len(a.Out) > 0 && len(a.In) > 0:
		return verb + " " + a.legs(a.In) + " for " + a.legs(a.Out)
	case len(a.In) > 0:
		return verb + " " + a.legs(a.In)
	case len(a.Out) > 0:
		return verb + " " + a.legs(a.Out)
	}
	return verb + " tokens"
}

func (a *headlineWriter) sumCall() string {
	s := "Called "
	if n := PlainText(a.Function); n != "" {
		s += n + " on "
	}
	if !a.HasTo {
		return "Made a call"
	}
	s += a.Who(a.Entry)
	switch {
	case len(a.Out) > 0 && len(a.In) > 0:
		s += ", giving " + a.legs(a.Out) + " and getting " + a.legs(a.In)
	case len(a.Out) > 0:
		s += ", giving " + a.legs(a.Out)
	case len(a.In) > 0:
		s += ", getting " + a.legs(a.In)
	default:
		s += a.paidOut()
	}
	return s
}

// paidOut tells of a called contract that sent one token to others and did nothing else.
func (a *headlineWriter) paidOut() string {
	if a.Flow == nil || len(a.Flow.Transfers) == 0 || len(a.Matches) > 0 {
		return ""
	}
	sum, to := new(big.Int), map[common.Address]struct{}{}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.Token != a.Flow.Transfers[0].Token || t.From != a.Entry || t.ID != nil || (t.To == common.Address{}) {
			return ""
		}
		sum.Add(sum, t.Amount)
		to[t.To] = struct{}{}
	}
	whom := api.Thousands(strconv.Itoa(len(to))) + " addresses"
	if len(to) == 1 {
		whom = a.Who(a.Flow.Transfers[0].To)
	}
	return ", which sent " + a.Amount(facts.FungibleKey(a.Flow.Transfers[0].Token), sum) + " to " + whom
}
