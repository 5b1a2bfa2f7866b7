package channel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
)

// MaxStateAge is the maximum age of a channel's state while the chain does not answer. A payer
// who requests a close can withdraw after 15 minutes at the earliest, so an outage of ten
// minutes costs the payee nothing. After that the channel is not served until the chain
// answers.
const MaxStateAge = 5 * time.Minute

// lookupWait is how long a payer waits for a newer state if the last one is recent enough.
const lookupWait = 2 * time.Second

// watchState holds results of chain look-ups that are not in rows. It is safe for concurrent
// use.
type watchState struct {
	mu sync.Mutex
	// watched is the start of the last complete round over all channels of the ledger, in Unix
	// milliseconds. The rows of channels without news were correct at that time.
	watched int64
	// lastFailure is the time of the last failed look-up, in Unix milliseconds.
	lastFailure int64
	// missing has the channels that are not on chain, and since when.
	missing map[common.Hash]time.Time
}

// seenAt returns when a row was last known to agree with the chain, in Unix milliseconds.
func (w *watchState) seenAt(row *session.Channel) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if row.CreatedAt >= w.watched {
		return row.SeenAt // the round may have begun before the channel existed
	}
	return max(row.SeenAt, w.watched)
}

func (w *watchState) sawAll(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = max(w.watched, began.UnixMilli())
}

func (w *watchState) setFailure(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastFailure = now.UnixMilli()
}

// failedRecently reports whether a look-up failed within d.
func (w *watchState) failedRecently(now time.Time, d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.UnixMilli()-w.lastFailure < d.Milliseconds()
}

// setMissing records that a channel is not on chain, and returns since when.
func (w *watchState) setMissing(id common.Hash, now time.Time) (since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, there := w.missing[id]
	if !there {
		since = now
		w.missing[id] = now
	}
	return since
}

// clearMissing removes the record of miss.
func (w *watchState) clearMissing(id common.Hash) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.missing, id)
}

func (w *watchState) missingSince(id common.Hash) (since time.Time, missing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, missing = w.missing[id]
	return since, missing
}

// isOlder reports whether the known state of a channel is older than ttl, says that the channel
// does not exist, or must still be acknowledged.
func (c *Channels) isOlder(row *session.Channel, ttl time.Duration) bool {
	_, missing := c.watchState.missingSince(row.ID)
	age := c.options.now().UnixMilli() - c.watchState.seenAt(row)
	return missing || c.options.Adopt && row.Foreign() || row.Missing || age >= ttl.Milliseconds()
}

// freshRow returns the row of a channel with a state that is younger than ttl, or than
// MaxStateAge while the chain does not answer. An ended channel is looked up once more,
// because its end may have been reverted by a reorganisation.
func (c *Channels) freshRow(ctx context.Context, row session.Channel, ttl time.Duration) (session.Channel, error) {
	switch {
	case row.Status == session.Closed:
		return c.revived(ctx, row)
	case row.Status != session.Active || !c.isOlder(&row, ttl):
		return row, nil
	}
	patience, goodEnough := lookupTimeout, !c.isOlder(&row, c.options.MaxStateAge)
	if goodEnough {
		if c.watchState.failedRecently(c.options.now(), c.options.StateTTL) {
			return row, nil
		}
		patience = c.options.lookupWait
	}
	look, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen, err := c.refresh(look, row.ID)
	if _, told := errors.AsType[*mpp.Problem](err); err == nil || told || ctx.Err() != nil || !unanswered(err) {
		return seen, err
	}
	c.watchState.setFailure(c.options.now())
	if _, missing := c.watchState.missingSince(row.ID); goodEnough && !missing {
		return row, nil
	}
	return seen, err
}

// unanswered reports whether an error means that the chain did not answer in time.
func unanswered(err error) bool {
	return errors.Is(err, settle.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
}

// confirmTime is how long a channel must be missing on chain before that is believed, because
// a lagging replica does not have a new channel.
const confirmTime = 2 * time.Second

// stateOf returns the state on chain of a channel that is open in the ledger. It reports a
// missing channel only after confirmTime.
func (c *Channels) stateOf(ctx context.Context, id common.Hash) (s session.State, err error) {
	for i := range maxReadBacks {
		if i > 0 {
			if err := c.rest(ctx); err != nil {
				return s, err
			}
		}
		s, err = c.state(ctx, id)
		if err != nil || !s.Deposit.IsZero() {
			return s, err
		}
		if now := c.options.now(); now.Sub(c.watchState.setMissing(id, now)) > confirmTime {
			return s, nil
		}
	}
	return s, nil
}

// rest waits between two look-ups.
func (c *Channels) rest(ctx context.Context) error {
	select {
	case <-time.After(c.options.readBackRest):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", settle.ErrUnreachable, ctx.Err())
	}
}

// chainTime returns the time on chain, which decides whether a transaction may still be
// included.
func (c *Channels) chainTime(ctx context.Context) (time.Time, error) {
	own, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return c.options.Escrow.Now(own)
}
