package triage

import (
	"fmt"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// bought is one purchase of shares: what went into a vault and what it made for it.
type bought struct {
	vault  common.Address
	by, to common.Address
	asset  flow.TokenKey
	in     *payment
	shares *big.Int
	frame  *trace.Frame // the call of the vault
}

// vaultCall is the innermost call to a contract that a payment runs below.
func vaultCall(p *payment, vault common.Address) *trace.Frame {
	for f := p.frame; f != nil; f = f.Parent {
		if f.To == vault && f.Kind == trace.Call {
			return f
		}
	}
	return nil
}

// purchases lists them in the order of the transaction: an asset goes to a contract
// inside of a call of it, in which it mints its own token, or none, and says so.
func (l *look) purchases() (out []bought) {
	for i := range l.pays {
		p := &l.pays[i]
		if p.log < 0 || p.key.ID != "" || p.key.NFT || p.key.Token == p.to || p.amount.Sign() == 0 || p.frame == nil {
			continue
		}
		f := vaultCall(p, p.to)
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
func (l *look) sharesFor(p *payment, f *trace.Frame) (bought, bool) {
	b := bought{vault: p.to, by: p.from, to: p.from, asset: p.key, in: p, shares: new(big.Int), frame: f}
	minted := false
	for i := range l.pays {
		s := &l.pays[i]
		if s.key.Token == p.to && s.from == (common.Address{}) && s.frame != nil && below(s.frame, f) {
			b.shares.Add(b.shares, s.amount)
			b.to, minted = s.to, true
		}
	}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		if g.Address == p.to && len(g.Topics) == 3 && g.Topics[0] == evmsig.TopicVaultDeposit && l.frameOf[i] != nil && below(l.frameOf[i], f) {
			minted = true
		}
	}
	return b, minted
}

// shareInflation: the sender's side bought a few shares, made them dear by a gift to the
// vault, and somebody else's deposit bought fewer than it paid for.
func (l *look) shareInflation() (out []api.Finding) {
	list := l.purchases()
	for i := range list {
		own := &list[i]
		if !l.own[own.by] || own.shares.Sign() == 0 || l.own[own.vault] {
			continue
		}
		gift := l.gift(own)
		if gift == nil || gift.amount.Cmp(own.in.amount) <= 0 {
			continue
		}
		for j := i + 1; j < len(list); j++ {
			v := &list[j]
			if v.vault != own.vault || v.asset != own.asset || l.own[v.by] || l.own[v.to] || v.frame.Index < gift.frame.Index {
				continue
			}
			if f, ok := l.inflated(own, gift, v); ok {
				return append(out, f)
			}
		}
	}
	return out
}

// gift is an asset that the sender's side sent to the vault outside of any call of it,
// after its purchase.
func (l *look) gift(own *bought) *payment {
	for i := range l.pays {
		p := &l.pays[i]
		if p.key == own.asset && p.to == own.vault && l.own[p.from] && p.frame != nil && p.frame.Index > own.in.frame.Index && vaultCall(p, own.vault) == nil {
			return p
		}
	}
	return nil
}

func (l *look) inflated(own *bought, gift *payment, v *bought) (api.Finding, bool) {
	k := own.asset
	back := l.total(k, func(p *payment) bool { return p.from == own.vault && l.own[p.to] })
	put := l.total(k, func(p *payment) bool { return p.to == own.vault && l.own[p.from] })
	if back.Cmp(put) <= 0 || l.net(v.by, k).Sign() >= 0 {
		return api.Finding{}, false
	}
	// Shares for each unit, the gift counted as part of the price.
	mine := new(big.Int).Mul(own.shares, v.in.amount)
	theirs := new(big.Int).Mul(v.shares, put)
	if theirs.Cmp(mine) >= 0 {
		return api.Finding{}, false
	}
	w := l.fullWords()
	check := fmt.Sprintf("%s * %s < %s * %s", ref("received", v.to, own.vault), ref("sent", own.by, k), ref("sent", v.by, k), ref("received", own.to, own.vault))
	return l.find(broken{category: api.ShareInflation, victim: v.by, faulty: own.vault, lost: []flow.TokenKey{k}, check: check,
		evidence: []api.Evidence{
			l.seen(own.frame, "%s buys %s shares of %s for %s", w.Who(own.by), own.shares, w.Who(own.vault), w.Amount(k, own.in.amount)),
			l.paid(gift, "%s gives %s to the vault, for which nothing is minted", w.Who(gift.from), w.Amount(k, gift.amount)),
			l.seen(v.frame, "%s pays %s and gets %s shares", w.Who(v.by), w.Amount(k, v.in.amount), v.shares),
		},
		sentence: fmt.Sprintf("%s must give each deposit shares for what it pays; after a gift of %s (%s) the %s of %s bought %s shares in frame %s, and the %s shares of %s were redeemed for %s.",
			w.Who(own.vault), w.Amount(k, gift.amount), l.placeOf(gift), w.Amount(k, v.in.amount), w.Who(v.by), v.shares, l.path(v.frame), own.shares, w.Who(own.by), w.Amount(k, back))}), true
}

// minNibbles is how often a vault must pay for nothing before it is no accident of the
// last unit.
const minNibbles = 3

// nibble is a payment of a vault for which no share was burnt.
type nibble struct {
	pay *payment
	log int // of the event that says so
}

// precision: a vault pays out, again and again, and rounds the shares that it takes for
// it down to none.
func (l *look) precision() (out []api.Finding) {
	found := map[common.Address][]nibble{}
	var order []common.Address
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		// Withdraw(sender, receiver, owner, assets, shares) of ERC-4626
		if len(g.Topics) != 4 || g.Topics[0] != evmsig.TopicVaultWithdraw || len(g.Data) != 64 || evmsig.Uint(g.Data, 0).Sign() == 0 || evmsig.Uint(g.Data, 1).Sign() != 0 {
			continue
		}
		f := l.frameOf[i]
		if f == nil || l.own[g.Address] || l.reached(f, g.Address) == nil {
			continue
		}
		for j := range l.pays {
			p := &l.pays[j]
			if p.from == g.Address && l.own[p.to] && p.frame != nil && below(p.frame, l.reached(f, g.Address)) && p.amount.Cmp(evmsig.Uint(g.Data, 0)) == 0 {
				if found[g.Address] == nil {
					order = append(order, g.Address)
				}
				found[g.Address] = append(found[g.Address], nibble{p, i})
				break
			}
		}
	}
	for _, vault := range order {
		if n := found[vault]; len(n) >= minNibbles && l.net(vault, n[0].pay.key).Sign() < 0 {
			out = append(out, l.nibbled(vault, n))
		}
	}
	return out
}

func (l *look) nibbled(vault common.Address, list []nibble) api.Finding {
	w := l.fullWords()
	k := list[0].pay.key
	sum := new(big.Int)
	for _, n := range list {
		sum.Add(sum, n.pay.amount)
	}
	first, last := list[0], list[len(list)-1]
	at := func(n nibble) uint64 { return l.Receipt.Logs[n.log].Index }
	return l.find(broken{category: api.PrecisionLoss, victim: vault, lost: []flow.TokenKey{k},
		check: fmt.Sprintf("%s > %s and %s == 0 and %s > %s and %s == 0", l.moved(first.pay), ref("arg", at(first), 4), ref("arg", at(first), 4), l.moved(last.pay), ref("arg", at(last), 4), ref("arg", at(last), 4)),
		evidence: []api.Evidence{
			l.paid(first.pay, "%s pays %s", w.Who(vault), w.Amount(k, first.pay.amount)), l.logged(first.log, "and says that it took 0 shares for it"),
			l.paid(last.pay, "the last time it pays %s", w.Amount(k, last.pay.amount)), l.logged(last.log, "and takes 0 shares again"),
		},
		sentence: fmt.Sprintf("%s must not pay out more than the shares that it burns are worth; %d times it paid for 0 shares, together %s (logs %d to %d).",
			w.Who(vault), len(list), w.Amount(k, sum), at(first), at(last))})
}
