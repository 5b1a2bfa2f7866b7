package channel

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// The chain rejects a close, and keeps the channel, if the payer's own receive policy rejects
// the refund (TIP-1095). A payer could request a close, block it until the grace period is
// over, and withdraw everything. A settlement moves nothing to the payer, so it cannot be
// blocked: it comes before each close that is urgent, and after each that was rejected so.

// blockedRefunds holds the channels whose payer rejects the refund. They are learnt again after
// a restart, by the next close that is rejected. It is safe for concurrent use.
type blockedRefunds struct {
	mu       sync.Mutex
	channels map[common.Hash]blockedRefund
	payers   map[common.Address]int // number of channels
}

type blockedRefund struct {
	payer common.Address
	tried time.Time // time of the last rejected close
}

// blockedRetry is the time between two closes of a channel whose payer rejects the refund,
// while nothing is left to pay out. Each of them costs a look-up and no fee.
const blockedRetry = 10 * time.Minute

// add records a rejected close. news reports whether it is the first one of the channel.
func (b *blockedRefunds) add(id common.Hash, payer common.Address, now time.Time) (news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.channels == nil {
		b.channels, b.payers = map[common.Hash]blockedRefund{}, map[common.Address]int{}
	}
	_, known := b.channels[id]
	b.channels[id] = blockedRefund{payer, now}
	if !known {
		b.payers[payer]++
	}
	return !known
}

// remove deletes a channel that has ended.
func (b *blockedRefunds) remove(id common.Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, ok := b.channels[id]
	if !ok {
		return
	}
	delete(b.channels, id)
	if b.payers[known.payer]--; b.payers[known.payer] == 0 {
		delete(b.payers, known.payer)
	}
}

// blocks reports whether the payer rejects the refund of any channel.
func (b *blockedRefunds) blocks(payer common.Address) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.payers[payer] > 0
}

// has reports whether the refund of a channel is rejected, and rests whether its close need not
// be tried yet.
func (b *blockedRefunds) has(row *session.Channel, now time.Time) (blocked, rests bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, blocked := b.channels[row.ID]
	return blocked, blocked && row.Unsettled().IsZero() && now.Sub(known.tried) < blockedRetry
}

// settleAndClose settles a channel and closes it. If the payer rejects the refund and is about
// to withdraw, it also takes the voucher that is above the served amount.
func (c *Channels) settleAndClose(ctx context.Context, id common.Hash) error {
	_, settleErr := c.settle(ctx, id)
	if row, err := c.storedRow(ctx, id); err == nil && c.awaitsCharge(ctx, &row) {
		return settleErr
	}
	_, err := c.CloseChannel(ctx, id)
	if err == nil {
		return nil // a close pays out what a settlement does
	}
	if errors.As(err, new(*refundError)) {
		err = errors.Join(err, c.settleExcess(ctx, id))
	}
	return errors.Join(settleErr, err)
}

// forbidden reports whether a policy rejected a transfer of the payee's transaction.
func forbidden(err error) bool {
	r, ok := errors.AsType[*settle.Reverted](err)
	return ok && r.Reason == tempo.PolicyForbids.Name()
}

// afterForbidden handles a close that a policy rejected while the chain has the channel. row is
// the closing row, which is undone.
func (c *Channels) afterForbidden(ctx context.Context, row *session.Channel, refusal error) error {
	_, err := c.ask(ctx, row.ID, edit(func(now *session.Channel, _ time.Time) (Entry, error) {
		before := *now
		now.KeepClose(row.Close)
		return Entry{volatile: before == *now}, nil
	}))
	if err != nil {
		return errors.Join(refusal, err)
	}
	_, settleErr := c.settle(ctx, row.ID)
	if c.isRefundBlocked(ctx, row) {
		payer := row.Descriptor.Payer
		if c.blocked.add(row.ID, payer, c.options.now()) {
			c.options.Log.Error("the payer's own receive policy rejects the refund, so the channel cannot be closed; the payer is not served",
				"channel", row.ID, "payer", payer, "error", refusal,
				"do", "nothing: what was served is settled, and the server tries again; after a close request it takes the voucher above that before the payer can withdraw")
		}
		return errors.Join(&refundError{refusal}, settleErr)
	}
	return errors.Join(c.payeeErr(ctx, refusal, row.ID), settleErr)
}

