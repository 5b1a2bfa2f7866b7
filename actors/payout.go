package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// shut closes a channel because its payer wants it, which may be below the highest
// voucher but never below what was served.
func (c *Channels) shut(ctx context.Context, p *mpp.Close) (Standing, error) {
	if err := c.o.Terms.CheckDescriptor(p.Descriptor, p.ChannelID); err != nil {
		return Standing{}, err
	}
	sig, err := tempo.ParseSignature(p.Signature)
	if err != nil {
		return Standing{}, invalidSignature(err)
	}
	v := session.Voucher{Cumulative: p.CumulativeAmount, Signature: sig}
	// Always verified, though the chain would not where nothing is to be paid out.
	prove := func() error { return c.verify(p.ChannelRef, v) }
	row, err := c.current(ctx, p.ChannelRef, 0, prove, session.Voucher{}, tempo.Amount{})
	if err != nil {
		return Standing{}, err
	}
	if repeat, f := row.WeighClose(v); f != nil {
		return Standing{}, f
	} else if repeat {
		return closing(&row), nil
	}
	if err := prove(); err != nil {
		return Standing{}, err
	}
	row, err = c.payOut(ctx, p.ChannelID, v)
	if err != nil {
		return Standing{}, err
	}
	return closing(&row), nil
}

// closing is the standing that a close is answered with: its client wants to read
// the very sum that it signed.
func closing(row *session.Channel) Standing {
	s := standing(row)
	s.Accepted, s.TxHash = row.Close.Cumulative, row.CloseTx
	if s.Spent.Cmp(s.Accepted) > 0 {
		s.Spent = s.Accepted
	}
	return s
}

// CloseChannel pays a channel out because we want it: what was served goes to the payee,
// the rest back to the payer.
func (c *Channels) CloseChannel(ctx context.Context, id common.Hash) (session.Channel, error) {
	return c.payOut(ctx, id, session.Voucher{})
}

// payOut closes a channel on chain. The order makes a crash harmless: the row says
// that it closes, with the signed transaction beside it, before that is sent.
func (c *Channels) payOut(ctx context.Context, id common.Hash, v session.Voucher) (session.Channel, error) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), payOutTime)
	defer cancel()
	defer c.turns.lock(payOutTurn(id))()
	row, err := c.beginClose(own, id, v)
	if err != nil || row.Status == session.Closed {
		return row, err
	}
	signed, err := c.o.Reserve.SignClose(own, row)
	if err != nil {
		return row, errors.Join(err, c.undoClose(own, id, ""))
	}
	intent := Intent{
		ID: NewID(), Kind: IntentClose, Channels: []common.Hash{id}, Amounts: []tempo.Amount{row.Capture},
		Raw: signed.Raw, Hash: signed.Hash, ValidBefore: int64(signed.ValidBefore),
	}
	if err := c.o.Ledger.Commit(Entry{Intent: &intent}); err != nil {
		return row, errors.Join(err, c.undoClose(own, id, ""))
	}
	return c.finishClose(own, row, intent)
}

// payOutTime bounds signing, sending and waiting for the receipt.
const payOutTime = 60 * time.Second

// beginClose marks the row. One that is closed already, with the same sum, is no
// fault.
func (c *Channels) beginClose(ctx context.Context, id common.Hash, v session.Voucher) (session.Channel, error) {
	a, err := c.ask(ctx, id, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		if row.Status == session.Closed && (v == (session.Voucher{}) || v.Cumulative == row.Close.Cumulative) {
			return Entry{volatile: true}, nil
		}
		return Entry{}, orNil(row.BeginClose(v))
	}))
	if err != nil {
		return session.Channel{}, err
	}
	return *a.row, nil
}

// undoClose makes the channel active again and drops the intent.
func (c *Channels) undoClose(ctx context.Context, id common.Hash, intent string) error {
	_, err := c.ask(ctx, id, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		row.UndoClose()
		return Entry{Drop: intent}, nil
	}))
	return err
}

