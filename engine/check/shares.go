package check

import (
	"fmt"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   40,
	Name:    "share_price_fell",
	Title:   "share price fell",
	Causes:  []api.Category{api.PrecisionLoss},
	Open:    true,
	find:    func(l *inspection) []verdict.Finding { return append(l.shareInflation(), l.precision()...) },
	ruleOut: (*inspection).checkSharePrice,
})

// bought is one purchase of shares: what went into a vault and what it made for it.
type bought struct {
	vault  common.Address
	by, to common.Address
	asset  flow.TokenKey
	in     *facts.Move
	shares *big.Int
	frame  *trace.Frame // the call of the vault
}

// vaultCall is the innermost call to a contract that a payment runs below.
func (l *inspection) vaultCall(p *facts.Move, vault common.Address) *trace.Frame {
	for f := l.frameOf(p); f != nil; f = f.Parent {
		if f.To == vault && f.Kind == trace.Call {
			return f
		}
	}
	return nil
}

// purchases lists them in the order of the transaction: an asset goes to a contract
// inside of a call of it, in which it mints its own token, or none, and says so.
func (l *inspection) purchases() (out []bought) {
	for i := range l.moves {
		p := &l.moves[i]
		if p.Log < 0 || p.Key.ID != "" || p.Key.NFT || p.Key.Token == p.To || p.Amount.Sign() == 0 {
			continue
		}
		f := l.vaultCall(p, p.To)
		if f == nil {
			continue
		}
		if b, ok := l.sharesFor(p, f); ok {
			out = append(out, b)
		}
		if len(out) == 64 {
			break
		}
	}
	return out
}

// sharesFor adds up what the vault minted in the call that took a payment. A vault that
// mints nothing must have said so by the event of ERC-4626.
func (l *inspection) sharesFor(p *facts.Move, f *trace.Frame) (bought, bool) {
	b := bought{vault: p.To, by: p.From, to: p.From, asset: p.Key, in: p, shares: new(big.Int), frame: f}
	minted := false
	for i := range l.moves {
		s := &l.moves[i]
		if s.Key.Token == p.To && s.From == (common.Address{}) && l.inside(s, f) {
			b.shares.Add(b.shares, s.Amount)
			b.to, minted = s.To, true
		}
	}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		if g.Address == p.To && len(g.Topics) == 3 && g.Topics[0] == evmsig.TopicVaultDeposit && l.logFrame[i] != nil && below(l.logFrame[i], f) {
			minted = true
		}
	}
	return b, minted
}

// shareInflation: the party bought a few shares, made them dear by a gift to the
// vault, and somebody else's deposit bought fewer than it paid for.
func (l *inspection) shareInflation() (out []verdict.Finding) {
	list := l.purchases()
	for i := range list {
		own := &list[i]
		if !l.party(own.by) || l.party(own.vault) {
			continue
		}
		gift := l.gift(own)
		if gift == nil || gift.Amount.Cmp(own.in.Amount) <= 0 {
			continue
		}
		for j := i + 1; j < len(list); j++ {
			v := &list[j]
			if v.vault != own.vault || v.asset != own.asset || l.party(v.by) || l.party(v.to) || v.frame.Index < gift.Frame {
				continue
			}
			if f, ok := l.inflated(own, gift, v); ok {
				return append(out, f)
			}
		}
	}
	return out
}

// gift is an asset that the party sent to the vault outside of any call of it,
// after its purchase.
func (l *inspection) gift(own *bought) *facts.Move {
	for i := range l.moves {
		p := &l.moves[i]
		if p.Key == own.asset && p.To == own.vault && l.party(p.From) && p.Frame > own.in.Frame &&
			l.vaultCall(p, own.vault) == nil {
			return p
		}
	}
	return nil
}

func (l *inspection) inflated(own *bought, gift *facts.Move, v *bought) (verdict.Finding, bool) {
	k := own.asset
	back := l.total(k, func(p *facts.Move) bool { return p.From == own.vault && l.party(p.To) })
	put := l.total(k, func(p *facts.Move) bool { return p.To == own.vault && l.party(p.From) })
	if back.Cmp(put) <= 0 || l.net(v.by, k).Sign() >= 0 {
		return verdict.Finding{}, false
	}
	// Shares for each unit, the gift counted as part of the price.
	mine := new(big.Int).Mul(own.shares, v.in.Amount)
	theirs := new(big.Int).Mul(v.shares, put)
	if theirs.Cmp(mine) >= 0 {
		return verdict.Finding{}, false
	}
	check := fmt.Sprintf(
		"%s * %s < %s * %s",
		ref("received", v.to, own.vault),
		l.sumOf("sent", own.by, k),
		l.sumOf("sent", v.by, k),
		ref("received", own.to, own.vault),
	)
	return l.find(broken{category: api.ShareInflation, victims: []common.Address{v.by}, faulty: own.vault, lost: []flow.TokenKey{k},
		check: check,
		evidence: []verdict.Evidence{
			l.seen(own.frame, verdict.BuysShares, verdict.Who(own.by), verdict.Num(own.shares), verdict.Who(own.vault), amountOf(own.in)),
			l.paid(gift, verdict.GivesToVault, verdict.Who(gift.From), amountOf(gift)),
			l.seen(v.frame, verdict.PaysForShares, verdict.Who(v.by), amountOf(v.in), verdict.Num(v.shares)),
		},
		sentence: verdict.Say(
			verdict.SharesInflated,
			verdict.Who(own.vault),
			amountOf(gift),
			l.placeOf(gift),
			amountOf(v.in),
			verdict.Who(v.by),
			verdict.Num(v.shares),
			l.at(v.frame),
			verdict.Num(own.shares),
			verdict.Who(own.by),
			amount(k, back),
		)}), true
}

