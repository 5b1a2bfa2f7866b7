package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
)

// Reconcile decides what earlier sends have left open, by asking the chain. Call it
// at the start, and from time to time.
func (c *Channels) Reconcile(ctx context.Context) error {
	intents, err := c.o.Store.Intents()
	if err != nil {
		return err
	}
	var errs []error
	var ended []Intent
	for _, intent := range intents {
		over, err := c.reconcile(ctx, intent)
		if err != nil {
			errs = append(errs, fmt.Errorf("reconcile %s %s: %w", intent.Kind, intent.Hash, err))
		}
		if over {
			ended = append(ended, intent)
		}
	}
	errs = append(errs, c.finalizeClose(ctx, ended))
	var closing []common.Hash
	err = c.o.Store.OpenChannels(func(row session.Channel) error {
		if row.Status == session.Closing && !under(intents, row.ID, IntentClose) {
			closing = append(closing, row.ID)
		}
		return nil
	})
	for _, id := range closing {
		errs = append(errs, c.unstick(ctx, id))
	}
	return errors.Join(append(errs, err)...)
}

// lateness is how long after its end a transaction may still turn up: the block that
// took it was made in time, and a replica lags. So long before its end a node may not
// take it any more, and that refusal says nothing of where it is already.
const lateness = 5 * time.Second

// sendable reports whether it makes sense to send a transaction again. now is the time
// on chain, as in mayLand.
func (i Intent) sendable(now time.Time) bool {
	return len(i.Raw) > 0 && now.Add(lateness).Before(time.Unix(i.ValidBefore, 0))
}

// mayLand reports whether a transaction that nobody has seen may still be seen.
func (i Intent) mayLand(now time.Time) bool {
	return len(i.Raw) > 0 && now.Before(time.Unix(i.ValidBefore, 0).Add(lateness))
}

// reconcile takes up one intent where the call that made it left off. over means that
// it closed a channel which has ended.
func (c *Channels) reconcile(ctx context.Context, intent Intent) (over bool, err error) {
	own, cancel := context.WithTimeout(ctx, payOutTime)
	defer cancel()
	turn := "settle"
	if intent.Kind == IntentClose {
		turn = payOutTurn(intent.Channels[0])
	}
	defer c.turns.lock(turn)()
	if there, err := c.pending(intent.ID); err != nil || !there {
		return false, err // the call that made it was still at work, and has ended it
	}
	var row session.Channel
	if intent.Kind == IntentClose {
		row, err = c.look(own, intent.Channels[0])
		if err != nil || row.Status == session.Closed {
			return err == nil, err
		}
	}
	rc, err := c.o.Escrow.Receipt(own, intent.Hash)
	var reverted *settle.Reverted
	if err != nil && !errors.As(err, &reverted) {
		return false, err
	}
	open := rc == nil && reverted == nil
	var now time.Time
	if open {
		if now, err = c.chainTime(own); err != nil {
			return false, err
		}
	}
	again := open && intent.sendable(now)
	switch {
	case open && !again && intent.mayLand(now):
		return false, nil // the next round knows
	case intent.Kind == IntentSettle && again:
		return false, c.finishSettle(own, intent)
	case intent.Kind == IntentSettle:
		return false, c.endSettle(own, intent, rc != nil)
	case again:
		_, err = c.finishClose(own, row, intent)
	case rc == nil:
		_, err = c.afterRefusal(own, row, intent, nil)
	default:
		_, err = c.bookClose(own, row, intent, rc)
	}
	return false, err
}

func (c *Channels) pending(id string) (bool, error) {
	intents, err := c.o.Store.Intents()
	return slices.ContainsFunc(intents, func(i Intent) bool { return i.ID == id }), err
}

// unstick frees a channel whose close was begun and never signed.
func (c *Channels) unstick(ctx context.Context, id common.Hash) error {
	defer c.turns.lock(payOutTurn(id))()
	intents, err := c.o.Store.Intents()
	if err != nil || under(intents, id, IntentClose) {
		return err // it was signed meanwhile
	}
	row, err := c.look(ctx, id)
	if err != nil || row.Status != session.Closing {
		return err
	}
	_, err = c.afterRefusal(ctx, row, Intent{}, nil)
	return err
}

// finalizeClose forgets the intents of channels that the chain has not shown again for long
// enough, and closes those once more that it shows.
func (c *Channels) finalizeClose(ctx context.Context, ended []Intent) error {
	ids := make([]common.Hash, len(ended))
	for i, intent := range ended {
		ids[i] = intent.Channels[0]
	}
	if len(ids) == 0 {
		return nil
	}
	now, err := c.chainTime(ctx)
	if err != nil {
		return err
	}
	states, err := c.o.Escrow.States(ctx, ids...)
	if err != nil || len(states) != len(ids) {
		return err
	}
	var errs []error
	for i, s := range states {
		intent := ended[i]
		switch {
		case !s.Deposit.IsZero():
			errs = append(errs, c.reopenAfterReorg(ctx, intent, s, now))
		case now.After(time.Unix(intent.ValidBefore, 0).Add(reorgWindow)):
			errs = append(errs, c.concludeEnd(ctx, intent))
		}
	}
	return errors.Join(errs...)
}

// reopenAfterReorg takes up a channel that has ended, and that the chain shows nevertheless. A
// transaction that is still good is sent again; after that the channel is closed anew,
// unless nobody had closed it. now is the time on chain.
func (c *Channels) reopenAfterReorg(ctx context.Context, intent Intent, s session.State, now time.Time) error {
	id := intent.Channels[0]
	row, err := c.look(ctx, id)
	if err != nil {
		return err
	}
	rc, err := c.o.Escrow.Receipt(ctx, row.CloseTx)
	if _, failed := errors.AsType[*settle.Reverted](err); rc != nil || err != nil && !failed {
		return err // it was a replica that lags
	}
	switch {
	case intent.sendable(now):
		_, err := c.o.Escrow.Broadcast(ctx, settle.Signed{Raw: intent.Raw, Hash: intent.Hash, ValidBefore: uint64(intent.ValidBefore)})
		if reverted := (*settle.Reverted)(nil); !errors.As(err, &reverted) {
			return err
		}
	case intent.mayLand(now):
		return nil
	}
	c.o.Log.Warn("the chain has undone the end of a channel", "channel", id, "closing_again", row.CloseTx != common.Hash{})
	if _, err := c.takeBack(ctx, id, s, intent.ID); err != nil || row.CloseTx == (common.Hash{}) {
		return err
	}
	_, err = c.CloseChannel(ctx, id)
	return err
}
