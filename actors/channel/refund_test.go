package channel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// blocker has the account of a key reject refunds, or accept them again.
type blocker func(m *market, k byte, accept bool)

// blockers are the ways to reject a refund: by the account's own policy, against the escrow
// contract or everyone, and by the token's.
var blockers = map[string]blocker{
	"escrow": func(m *market, k byte, accept bool) {
		m.chain.SetReceivePolicy(key(k).Address(), sandbox.Reserve, accept)
	},
	"everyone": func(m *market, k byte, accept bool) {
		m.chain.SetReceivePolicy(key(k).Address(), common.Address{}, accept)
	},
	"token": func(m *market, k byte, accept bool) {
		m.chain.SetPolicy(sandbox.PathUSD, key(k).Address(), true, accept)
	},
}

var blockEscrow = blockers["escrow"]

// sends has a payer call the escrow without the server.
func (p *purse) sends(call tempo.ReserveCall) error {
	_, err := p.m.client.Send(context.Background(), p.m.tx(p.key, call))
	return err
}

func (p *purse) mustSend(call tempo.ReserveCall) {
	p.m.t.Helper()
	if err := p.sends(call); err != nil {
		p.m.t.Fatal(err)
	}
}

// watched is one round of the Watcher. blocked: a close was rejected for its refund.
func (m *market) watched(tr Rounds, blocked bool) {
	m.t.Helper()
	if err := tr.watchRound(context.Background()); errors.As(err, new(*refundError)) != blocked || !blocked && err != nil {
		m.t.Errorf("watch round: %v; want blocked %t", err, blocked)
	}
}

// sound holds the row to the amounts that bound each other at all times.
func (p *purse) sound() {
	p.m.t.Helper()
	row := p.row()
	used, _ := row.Spent.Add(row.Reserved)
	if row.Settled.Cmp(row.Highest.Cumulative) > 0 || used.Cmp(row.Highest.Cumulative) > 0 || row.Highest.Cumulative.Cmp(row.Deposit) > 0 || !row.Settling.IsZero() {
		p.m.t.Errorf("settled %s, spent %s, reserved %s, signed %s, deposit %s", row.Settled, row.Spent, row.Reserved, row.Highest.Cumulative, row.Deposit)
	}
	s, err := p.m.client.States(context.Background(), row.ID)
	if err != nil || !s[0].Deposit.IsZero() && s[0].Settled != row.Settled {
		p.m.t.Errorf("the chain has paid out %s, %v; the row has %s", s[0].Settled, err, row.Settled)
	}
}

// refunded holds what the payer got back of an ended channel to an amount.
func (p *purse) refunded(want uint64) {
	p.m.t.Helper()
	for _, ch := range p.m.chain.Books().Channels {
		if ch.ID == p.ref.ChannelID && (ch.Open || ch.Refunded.Uint64() != want) {
			p.m.t.Errorf("open %t, refunded %s, want %d", ch.Open, ch.Refunded, want)
		}
	}
}

