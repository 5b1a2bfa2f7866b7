package channel_test

import (
	"context"
	"fmt"
	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// reserve holds an amount, gives it back, or charges it.
func (h *household) reserve(at int, r [3]uint64) *step {
	n := 1 + r[1]%unit
	s := &step{at: at}
	ctx, id := context.Background(), h.channel(at)
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		a := &b.accounts[at]
		return kind == mpp.InsufficientBalance && n > a.free() || shutFairly(a, chain, kind)
	}
	switch r[0] % 3 {
	case 0:
		s.name = fmt.Sprintf("reserve %d/%d %d", h.n, at, n)
		s.do = func() error { return h.w.c.Hold(ctx, id, amount(n)) }
		s.success = func(b *books) bool {
			a := &b.accounts[at]
			if !a.known || a.closed || n > a.free() {
				return false
			}
			a.reserved += n
			return true
		}
	case 1:
		s.name = fmt.Sprintf("release %d/%d %d", h.n, at, n)
		s.do = func() error { return h.w.c.Release(ctx, id, amount(n)) }
		s.success = func(b *books) bool { b.accounts[at].reserved -= min(n, b.accounts[at].reserved); return true }
	case 2:
		s.name = fmt.Sprintf("commit %d/%d %d", h.n, at, n)
		s.do = func() error { return h.w.c.Commit(ctx, id, amount(n)) }
		s.success = func(b *books) bool { s.release(b, n); return b.accounts[at].charge(n) }
		s.refused = func(b *books) { s.release(b, n) }
		s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
			a := b.accounts[at]
			a.reserved -= min(n, a.reserved)
			return kind == mpp.InsufficientBalance && n > a.free() || shutFairly(&a, chain, kind)
		}
	}
	return s
}

func (s *step) release(b *books, n uint64) {
	b.accounts[s.at].reserved -= min(n, b.accounts[s.at].reserved)
}

// topUp adds to the deposit through the payee, with a transaction of its own or one
// that was sent before.
func (h *household) topUp(at int, r [3]uint64) *step {
	p := h.purse[at]
	if p == nil {
		return h.open(at, r)
	}
	n := unit * (1 + r[0]%10)
	again := r[1]%4 == 0 && p.topUp != nil
	if !again {
		tx, err := h.w.transaction(h.key, tempo.TopUpCall{Descriptor: p.ref.Descriptor, Additional: amount(n)})
		if err != nil {
			panic(err)
		}
		p.topUp = &mpp.TopUp{ChannelRef: p.ref, Transaction: tx.Encode(), AdditionalDeposit: amount(n)}
	}
	payload := p.topUp
	s := &step{name: fmt.Sprintf("top up %d/%d by %d again %v", h.n, at, n, again), at: at}
	s.do = func() error {
		got, err := h.w.pay(context.Background(), payload, false)
		if err == nil {
			s.told = &got.Standing
		}
		return err
	}
	s.after = func() {
		if s.err == nil && !again {
			p.deposit += n // a close of the same group may hide what the chain has shown
		}
	}
	s.success = func(b *books) bool {
		a := &b.accounts[at]
		a.known = true
		return !a.closed
	}
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		return shutFairly(&b.accounts[at], chain, kind) || (again || b.accounts[at].closed) && kind == mpp.VerificationFailed
	}
	return s
}

// actorEnded closes a channel as its payer wishes.
func (h *household) leave(at int, r [3]uint64) *step {
	p, a := h.purse[at], h.books.accounts[at]
	if p == nil {
		return h.open(at, r)
	}
	n, forged := a.highest, false
	switch r[0] % 8 {
	case 0:
		n = a.served()
	case 1:
		n = a.served() - min(a.served(), 1+r[1]%unit)
	case 2:
		n += r[1] % unit
	case 3:
		forged = true
	}
	sig := h.sign(h.key, p.ref.ChannelID, n)
	if forged {
		sig = h.forge(p.ref.ChannelID, n, r[1])
	}
	payload := &mpp.Close{ChannelRef: p.ref, CumulativeAmount: amount(n), Signature: sig}
	s := &step{name: fmt.Sprintf("close %d/%d with %d forged %v", h.n, at, n, forged), at: at, closes: true}
	s.do = func() error {
		_, err := h.w.pay(context.Background(), payload, false)
		return err
	}
	s.success = func(b *books) bool {
		a := &b.accounts[at]
		if forged && !a.closed || !a.lost && n < a.served() {
			return false
		}
		a.closed, a.known = true, true
		return true
	}
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		a := &b.accounts[at]
		switch kind {
		case mpp.VerificationFailed:
			// Above the deposit is a voucher of before a top-up was undone.
			return n < a.served() || amount(n).Cmp(chain.Settled) < 0 || amount(n).Cmp(chain.Deposit) > 0
		case mpp.InvalidSignature:
			return forged
		case mpp.ChannelFinalized:
			return a.closed || chain.Deposit.IsZero()
		}
		return shutFairly(a, chain, kind)
	}
	return s
}

// dismiss closes a channel as the payee wishes.
func (h *household) dismiss(at int) *step {
	s := &step{name: fmt.Sprintf("payee closes %d/%d", h.n, at), at: at, closes: true}
	s.do = func() error { _, err := h.w.c.CloseChannel(context.Background(), h.channel(at)); return err }
	s.success = func(b *books) bool {
		a := &b.accounts[at]
		a.closed = a.closed || a.known
		return a.known
	}
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		a := &b.accounts[at]
		return shutFairly(a, chain, kind) || kind == kept && (chain.Deposit.IsZero() || h.purse[at].shaken)
	}
	return s
}

// settle pays out what was served on the household's channels, which stay open.
func (h *household) settle() *step {
	var ids []common.Hash
	for at := range h.purse {
		if h.books.accounts[at].known {
			ids = append(ids, h.channel(at))
		}
	}
	s := &step{name: fmt.Sprintf("settle %d", h.n)}
	s.do = func() error { return h.w.c.Settle(context.Background(), ids...) }
	s.success = func(b *books) bool {
		for at := range b.accounts {
			b.accounts[at].tried = max(b.accounts[at].tried, b.accounts[at].served())
		}
		return true
	}
	s.refused = func(b *books) { s.success(b) }
	s.fair = func(b *books, chain *session.State, kind mpp.ProblemType) bool {
		return kind == kept // a channel may have gone from the chain
	}
	return s
}
