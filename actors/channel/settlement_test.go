package channel

import (
	"context"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/recordid"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
)

// TestPayOut: what the operator is told of each channel is what the chain did.
func TestPayOut(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	all := m.served(1, 5*dollar, 30_000, 30_000)
	above := m.served(2, 6*dollar, 50_000, 20_000)
	part := m.served(1, 7*dollar, 10_000, 10_000)
	if _, err := m.pay(part.voucher(40_000), content); err != nil {
		t.Fatal(err)
	}
	if _, err := admitOn(ctx, m.c, part.ref.ChannelID, TicketKey{77}, recordid.New(), 15_000); err != nil {
		t.Fatal(err)
	}
	nothing := m.served(2, 8*dollar, 10_000, 0)
	ended := m.served(1, 8*dollar, 10_000, 10_000)
	tr := m.c.Rounds(SettlePolicy{})
	if p := tr.Shut(ctx, ended.ref.ChannelID); p.Err != nil || p.Paid != units(10_000) || p.Tx == (common.Hash{}) || !p.Left.IsZero() {
		t.Errorf("shut: %+v", p)
	}
	unknown := common.Hash{1}
	list := tr.PayOut(ctx, all.ref.ChannelID, above.ref.ChannelID, part.ref.ChannelID, nothing.ref.ChannelID, ended.ref.ChannelID, unknown, all.ref.ChannelID)
	f := func(i int, paid, left uint64, why session.Obstacle, sent bool, want error) {
		t.Helper()
		p := list[i]
		if p.Paid != units(paid) || p.Left != units(left) || p.Obstacle != why || (p.Tx != common.Hash{}) != sent || !errors.Is(p.Err, want) {
			t.Errorf("%d: %+v", i, p)
		}
	}
	f(0, 30_000, 0, session.NoObstacle, true, nil)
	f(1, 0, 20_000, session.VoucherAbove, false, nil)
	f(2, 10_000, 15_000, session.VoucherAbove, true, nil)
	f(3, 0, 0, session.NoObstacle, false, nil)
	f(4, 0, 0, session.Ended, false, nil)
	f(5, 0, 0, session.NoObstacle, false, ErrNoChannel)
	f(6, 30_000, 0, session.NoObstacle, true, nil)
	if list[0].Tx != list[2].Tx {
		t.Error("two channels that could share a transaction did not")
	}
	list = tr.PayOut(ctx, all.ref.ChannelID, part.ref.ChannelID)
	f(0, 0, 0, session.NoObstacle, false, nil)
	f(1, 0, 15_000, session.VoucherAbove, false, nil)
	balanced(t, m, 50_000)
	if got := tr.Totals(); got.Settled != units(50_000) || got.Payouts != 3 || got.Losses != 0 {
		t.Errorf("totals %+v", got)
	}
	if p := tr.Shut(ctx, above.ref.ChannelID); p.Err != nil || p.Paid != units(20_000) {
		t.Errorf("shut: %+v", p)
	}
	balanced(t, m, 70_000)
}

// TestPayOutFails: one channel that the chain refuses costs its neighbours nothing,
// and a chain that is away pays nothing out and is not asked for each.
func TestPayOutFails(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	good, bad := m.served(1, 5*dollar, 30_000, 30_000), m.served(2, 6*dollar, 20_000, 20_000)
	tr := m.c.Rounds(SettlePolicy{})
	if err := m.chain.Inject(sandbox.Fault{Method: "eth_getBlockByNumber", Refuse: &sandbox.Error{Code: -32000, Message: "away"}, Times: 1}); err != nil {
		t.Fatal(err)
	}
	for i, p := range tr.PayOut(ctx, good.ref.ChannelID, bad.ref.ChannelID) {
		if !errors.Is(p.Err, settle.ErrUnreachable) || p.Tx != (common.Hash{}) || p.Left != units([]uint64{30_000, 20_000}[i]) {
			t.Errorf("%+v", p)
		}
	}
	// The payer closes bad by another holder of our key, and the ledger does not know.
	row := bad.row()
	row.Status, row.Close, row.Capture = session.Closing, row.Highest, units(20_000)
	signed, err := m.client.SignClose(ctx, row)
	if err == nil {
		_, err = m.client.Broadcast(ctx, signed)
	}
	if err != nil {
		t.Fatal(err)
	}
	list := tr.PayOut(ctx, good.ref.ChannelID, bad.ref.ChannelID)
	reverted, _ := errors.AsType[*settle.Reverted](list[1].Err)
	if list[0].Err != nil || list[0].Tx == (common.Hash{}) || reverted == nil || reverted.Reason != "ChannelNotFound" {
		t.Errorf("%+v", list)
	}
	if row := bad.row(); !row.Settling.IsZero() || list[1].Left != units(20_000) {
		t.Errorf("left %s, settling %s", list[1].Left, row.Settling)
	}
	balanced(t, m, 50_000)
}