// TestBlockedRefund: a payer that rejects its refund and asks the chain to close gets back no
// more than the rest, and is not served until the channel has ended.
func TestBlockedRefund(t *testing.T) {
	for name, set := range blockers {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t, StoreOf(newBookkeeper()))
			tr := m.c.Rounds(SettlePolicy{})
			p, other := m.served(1, 5*dollar, 20_000, 20_000), m.served(2, 5*dollar, 20_000, 20_000)
			set(m, 1, false)
			p.mustSend(requestClose(p))
			m.watched(tr, true)
			p.is(session.Active, 20_000, 0)
			p.sound()
			if m.hasFault(FaultRefused, false, 0); !m.log.has("level=ERROR") || !m.log.has("rejects the refund") {
				t.Error("the operator is not told")
			}
			if err := p.sends(tempo.WithdrawCall{Descriptor: p.ref.Descriptor}); err == nil {
				t.Error("the payer withdrew at once")
			}

			second, tx := m.openTx(key(1), 6*dollar)
			m.expect(second.open(tx, 10_000), content, 400, mpp.BadRequest)
			if s, err := m.client.States(context.Background(), second.ref.ChannelID); err != nil || !s[0].Deposit.IsZero() {
				t.Errorf("the opening was sent: %+v, %v", s, err)
			}
			m.expect(p.voucher(30_000), content, 400, mpp.BadRequest)
			m.expect(p.topUp(dollar), management, 400, mpp.BadRequest)
			m.expect(other.voucher(30_000), content, 200, "")
			m.expect(p.close(20_000), management, 400, mpp.BadRequest)

			m.later(901 * time.Second)
			if err := p.sends(tempo.WithdrawCall{Descriptor: p.ref.Descriptor}); err == nil {
				t.Error("the payer withdrew while it rejects refunds")
			}
			set(m, 1, true)
			p.mustSend(tempo.WithdrawCall{Descriptor: p.ref.Descriptor})
			m.watched(tr, false)
			p.is(session.Closed, 20_000, 0)
			p.sound()
			p.refunded(5*dollar - 20_000)
			balanced(t, m, 20_000)
			again, tx := m.openTx(key(1), 7*dollar)
			m.expect(again.open(tx, 10_000), content, 200, "")
		})
	}
}

// TestBlockedRefundEnds: the server closes the channel itself when the payer accepts the refund
// again; while nothing is left to pay out it tries that now and then.
func TestBlockedRefundEnds(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	tr := m.c.Rounds(SettlePolicy{})
	p := m.served(1, 5*dollar, 20_000, 20_000)
	blockEscrow(m, 1, false)
	p.mustSend(requestClose(p))
	m.watched(tr, true)
	estimates := m.chain.Calls("eth_estimateGas")
	m.watched(tr, false)
	m.later(blockedRetry - 10*time.Second)
	m.watched(tr, false)
	if got := m.chain.Calls("eth_estimateGas") - estimates; got != 0 {
		t.Errorf("%d closes were tried", got)
	}
	m.later(20 * time.Second)
	m.watched(tr, true)
	m.later(31 * 24 * time.Hour) // so long unused that the Settler closes it
	m.watched(tr, true)
	estimates = m.chain.Calls("eth_estimateGas")
	if err := tr.settleRound(context.Background()); err != nil || m.chain.Calls("eth_estimateGas") != estimates {
		t.Errorf("the Settler tries again: %v", err)
	}
	blockEscrow(m, 1, true)
	m.later(blockedRetry)
	m.watched(tr, false)
	p.is(session.Closed, 20_000, 0)
	balanced(t, m, 20_000)
	if len(m.c.blocked.channels) != 0 || len(m.c.blocked.payers) != 0 {
		t.Errorf("left: %v, %v", m.c.blocked.channels, m.c.blocked.payers)
	}
}

// TestSettledBeforeClose: a channel whose payer asks the chain to close it is settled first,
// for whatever reason its close is rejected then.
func TestSettledBeforeClose(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 20_000, 20_000)
	p.mustSend(requestClose(p))
	if err := m.chain.Inject(sandbox.Fault{Method: "eth_estimateGas", Call: "close", Revert: true}); err != nil {
		t.Fatal(err)
	}
	if err := m.c.Rounds(SettlePolicy{}).watchRound(context.Background()); !isPayeeError(err) {
		t.Errorf("%v", err)
	}
	p.is(session.Active, 20_000, 0)
	p.sound()
	// Nothing is owed any more: the rest is the payer's to withdraw.
	m.watched(m.c.Rounds(SettlePolicy{}), false)
	m.chain.ClearFaults()
	m.watched(m.c.Rounds(SettlePolicy{}), false)
	p.is(session.Active, 20_000, 0)
	m.later(901 * time.Second)
	p.mustSend(tempo.WithdrawCall{Descriptor: p.ref.Descriptor})
	m.watched(m.c.Rounds(SettlePolicy{}), false)
	p.is(session.Closed, 20_000, 0)
	balanced(t, m, 20_000)
}