// finishClose sends the close of an intent and books what came of it.
func (c *Channels) finishClose(ctx context.Context, row session.Channel, intent Intent) (session.Channel, error) {
	rc, err := c.o.Reserve.Broadcast(ctx, settle.Signed{Raw: intent.Raw, Hash: intent.Hash, ValidBefore: uint64(intent.ValidBefore)})
	var reverted *settle.Reverted
	switch {
	case err == nil:
		return c.bookClose(ctx, row, intent, rc)
	case errors.As(err, &reverted):
		return c.afterRefusal(ctx, row, intent, err)
	}
	// The outcome is open: the row stays closing, and Reconcile decides.
	return row, err
}

// bookClose books a close by its receipt.
func (c *Channels) bookClose(ctx context.Context, row session.Channel, intent Intent, rc *tempo.Receipt) (session.Channel, error) {
	closed, err := rc.Closed(row.Escrow, row.ID, intent.Amounts[0], row.Deposit)
	if err != nil {
		return row, err
	}
	return c.finish(ctx, row.ID, closed.SettledToPayee, rc.TxHash, intent.ID)
}

// afterRefusal looks why a close was refused: the channel may have ended otherwise.
func (c *Channels) afterRefusal(ctx context.Context, row session.Channel, intent Intent, refusal error) (session.Channel, error) {
	captured, tx, found, err := c.o.Reserve.Closed(ctx, row.ID)
	switch {
	case err != nil:
		return row, err
	case found:
		return c.finish(ctx, row.ID, captured, tx, intent.ID)
	}
	return row, errors.Join(refusal, c.undoClose(ctx, row.ID, intent.ID))
}

// finish books the end of a channel.
func (c *Channels) finish(ctx context.Context, id common.Hash, captured tempo.Amount, tx common.Hash, intent string) (session.Channel, error) {
	a, err := c.ask(ctx, id, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		if row.Status != session.Closed {
			before := row.Settled
			row.Finish(captured, tx)
			c.count(before, row.Settled, row.Lost)
		}
		return Entry{Drop: intent}, nil
	}))
	if err != nil {
		return session.Channel{}, err
	}
	if !a.row.Lost.IsZero() {
		c.o.Log.Error("money lost: the channel ended before it was paid out", "channel", id, "lost", a.row.Lost)
	}
	return *a.row, nil
}

func (c *Channels) count(before, after, lost tempo.Amount) {
	gain, _ := after.Sub(before)
	c.paid.add(gain, lost)
}

// Settle pays out what was served on channels that stay open, in one transaction,
// never more than was consumed. Channels without a voucher that allows it are left.
func (c *Channels) Settle(ctx context.Context, ids ...common.Hash) error {
	_, err := c.settle(ctx, ids...)
	return err
}

// settled is one transaction that pays out channels.
type settled struct {
	Intent                   // Hash is zero where nothing was signed
	rows   []session.Channel // of Intent.Channels, as they were before
}

func (c *Channels) settle(ctx context.Context, ids ...common.Hash) (out settled, err error) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), payOutTime)
	defer cancel()
	defer c.turns.lock("settle")()
	out.ID, out.Kind = NewID(), IntentSettle
	for _, id := range ids {
		row, err := c.beginSettle(own, id)
		if err != nil {
			return out, errors.Join(err, c.endSettle(own, out.Intent, false))
		}
		if row.Settling.IsZero() {
			continue
		}
		out.rows = append(out.rows, row)
		out.Channels, out.Amounts = append(out.Channels, id), append(out.Amounts, row.Settling)
	}
	if len(out.rows) == 0 {
		return out, nil
	}
	signed, err := c.o.Reserve.SignSettle(own, out.rows...)
	if err != nil {
		return out, errors.Join(err, c.endSettle(own, out.Intent, false))
	}
	intent := out.Intent
	intent.Raw, intent.Hash, intent.ValidBefore = signed.Raw, signed.Hash, int64(signed.ValidBefore)
	if err = c.o.Ledger.Commit(Entry{Intent: &intent}); err != nil {
		return out, errors.Join(err, c.endSettle(own, intent, false))
	}
	out.Intent = intent
	return out, c.finishSettle(own, intent)
}

// beginSettle marks what is about to be paid out, so that it cannot be refunded.
func (c *Channels) beginSettle(ctx context.Context, id common.Hash) (session.Channel, error) {
	a, err := c.ask(ctx, id, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		if row.Status == session.Active && row.Settleable.Cumulative.Cmp(row.Settled) > 0 {
			row.Settling = row.Settleable.Cumulative
			return Entry{}, nil
		}
		row.Settling = tempo.Amount{}
		return Entry{volatile: true}, nil
	}))
	if err != nil {
		return session.Channel{}, err
	}
	return *a.row, nil
}

