package channel

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// What the model check, which stands outside because it needs the real storage, steers.

// Steered are options under a clock of the test's own, that never wait for a replica.
func (o Options) Steered(now func() time.Time) Options {
	o.now, o.readBackRest = now, time.Nanosecond
	return o
}

// Unbounded lets strangers ask as often as they like: the bound goes by the real clock.
func (c *Channels) Unbounded() { c.strangerLookups.SetLimit(rate.Inf) }

// Sweep has all actors rest that were not used lately.
func (c *Channels) Sweep() { c.sweep() }

// Rounds are a Settler and a Watcher whose rounds run when the test calls them.
type Rounds struct {
	*Settler
	*Watcher
}

// Rounds makes them.
func (c *Channels) Rounds(p SettlePolicy) Rounds {
	return Rounds{&Settler{c: c, policy: p.withDefaults()}, &Watcher{c: c}}
}

func (r Rounds) Totals() Totals                          { return r.Settler.c.Totals() }
func (w *Watcher) WatchRound(ctx context.Context) error  { return w.watchRound(ctx) }
func (t *Settler) SettleRound(ctx context.Context) error { return t.settleRound(ctx) }
