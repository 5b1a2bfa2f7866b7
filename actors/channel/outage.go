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

// MaxStateAge is how old the chain's word on a channel may be while the chain does not
// answer. A payer who asks the chain to close can withdraw 15 minutes later at the
// earliest, and what was served by then is still to be had for as long: so a chain that
// is away for ten minutes more costs the payee nothing. After that nothing is served on
// the channel until the chain answers.
const MaxStateAge = 5 * time.Minute

// lookPatience is how long a payer waits for news of a channel whose last look at the
// chain is good enough.
const lookPatience = 2 * time.Second

// watchState is what looks at the chain have shown beside the rows. It is safe for
// concurrent use.
type watchState struct {
	mu sync.Mutex
	// watched is when the last round began that has seen every channel of the ledger, in
	// Unix milliseconds: what had no news then is as its row says.
	watched int64
	// away is when a look at the chain failed last, in Unix milliseconds.
	away int64
	// missing are channels that the chain does not show, and since when.
	missing map[common.Hash]time.Time
}

// seenAt is when the channel of a row was last as it says, in Unix milliseconds.
func (w *watchState) seenAt(row *session.Channel) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if row.CreatedAt >= w.watched {
		return row.SeenAt // the round may not have known it
	}
	return max(row.SeenAt, w.watched)
}

func (w *watchState) sawAll(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = max(w.watched, began.UnixMilli())
}

func (w *watchState) setAway(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = now.UnixMilli()
}

// awayLately reports whether a look at the chain has failed within d.
func (w *watchState) awayLately(now time.Time, d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.UnixMilli()-w.away < d.Milliseconds()
}

// miss keeps that the chain does not show a channel, and returns since when.
func (w *watchState) miss(id common.Hash, now time.Time) (since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, there := w.missing[id]
	if !there {
		since = now
		w.missing[id] = now
	}
	return since
}

// found ends that.
func (w *watchState) found(id common.Hash) {
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

// older reports whether the chain's word on a channel is older than ttl, or says that
// there is no such channel, or has yet to be acknowledged.
func (c *Channels) older(row *session.Channel, ttl time.Duration) bool {
	_, missing := c.watch.missingSince(row.ID)
	return missing || c.o.Adopt && row.Foreign() || row.Missing || c.o.now().UnixMilli()-c.watch.seenAt(row) >= ttl.Milliseconds()
}

// fresh is the row of a channel with the chain's word on it younger than ttl or, while
// the chain does not answer, than MaxStateAge. A channel that has ended is looked for
// once more: its end may have been undone.
func (c *Channels) fresh(ctx context.Context, row session.Channel, ttl time.Duration) (session.Channel, error) {
	switch {
	case row.Status == session.Closed:
		return c.revived(ctx, row)
	case row.Status != session.Active || !c.older(&row, ttl):
		return row, nil
	}
	patience, goodEnough := lookTime, !c.older(&row, c.o.MaxStateAge)
	if goodEnough {
		if c.watch.awayLately(c.o.now(), c.o.StateTTL) {
			return row, nil
		}
		patience = lookPatience
	}
	look, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen, err := c.refresh(look, row.ID)
	if _, told := errors.AsType[*mpp.Problem](err); err == nil || told || ctx.Err() != nil || !unanswered(err) {
		return seen, err
	}
	c.watch.setAway(c.o.now())
	if _, missing := c.watch.missingSince(row.ID); goodEnough && !missing {
		return row, nil
	}
	return seen, err
}

// unanswered reports whether an error says that the chain did not answer, or not in time.
func unanswered(err error) bool {
	return errors.Is(err, settle.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
}

// confirmTime is how long a channel that the chain does not show is looked for again
// before that is believed: a replica that lags does not show a young one.
const confirmTime = 2 * time.Second

// stateOf is what the chain says of a channel that the ledger has open. That there is
// none is believed when it was said for a while.
func (c *Channels) stateOf(ctx context.Context, id common.Hash) (s session.State, err error) {
	for i := range readBacks {
		if i > 0 {
			if err := c.rest(ctx); err != nil {
				return s, err
			}
		}
		s, err = c.state(ctx, id)
		if err != nil || !s.Deposit.IsZero() {
			return s, err
		}
		if now := c.o.now(); now.Sub(c.watch.miss(id, now)) > confirmTime {
			return s, nil
		}
	}
	return s, nil
}

// rest waits between two looks at the chain.
func (c *Channels) rest(ctx context.Context) error {
	select {
	case <-time.After(c.o.readBackRest):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", settle.ErrUnreachable, ctx.Err())
	}
}

// chainTime is the time on chain, by which it is decided what may still land.
func (c *Channels) chainTime(ctx context.Context) (time.Time, error) {
	own, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return c.o.Escrow.Now(own)
}
