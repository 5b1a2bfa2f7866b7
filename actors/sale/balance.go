package sale

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp/tempo"
)

// RunBalance is the debt of a running analysis: the meter increases it, collecting decreases
// it, and purchases wait while it is too high. It is safe for concurrent use.
type RunBalance struct {
	ID      string // id of the bill
	payer   common.Address
	account *account
	givenUp chan struct{} // closed when no further payment is expected

	// Guarded by the account's mutex.
	nano      int64
	fixed     bool
	price     uint64 // set by Fix
	collected uint64
	gaveUp    error
	patience  timer
	every     time.Duration // time limit between two collections; 0: none
}

// timer is the part of time.Timer that a RunBalance uses; tests replace it.
type timer interface {
	Reset(time.Duration) bool
	Stop() bool
}

// afterFunc is time.AfterFunc; tests replace it.
var afterFunc = func(d time.Duration, f func()) timer { return time.AfterFunc(d, f) }

// OnCost is called by the meter with the cost of the analysis so far, in nano-dollars.
func (t *RunBalance) OnCost(nano int64) {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	if nano > t.nano {
		t.nano = nano
		t.account.wake()
	}
}

// Gate is called by the meter before a purchase. It returns when the unpaid amount is low
// enough, and waits for a collection otherwise. slot, which may be nil, is parked during the
// wait.
func (t *RunBalance) Gate(ctx context.Context, slot Parker) error {
	waits := false
	for {
		t.account.mu.Lock()
		err, changed := t.gaveUp, t.account.changed
		open := t.due() == 0 || t.account.owed() <= t.account.exposure
		t.account.mu.Unlock()
		switch {
		case err != nil:
			return err
		case open && slot != nil:
			return slot.Resume(ctx) // no effect if it is not parked
		case open:
			return nil
		}
		if !waits && slot != nil {
			if err := slot.Park(); err != nil {
				t.GiveUp()
				continue
			}
		}
		waits = true
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Parker is the slot of a run: parked, it is free for other runs.
type Parker interface {
	Park() error
	Resume(ctx context.Context) error
}

// owed returns the price so far; the account's mutex must be held.
func (t *RunBalance) owed() uint64 {
	if t.fixed {
		return t.price
	}
	return meter.Owed(t.nano)
}

// due returns the amount that is owed and not collected; the account's mutex must be held.
func (t *RunBalance) due() uint64 {
	owed := t.owed()
	return owed - min(owed, t.collected)
}

// Fix sets the final price. Later reports of the meter are ignored.
func (t *RunBalance) Fix(price tempo.Amount) {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	t.price, _ = price.Uint64()
	t.fixed = true
	t.account.wake()
}

// Owed returns the price so far.
func (t *RunBalance) Owed() tempo.Amount {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	return tempo.AmountFrom(t.owed())
}

// Due returns the amount that is owed and not collected, and a channel that is closed when it
// may have changed.
func (t *RunBalance) Due() (due tempo.Amount, changed <-chan struct{}) {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	return tempo.AmountFrom(t.due()), t.account.changed
}

// Collected sets the total that was paid on the bill.
func (t *RunBalance) Collected(total tempo.Amount) {
	paid, ok := total.Uint64()
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	if !ok || paid <= t.collected {
		return
	}
	t.collected = paid
	if t.patience != nil && t.gaveUp == nil {
		t.patience.Reset(t.every)
	}
	t.account.wake()
}

// GiveUp allows no more purchases.
func (t *RunBalance) GiveUp() {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	if t.gaveUp == nil {
		t.gaveUp = api.ErrUnpaid
		close(t.givenUp)
		t.account.wake()
	}
}

// GivenUp is closed when no further payment is expected.
func (t *RunBalance) GivenUp() <-chan struct{} { return t.givenUp }

// Expect calls GiveUp if nothing is collected for the given time; stop ends the waiting.
func (t *RunBalance) Expect(every time.Duration) (stop func()) {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	t.every = every
	t.patience = afterFunc(every, t.GiveUp)
	return func() { t.patience.Stop() }
}
