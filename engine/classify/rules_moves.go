package classify

import (
	"math/big"
	"strings"

	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// settledOrder: the actor signed an order and somebody else filled it.
func settledOrder(a *analysis) *opinion {
	var hits []*hit
	for _, h := range a.find(actSwap) {
		if h.rule.flags&flagIntent != 0 {
			hits = append(hits, h)
		}
	}
	return opine(hits)
}

// nftSale: a marketplace says so, or an NFT and money changed hands for the actor.
func nftSale(a *analysis) *opinion {
	if hits := a.find(actNFTSale); len(hits) > 0 {
		return opine(hits)
	}
	out, in := plain(a.out), plain(a.in)
	if nfts(out) != nfts(in) && len(out) > 0 && len(in) > 0 {
		return &opinion{act: actNFTSale, unsure: "no known marketplace event"}
	}
	return nil
}

func nfts(legs []leg) bool {
	for _, l := range legs {
		if l.key.NFT || l.key.ID != "" {
			return true
		}
	}
	return false
}

// exchange: the actor gave one asset and got another, with a pool between, or
// bought for somebody else.
func exchange(a *analysis) *opinion {
	swaps := a.find(actSwap)
	out, in := plain(a.out), plain(a.in)
	if len(out) > 0 && len(in) > 0 && !a.onlyWrap() {
		o := &opinion{act: actSwap, hits: swaps}
		if len(swaps) == 0 {
			if len(in) > 1 || len(out) > 2 || a.has(actVaultIn, actVaultOut, actAddLiq, actRemoveLiq) {
				return nil
			}
			o.unsure = "no swap event is known; the exchange shows only in what was paid and received"
		}
		return o
	}
	if len(swaps) == 0 || a.has(actAddLiq, actRemoveLiq, actLiquidity) {
		return nil
	}
	if len(a.out) > 0 && len(a.in) > 0 {
		return &opinion{act: actSwap, hits: swaps, unsure: "one leg was minted or burnt"}
	}
	if len(a.out) > 0 && a.findBeneficiary(swaps) {
		return &opinion{act: actSwap, hits: swaps}
	}
	if len(a.out)+len(a.in) == 0 || a.call != nil && a.call.act == actSwap || a.swapName() {
		return &opinion{act: actSwap, hits: swaps, unsure: "the actor's own movements do not show both sides of the swap"}
	}
	return nil
}

func (a *analysis) swapName() bool {
	n := strings.ToLower(a.name)
	return strings.Contains(n, "swap") || strings.Contains(n, "exchange") || strings.HasPrefix(n, "exactinput") || strings.HasPrefix(n, "exactoutput")
}

// findBeneficiary looks for the one address that only gained, by what the pools paid.
func (a *analysis) findBeneficiary(swaps []*hit) bool {
	if a.Flow == nil {
		return false
	}
	for i := len(a.Flow.Changes) - 1; i >= 0; i-- {
		c := &a.Flow.Changes[i]
		if c.FeeOnly || c.Role != "" || c.Address == a.actor || c.Address == (common.Address{}) || a.isPool(c.Address) || a.isToken(c.Address) {
			continue
		}
		out, in := a.legsOf(c.Address)
		if len(out) != 0 || len(in) != 1 || in[0].minted || a.sameAsset(in[0], a.out) {
			continue
		}
		if len(a.benefit) > 0 && a.benefit[0].amount.Cmp(in[0].amount) >= 0 {
			continue // a fee taker gains the same asset, but less
		}
		a.beneficiary, a.benefit = c.Address, in
	}
	return len(a.benefit) > 0
}

func (a *analysis) sameAsset(l leg, legs []leg) bool {
	for _, o := range legs {
		if o.key == l.key {
			return true
		}
	}
	return false
}

// arbitrage: a contract that is no router traded in a circle over several pools and
// ended with more of the native coin or its wrapped form than the fee took, giving up
// nothing else. Profit in other tokens cannot be compared with the fee without a
// price, so it is not called mev here.
func arbitrage(a *analysis) *opinion {
	if !a.Succeeded || a.Tx.To == nil || a.how != asSender && a.how != asContract || a.protocolAt(*a.Tx.To) != "" {
		return nil
	}
	swaps := a.find(actSwap)
	pools := map[common.Address]bool{}
	for _, h := range swaps {
		if h.rule.flags&flagAggregator != 0 {
			return nil
		}
		pools[h.emitter] = true
	}
	if len(pools) < 2 && len(swaps) < 2 || a.has(actNFTSale, actAddLiq, actRemoveLiq, actLiquidate) {
		return nil
	}
	profit := new(big.Int)
	for _, who := range []common.Address{a.sender, *a.Tx.To} {
		out, in := a.legsOf(who)
		for _, l := range append(out, in...) {
			if !l.native() && !a.wrapped(l.key.Token) {
				return nil
			}
		}
		for _, l := range out {
			profit.Sub(profit, l.amount)
		}
		for _, l := range in {
			profit.Add(profit, l.amount)
		}
	}
	if a.Flow == nil || a.Flow.Fee == nil || a.Flow.Fee.Total == nil || profit.Cmp(a.Flow.Fee.Total) <= 0 || !a.closed(*a.Tx.To) {
		return nil
	}
	return &opinion{act: "arbitrage", sub: "arbitrage", hits: swaps}
}

// closed reports whether a contract sent the asset into the pools that it got out.
func (a *analysis) closed(bot common.Address) bool {
	for i := range a.Flow.Transfers {
		if t := &a.Flow.Transfers[i]; t.From == bot && a.isPool(t.To) {
			return true
		}
	}
	return false
}

// mintBurn: the actor got something that came into being, or destroyed something.
func mintBurn(a *analysis) *opinion {
	for _, l := range a.in {
		if l.minted && (l.key.NFT || l.key.ID != "") {
			return &opinion{act: actMintNFT}
		}
	}
	gave, got := len(a.out) > 0, len(a.in) > 0
	switch {
	case got && a.in[0].minted && len(plain(a.in)) == 0 && gave:
		return &opinion{act: actMint, sub: "deposit", unsure: "a share was minted against a deposit by an unknown protocol"}
	case got && a.in[0].minted && len(plain(a.in)) == 0:
		return &opinion{act: actMint}
	case gave && a.out[len(a.out)-1].minted && len(plain(a.out)) == 0 && got:
		return &opinion{act: actBurn, sub: "redeem", unsure: "a share was burnt for assets by an unknown protocol"}
	case gave && a.out[len(a.out)-1].minted && len(plain(a.out)) == 0:
		return &opinion{act: actBurn}
	}
	return nil
}

// claimed: the actor asked for what it was owed.
func claimed(a *analysis) *opinion {
	if hits := mine(a.find(actClaim)); len(hits) > 0 {
		return opine(hits)
	}
	if len(a.in) > 0 && len(plain(a.out)) == 0 && a.how != asFill && a.hasTo && len(a.Tx.Input) >= 4 && !a.tokenCall() {
		if n := strings.ToLower(a.name); strings.Contains(n, "withdraw") || strings.Contains(n, "redeem") || strings.Contains(n, "exit") {
			return &opinion{act: actWithdraw}
		}
		return &opinion{act: actClaim}
	}
	return nil
}

// tokenCall reports whether the actor called a function that moves tokens.
func (a *analysis) tokenCall() bool {
	if a.call != nil && a.call.act == actTransfer {
		return true
	}
	n := strings.ToLower(a.name)
	for _, w := range []string{"transfer", "send", "pay", "disperse", "airdrop", "distribute"} {
		if strings.Contains(n, w) {
			return true
		}
	}
	return false
}

// approval: rights were given or taken and nothing moved.
func approval(a *analysis) *opinion {
	hits := a.find(actApproval)
	if len(hits)+len(a.approves) == 0 || len(a.out)+len(a.in) > 0 || a.Flow != nil && len(a.Flow.Transfers) > 0 {
		return nil
	}
	o := &opinion{act: actApproval, hits: hits}
	for _, i := range a.approves {
		o.hits = append(o.hits, &hit{act: actApproval, log: i, emitter: a.Receipt.Logs[i].Address})
	}
	return o
}

// transfer: assets went one way. A deposit into a contract that was called with data
// is not a transfer, unless the function moves tokens by name.
func transfer(a *analysis) *opinion {
	switch {
	case len(a.Tx.Input) == 0 && a.Tx.To != nil && a.Tx.Value.Sign() > 0:
		return &opinion{act: actTransfer, frames: []int{0}}
	case len(a.out)+len(a.in) == 0:
		return a.zeroTransfer()
	case len(a.out) > 0 && len(a.in) > 0:
		return nil
	case a.tokenCall(), a.how == asSigned, len(a.in) > 0:
		return &opinion{act: actTransfer}
	case a.out[0].native() && len(a.out) == 1 && a.out[0].peer == a.entry && len(a.Tx.Input) >= 4:
		return nil
	}
	for _, l := range a.out {
		if l.peer == a.entry && len(a.Tx.Input) >= 4 {
			return nil
		}
	}
	return &opinion{act: actTransfer}
}

// zeroTransfer: transfers of nothing, of somebody else's tokens, or to oneself.
func (a *analysis) zeroTransfer() *opinion {
	if a.Flow == nil || len(a.Flow.Transfers) == 0 {
		if len(a.Tx.Input) == 0 && a.Tx.To != nil {
			return &opinion{act: actTransfer, frames: []int{0}}
		}
		return nil
	}
	zero := true
	for i := range a.Flow.Transfers {
		zero = zero && a.Flow.Transfers[i].Amount.Sign() == 0
	}
	if zero || a.tokenCall() {
		return &opinion{act: actTransfer}
	}
	return nil
}

// byCall: nothing else speaks, so what was called does.
func byCall(a *analysis) *opinion {
	if a.call != nil {
		if _, ok := kinds[a.call.act]; ok {
			return &opinion{act: a.call.act, frames: []int{a.frameIndex()}, unsure: "only the called function tells"}
		}
	}
	if act := actOfName(a.name); act != "" {
		return &opinion{act: act, frames: []int{a.frameIndex()}, unsure: "only the name of the called function tells"}
	}
	if o := a.deposit(); o != nil {
		return o
	}
	return nil
}

func (a *analysis) deposit() *opinion {
	if len(a.out) > 0 && len(a.in) == 0 {
		return &opinion{act: actVaultIn, sub: "deposit", unsure: "what the called contract does with the deposit is not known"}
	}
	return nil
}

func (a *analysis) frameIndex() int {
	if a.frame == nil {
		return 0
	}
	return a.frame.Index
}

func nothing(a *analysis) *opinion {
	return &opinion{act: "contract_call", sub: "contract_call", unsure: "no rule recognised the act"}
}

// nameActs reads acts out of function names; the first word that fits wins.
var nameActs = []struct {
	word string
	act  act
}{
	{"swap", actSwap}, {"exactinput", actSwap}, {"exactoutput", actSwap}, {"exchange", actSwap}, {"fillorder", actSwap},
	{"addliquidity", actAddLiq}, {"removeliquidity", actRemoveLiq}, {"liquidat", actLiquidate},
	{"unstake", actUnstake}, {"stake", actStake}, {"castvote", actVote}, {"bridge", actBridgeOut},
	{"borrow", actBorrow}, {"repay", actRepay}, {"approve", actApproval}, {"permit", actApproval},
	{"claim", actClaim}, {"harvest", actClaim}, {"getreward", actClaim}, {"withdraw", actWithdraw}, {"redeem", actWithdraw},
	{"transfer", actTransfer}, {"mint", actMint}, {"burn", actBurn}, {"deposit", actVaultIn}, {"supply", actSupply},
	{"buy", actSwap}, {"sell", actSwap}, {"multicall", actMulticall}, {"upgrade", actAdmin}, {"setowner", actAdmin}, {"grantrole", actAdmin},
	{"createpair", actCreatePool}, {"createpool", actCreatePool}, {"register", actName},
}

func actOfName(name string) act {
	if name == "" {
		return ""
	}
	n := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	for _, w := range nameActs {
		if strings.Contains(n, w.word) {
			return w.act
		}
	}
	return ""
}

// created are the frames that made contracts which stayed.
func (a *analysis) created() (frames []int) {
	if a.Tree == nil {
		return nil
	}
	for _, f := range a.Tree.Frames {
		if isCreate(f) && f.Status == 0 {
			frames = append(frames, f.Index)
			if len(frames) == 20 {
				break
			}
		}
	}
	return frames
}

// primaryLeg chooses the leg whose value is the value of the act: a listed token or
// native coin first, then what was paid.
func (a *analysis) primaryLeg(gaveFirst bool) *leg {
	legs := append(append([]leg(nil), a.out...), a.in...)
	if !gaveFirst {
		legs = append(append([]leg(nil), a.in...), a.out...)
	}
	for pass := 0; pass < 2; pass++ {
		for i := range legs {
			l := &legs[i]
			if pass == 1 || l.native() || a.Tokens[l.key.Token].Listed {
				return l
			}
		}
	}
	return nil
}

func (l *leg) delta(sign int) *flow.Delta {
	n := new(big.Int).Set(l.amount)
	if sign < 0 {
		n.Neg(n)
	}
	return &flow.Delta{Key: l.key, Amount: n}
}
