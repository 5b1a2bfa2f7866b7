package sale

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/channel"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// Collector charges the debt of a run to a channel. It is safe for concurrent use.
type Collector interface {
	// Collect charges the outstanding part of a bill, at most the given amount.
	Collect(ctx context.Context, channelID common.Hash, billID string, price, atMost tempo.Amount) (channel.Bill, channel.Standing, error)
	// Standing returns the standing of a channel.
	Standing(ctx context.Context, channelID common.Hash) (channel.Standing, error)
	// Watch signals each stored change of a channel and each released reservation.
	Watch(channelID common.Hash) (signal <-chan struct{}, stop func(), err error)
	// Occupy prevents a channel from being closed as unused; call release once.
	Occupy(channelID common.Hash) (release func())
}

// Run is one analysis that is paid for while it runs. It is safe for concurrent use.
type Run struct {
	ID      string      // id of the bill
	Channel common.Hash // channel that it began with; zero: unknown

	seller  *Seller
	balance *RunBalance
	slot    Parker // nil: none
	leave   func()

	ended     chan struct{} // closed by Finish
	collected chan error    // error of the goroutine of Start
}

// Gate is called by the meter: it waits while too much is unpaid.
func (r *Run) Gate(ctx context.Context) error { return r.balance.Gate(ctx, r.slot) }

// OnCost is called by the meter with the cost of the analysis so far, in nano-dollars.
func (r *Run) OnCost(nano int64) { r.balance.OnCost(nano) }

// GiveUp allows the run no more purchases.
func (r *Run) GiveUp() { r.balance.GiveUp() }

// GivenUp is closed when no further payment is expected.
func (r *Run) GivenUp() <-chan struct{} { return r.balance.GivenUp() }

// Expect gives the run up if nothing is collected for Seller.JobPatience; stop ends the
// waiting.
func (r *Run) Expect() (stop func()) { return r.balance.Expect(r.seller.o.JobPatience) }

// Fix sets the price of the run by its outcome. The payer does not pay costs that are reported
// later.
func (r *Run) Fix(ctx context.Context, out Outcome) error {
	price := r.balance.Owed()
	switch unit := tempo.AmountFrom(meter.Cent); {
	case out == Nothing:
		price = tempo.Amount{}
	case out == NoTransaction && price.Cmp(unit) > 0:
		price = unit
	}
	r.balance.Fix(price)
	bill, err := r.seller.o.Bills.Final(context.WithoutCancel(ctx), r.ID, price)
	if err == nil {
		r.seller.readDebt(bill.Payer)
	}
	return err
}

// Start charges the channel in the background, like Collect, until Finish is called.
func (r *Run) Start(work context.Context, ask func(*mpp.NeedVoucher)) {
	r.ended, r.collected = make(chan struct{}), make(chan error, 1)
	go func() { r.collected <- r.Collect(work, r.ended, ask) }()
}

// Finish ends the collecting of Start when the analysis has ended with err. It waits until all
// is paid and returns why it is not; meanwhile the slot is free for others. The client is not
// asked to sign for an analysis that ended with an error. Call it once.
func (r *Run) Finish(err error) (unpaid error) {
	if r.slot != nil && r.slot.Park() != nil {
		r.balance.GiveUp()
	}
	close(r.ended)
	if err != nil {
		r.balance.GiveUp()
	}
	return <-r.collected
}

// graceAfterPatience is how long collecting the remaining price may take beyond the time that
// the client has to sign.
const graceAfterPatience = 5 * time.Second

// CollectRest charges the outstanding part of the bill of an ended run to the channel of a
// payment. The error is api.ErrUnpaid while another call collects it.
func (s *Seller) CollectRest(ctx context.Context, p *channel.Payment, bill channel.Bill, ask func(*mpp.NeedVoucher)) error {
	bill.Payer, bill.Channel = p.Payer, p.Channel
	run, fresh := s.Begin(bill, nil)
	if !fresh {
		_, owed, err := s.Outstanding(bill.ID)
		if err == nil && !owed.IsZero() {
			err = api.ErrUnpaid
		}
		return err
	}
	defer run.End()
	work, cancel := context.WithTimeout(ctx, s.o.Patience+graceAfterPatience)
	defer cancel()
	run.balance.Fix(bill.Price)
	ended := make(chan struct{})
	close(ended)
	return run.Collect(work, ended, ask)
}

// End removes the run from the lists.
func (r *Run) End() {
	if r.seller.runs.close(r) {
		r.seller.accounts.leave(r.balance)
		r.leave()
		r.seller.readDebt(r.balance.payer)
	}
}

