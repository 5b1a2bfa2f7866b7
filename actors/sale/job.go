package sale

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"txlens/actors/channel"
	"txlens/actors/slots"
	"txlens/engine/api"
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
	bill, err := s.o.Bills.Bill(id)
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
	if ferr := run.Fix(ctx, OutcomeOf(res, err)); ferr != nil {
		return nil, fmt.Errorf("fix the price of job %s: %w", id, ferr)
	}
	return res, err
}