// TestBlockedRefundClosedByPayer: a payer that accepts its refund again may close at once.
func TestBlockedRefundClosedByPayer(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 50_000, 20_000)
	blockEscrow(m, 1, false)
	m.expect(p.close(30_000), management, 400, mpp.BadRequest)
	blockEscrow(m, 1, true)
	m.expect(p.close(30_000), management, 200, "")
	p.is(session.Closed, 20_000, 0)
	m.expect(p.close(30_000), management, 200, "") // a repetition
	balanced(t, m, 20_000)
}

// TestBlockedRefundAfterRestart: that a payer rejects refunds is learnt again.
func TestBlockedRefundAfterRestart(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p, q := m.served(1, 5*dollar, 20_000, 10_000), m.served(1, 6*dollar, 10_000, 10_000)
	blockEscrow(m, 1, false)
	p.mustSend(requestClose(p))
	m.watched(m.c.Rounds(SettlePolicy{}), true)
	m.restart()
	tr := m.c.Rounds(SettlePolicy{})
	m.watched(tr, true)
	m.expect(q.voucher(20_000), content, 400, mpp.BadRequest)
	// Running work goes on: what it signs can be settled.
	m.expect(q.voucher(20_000), management, 200, "")
	// Each of its channels has to end.
	if _, err := m.c.CloseChannel(context.Background(), q.ref.ChannelID); !errors.As(err, new(*refundError)) {
		t.Errorf("%v", err)
	}
	q.is(session.Active, 10_000, 0)
	q.sound()
	blockEscrow(m, 1, true)
	if _, err := m.c.CloseChannel(context.Background(), q.ref.ChannelID); err != nil {
		t.Error(err)
	}
	m.expect(p.voucher(30_000), content, 400, mpp.BadRequest)
	m.later(blockedRetry)
	m.watched(tr, false)
	p.is(session.Closed, 10_000, 0)
	balanced(t, m, 20_000)
}

// TestBlockedRefundUnasked: a close on the decision of the payee or by the payer's credential
// that is rejected settles what it can, without a request on chain, and takes no excess.
func TestBlockedRefundUnasked(t *testing.T) {
	f := func(signed, consumed, settled uint64, end func(m *market, p *purse)) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		p := m.served(1, 5*dollar, signed, consumed)
		blockEscrow(m, 1, false)
		end(m, p)
		p.is(session.Active, settled, 0)
		p.sound()
		m.hasFault(FaultRefused, false, 0)
		m.expect(p.voucher(signed+10_000), content, 400, mpp.BadRequest)
		m.later(time.Hour)
		m.watched(m.c.Rounds(SettlePolicy{}), true) // tried again
		p.is(session.Active, settled, 0)
		blockEscrow(m, 1, true)
		m.later(blockedRetry)
		m.watched(m.c.Rounds(SettlePolicy{}), false)
		p.is(session.Closed, consumed, 0)
		balanced(t, m, consumed)
	}
	payee := func(m *market, p *purse) {
		m.t.Helper()
		if _, err := m.c.CloseChannel(context.Background(), p.ref.ChannelID); !errors.As(err, new(*refundError)) {
			m.t.Errorf("%v", err)
		}
	}
	idle := func(m *market, p *purse) {
		m.t.Helper()
		m.later(31 * 24 * time.Hour)
		if err := m.c.Rounds(SettlePolicy{MaxAge: 1000 * time.Hour}).settleRound(context.Background()); !errors.As(err, new(*refundError)) {
			m.t.Errorf("%v", err)
		}
	}
	payer := func(n uint64) func(m *market, p *purse) {
		return func(m *market, p *purse) {
			m.t.Helper()
			m.expect(p.close(n), management, 400, mpp.BadRequest)
		}
	}
	f(20_000, 20_000, 20_000, payee)
	f(50_000, 20_000, 0, payee)
	f(20_000, 20_000, 20_000, idle)
	f(50_000, 20_000, 20_000, payer(20_000)) // its own voucher covers it exactly
	f(50_000, 20_000, 0, payer(30_000))
}

