package sale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"txlens/actors/buckets"
	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// Bills admits requests and stores their prices. It is safe for concurrent use; what it
// returns is on disk.
type Bills interface {
	// Admit charges for a request with a payment, once for each order.
	Admit(ctx context.Context, p *channel.Payment, o channel.Order) (channel.Admitted, error)
	// Bill returns a bill, or channel.ErrNoBill.
	Bill(id string) (channel.Bill, error)
	// Debts returns the final bills of a payer that are not fully paid.
	Debts(payer common.Address) ([]channel.Bill, error)
	// Final sets the price of a bill and stores the record of its run, both or none; nil: there is
	// no record. Money collected above the price is returned.
	Final(ctx context.Context, billID string, price tempo.Amount, record *job.RunRow) (channel.Bill, error)
}

// Options of a Seller. Zero values mean the defaults named at each field.
type Options struct {
	Bills     Bills
	Collector Collector
	Holder    Holder
	// Exposure is the maximum debt of one payer in base units, default $0.25.
	Exposure uint64
	// StrangerPlaces is the number of analyses of strangers that run at a time, default 64.
	// What all of them owe together is at most so many times Exposure.
	StrangerPlaces int
	// Patience is how long a client may take to sign a voucher, default 60 s.
	Patience time.Duration
	// JobPatience is how long a job runs without payment, default JobPatience.
	JobPatience time.Duration
	// VouchersPerSecond limits how often the runs of one channel ask for a voucher. 0: no
	// limit.
	VouchersPerSecond float64
	// Jobs are the shares of one party in the async jobs that wait or run.
	Jobs slots.Limits
	// Proxied means that all requests come from the address of a proxy, so that parties are told
	// apart by their payer alone.
	Proxied bool
	Log     *slog.Logger // nil: nothing is logged
}

// JobPatience is how long a job runs without payment before it is cut short (interface,
// Limits).
const JobPatience = 90 * time.Second

// Seller sells analyses. It is safe for concurrent use.
type Seller struct {
	o        Options
	accounts *accounts
	pace     *buckets.Set[common.Hash]
	runs     runs
	jobs     *slots.Pool
	places   places
	closing  chan struct{} // closed when no more vouchers are accepted
	closed   sync.Once
}

// askBurst is the number of vouchers that a channel may be asked for at once.
const askBurst = 4