func (c *Channels) finishSettle(ctx context.Context, intent Intent) error {
	_, err := c.o.Reserve.Broadcast(ctx, settle.Signed{Raw: intent.Raw, Hash: intent.Hash, ValidBefore: uint64(intent.ValidBefore)})
	var reverted *settle.Reverted
	switch {
	case err == nil:
		return c.endSettle(ctx, intent, true)
	case errors.As(err, &reverted):
		return errors.Join(err, c.endSettle(ctx, intent, false))
	}
	return err // Reconcile decides
}

// endSettle books a settlement's outcome on all its channels, and drops the intent
// with the last.
func (c *Channels) endSettle(ctx context.Context, intent Intent, paid bool) error {
	var errs []error
	for i, id := range intent.Channels {
		beside := Entry{}
		if i == len(intent.Channels)-1 && errs == nil {
			beside.Drop = intent.ID
		}
		_, err := c.ask(ctx, id, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
			row.Settling = tempo.Amount{}
			if paid {
				before := row.Settled
				row.Settle(intent.Amounts[i])
				c.count(before, row.Settled, tempo.Amount{})
			}
			return beside, nil
		}))
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Reconcile decides what earlier sends have left open, by asking the chain. Call it
// at the start, and from time to time.
func (c *Channels) Reconcile(ctx context.Context) error {
	intents, err := c.o.Ledger.Intents()
	if err != nil {
		return err
	}
	var errs []error
	announced := make(map[common.Hash]bool)
	for _, intent := range intents {
		for _, id := range intent.Channels {
			announced[id] = true
		}
		if err := c.reconcile(ctx, intent); err != nil {
			errs = append(errs, fmt.Errorf("reconcile %s %s: %w", intent.Kind, intent.Hash, err))
		}
	}
	var closing []common.Hash
	err = c.o.Ledger.OpenChannels(func(row session.Channel) error {
		if row.Status == session.Closing && !announced[row.ID] {
			closing = append(closing, row.ID)
		}
		return nil
	})
	for _, id := range closing {
		errs = append(errs, c.unstick(ctx, id))
	}
	return errors.Join(append(errs, err)...)
}

// reconcile takes up one intent where the call that made it left off.
func (c *Channels) reconcile(ctx context.Context, intent Intent) error {
	own, cancel := context.WithTimeout(ctx, payOutTime)
	defer cancel()
	turn := "settle"
	if intent.Kind == IntentClose {
		turn = payOutTurn(intent.Channels[0])
	}
	defer c.turns.lock(turn)()
	if there, err := c.pending(intent.ID); err != nil || !there {
		return err // the call that made it was still at work, and has ended it
	}
	rc, err := c.o.Reserve.Receipt(own, intent.Hash)
	var reverted *settle.Reverted
	if err != nil && !errors.As(err, &reverted) {
		return err
	}
	again := rc == nil && reverted == nil && c.o.now().Unix() < intent.ValidBefore
	if intent.Kind == IntentSettle {
		if again {
			return c.finishSettle(own, intent)
		}
		return c.endSettle(own, intent, rc != nil)
	}
	row, err := c.look(own, intent.Channels[0])
	switch {
	case err != nil:
		return err
	case again:
		_, err = c.finishClose(own, row, intent)
		return err
	case rc == nil:
		_, err = c.afterRefusal(own, row, intent, nil)
		return err
	}
	_, err = c.bookClose(own, row, intent, rc)
	return err
}

func (c *Channels) pending(id string) (bool, error) {
	intents, err := c.o.Ledger.Intents()
	return slices.ContainsFunc(intents, func(i Intent) bool { return i.ID == id }), err
}

// unstick frees a channel whose close was begun and never signed.
func (c *Channels) unstick(ctx context.Context, id common.Hash) error {
	defer c.turns.lock(payOutTurn(id))()
	row, err := c.look(ctx, id)
	if err != nil || row.Status != session.Closing {
		return err
	}
	_, err = c.afterRefusal(ctx, row, Intent{}, nil)
	return err
}

// payOutTurn names the turn of those who would close a channel.
func payOutTurn(id common.Hash) string { return "pay out " + string(id[:]) }