// TestBlockedRefundExcess: where the only voucher is above what was served, it is settled before
// the payer can withdraw, and the operator is told.
func TestBlockedRefundExcess(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	tr := m.c.Rounds(SettlePolicy{})
	p := m.served(1, 5*dollar, 20_000, 20_000)
	m.expect(p.voucher(60_000), management, 200, "")
	if _, err := admitOn(context.Background(), m.c, p.ref.ChannelID, TicketKey{7}, "late", 20_000); err != nil {
		t.Fatal(err)
	}
	blockEscrow(m, 1, false)
	p.mustSend(requestClose(p))
	m.watched(tr, true)
	p.is(session.Active, 20_000, 0) // the lower voucher at once
	m.later(590 * time.Second)
	m.watched(tr, true)
	p.is(session.Active, 20_000, 0)
	p.sound()
	m.later(11 * time.Second)
	m.watched(tr, true)
	p.is(session.Active, 60_000, 0)
	p.sound()
	if row := p.row(); row.Excess() != units(20_000) || !row.Unsettled().IsZero() || row.Foreign() {
		t.Errorf("excess %s, unsettled %s, foreign %t", row.Excess(), row.Unsettled(), row.Foreign())
	}
	if !m.log.has("excess=20000") {
		t.Error("the excess is not in the log")
	}
	m.later(blockedRetry) // past the end of the grace period: nothing is left to take
	m.watched(tr, true)
	blockEscrow(m, 1, true)
	p.mustSend(tempo.WithdrawCall{Descriptor: p.ref.Descriptor})
	m.watched(tr, false)
	p.is(session.Closed, 60_000, 0)
	p.refunded(5*dollar - 60_000)
	balanced(t, m, 60_000)
}

// TestNoExcess: a payer that accepts its refund in time pays what it was served.
func TestNoExcess(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	tr := m.c.Rounds(SettlePolicy{})
	p := m.served(1, 5*dollar, 50_000, 20_000)
	blockEscrow(m, 1, false)
	p.mustSend(requestClose(p))
	m.watched(tr, true)
	m.later(601 * time.Second)
	blockEscrow(m, 1, true)
	m.watched(tr, false)
	p.is(session.Closed, 20_000, 0)
	balanced(t, m, 20_000)
	if m.log.has("excess") {
		t.Error("an excess was taken")
	}
}

// TestForbiddenPayout: a policy that rejects the payout is not the payer's refusal of a refund.
func TestForbiddenPayout(t *testing.T) {
	f := func(signed uint64) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		p := m.served(1, 5*dollar, signed, 20_000)
		m.chain.SetPolicy(sandbox.PathUSD, m.payee.Address(), true, false)
		if _, err := m.c.CloseChannel(context.Background(), p.ref.ChannelID); !isPayeeError(err) || errors.As(err, new(*refundError)) {
			t.Errorf("%v", err)
		}
		if !m.fault(FaultRefused).Active {
			t.Error("no fault of the payee")
		}
		p.mustSend(requestClose(p))
		m.later(880 * time.Second)
		if err := m.c.Rounds(SettlePolicy{}).watchRound(context.Background()); !isPayeeError(err) {
			t.Errorf("%v", err)
		}
		m.chain.SetPolicy(sandbox.PathUSD, m.payee.Address(), true, true)
		q, tx := m.openTx(key(1), 6*dollar)
		m.expect(q.open(tx, 10_000), content, 200, "")
		m.watched(m.c.Rounds(SettlePolicy{}), false)
		p.is(session.Closed, 20_000, 0)
		balanced(t, m, 20_000)
	}
	f(20_000)
	f(50_000)
}

// TestWholeDeposit: a close without a refund is not rejected for one.
func TestWholeDeposit(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 20_000, 20_000, 20_000)
	blockEscrow(m, 1, false)
	p.mustSend(requestClose(p))
	m.watched(m.c.Rounds(SettlePolicy{}), false)
	p.is(session.Closed, 20_000, 0)
	balanced(t, m, 20_000)
}