// Collect charges the debt as it accrues. If the voucher is too low, ask is called with the
// required amount, once for each shortage, and with nil when the voucher has arrived; in
// between the run waits. Collect returns nil when ended is closed and everything is paid. It
// gives the run up if the client does not sign in time.
func (r *Run) Collect(work context.Context, ended <-chan struct{}, ask func(*mpp.NeedVoucher)) error {
	signal, stop, err := r.seller.o.Collector.Watch(r.Channel)
	if err != nil {
		r.balance.GiveUp()
		return err
	}
	defer stop()
	c := collection{r: r, work: work, signal: signal, ask: ask}
	defer c.stop()
	err = c.run(ended)
	if err != nil {
		r.balance.GiveUp()
	}
	return err
}

// collection is the state of one call of Run.Collect.
type collection struct {
	r      *Run
	work   context.Context
	signal <-chan struct{}
	ask    func(*mpp.NeedVoucher)

	patience *time.Timer  // running while the client must sign a voucher
	asked    tempo.Amount // voucher of the last request to the client
	turn     time.Time    // when the client may be asked again; zero: not limited yet
}

func (c *collection) stop() {
	if c.patience != nil {
		c.patience.Stop()
		c.patience = nil
	}
}

func (c *collection) run(ended <-chan struct{}) error {
	balance := c.r.balance
	for {
		due, changed := balance.Due()
		if due.IsZero() {
			select {
			case <-changed:
				continue
			case <-ended:
				return nil
			case <-balance.GivenUp():
				return api.ErrUnpaid
			case <-c.work.Done():
				return context.Cause(c.work)
			}
		}
		bill, _, err := c.r.seller.o.Collector.Collect(c.work, c.r.Channel, balance.ID, balance.Owed(), due)
		if err == nil {
			balance.Collected(bill.Collected)
			c.stop()
			c.ask(nil)
			continue
		}
		short, ok := errors.AsType[*mpp.Problem](err)
		if !ok || short.Type != mpp.InsufficientBalance {
			return err
		}
		if c.affordable(due, short.RequiredTopUp) {
			continue
		}
		if err := c.wait(due); err != nil {
			return err
		}
	}
}

// affordable returns the whole units of the due amount that the channel can pay.
func (c *collection) affordable(due, missing tempo.Amount) bool {
	there, _ := due.Sub(missing)
	n, ok := there.Uint64()
	if !ok || n < meter.Cent {
		return false
	}
	balance := c.r.balance
	bill, _, err := c.r.seller.o.Collector.Collect(c.work, c.r.Channel, balance.ID, balance.Owed(), tempo.AmountFrom(n/meter.Cent*meter.Cent))
	if err == nil {
		balance.Collected(bill.Collected)
	}
	return err == nil
}

// wait asks the client to sign for the due amount, and returns when it may have signed.
func (c *collection) wait(due tempo.Amount) error {
	if c.patience == nil {
		c.patience = time.NewTimer(c.r.seller.o.Patience)
	}
	var pause <-chan time.Time
	if need := c.need(due); need != nil {
		now := time.Now()
		if c.turn.IsZero() {
			wait, _ := c.r.seller.pace.Take(c.r.Channel, now, c.r.seller.o.Patience)
			c.turn = now.Add(wait)
		}
		if wait := c.turn.Sub(now); wait > 0 {
			turn := time.NewTimer(wait)
			defer turn.Stop()
			pause = turn.C
		} else {
			c.turn, c.asked = time.Time{}, need.RequiredCumulative
			c.ask(need)
			c.patience.Reset(c.r.seller.o.Patience)
		}
	}
	select {
	case <-c.signal:
	case <-pause:
	case <-c.patience.C:
		return api.ErrUnpaid
	case <-c.r.seller.closing:
		return api.ErrStopping
	case <-c.r.balance.GivenUp():
		return api.ErrUnpaid
	case <-c.work.Done():
		return context.Cause(c.work)
	}
	return nil
}

// need returns the voucher that covers the due amount. It is nil if the channel cannot be
// read, if the voucher of the last request has not arrived, or if the covering voucher is
// there.
func (c *collection) need(due tempo.Amount) *mpp.NeedVoucher {
	st, err := c.r.seller.o.Collector.Standing(c.work, c.r.Channel)
	if err != nil || st.Accepted.Cmp(c.asked) < 0 {
		return nil
	}
	held, _ := st.Accepted.Sub(st.Available) // served, and held for other requests
	required, ok := held.Add(due)
	if !ok || required.Cmp(st.Accepted) <= 0 {
		return nil
	}
	return &mpp.NeedVoucher{ChannelID: c.r.Channel, RequiredCumulative: required, AcceptedCumulative: st.Accepted, Deposit: st.Deposit}
}

// runs are the runs in progress, by the id of their bill.
type runs struct {
	mu  sync.Mutex
	all map[string]*Run
}

func (l *runs) open(id string, make func() *Run) (r *Run, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.all[id]; r != nil {
		return r, false
	}
	r = make()
	l.all[id] = r
	return r, true
}

func (l *runs) get(id string) *Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[id]
}

// close removes a run and reports whether it was there.
func (l *runs) close(r *Run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[r.ID] != r {
		return false
	}
	delete(l.all, r.ID)
	return true
}
