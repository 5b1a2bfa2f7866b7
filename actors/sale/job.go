package sale

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"txlens/actors/channel"
	"txlens/actors/slots"
	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// TakeJob reserves the share of a payer in the async jobs. The error is slots.ErrBusy,
// slots.ErrTooMany, or the context's.
func (s *Seller) TakeJob(ctx context.Context, p *channel.Payment) (*slots.Slot, error) {
	return s.jobs.Acquire(ctx, s.Holder(p), 0)
}

// JobBegun keeps the share of a job until JobEnded. slot may be nil.
func (s *Seller) JobBegun(id string, slot *slots.Slot) {
	if slot == nil {
		return
	}
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	s.places.all[id] = slot
}

// JobEnded releases the share of a job that is no longer waiting or running.
func (s *Seller) JobEnded(id string) {
	s.places.mu.Lock()
	slot := s.places.all[id]
	delete(s.places.all, id)
	s.places.mu.Unlock()
	if slot != nil {
		slot.Release()
	}
}

// JobHolder returns the party of a job, for the queue of the jobs: the one that took its share or,
// for a job of an earlier process, the payer of its bill. It is zero for a job from a time when
// nothing was sold.
func (s *Seller) JobHolder(id string) slots.Holder {
	s.places.mu.Lock()
	slot := s.places.all[id]
	s.places.mu.Unlock()
	if slot != nil {
		return slot.Holder()
	}
	bill, err := s.o.Bills.Bill(id)
	if err != nil {
		if !errors.Is(err, channel.ErrNoBill) {
			s.o.Log.Error("read for whom a job runs", "job", id, "error", err)
		}
		return slots.Holder{}
	}
	if bill.Payer == (common.Address{}) {
		return slots.Holder{} // from a version that did not write it down
	}
	st, err := s.o.Collector.Standing(context.Background(), bill.Channel)
	if err != nil {
		s.o.Log.Error("read what the payer of a job has paid", "job", id, "channel", bill.Channel, "error", err)
		return slots.Holder{Channel: bill.Channel, Payer: bill.Payer}
	}
	h := s.holder(st)
	h.Channel, h.Payer = bill.Channel, bill.Payer
	return h
}

// places are the shares of the unfinished jobs. It is safe for concurrent use.
type places struct {
	mu  sync.Mutex
	all map[string]*slots.Slot
}

// errCollecting means that the job has ended and its remaining price is being collected.
var errCollecting = errors.New("the job has ended and is being paid for")

// Job runs the analysis of a job that is paid by polls. If nothing is collected in time the
// analysis is cut short. Its price is fixed before the end is visible. run is nil if nothing
// is sold.
func (s *Seller) Job(
	ctx context.Context,
	id string,
	slot Parker,
	analyse func(ctx context.Context, run *Run) (*api.Result, error),
) (*api.Result, error) {
	var bill channel.Bill
	err := whenThere(ctx, func() (err error) { bill, err = s.o.Bills.Bill(id); return err })
	if errors.Is(err, channel.ErrNoBill) {
		return analyse(ctx, nil) // from a time when nothing was sold
	}
	if err != nil {
		return nil, err
	}
	run, fresh := s.Begin(bill, slot)
	if !fresh {
		return nil, errCollecting
	}
	defer run.End()
	defer run.Expect()()
	ended, charged := make(chan struct{}), make(chan struct{})
	go func() { defer close(charged); run.chargeSecured(ctx, ended) }()
	defer func() { close(ended); <-charged }()
	res, err := analyse(ctx, run)
	if ctx.Err() != nil && err != nil {
		return res, err // given back or cancelled: the next start runs it again
	}
	if ferr := whenThere(ctx, func() error { return run.Fix(ctx, OutcomeOf(res, err), nil) }); ferr != nil {
		return nil, fmt.Errorf("fix the price of job %s: %w", id, ferr)
	}
	return res, err
}

// storePause is the time between two attempts while the store is away.
const storePause = 250 * time.Millisecond

// whenThere repeats f while the store is away, until ctx ends: an outage of the store must not end
// a job that is paid for.
func whenThere(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, api.ErrStoreAway) {
			return err
		}
		select {
		case <-time.After(storePause):
		case <-ctx.Done():
			return err
		}
	}
}