// New returns a Seller.
func New(o Options) *Seller {
	if o.Exposure == 0 {
		o.Exposure = 25 * meter.Cent
	}
	if o.StrangerPlaces <= 0 {
		o.StrangerPlaces = 64
	}
	if o.Patience <= 0 {
		o.Patience = 60 * time.Second
	}
	if o.JobPatience <= 0 {
		o.JobPatience = JobPatience
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Seller{
		o: o, accounts: newAccounts(o.Exposure, uint64(o.StrangerPlaces)*o.Exposure), pace: buckets.New[common.Hash](o.VouchersPerSecond, askBurst),
		runs: runs{all: make(map[string]*Run)}, jobs: slots.New(o.Jobs), places: places{all: make(map[string]*slots.Slot)},
		closing: make(chan struct{}),
	}
}

// Close ends the waiting for vouchers: runs that wait for one are given up.
func (s *Seller) Close() { s.closed.Do(func() { close(s.closing) }) }

// Patience returns how long a client may take to sign for its debt.
func (s *Seller) Patience() time.Duration { return s.o.Patience }

// JobPatience returns how long a job runs without payment before it is cut short.
func (s *Seller) JobPatience() time.Duration { return s.o.JobPatience }

// Exposure returns the maximum debt of one payer, in base units.
func (s *Seller) Exposure() uint64 { return s.o.Exposure }

// Holder returns the party of a payment, for a pool of slots.
func (s *Seller) Holder(p *channel.Payment) slots.Holder {
	h := s.holder(p.Standing)
	h.Origin = p.Origin
	if !s.o.Proxied {
		h.Network = slots.NetworkOf(p.Origin)
	}
	return h
}

// holder returns the party of a channel, whose origin is not known.
func (s *Seller) holder(st channel.Standing) slots.Holder {
	return slots.Holder{Channel: st.Channel, Payer: st.Payer, Known: s.Known(st), Paid: clip(st.Spent), Deposit: clip(st.Deposit)}
}

// clip returns an amount, or the highest number if it is higher.
func clip(a tempo.Amount) uint64 {
	if n, fits := a.Uint64(); fits {
		return n
	}
	return math.MaxUint64
}

// Known reports whether a channel has paid at least the exposure, so that its payer is no
// longer treated as a stranger.
func (s *Seller) Known(st channel.Standing) bool {
	return st.Spent.Cmp(tempo.AmountFrom(s.o.Exposure)) >= 0
}

// DebtError refuses a new analysis because the payer owes too much for earlier ones.
type DebtError struct {
	Owed tempo.Amount // base units
	Runs []string     // ids of the runs and jobs, oldest first
}

func (e *DebtError) Error() string {
	return fmt.Sprintf("%s base units are owed for %s", e.Owed, api.Count(len(e.Runs), "earlier analysis"))
}

// Admit charges for a request with a payment, once for each order. If the payer owes the
// exposure or more for ended runs, its channel pays them first, as far as it has more than the
// price. If that is too little the error is a *DebtError.
func (s *Seller) Admit(ctx context.Context, p *channel.Payment, o channel.Order) (channel.Admitted, error) {
	next, held := o.MayBegin, p.Held
	o.MayBegin = func() error {
		if err := s.collectDebts(ctx, p); err != nil || next == nil {
			return err
		}
		// A client that cannot pay must not hold a slot, not even for a moment.
		if st, err := s.o.Collector.Standing(ctx, p.Channel); err != nil {
			return err
		} else if there, ok := st.Available.Add(held); ok && there.Cmp(o.Price) < 0 {
			return mpp.Insufficient(p.Channel, o.Price, there)
		}
		return next()
	}
	return s.o.Bills.Admit(ctx, p, o)
}

// collectDebts collects the debts of a payer as far as its channel allows.
func (s *Seller) collectDebts(ctx context.Context, p *channel.Payment) error {
	debts, err := s.o.Bills.Debts(p.Payer)
	if err != nil {
		return err
	}
	owed := sumOf(debts)
	limit := tempo.AmountFrom(s.o.Exposure)
	for _, b := range debts {
		if owed.Cmp(limit) < 0 {
			return nil
		}
		st, err := s.o.Collector.Standing(ctx, p.Channel)
		if err != nil {
			return err
		}
		if st.Available.IsZero() {
			break
		}
		after, _, err := s.o.Collector.Collect(ctx, p.Channel, b.ID, b.Price, st.Available, tempo.Amount{})
		if err != nil {
			return err
		}
		owed, _ = owed.Sub(b.Outstanding())
		owed, _ = owed.Add(after.Outstanding())
	}
	if owed.Cmp(limit) < 0 {
		return nil
	}
	if debts, err = s.o.Bills.Debts(p.Payer); err != nil {
		return err
	}
	refusal := &DebtError{Owed: sumOf(debts)}
	for _, b := range debts {
		refusal.Runs = append(refusal.Runs, b.ID)
	}
	return refusal
}

func sumOf(debts []channel.Bill) (sum tempo.Amount) {
	for _, b := range debts {
		next, ok := sum.Add(b.Outstanding())
		if !ok {
			return tempo.MaxAmount
		}
		sum = next
	}
	return sum
}

// Begin begins the run of a bill. slot, which may be nil, is parked while the run waits for
// its payer. Call End when it is over. A run that is in progress already is returned with
// fresh false.
func (s *Seller) Begin(b channel.Bill, slot Parker) (r *Run, fresh bool) {
	paid, _ := b.Collected.Uint64()
	stranger := s.stranger(b.Channel)
	r, fresh = s.runs.open(b.ID, func() *Run {
		r := &Run{ID: b.ID, Channel: b.Channel, seller: s, slot: slot, balance: s.accounts.join(b.Payer, b.ID, paid, stranger)}
		r.leave = s.o.Collector.Occupy(b.Channel)
		return r
	})
	if fresh {
		s.readDebt(b.Payer)
	}
	return r, fresh
}

// stranger reports whether a channel has paid less than the exposure, or cannot be read.
func (s *Seller) stranger(channelID common.Hash) bool {
	own, cancel := context.WithTimeout(context.Background(), standingTimeout)
	defer cancel()
	st, err := s.o.Collector.Standing(own, channelID)
	return err != nil || !s.Known(st)
}

// standingTimeout limits reading the standing of a channel.
const standingTimeout = 5 * time.Second

// readDebt reads the debt of a payer for ended runs. Those that are still being collected count
// as running.
func (s *Seller) readDebt(payer common.Address) {
	if !s.accounts.has(payer) {
		return
	}
	debts, err := s.o.Bills.Debts(payer)
	if err != nil {
		s.o.Log.Error("read what a payer owes", "payer", payer, "error", err)
		return
	}
	debts = slices.DeleteFunc(debts, func(b channel.Bill) bool { return s.runs.get(b.ID) != nil })
	debt, fits := sumOf(debts).Uint64()
	if !fits {
		debt = ^uint64(0) >> 1
	}
	s.accounts.setDebt(payer, debt)
}

// Run returns the run of a bill that is in progress, nil otherwise.
func (s *Seller) Run(id string) *Run { return s.runs.get(id) }

// Outstanding returns the debt of a run or job. What vouchers cover that is held for it is not
// a debt.
func (s *Seller) Outstanding(id string) (bill channel.Bill, owed tempo.Amount, err error) {
	bill, err = s.o.Bills.Bill(id)
	if err != nil {
		return bill, owed, err
	}
	r := s.runs.get(id)
	switch {
	case r != nil:
		bill.Price = r.balance.Owed()
		owed = bill.Outstanding()
		if due := r.balance.Due(); due.Cmp(owed) < 0 {
			owed = due
		}
		return bill, owed, nil
	case !bill.Final:
		bill.Price = tempo.AmountFrom(meter.Owed(0))
	}
	return bill, bill.Outstanding(), nil
}

// ToSecure returns what a voucher must cover, beyond the debt, before a job that is paid by
// polls buys more.
func (s *Seller) ToSecure(id string, channelID common.Hash) tempo.Amount {
	r := s.runs.get(id)
	if r == nil {
		return tempo.Amount{}
	}
	n, _ := r.balance.Needs(channelID)
	return tempo.AmountFrom(n.secure)
}

// Collected records a payment that was not made by the run itself: a poll paid for its job, or
// a recovery for an ended run.
func (s *Seller) Collected(b channel.Bill) {
	if r := s.runs.get(b.ID); r != nil {
		r.balance.Collected(b.Collected)
	}
	if b.Final {
		s.readDebt(b.Payer)
	}
}

// Outcome is the end of an analysis as far as it decides the price.
type Outcome uint8

const (
	// Nothing means that no evidence was delivered, so the price is zero.
	Nothing Outcome = iota
	// NoTransaction means that every asked chain answered that it does not know the hash, or
	// that the transaction is not in a block yet. The price is one unit.
	NoTransaction
	// Evidence means that there is a result, complete or partial.
	Evidence
)

// OutcomeOf returns the Outcome for the error of an analysis.
func OutcomeOf(res *api.Result, err error) Outcome {
	if res != nil && !res.Empty() {
		return Evidence
	}
	if nowhere, ok := errors.AsType[*api.NotFoundError](err); ok && nowhere.Asked > 0 {
		return NoTransaction
	}
	if errors.Is(err, api.ErrPending) {
		return NoTransaction
	}
	return Nothing
}
