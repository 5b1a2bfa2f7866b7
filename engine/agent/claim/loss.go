package claim

import (
	"math/big"

	"txlens/engine/api"
	"txlens/engine/check"

	"github.com/ethereum/go-ethereum/common"
)

// loss says which victims lost. Attackers and the sender's own accounts are not counted. A
// victim lost if it gave and got nothing, or got less by more than a price can differ; or
// if it is a token of which units were minted without backing; or if, by the state diff,
// somebody else took control of it.
type loss struct {
	who     []api.Addr
	unsure  bool         // a victim gave and got, and what it got has no price
	usd     *api.Decimal // sum of the losses that have a price
	half    bool         // a victim lost half of its native coin or more
	control bool
}

func (ix *Index) lossOf(f *api.Finding, own map[api.Addr]bool) loss {
	var l loss
	total := api.Decimal{Unscaled: new(big.Int)}
	for _, v := range f.Victim {
		switch usd, lost := ix.lost(v); {
		case lost == sureLoss:
			l.who = append(l.who, v)
			if usd != nil {
				x, y := level(total, *usd)
				total = api.Decimal{Unscaled: new(big.Int).Add(x, y), Scale: max(total.Scale, usd.Scale)}
			}
			l.half = l.half || ix.lostHalf(v)
		case ix.controlled(v, f.Evidence, own):
			l.who, l.control = append(l.who, v), true
		case ix.inflated(v, own):
			l.who = append(l.who, v)
		case lost == unsureLoss:
			l.unsure = true
		}
	}
	if total.Unscaled.Sign() > 0 {
		l.usd = &total
	}
	return l
}

type lostKind uint8

const (
	noLoss lostKind = iota
	unsureLoss
	sureLoss
)

// lost compares what an account gave with what it got.
func (ix *Index) lost(a api.Addr) (usd *api.Decimal, k lostKind) {
	for _, c := range ix.r.BalanceChanges {
		if c.Address != a {
			continue
		}
		gave, got, unpriced := false, false, false
		out, in := api.Decimal{Unscaled: new(big.Int)}, api.Decimal{Unscaled: new(big.Int)}
		for _, t := range c.Tokens {
			down := len(t.RawSignedAmount) > 0 && t.RawSignedAmount[0] == '-'
			gave, got = gave || down, got || !down
			switch {
			case t.ValueUSD == nil || t.ValueUSD.Unscaled == nil:
				unpriced = unpriced || !down
			case down:
				out = plus(out, *t.ValueUSD)
			default:
				in = plus(in, *t.ValueUSD)
			}
		}
		net := plus(out, in) // what went out is below zero
		switch {
		case !gave:
			return nil, noLoss
		case !got:
			return positive(net), sureLoss
		case unpriced || out.Unscaled.Sign() == 0:
			return nil, unsureLoss
		}
		// Fees and the moving price of a trade stay below a twentieth.
		if x, y := level(api.Decimal{Unscaled: new(big.Int).Mul(net.Unscaled, big.NewInt(20)), Scale: net.Scale}, out); x.Cmp(y) <= 0 {
			return positive(net), sureLoss
		}
		return nil, noLoss
	}
	return nil, noLoss
}

func plus(a, b api.Decimal) api.Decimal {
	x, y := level(a, b)
	return api.Decimal{Unscaled: new(big.Int).Add(x, y), Scale: max(a.Scale, b.Scale)}
}

func positive(d api.Decimal) *api.Decimal {
	if d.Unscaled.Sign() == 0 {
		return nil
	}
	return &api.Decimal{Unscaled: new(big.Int).Abs(d.Unscaled), Scale: d.Scale}
}

// lostHalf reports whether an account's native coin fell by half or more.
func (ix *Index) lostHalf(a api.Addr) bool {
	before, err := references["balance_before"].get(ix, []string{a.String()})
	after, err2 := references["balance_after"].get(ix, []string{a.String()})
	return err == nil && err2 == nil && before.n.Sign() > 0 && new(big.Int).Lsh(after.n, 1).Cmp(before.n) <= 0
}

// controlled reports whether a slot of an account was set to one of the sender's own
// addresses, by an item of evidence and the state diff.
func (ix *Index) controlled(a api.Addr, evidence []api.Evidence, own map[api.Addr]bool) bool {
	for _, e := range evidence {
		if e.Address == nil || *e.Address != a || e.Slot == "" {
			continue
		}
		pre, post, ok := ix.slot(a, common.HexToHash(e.Slot))
		now := common.BytesToAddress(post[12:])
		if ok && pre != post && own[api.AddrOf(now)] && common.BytesToHash(now[:]) == post {
			return true
		}
	}
	return false
}

// inflated reports whether units of a token were minted to one of the sender's own
// addresses.
func (ix *Index) inflated(token api.Addr, own map[api.Addr]bool) bool {
	if ix.c.Flow == nil {
		return false
	}
	for i := range ix.c.Flow.Transfers {
		t := &ix.c.Flow.Transfers[i]
		if api.AddrOf(t.Token) == token && t.From == (common.Address{}) && own[api.AddrOf(t.To)] {
			return true
		}
	}
	return false
}

// own returns the accounts of the party, without the account behind the sender where its own rights
// were used against it.
func (ix *Index) own(cause api.Category) map[api.Addr]bool {
	out := map[api.Addr]bool{{}: true}
	if ix.c.Case == nil {
		return out
	}
	for _, a := range ix.c.Case.PartyAndActor() {
		out[api.AddrOf(a)] = true
	}
	switch cause {
	case api.PhishingApproval, api.SignatureVerification, api.AccountAbstraction:
		if a := ix.c.Case.Actor; a != ix.c.Case.Sender {
			delete(out, api.AddrOf(a))
		}
	}
	return out
}

// severity returns the worse of the claimed severity and that of the loss. If nobody lost,
// it is low at most.
func (l loss) severity(said api.Severity) api.Severity {
	if len(l.who) == 0 && !l.unsure && said.Rank() > api.SeverityLow.Rank() {
		return api.SeverityLow
	}
	byLoss := api.SeverityInfo
	if l.usd != nil {
		byLoss = check.SeverityOfLoss(new(big.Int).Quo(l.usd.Unscaled, api.PowerOfTen(l.usd.Scale)))
	}
	if l.half {
		byLoss = api.SeverityCritical
	}
	if byLoss.Rank() > said.Rank() {
		return byLoss
	}
	return said
}