// minNibbles is how often a vault must pay for nothing before it is no accident of the
// last unit.
const minNibbles = 3

// roundingGain is a payment of a vault for which no share was burnt.
type roundingGain struct {
	pay *facts.Move
	log int // of the event that says so
}

// precision: a vault pays out, again and again, and rounds the shares that it takes for
// it down to none.
func (l *inspection) precision() (out []verdict.Finding) {
	found := map[common.Address][]roundingGain{}
	var order []common.Address
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		// Withdraw(sender, receiver, owner, assets, shares) of ERC-4626
		if len(g.Topics) != 4 || g.Topics[0] != evmsig.TopicVaultWithdraw || len(g.Data) != 64 || evmsig.Uint(g.Data, 0).Sign() == 0 ||
			evmsig.Uint(g.Data, 1).Sign() != 0 {
			continue
		}
		f := l.logFrame[i]
		if f == nil || l.party(g.Address) || l.reached(f, g.Address) == nil {
			continue
		}
		for j := range l.moves {
			p := &l.moves[j]
			if p.From == g.Address && l.party(p.To) && l.inside(p, l.reached(f, g.Address)) &&
				p.Amount.Cmp(evmsig.Uint(g.Data, 0)) == 0 {
				if found[g.Address] == nil {
					order = append(order, g.Address)
				}
				found[g.Address] = append(found[g.Address], roundingGain{p, i})
				break
			}
		}
	}
	for _, vault := range order {
		if n := found[vault]; len(n) >= minNibbles && l.net(vault, n[0].pay.Key).Sign() < 0 {
			out = append(out, l.roundingGains(vault, n))
		}
	}
	return out
}

func (l *inspection) roundingGains(vault common.Address, list []roundingGain) verdict.Finding {
	k := list[0].pay.Key
	sum := new(big.Int)
	for _, n := range list {
		sum.Add(sum, n.pay.Amount)
	}
	first, last := list[0], list[len(list)-1]
	at := func(n roundingGain) uint64 { return l.Receipt.Logs[n.log].Index }
	return l.find(broken{category: api.PrecisionLoss, victims: []common.Address{vault}, lost: []flow.TokenKey{k},
		check: fmt.Sprintf(
			"%s > %s and %s == 0 and %s > %s and %s == 0",
			l.moved(first.pay),
			ref("arg", at(first), 4),
			ref("arg", at(first), 4),
			l.moved(last.pay),
			ref("arg", at(last), 4),
			ref("arg", at(last), 4),
		),
		evidence: []verdict.Evidence{
			l.paid(first.pay, verdict.Pays, verdict.Who(vault), amountOf(first.pay)), l.logged(first.log, verdict.TookNoShares),
			l.paid(last.pay, verdict.PaysLast, amountOf(last.pay)), l.logged(last.log, verdict.TakesNoSharesAgain),
		},
		sentence: verdict.Say(
			verdict.PaidForNoShares,
			verdict.Who(vault),
			verdict.Int(len(list)),
			amount(k, sum),
			verdict.Int(at(first)),
			verdict.Int(at(last)),
		)})
}

// checkSharePrice follows the price of each ERC-4626 vault from event to event.
func (l *inspection) checkSharePrice() verdict.Outcome {
	type price struct{ assets, shares *big.Int }
	last, events := map[common.Address]price{}, 0
	if l.Receipt == nil {
		return ruled(verdict.NotChecked, verdict.WhyNoReceipt)
	}
	compared := false
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		deposit := len(g.Topics) == 3 && g.Topics[0] == evmsig.TopicVaultDeposit
		if len(g.Data) != 64 || !deposit && !(len(g.Topics) == 4 && g.Topics[0] == evmsig.TopicVaultWithdraw) {
			continue
		}
		events++
		p := price{evmsig.Uint(g.Data, 0), evmsig.Uint(g.Data, 1)}
		if before, ok := last[g.Address]; ok && before.shares.Sign() > 0 && p.shares.Sign() > 0 {
			compared = true
			// It fell when assets/shares is lower than before, by more than a unit of rounding
			// and a thousandth.
			now := new(big.Int).Mul(new(big.Int).Mul(new(big.Int).Add(p.assets, common.Big1), before.shares), big.NewInt(1001))
			then := new(big.Int).Mul(new(big.Int).Mul(before.assets, p.shares), big.NewInt(1000))
			if now.Cmp(then) < 0 {
				return ruled(verdict.NotChecked, verdict.WhyPriceDiffers, verdict.Who(g.Address), verdict.Int(g.Index))
			}
		}
		last[g.Address] = p
	}
	switch {
	case events == 0:
		return ruled(verdict.NotApplicable, verdict.WhyNoVault)
	case !compared:
		return ruled(verdict.NotChecked, verdict.WhyPriceToldOnce)
	}
	return ruled(verdict.Clean, verdict.WhyPriceDidNotFall)
}
