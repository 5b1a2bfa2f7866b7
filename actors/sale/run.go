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

// Collector takes what a run owes from a channel. It is safe for concurrent use.
type Collector interface {
	// Collect charges what is owed on a bill, at most so much.
	Collect(ctx context.Context, channelID common.Hash, billID string, price, atMost tempo.Amount) (channel.Bill, channel.Standing, error)
	// Standing returns where a channel stands.
	Standing(ctx context.Context, channelID common.Hash) (channel.Standing, error)
	// Watch signals each change of a channel that is on disk or frees what was held.
	Watch(channelID common.Hash) (signal <-chan struct{}, stop func(), err error)
	// Occupy keeps a channel from being closed for lack of use; call release once.
	Occupy(channelID common.Hash) (release func())
}

// Run is one analysis that is paid for while it runs. It is safe for concurrent use.
type Run struct {
	ID      string      // of the bill
	Channel common.Hash // that it began with; zero: not known

	seller  *Seller
	balance *RunBalance
	slot    Parker // nil: none
	leave   func()

	ended     chan struct{} // closed by Finish
	collected chan error    // the outcome of what Start began
}

// Gate is for the meter: it waits while too much is unpaid.
func (r *Run) Gate(ctx context.Context) error { return r.balance.Gate(ctx, r.slot) }

// OnCost is for the meter: the analysis has cost so much by now, in nano-dollars.
func (r *Run) OnCost(nano int64) { r.balance.OnCost(nano) }

// GiveUp lets the run buy nothing more.
func (r *Run) GiveUp() { r.balance.GiveUp() }

// GivenUp is closed when nothing more is expected to be paid.
func (r *Run) GivenUp() <-chan struct{} { return r.balance.GivenUp() }

// Expect gives the run up when nothing is collected for as long as the service has
// patience with a job; stop ends the waiting.
func (r *Run) Expect() (stop func()) { return r.balance.Expect(r.seller.o.JobPatience) }

// Fix sets what the run comes to, by its outcome. What its meter says later is not the
// payer's to bear.
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
		r.seller.refresh(bill.Payer)
	}
	return err
}

// Start collects what accrues, as Collect does, until Finish is called.
func (r *Run) Start(work context.Context, ask func(*mpp.NeedVoucher)) {
	r.ended, r.collected = make(chan struct{}), make(chan error, 1)
	go func() { r.collected <- r.Collect(work, r.ended, ask) }()
}

// Finish ends what Start began, when the analysis has ended with err. It waits until all
// is paid and returns why it is not; meanwhile others may use the slot. A client is not
// asked to sign for an analysis that ended in an error. Call it once.
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

// graceAfterPatience is how long the collecting of a rest may take beyond the patience
// with the client.
const graceAfterPatience = 5 * time.Second

// CollectRest takes what is outstanding on the bill of a run that has ended from the
// channel of a payment. The error is api.ErrUnpaid while another call collects it.
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

// End takes the run off the lists.
func (r *Run) End() {
	if r.seller.runs.close(r) {
		r.seller.accounts.leave(r.balance)
		r.leave()
		r.seller.refresh(r.balance.payer)
	}
}

// Collect takes what is owed as it accrues. When the voucher is short, ask is called
// with what is needed, once for each shortage, and with nil when it is there; between
// the two the run waits for its payer. Collect returns nil when ended is closed and all
// is paid, and gives the run up when the client does not sign in time.
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

// collection is one call of Run.Collect.
type collection struct {
	r      *Run
	work   context.Context
	signal <-chan struct{}
	ask    func(*mpp.NeedVoucher)

	patience *time.Timer  // runs while the client owes a voucher
	asked    tempo.Amount // the voucher it was asked for last
	turn     time.Time    // when the client may be asked again; zero: no turn is taken
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
		if c.part(due, short.RequiredTopUp) {
			continue
		}
		if err := c.wait(due); err != nil {
			return err
		}
	}
}

// part takes the whole units of what is due that the channel still has.
func (c *collection) part(due, missing tempo.Amount) bool {
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

// wait asks the client to sign for what is due, and returns when it may have done so.
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

// need is the voucher that covers what is due. It is nil where the channel cannot be
// read, where the voucher asked for before is missing, and where it has come meanwhile.
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

// runs are those at work, by the id of the bill.
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

// close reports whether the run was on the list.
func (l *runs) close(r *Run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[r.ID] != r {
		return false
	}
	delete(l.all, r.ID)
	return true
}
