package channel

import (
	"context"
	"sync"
	"time"

	"txlens/engine/mpp/tempo"
)

// rounds repeat work in the background until they are closed. They are not safe for
// concurrent use.
type rounds struct {
	running sync.WaitGroup
	cancels []context.CancelFunc
}

// start does work now, and again each time after a pause.
func (r *rounds) start(c *Channels, name string, every time.Duration, work func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancels = append(r.cancels, cancel)
	r.running.Go(func() { c.repeat(ctx, name, every, work) })
}

// close ends all work and waits for it.
func (r *rounds) close() {
	for _, cancel := range r.cancels {
		cancel()
	}
	r.running.Wait()
}

// repeat does work, waits for a while and does it again, until ctx ends. It logs and
// counts the errors.
func (c *Channels) repeat(ctx context.Context, name string, every time.Duration, work func(context.Context) error) {
	pause := time.NewTimer(every)
	defer pause.Stop()
	for ctx.Err() == nil {
		err, _ := c.e.Guard(func() any { return work(ctx) }, func(err error) any { return err }).(error)
		if err != nil && ctx.Err() == nil {
			c.failedRounds.Add(1)
			c.o.Log.Error(name, "error", err)
		}
		pause.Reset(every)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

// Totals sums the channels up. Amounts are base units.
type Totals struct {
	Open      int          // channels that are not closed, when the Watcher looked last
	Owing     int          // those of them on which something is not paid out
	Unsettled tempo.Amount // served and not paid out
	Settled   tempo.Amount // paid out by this process
	Payouts   uint64       // how often it paid out a channel
	Lost      tempo.Amount // served and lost, in this process
	Losses    uint64       // channels that ended so
	Failed    uint64       // rounds of Settler and Watcher that ended in an error
}

// lastLook is what the Watcher found when it looked last.
type lastLook struct {
	open, owing int
	unsettled   tempo.Amount
}

// Totals sums the channels up.
func (c *Channels) Totals() Totals {
	sum := c.paid.totals()
	if l := c.last.Load(); l != nil {
		sum.Open, sum.Owing, sum.Unsettled = l.open, l.owing, l.unsettled
	}
	sum.Failed = c.failedRounds.Load()
	return sum
}
