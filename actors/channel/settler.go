package channel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// SettlePolicy says when channels are paid out. Zero values mean the defaults named
// at each field.
type SettlePolicy struct {
	Threshold tempo.Amount  // served and not paid out on one channel, default $5
	MaxAge    time.Duration // of what is not paid out, default 24 h
	IdleClose time.Duration // without voucher or charge before a channel is closed, default 30 days
	Unit      tempo.Amount  // a channel with less than this left to sign is closed, default $0.01
	// MinDeposit is the smallest deposit that is served; a smaller channel on which
	// nothing is owed is never closed at the payee's cost. Zero: no channel is too small.
	MinDeposit tempo.Amount
	Every      time.Duration // between two rounds of settling, default 1 min
	Watch      time.Duration // between two looks at all channels, default 30 s, at most 60 s
	Check      time.Duration // between two looks at gas, clock and chain id, default 1 min
}

func (p SettlePolicy) withDefaults() SettlePolicy {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if p.Threshold.IsZero() {
		p.Threshold = tempo.AmountFrom(5_000_000)
	}
	if p.Unit.IsZero() {
		p.Unit = tempo.AmountFrom(10_000)
	}
	set(&p.MaxAge, 24*time.Hour)
	set(&p.IdleClose, 30*24*time.Hour)
	set(&p.Every, time.Minute)
	set(&p.Watch, 30*time.Second)
	set(&p.Check, time.Minute)
	p.Watch = min(p.Watch, 60*time.Second)
	return p
}

// Totals are the books at the last look. Amounts are base units.
type Totals struct {
	Open      int          // channels that are not closed
	Owing     int          // those of them on which something is not paid out
	Unsettled tempo.Amount // served and not paid out
	Settled   tempo.Amount // paid out by this process
	Payouts   uint64       // how often it paid out a channel
	Lost      tempo.Amount // served and gone, in this process
	Losses    uint64       // channels that ended so
	Failed    uint64       // rounds that ended in an error
}

// Settler pays channels out in time: the Settler by policy, the Watcher when the
// payer asks the chain to close. The Checker looks whether both will be able to.
type Settler struct {
	c         *Channels
	sweepFrom common.Hash // of the Watcher: where the ended channels are looked at next
	policy    SettlePolicy
	rounds    sync.WaitGroup // the goroutines of the three
	open      atomic.Int64
	owing     atomic.Int64
	failed    atomic.Uint64
	unpaid    atomic.Pointer[tempo.Amount]
	cancel    context.CancelFunc
	baseline  context.Context
}

// NewSettler starts the Settler, the Watcher and the Checker. Close it before the
// Channels.
func (c *Channels) NewSettler(p SettlePolicy) *Settler {
	t := &Settler{c: c, policy: p.withDefaults()}
	t.baseline, t.cancel = context.WithCancel(context.Background())
	t.unpaid.Store(new(tempo.Amount))
	t.start("settler", t.policy.Every, t.settleRound)
	t.start("watcher", t.policy.Watch, t.watchRound)
	t.start("checker", t.policy.Check, t.c.checkHealth)
	return t
}

func (t *Settler) start(name string, every time.Duration, work func(context.Context) error) {
	t.rounds.Go(func() { t.repeat(t.baseline, name, every, work) })
}

// Close ends them. What is being sent is seen to its end first.
func (t *Settler) Close() {
	t.cancel()
	t.rounds.Wait()
}

// Totals tells the books at the last look.
func (t *Settler) Totals() Totals {
	sum := t.c.paid.totals()
	sum.Open, sum.Owing, sum.Unsettled, sum.Failed = int(t.open.Load()), int(t.owing.Load()), *t.unpaid.Load(), t.failed.Load()
	return sum
}

func (t *Settler) fault(name string, err error) {
	t.failed.Add(1)
	t.c.o.Log.Error(name, "error", err)
}

