package classify

import (
	"math/big"
	"strings"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// settledOrder: the actor signed an order and somebody else filled it.
func settledOrder(a *Reading) *opinion {
	var hits []*hit
	for _, h := range a.find(actSwap) {
		if h.rule.flags&flagIntent != 0 {
			hits = append(hits, h)
		}
	}
	return opine(hits)
}

// nftSale: a marketplace says so, or an NFT and money changed hands for the actor.
func nftSale(a *Reading) *opinion {
	if hits := a.find(actNFTSale); len(hits) > 0 {
		return opine(hits)
	}
	out, in := plain(a.out), plain(a.in)
	if nfts(out) != nfts(in) && len(out) > 0 && len(in) > 0 && !a.has(actAddLiq, actRemoveLiq, actLiquidity) {
		return &opinion{act: actNFTSale, unsure: verdict.NoMarketplaceEvent}
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
func exchange(a *Reading) *opinion {
	swaps := a.find(actSwap)
	out, in := plain(a.out), plain(a.in)
	if len(out) > 0 && len(in) > 0 && !a.onlyWrap() {
		o := &opinion{act: actSwap, hits: swaps}
		if len(swaps) == 0 {
			if !a.quietExchange(out, in) {
				return nil
			}
			o.unsure = verdict.NoSwapEvent
		}
		a.findShare(o, in)
		return o
	}
	if a.onlyWrap() && a.asksSwap() && len(a.out) > 0 && len(a.in) > 0 {
		return &opinion{act: actSwap, sub: "wrap", frames: []int{a.frameIndex()}}
	}
	if len(swaps) == 0 || a.has(actAddLiq, actRemoveLiq, actLiquidity) {
		return nil
	}
	if len(a.out) > 0 && len(a.in) > 0 {
		return &opinion{act: actSwap, hits: swaps, unsure: verdict.LegMintedOrBurnt}
	}
	if who, benefit := a.findBeneficiary(); len(a.out) > 0 && len(benefit) > 0 {
		return &opinion{act: actSwap, hits: swaps, trade: trade{beneficiary: who, benefit: benefit}}
	}
	if len(a.out)+len(a.in) == 0 || a.how == asContract || a.call != nil && a.call.act == actSwap || a.swapName() {
		return &opinion{act: actSwap, hits: swaps, unsure: verdict.SwapSidesUnseen}
	}
	return nil
}

// quietExchange: without an event, one asset against another is an exchange when the
// contract that was called, or one counterparty, stands on both sides, and nothing
// says that it was a loan, a deposit or a redemption.
func (a *Reading) quietExchange(out, in []leg) bool {
	if len(in) > 1 || len(out) > 2 || a.has(actVaultIn, actVaultOut, actAddLiq, actRemoveLiq, actLiquidity,
		actSupply, actWithdraw, actBorrow, actRepay, actStake, actUnstake, actClaimStake) {
		return false
	}
	if n := strings.ToLower(a.name); strings.Contains(n, "withdraw") || strings.Contains(n, "redeem") || strings.Contains(n, "borrow") || strings.Contains(n, "deposit") {
		return false
	}
	if a.calledRouter() || a.swapName() {
		return true
	}
	for _, l := range out {
		if l.peer == in[0].peer || in[0].peer == a.entry && a.hasTo {
			return true
		}
	}
	return false
}

// findShare looks for somebody else who got more of what the swap bought than the
// actor did: then the actor's part is a refund or a rest.
func (a *Reading) findShare(o *opinion, in []leg) {
	if a.Flow == nil || len(in) != 1 || in[0].native() {
		return
	}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.Token != in[0].key.Token || t.From != in[0].peer || t.To == a.actor || t.Amount.Cmp(in[0].amount) <= 0 || a.isPool(t.To) || a.known(t.To) {
			continue
		}
		if out, got := a.netOf(t.To); len(out) == 0 && len(got) > 0 {
			o.beneficiary, o.benefit = t.To, []leg{{key: in[0].key, amount: t.Amount}}
			return
		}
	}
}

func (a *Reading) swapName() bool {
	n := strings.ToLower(a.name)
	return strings.Contains(n, "swap") || strings.Contains(n, "exchange") || n == "trade" || strings.HasPrefix(n, "exactinput") || strings.HasPrefix(n, "exactoutput")
}

// maxTried bounds how many strangers a search looks at closely: an airdrop pays
// thousands, and to name one of them would be a guess.
const maxTried = 64

// findBeneficiary looks for the one address that only gained, by what the pools paid.
func (a *Reading) findBeneficiary() (who common.Address, benefit []leg) {
	if a.Flow == nil {
		return who, nil
	}
	for i, tried := len(a.Flow.Changes)-1, 0; i >= 0 && tried < maxTried; i-- {
		c := &a.Flow.Changes[i]
		if c.FeeOnly || c.Role != "" || c.Address == a.actor || c.Address == (common.Address{}) || a.isPool(c.Address) || a.isToken(c.Address) {
			continue
		}
		if out, in := a.netOf(c.Address); len(out) != 0 || len(in) != 1 || a.sameAsset(in[0], a.out) {
			continue
		}
		tried++
		_, in := a.legsOf(c.Address)
		if in[0].minted {
			continue
		}
		if len(benefit) > 0 && benefit[0].amount.Cmp(in[0].amount) >= 0 {
			continue // a fee taker gains the same asset, but less
		}
		who, benefit = c.Address, in
	}
	return who, benefit
}

func (a *Reading) sameAsset(l leg, legs []leg) bool {
	for _, o := range legs {
		if o.key == l.key {
			return true
		}
	}
	return false
}

// stakeNamed: the called function says staking, and assets moved.
func stakeNamed(a *Reading) *opinion {
	act := actOfName(a.name)
	if act != actStake && act != actUnstake || len(a.out)+len(a.in) == 0 {
		return nil
	}
	return &opinion{act: act, frames: []int{a.frameIndex()}, unsure: verdict.OnlyFunctionName}
}

// poolShare: one token against two or more that its own contract took in or paid out
// is the share of a pool, whatever its events are called.
func poolShare(a *Reading) *opinion {
	with := func(share leg, assets []leg) bool {
		for i := range assets {
			if assets[i].peer != share.key.Token {
				return false
			}
		}
		return share.key.ID == "" && !share.native() && len(assets) >= 2
	}
	switch {
	case len(a.out) == 1 && with(a.out[0], a.in):
		return &opinion{act: actRemoveLiq, unsure: verdict.NoPoolEvent}
	case len(a.in) == 1 && with(a.in[0], a.out):
		return &opinion{act: actAddLiq, unsure: verdict.NoPoolEvent}
	}
	return nil
}

// mintBurn: the actor got something that came into being, or destroyed something.
func mintBurn(a *Reading) *opinion {
	for _, l := range a.in {
		if l.minted && (l.key.NFT || l.key.ID != "") {
			return &opinion{act: actMintNFT}
		}
	}
	gave, got := len(a.out) > 0, len(a.in) > 0
	if n := actOfName(a.name); gave && got && (n == actAddLiq || n == actRemoveLiq) {
		return &opinion{act: n, unsure: verdict.OnlyFunctionName}
	}
	switch {
	case got && a.in[0].minted && len(plain(a.in)) == 0 && gave:
		return &opinion{act: actMint, sub: "deposit", unsure: verdict.ShareMinted}
	case got && a.in[0].minted && len(plain(a.in)) == 0:
		return &opinion{act: actMint}
	case gave && a.out[len(a.out)-1].minted && len(plain(a.out)) == 0 && got:
		return &opinion{act: actBurn, sub: "redeem", unsure: verdict.ShareBurnt}
	case gave && a.out[len(a.out)-1].minted && len(plain(a.out)) == 0:
		return &opinion{act: actBurn}
	}
	return nil
}

// claimed: the actor asked for what it was owed.
func claimed(a *Reading) *opinion {
	if hits := mine(a.find(actClaim)); len(hits) > 0 {
		return opine(hits)
	}
	if len(a.in) > 0 && len(plain(a.out)) == 0 && a.how != asFill && a.hasTo && len(a.Tx.Input) >= 4 && !a.tokenCall() {
		if n := strings.ToLower(a.name); strings.Contains(n, "withdraw") || strings.Contains(n, "redeem") || strings.Contains(n, "exit") {
			return &opinion{act: actWithdraw}
		}
		if actOfName(a.name) == actClaim || strings.Contains(strings.ToLower(a.name), "collect") {
			return &opinion{act: actClaim}
		}
		return &opinion{act: "receive", unsure: verdict.PayoutUnexplained}
	}
	return nil
}

// tokenCall reports whether the actor called a function that moves tokens.
func (a *Reading) tokenCall() bool {
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
func approval(a *Reading) *opinion {
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
func transfer(a *Reading) *opinion {
	switch {
	case len(a.Tx.Input) == 0 && a.Tx.To != nil && a.Tx.Value.Sign() > 0:
		return &opinion{act: actTransfer, frames: []int{0}}
	case len(a.out)+len(a.in) == 0:
		return a.zeroTransfer()
	case len(a.out) > 0 && len(a.in) > 0:
		return nil
	case a.tokenCall(), a.how == asSigned, len(a.in) > 0:
		return &opinion{act: actTransfer}
	case a.out[0].native() && len(a.out) == 1 && a.out[0].peer == a.entry && a.asked():
		return nil
	}
	for _, l := range a.out {
		if l.peer == a.entry && a.asked() {
			return nil
		}
	}
	return &opinion{act: actTransfer}
}

// asked reports whether the actor called a function, and did not only send coins: the
// calldata of a Safe or a bundle is its own machinery.
func (a *Reading) asked() bool {
	if a.frame != nil {
		return len(a.frame.Input) >= 4
	}
	return len(a.Tx.Input) >= 4
}

// zeroTransfer: transfers of nothing, of somebody else's tokens, or to oneself.
func (a *Reading) zeroTransfer() *opinion {
	if a.Flow == nil || len(a.Flow.Transfers) == 0 {
		// A payment of nothing that carries authorizations is there for them.
		if len(a.Tx.Input) == 0 && a.Tx.To != nil && len(a.Tx.Authorizations) == 0 {
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
func byCall(a *Reading) *opinion {
	if a.call != nil {
		if _, ok := kinds[a.call.act]; ok {
			return &opinion{called: true, act: a.call.act, frames: []int{a.frameIndex()}, unsure: verdict.OnlyFunction}
		}
	}
	if act := actOfName(a.name); act != "" {
		return &opinion{called: true, act: act, frames: []int{a.frameIndex()}, unsure: verdict.OnlyFunctionName}
	}
	return nil
}

func deposit(a *Reading) *opinion {
	if len(a.out) > 0 && len(a.in) == 0 && len(a.Tx.Input) > 0 && !a.tokenCall() && !(len(a.out) == 1 && a.out[0].dust()) {
		return &opinion{act: "pay", unsure: verdict.PaymentUnexplained}
	}
	return nil
}

func (a *Reading) frameIndex() int {
	if a.frame == nil {
		return 0
	}
	return a.frame.Index
}

func nothing(a *Reading) *opinion {
	return &opinion{act: "contract_call", sub: "contract_call", unsure: verdict.ActUnrecognised}
}

// nameActs reads acts out of function names; the first word that fits wins.
var nameActs = []struct {
	word string
	act  act
}{
	{"swap", actSwap}, {"exactinput", actSwap}, {"exactoutput", actSwap}, {"exchange", actSwap}, {"fillorder", actSwap}, {"trade", actSwap},
	{"addliquidity", actAddLiq}, {"removeliquidity", actRemoveLiq}, {"liquidat", actLiquidate},
	{"unstake", actUnstake}, {"stake", actStake}, {"createlock", actStake}, {"increaselock", actStake}, {"lockposition", actStake}, {"castvote", actVote}, {"bridge", actBridgeOut},
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
func (a *Reading) created() (frames []int) {
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
func (a *Reading) primaryLeg(v *Verdict, gaveFirst bool) *leg {
	legs := append(append([]leg(nil), a.out...), a.in...)
	if !gaveFirst {
		legs = append(append([]leg(nil), a.in...), a.out...)
	}
	for pass := 0; pass < 2; pass++ {
		for i := range legs {
			l := &legs[i]
			if l.dust() && len(legs) > 1 || l.native() && beside(v, legs) {
				continue // it pays for a message, or steers a bot
			}
			if pass == 1 || l.native() || a.Tokens[l.key.Token].Listed {
				return l
			}
		}
	}
	return nil
}

// beside reports whether native coin among the legs only came along with a token that
// crossed to another chain.
func beside(v *Verdict, legs []leg) bool {
	return v.TxType != nil && *v.TxType == api.TypeBridge && len(legs) > 1 && tokensIn(legs)
}

func (l *leg) delta(sign int) *flow.Delta {
	n := new(big.Int).Set(l.amount)
	if sign < 0 {
		n.Neg(n)
	}
	return &flow.Delta{Key: l.key, Amount: n}
}
