package channel

import (
	"context"
	"sync"
	"time"

	"txlens/engine/mpp/tempo"
)

// rounds repeat functions in the background until they are closed. They are not safe for
// concurrent use.
type rounds struct {
	running sync.WaitGroup
	cancels []context.CancelFunc
}

// start calls work now, and again after each pause.
func (r *rounds) start(c *Channels, name string, every time.Duration, work func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancels = append(r.cancels, cancel)
	r.running.Go(func() { c.repeat(ctx, name, every, work) })
}

// close stops all work and waits for it.
func (r *rounds) close() {
	for _, cancel := range r.cancels {
		cancel()
	}
	r.running.Wait()
}

// repeat calls work periodically until ctx ends. It logs and counts the errors.
func (c *Channels) repeat(ctx context.Context, name string, every time.Duration, work func(context.Context) error) {
	pause := time.NewTimer(every)
	defer pause.Stop()
	for ctx.Err() == nil {
		err, _ := c.system.Guard(func() any { return work(ctx) }, func(err error) any { return err }).(error)
		if err != nil && ctx.Err() == nil {
			c.failedRounds.Add(1)
			c.options.Log.Error(name, "error", err)
		}
		pause.Reset(every)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

// Totals are sums over all channels. Amounts are base units.
type Totals struct {
	Open      int          // open channels at the last round of the Watcher
	Owing     int          // those with an amount that is not paid out
	Unsettled tempo.Amount // served and not paid out
	Settled   tempo.Amount // paid out by this process
	Payouts   uint64       // number of payouts of channels
	Lost      tempo.Amount // served and lost, in this process
	Losses    uint64       // number of channels that ended with a loss
	Failed    uint64       // rounds of Settler and Watcher that ended with an error
}

// lastLook has the totals of the last round of the Watcher.
type lastLook struct {
	open, owing int
	unsettled   tempo.Amount
}

// Totals returns the sums over all channels.
func (c *Channels) Totals() Totals {
	sum := c.paid.totals()
	if l := c.lastTotals.Load(); l != nil {
		sum.Open, sum.Owing, sum.Unsettled = l.open, l.owing, l.unsettled
	}
	sum.Failed = c.failedRounds.Load()
	return sum
}