// isRefundBlocked reports whether a policy rejected a close for its refund to the payer. A
// rejected payout to the payee has the same error, so that is ruled out.
func (c *Channels) isRefundBlocked(ctx context.Context, row *session.Channel) bool {
	now, err := c.storedRow(ctx, row.ID)
	if err != nil || row.Capture.Cmp(now.Settled) <= 0 {
		return err == nil // all of it is paid out, so a refund is all that the close moved
	}
	// Signing asks the chain whether the payout alone passes. It is not sent.
	now.Settleable = row.Close
	_, err = c.options.Escrow.SignSettle(ctx, now)
	return err == nil
}

// awaitsCharge reports whether a close that the payer asked the chain for can wait until running
// work, for which a part of a voucher is reserved, is charged. New work is refused meanwhile.
func (c *Channels) awaitsCharge(ctx context.Context, row *session.Channel) bool {
	return row.CloseRequestedAt != 0 && c.coversRun(row) && !c.withdrawsSoon(ctx, row)
}

// coversRun reports whether a part of a voucher is reserved while an analysis runs that the
// channel pays for.
func (c *Channels) coversRun(row *session.Channel) bool {
	return !row.Reserved.IsZero() && c.busy.has(row.ID)
}

// withdrawsSoon reports whether the payer can soon withdraw without the payee.
func (c *Channels) withdrawsSoon(ctx context.Context, row *session.Channel) bool {
	now, err := c.chainTime(ctx)
	if err != nil {
		now = c.options.now()
	}
	return !now.Before(time.Unix(row.CloseRequestedAt+tempo.CloseGracePeriod, 0).Add(-excessMargin))
}

// excessMargin is how long before the end of the grace period a voucher above the served amount
// is settled. It leaves time for several attempts, and the payer time to allow its refund.
const excessMargin = 5 * time.Minute

// settleExcess settles the lowest voucher that covers the served amount if the payer, who
// rejects its refund, may withdraw soon. It pays out more than was served: that part would have
// been refunded.
func (c *Channels) settleExcess(ctx context.Context, id common.Hash) error {
	row, err := c.storedRow(ctx, id)
	if err != nil || row.CloseRequestedAt == 0 || !c.withdrawsSoon(ctx, &row) {
		return err
	}
	_, err = c.settleBy(ctx, (*session.Channel).BeginExcess, id)
	return err
}

// logExcess logs a payout above the served amount.
func (c *Channels) logExcess(row *session.Channel) {
	if excess := row.Excess(); !excess.IsZero() {
		c.options.Log.Error("a voucher above the served amount was settled, because the payer rejects its refund",
			"channel", row.ID, "payer", row.Descriptor.Payer, "settled", row.Settled, "served", row.Served(), "excess", excess)
	}
}

// refundError is the error of a close whose refund the payer rejects. It is the payer's fault.
type refundError struct{ err error }

func (e *refundError) Error() string { return "the payer rejects the refund: " + e.err.Error() }
func (e *refundError) Unwrap() error { return e.err }

// refundProblem returns the error that a payer sees while it rejects a refund.
func (c *Channels) refundProblem(err error) *mpp.Problem {
	return &mpp.Problem{Type: mpp.BadRequest, Err: err,
		Detail: "The receive policy of the payer's account rejects the refund of a channel, so the channel cannot be closed and the payer is not served.",
		Hint:   "Allow the account to receive from " + c.options.Terms.Domain.Escrow().Hex() + "; the server closes the channel within minutes."}
}

// refusesPayer returns why a payer gets no new paid work and no new channel, or nil. It may
// close channels and pay for running work.
func (c *Channels) refusesPayer(adm *mpp.Admission) *mpp.Problem {
	switch adm.Payload.(type) {
	case *mpp.Close:
		return nil
	case *mpp.Voucher:
		if adm.Class == mpp.Management {
			return nil
		}
	}
	if !c.blocked.blocks(adm.Payload.Ref().Descriptor.Payer) {
		return nil
	}
	return c.refundProblem(nil)
}