// repeat does work, waits for a while and does it again, until ctx ends.
func (t *Settler) repeat(ctx context.Context, name string, every time.Duration, work func(context.Context) error) {
	pause := time.NewTimer(every)
	defer pause.Stop()
	for ctx.Err() == nil {
		err, _ := t.c.e.Guard(func() any { return work(ctx) }, func(err error) any { return err }).(error)
		if err != nil && ctx.Err() == nil {
			t.fault(name, err)
		}
		pause.Reset(every)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

// watchRound asks the chain about every open channel, closes those whose payer
// wants out while that is still possible, and books those that have ended.
func (t *Settler) watchRound(ctx context.Context) error {
	began := t.c.o.now()
	var ids []common.Hash
	var unpaid tempo.Amount
	var owing int64
	err := t.c.o.Store.OpenChannels(func(row session.Channel) error {
		ids = append(ids, row.ID)
		t.c.noteForeign(&row)
		if owed := row.Unsettled(); !owed.IsZero() {
			unpaid, _ = unpaid.Add(owed)
			owing++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list channels: %w", err)
	}
	t.open.Store(int64(len(ids)))
	t.owing.Store(owing)
	t.unpaid.Store(&unpaid)
	errs := []error{t.c.Reconcile(ctx), t.lookAtAll(ctx, ids, began)}
	if ctx.Err() == nil {
		errs = append(errs, t.sweepClosed(ctx))
	}
	return errors.Join(errs...)
}

// lookAtAll asks the chain about the channels that are open, and does what it says.
func (t *Settler) lookAtAll(ctx context.Context, ids []common.Hash, began time.Time) error {
	var errs []error
	all := true
	for len(ids) > 0 && ctx.Err() == nil {
		part := ids[:min(len(ids), 200)]
		ids = ids[len(part):]
		states, err := t.c.o.Escrow.States(ctx, part...)
		if err != nil || len(states) != len(part) {
			all = false
			errs = append(errs, err)
			continue
		}
		for i, s := range states {
			seen, err := t.attend(ctx, part[i], s)
			all = all && seen
			errs = append(errs, err)
		}
	}
	if all && len(ids) == 0 {
		t.c.watch.sawAll(began)
	}
	return errors.Join(errs...)
}

// openingTime is how long an opening that the chain does not show may still land: an
// expiring transaction is decided after 30 seconds.
const openingTime = 2 * time.Minute

// attend does what the chain's word on a channel asks for. seen reports whether the row
// says what the chain does.
func (t *Settler) attend(ctx context.Context, id common.Hash, s session.State) (seen bool, err error) {
	row, err := t.c.look(ctx, id)
	if err != nil || row.Status == session.Closed {
		return err == nil, err
	}
	young := t.c.o.now().UnixMilli()-row.CreatedAt < openingTime.Milliseconds()
	switch {
	case row.Status == session.Opening && !s.Deposit.IsZero():
		_, err = t.c.begin(ctx, id, s, session.Opened(t.c.o.Terms.Domain, row.Descriptor, s, session.Voucher{}, row.OpenTx, t.c.o.now()))
		return err == nil, err
	case row.Status == session.Opening && !young:
		return true, t.c.forgetOpening(ctx, id)
	case row.Status == session.Opening, row.Status == session.Closing:
		return true, nil // whoever opens or closes it is at work, or Reconcile is
	case s.Deposit.IsZero():
		return true, t.attendMissing(ctx, id)
	case row.Missing || row.Foreign() || !row.Knows(s): // there is no news of most, whose actors rest on
		if row, err = t.c.observe(ctx, id, s); err != nil {
			return false, err
		}
	default:
		t.c.watch.found(id)
	}
	if row.CloseRequestedAt != 0 {
		t.c.o.Log.Warn("payer asks the chain to close; closing first", "channel", id, "unsettled", row.Unsettled())
		_, err = t.c.CloseChannel(ctx, id)
	}
	return true, err
}

// forgetOpening drops a channel that never came to be.
func (c *Channels) forgetOpening(ctx context.Context, id common.Hash) error {
	_, err := c.ask(ctx, id, func(row *session.Channel, _ time.Time) (*session.Channel, Entry, any, error) {
		if row == nil || row.Status != session.Opening {
			return nil, Entry{}, nil, nil
		}
		return nil, Entry{Forget: &id}, nil, nil
	})
	return err
}

// settleRound pays out by policy.
func (t *Settler) settleRound(ctx context.Context) error {
	settle, shut, err := t.dueChannels()
	errs := []error{err}
	for len(settle) > 0 && ctx.Err() == nil {
		part := settle[:min(len(settle), maxSettled)]
		settle = settle[len(part):]
		for _, p := range t.settleTogether(ctx, part) {
			errs = append(errs, p.Err)
		}
	}
	for _, id := range shut {
		if ctx.Err() != nil {
			break
		}
		if err := t.c.closeUnused(ctx, id); err != nil && !errors.Is(err, errInUse) {
			errs = append(errs, fmt.Errorf("close %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// quietTime is how long a channel must have been without voucher and charge before the
// settler closes it for lack of money: its payer may be about to top it up.
const quietTime = 10 * time.Minute

// dueChannels are those to settle and those to close, by policy.
func (t *Settler) dueChannels() (settle, shut []common.Hash, err error) {
	now := t.c.o.now().UnixMilli()
	err = t.c.o.Store.OpenChannels(func(row session.Channel) error {
		switch t.policy.due(&row, now, t.c.busy.has(row.ID)) {
		case dueSettle:
			settle = append(settle, row.ID)
		case dueClose:
			shut = append(shut, row.ID)
		}
		return nil
	})
	return settle, shut, err
}

// dueFor is what the policy asks for on a channel.
type dueFor uint8

const (
	dueNothing dueFor = iota
	dueSettle
	dueClose
)

// due says what is to be done about an active channel now, in Unix milliseconds. A
// channel that pays for an analysis which runs is never closed.
func (p SettlePolicy) due(row *session.Channel, now int64, busy bool) dueFor {
	if row.Status != session.Active {
		return dueNothing
	}
	owed := row.Unsettled()
	left, _ := row.Deposit.Sub(row.Served())
	unused := now - row.ActiveAt
	idle := unused >= p.IdleClose.Milliseconds()
	quiet := unused >= min(quietTime, p.IdleClose).Milliseconds()
	old := row.OwedSince != 0 && now-row.OwedSince >= p.MaxAge.Milliseconds()
	pay := !owed.IsZero() && (owed.Cmp(p.Threshold) >= 0 || old)
	// A close costs a fee. Where it brings the payee nothing, a deposit that was too
	// small to serve is left to its payer, who can withdraw it.
	worth := !owed.IsZero() || row.Deposit.Cmp(p.MinDeposit) >= 0
	switch {
	case !busy && worth && (idle || quiet && left.Cmp(p.Unit) < 0):
		return dueClose
	case pay && row.Settleable.Cumulative.Cmp(row.Settled) > 0:
		return dueSettle
	case pay && !busy && (old || quiet):
		// Only a voucher above what was served covers it: closing takes no more than that.
		return dueClose
	}
	return dueNothing
}
