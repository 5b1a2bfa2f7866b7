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
func (c *Channels) Unbounded() { c.strange.SetLimit(rate.Inf) }

// Sweep has all actors rest that were not used lately.
func (c *Channels) Sweep() { c.sweep() }

// Rounds is a Settler whose rounds come when the test says so.
func (c *Channels) Rounds(p SettlePolicy) *Settler {
	return withTotals(&Settler{c: c, policy: p.withDefaults(), baseline: context.Background()})
}

func (t *Settler) WatchRound(ctx context.Context) error  { return t.watchRound(ctx) }
func (t *Settler) SettleRound(ctx context.Context) error { return t.settleRound(ctx) }
