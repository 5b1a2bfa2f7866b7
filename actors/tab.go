package actors

import (
	"context"
	"sync"
	"time"

	"txlens/engine/explain"
	"txlens/engine/meter"
	"txlens/engine/mpp/tempo"
)

// Tab is what an analysis owes while it runs: its meter writes on it, the one who
// collects takes off it, and purchases wait where too much is unpaid. It is safe
// for concurrent use.
type Tab struct {
	ID       string // of the bill
	exposure uint64 // base units that may be owed before the next purchase waits
	grace    chan struct{}

	mu        sync.Mutex
	nano      int64
	fixed     uint64 // the price, once it is known; 0: not yet
	collected uint64
	gaveUp    error
	changed   chan struct{} // closed, and replaced, at each change
	patience  *time.Timer
	every     time.Duration // patience between two collections; 0: none
}

// NewTab opens a tab for a bill of which collected base units are paid.
func NewTab(id string, collected tempo.Amount, exposure uint64) *Tab {
	paid, _ := collected.Uint64()
	return &Tab{ID: id, exposure: exposure, collected: paid, changed: make(chan struct{}), grace: make(chan struct{})}
}

// OnCost is for the meter: the analysis has cost so much by now, in nano-dollars.
func (t *Tab) OnCost(nano int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if nano > t.nano {
		t.nano = nano
		t.tell()
	}
}

// tell wakes all who wait; t.mu is held.
func (t *Tab) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Gate is for the meter: it lets a purchase through when little enough is unpaid,
// and waits for a collection where not.
func (t *Tab) Gate(ctx context.Context) error {
	for {
		t.mu.Lock()
		err, changed := t.gaveUp, t.changed
		open := t.owed() <= t.collected+t.exposure
		t.mu.Unlock()
		switch {
		case err != nil:
			return err
		case open:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// owed is the price so far; t.mu is held.
func (t *Tab) owed() uint64 {
	if t.fixed != 0 {
		return t.fixed
	}
	return meter.Owed(t.nano)
}

// Fix says what the price is, whatever the meter says.
func (t *Tab) Fix(price tempo.Amount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fixed, _ = price.Uint64()
	t.tell()
}

// Owed is the price so far.
func (t *Tab) Owed() tempo.Amount {
	t.mu.Lock()
	defer t.mu.Unlock()
	return tempo.AmountFrom(t.owed())
}

// Due is what is owed and not collected, and a signal for when it may be more.
func (t *Tab) Due() (due tempo.Amount, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	owed := t.owed()
	if owed <= t.collected {
		return tempo.Amount{}, t.changed
	}
	return tempo.AmountFrom(owed - t.collected), t.changed
}

// Collected books what the bill says is paid in all.
func (t *Tab) Collected(total tempo.Amount) {
	paid, ok := total.Uint64()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ok || paid <= t.collected {
		return
	}
	t.collected = paid
	if t.patience != nil && t.gaveUp == nil {
		t.patience.Reset(t.every)
	}
	t.tell()
}

// GiveUp lets no purchase through any more.
func (t *Tab) GiveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gaveUp == nil {
		t.gaveUp = explain.ErrUnpaid
		close(t.grace)
		t.tell()
	}
}

// GivenUp is closed when nothing more is expected to be paid.
func (t *Tab) GivenUp() <-chan struct{} { return t.grace }

// Expect gives up when nothing was collected for so long; stop ends the waiting.
func (t *Tab) Expect(every time.Duration) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.every = every
	t.patience = time.AfterFunc(every, t.GiveUp)
	return func() { t.patience.Stop() }
}

// Tabs are those of the analyses that run. It is safe for concurrent use.
type Tabs struct {
	mu   sync.Mutex
	open map[string]*Tab
}

// NewTabs makes an empty list.
func NewTabs() *Tabs { return &Tabs{open: make(map[string]*Tab)} }

// Open puts a tab on the list.
func (l *Tabs) Open(t *Tab) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[t.ID] = t
}

// Get returns the tab of a bill, nil where no analysis runs for it.
func (l *Tabs) Get(id string) *Tab {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[id]
}

// Close takes a tab off the list.
func (l *Tabs) Close(t *Tab) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[t.ID] == t {
		delete(l.open, t.ID)
	}
}
