package sale

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp/tempo"
)

// RunBalance is what an analysis owes while it runs: its meter adds to it, the collecting
// takes from it, and purchases wait while too much is unpaid. It is safe for concurrent
// use.
type RunBalance struct {
	ID      string // of the bill
	payer   common.Address
	account *account
	givenUp chan struct{} // closed when nothing more is expected to be paid

	// Guarded by the account's mutex.
	nano      int64
	fixed     bool
	price     uint64 // once it is fixed
	collected uint64
	gaveUp    error
	patience  timer
	every     time.Duration // patience between two collections; 0: none
}

// timer is a time.Timer as far as a RunBalance needs it; tests replace it.
type timer interface {
	Reset(time.Duration) bool
	Stop() bool
}

// afterFunc is time.AfterFunc; tests replace it.
var afterFunc = func(d time.Duration, f func()) timer { return time.AfterFunc(d, f) }

// OnCost is for the meter: the analysis has cost so much by now, in nano-dollars.
func (t *RunBalance) OnCost(nano int64) {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	if nano > t.nano {
		t.nano = nano
		t.account.tell()
	}
}

// Gate is for the meter: it lets a purchase through when little enough is unpaid, and
// waits for a collection where not. It tells slot, which may be nil, when it begins to
// wait and when it goes on.
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
			return slot.Resume(ctx) // one that is not parked does nothing
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

// Parker is what a run holds while it works, and lends to others while it waits.
type Parker interface {
	Park() error
	Resume(ctx context.Context) error
}

// owed is the price so far; the account's mutex is held.
func (t *RunBalance) owed() uint64 {
	if t.fixed {
		return t.price
	}
	return meter.Owed(t.nano)
}

// due is what is owed and not collected; the account's mutex is held.
func (t *RunBalance) due() uint64 {
	owed := t.owed()
	return owed - min(owed, t.collected)
}

// Fix says what the price is, whatever the meter says.
func (t *RunBalance) Fix(price tempo.Amount) {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	t.price, _ = price.Uint64()
	t.fixed = true
	t.account.tell()
}

// Owed is the price so far.
func (t *RunBalance) Owed() tempo.Amount {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	return tempo.AmountFrom(t.owed())
}

// Due is what is owed and not collected, and a signal for when it may be more.
func (t *RunBalance) Due() (due tempo.Amount, changed <-chan struct{}) {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	return tempo.AmountFrom(t.due()), t.account.changed
}

// Collected books what the bill says is paid in all.
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
	t.account.tell()
}

// GiveUp lets no purchase through any more.
func (t *RunBalance) GiveUp() {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	if t.gaveUp == nil {
		t.gaveUp = api.ErrUnpaid
		close(t.givenUp)
		t.account.tell()
	}
}

// GivenUp is closed when nothing more is expected to be paid.
func (t *RunBalance) GivenUp() <-chan struct{} { return t.givenUp }

// Expect gives up when nothing was collected for so long; stop ends the waiting.
func (t *RunBalance) Expect(every time.Duration) (stop func()) {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	t.every = every
	t.patience = afterFunc(every, t.GiveUp)
	return func() { t.patience.Stop() }
}
