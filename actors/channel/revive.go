package channel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// What the ledger believes of the end of a channel, and what the chain shows.

// revived is the row of a channel that has ended, or of the same channel after its end
// was undone: the chain shows it, and not the transaction that ended it. Where the
// chain does not tell, the row is as it was.
func (c *Channels) revived(ctx context.Context, row session.Channel) (session.Channel, error) {
	if !c.strange.Allow() {
		return row, nil
	}
	look, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	s, err := c.state(look, row.ID)
	if err != nil || s.Deposit.IsZero() {
		return row, nil
	}
	again, err := c.revive(ctx, row, s)
	if unanswered(err) {
		return row, nil
	}
	return again, err
}

// revive takes back the end of a channel that the chain shows in state s. Shortly after
// the end that is for Reconcile to decide; and where the chain shows the transaction
// that ended the channel, it is a replica that lags.
func (c *Channels) revive(ctx context.Context, row session.Channel, s session.State) (session.Channel, error) {
	intents, err := c.o.Store.Intents()
	if err != nil || under(intents, row.ID, IntentClose) {
		return row, err
	}
	if row.CloseTx != (common.Hash{}) {
		rc, err := c.o.Escrow.Receipt(ctx, row.CloseTx)
		if _, failed := errors.AsType[*settle.Reverted](err); rc != nil || err != nil && !failed {
			return row, err
		}
	}
	c.o.Log.Warn("the chain shows a channel whose end was booked; its end is taken back", "channel", row.ID, "deposit", s.Deposit)
	return c.takeBack(ctx, row.ID, s, "")
}

// takeBack books that the end of a channel was undone, and drops the intent of the end.
func (c *Channels) takeBack(ctx context.Context, id common.Hash, s session.State, intent string) (session.Channel, error) {
	a, err := c.ask(ctx, id, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		if row.Status == session.Closed {
			c.paid.undo(row.Settled, s.Settled)
			row.Reopen(s)
		}
		return Entry{Drop: intent}, nil
	}))
	if err != nil {
		return session.Channel{}, err
	}
	c.watch.found(id)
	return *a.row, nil
}

// concludeEnd forgets the intent of an end that stands. Where the transaction that ended
// the channel is gone, the channel has ended in another way since, and that is booked.
func (c *Channels) concludeEnd(ctx context.Context, intent Intent) error {
	row, err := c.look(ctx, intent.Channels[0])
	if err != nil || row.Status != session.Closed || row.CloseTx == (common.Hash{}) {
		return errors.Join(err, c.o.Store.Commit(Entry{Drop: intent.ID}))
	}
	rc, err := c.o.Escrow.Receipt(ctx, row.CloseTx)
	if _, failed := errors.AsType[*settle.Reverted](err); err != nil && !failed {
		return err
	}
	if rc != nil {
		return c.o.Store.Commit(Entry{Drop: intent.ID})
	}
	captured, tx, found, err := c.o.Escrow.Closed(ctx, row.ID)
	if err != nil && !errors.Is(err, settle.ErrNoLogs) {
		return err
	}
	if !found {
		return c.o.Store.Commit(Entry{Drop: intent.ID}) // nothing shows how else it has ended
	}
	c.o.Log.Warn("the chain has ended a channel otherwise than it was booked", "channel", row.ID, "booked", row.Settled, "captured", captured)
	a, err := c.ask(ctx, row.ID, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		settled, lost := row.Settled, row.Lost
		row.Finish(captured, tx)
		more, _ := row.Lost.Sub(lost)
		c.count(settled, row.Settled, more)
		return Entry{Drop: intent.ID}, nil
	}))
	if err == nil {
		c.noteForeign(a.row)
	}
	return err
}

// sweepPage is how many channels that have ended are compared with the chain in one
// round of the watcher.
const sweepPage = 200

// sweepClosed compares the next channels that have ended with the chain, and takes up
// those that it shows: page by page, and from the first one again.
func (w *Watcher) sweepClosed(ctx context.Context) error {
	rows, next, err := w.c.o.Store.Channels(true, w.sweepFrom, sweepPage)
	if err != nil || len(rows) == 0 {
		w.sweepFrom = common.Hash{}
		return err
	}
	ids := make([]common.Hash, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	states, err := w.c.o.Escrow.States(ctx, ids...)
	if err != nil || len(states) != len(ids) {
		return err // the same page is asked for in the next round
	}
	if w.sweepFrom = (common.Hash{}); next != nil {
		w.sweepFrom = *next
	}
	var errs []error
	for i, s := range states {
		if s.Deposit.IsZero() {
			continue
		}
		row, err := w.c.revive(ctx, rows[i], s)
		if err == nil && row.Status == session.Active && rows[i].CloseTx != (common.Hash{}) {
			_, err = w.c.CloseChannel(ctx, row.ID) // it was closed because somebody wanted that
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("take up %s again: %w", row.ID, err))
		}
	}
	return errors.Join(errs...)
}

// reorgWindow is how long a block may be replaced by another, with what was in it. So
// long the end of a channel is watched after its transaction could land last, and so
// long a channel that the chain does not show may come back.
const reorgWindow = time.Minute

// attendMissing decides about a channel that is open in the ledger and that the chain
// does not show: its payer withdrew, another holder of our key closed it, or the block
// of its opening was replaced.
func (w *Watcher) attendMissing(ctx context.Context, id common.Hash) error {
	s, err := w.c.stateOf(ctx, id)
	if err != nil {
		return err
	}
	row, err := w.c.observe(ctx, id, s)
	if err != nil || !s.Deposit.IsZero() || row.Status != session.Active {
		return err
	}
	return w.c.endMissing(ctx, row)
}

// endMissing books the end of a channel that the chain does not show: by the event of
// its end or, where there is none for as long as a block may be replaced, without.
func (c *Channels) endMissing(ctx context.Context, row session.Channel) error {
	captured, tx, found, err := c.o.Escrow.Closed(ctx, row.ID)
	if found && err == nil {
		_, err = c.finish(ctx, row.ID, captured, tx, "")
		return err
	}
	if err != nil && !errors.Is(err, settle.ErrNoLogs) {
		return err
	}
	now := c.o.now()
	if now.Sub(c.watch.miss(row.ID, now)) < reorgWindow {
		return nil // it may come back
	}
	intents, err := c.o.Store.Intents()
	if err != nil || under(intents, row.ID, IntentSettle) || under(intents, row.ID, IntentClose) {
		return err // Reconcile decides first what became of that
	}
	c.o.Log.Error(
		"a channel is gone from the chain, and nothing shows how it ended",
		"channel",
		row.ID,
		"settled",
		row.Settled,
		"spent",
		row.Spent,
	)
	_, err = c.finish(ctx, row.ID, row.Settled, common.Hash{}, "")
	return err
}

// notServed is the refusal of a channel that was opened with another server, or whose
// record is lost.
func notServed(id common.Hash) *mpp.Problem {
	return &mpp.Problem{Type: mpp.ChannelNotFound, ChannelID: id,
		Detail: "The channel is not served here: another server of the payee opened it, or its record is lost.",
		Hint:   "Use the server that opened it, or open a new channel. The chain gives the deposit back to who asks it to close the channel."}
}

// otherDeposit is the refusal of a transaction that paid in another amount than it says.
func otherDeposit(shown, said tempo.Amount, err error) *mpp.Problem {
	return &mpp.Problem{Type: mpp.VerificationFailed, Err: err,
		Detail:  "The chain shows that " + shown.String() + " base units were paid in, and the transaction says " + said.String() + ".",
		Details: map[string]string{"paidIn": shown.String(), "expected": said.String()}}
}
