// Package slots shares a limited number of running analyses among the parties that request
// them.
//
// A slot is running after Acquire, parked while its analysis waits for its payer, and gone
// after Release. Parked slots do not count as running, so a party that does not pay does not
// block others. They count against the limits of their own party, so no party can park many.
package slots

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// Limits limit a Pool. Zero values mean the defaults named at each field.
type Limits struct {
	Total      int // concurrent analyses, default 64
	PerChannel int // running and parked slots of one channel, default 4
	PerPayer   int // running and parked slots of one payer, default 8
	PerOrigin  int // running and parked slots of one network address, see OriginLimit; 0: no limit
	// Strangers is the number of running slots that all payers who are not Known may hold
	// together, default half of Total. Their share of Parked and of Waiting is in proportion.
	Strangers int
	Parked    int // parked slots, default 4 times Total
	Waiting   int // requests that wait for a slot, default Total
	// Servers is the number of servers that share the service, which have a part of PerOrigin each; nil:
	// this is the only one.
	Servers func() int
}

func (l Limits) servers() int {
	if l.Servers == nil {
		return 1
	}
	return l.Servers()
}

func (l Limits) withDefaults() Limits {
	set := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	set(&l.Total, 64)
	set(&l.PerChannel, 4)
	set(&l.PerPayer, 8)
	set(&l.Strangers, max(1, l.Total/2))
	set(&l.Parked, 4*l.Total)
	set(&l.Waiting, l.Total)
	return l
}

// Errors of a Pool.
var (
	// ErrBusy means that all slots that the party may have are taken.
	ErrBusy = errors.New("all slots are taken")
	// ErrTooMany means that the party has its maximum of slots.
	ErrTooMany = errors.New("the party has as many slots as one may have")
	// ErrParked means that no more slots of the party may be parked.
	ErrParked = errors.New("too many slots are parked")
)

// Pool holds the shared slots. It is safe for concurrent use.
type Pool struct {
	limits Limits

	mu       sync.Mutex
	places   [released]*Places // by the state of the slots that hold them
	channels map[common.Hash]int
	payers   map[common.Address]int
	origins  map[netip.Prefix]int
	queue    []*waiter // in the order of their arrival
}

// waiter is a new or parked slot that waits for a running slot.
type waiter struct {
	slot  *Slot
	ready chan struct{} // closed when it has a slot
	users int           // calls of Resume that share it
}

// New returns a pool.
func New(l Limits) *Pool {
	l = l.withDefaults()
	part := func(n int) *Places { return NewPlaces(n, n*l.Strangers/l.Total) }
	return &Pool{
		limits:   l,
		places:   [released]*Places{waiting: part(l.Waiting), running: NewPlaces(l.Total, l.Strangers), parked: part(l.Parked)},
		channels: make(map[common.Hash]int), payers: make(map[common.Address]int), origins: make(map[netip.Prefix]int),
	}
}

// Slot is the right to run one analysis. Its methods are safe for concurrent use.
type Slot struct {
	pool *Pool
	who  Holder

	// Guarded by the pool's mutex.
	state state
}

type state uint8

const (
	waiting state = iota
	running
	parked
	released
)

// Holder returns the party that the slot was acquired for.
func (s *Slot) Holder() Holder { return s.who }

// Acquire returns a slot, after waiting for at most patience. The error is ErrBusy,
// ErrTooMany, or the context's.
func (p *Pool) Acquire(ctx context.Context, who Holder, patience time.Duration) (*Slot, error) {
	w := &waiter{slot: &Slot{pool: p, who: who}, ready: make(chan struct{})}
	started, err := p.join(w, patience > 0)
	switch {
	case err != nil:
		return nil, err
	case started:
		return w.slot, nil
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case <-w.ready:
		return w.slot, nil
	case <-over.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	w.slot.Release()
	return nil, err
}

// join starts the new slot of w, or adds it to the queue if it may wait.
func (p *Pool) join(w *waiter, mayWait bool) (started bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := w.slot.who
	if !p.enter(who) {
		return false, ErrTooMany
	}
	mayWait = mayWait && p.places[waiting].Fits(who)
	p.places[waiting].Take(who) // for this call, even if it may not wait
	p.queue = append(p.queue, w)
	p.serve()
	if w.slot.state == waiting && !mayWait {
		p.release(w.slot)
		return false, ErrBusy
	}
	return w.slot.state == running, nil
}

// enter counts a slot of a party unless it has its maximum. p.mu must be held.
func (p *Pool) enter(who Holder) bool {
	l := p.limits
	switch {
	case who.Channel != (common.Hash{}) && p.channels[who.Channel] >= l.PerChannel,
		who.Payer != (common.Address{}) && p.payers[who.Payer] >= l.PerPayer,
		p.origins[who.Origin] >= PartOf(OriginLimit(l.PerOrigin, l.Total, who.Origin), l.servers()):
		return false
	}
	p.channels[who.Channel]++
	p.payers[who.Payer]++
	p.origins[who.Origin]++
	return true
}

// leave reverts enter. p.mu must be held.
func (p *Pool) leave(who Holder) {
	drop(p.channels, who.Channel)
	drop(p.payers, who.Payer)
	drop(p.origins, who.Origin)
}

// move changes the state of a slot. p.mu must be held.
func (p *Pool) move(s *Slot, to state) {
	p.places[s.state].Give(s.who)
	s.state = to
	if to != released {
		p.places[to].Take(s.who)
	}
}

// serve gives free slots to waiters. p.mu must be held.
func (p *Pool) serve() {
	for {
		var first *waiter
		for _, w := range p.queue {
			if p.places[running].Fits(w.slot.who) && (first == nil || p.before(w.slot, first.slot)) {
				first = w
			}
		}
		if first == nil {
			return
		}
		p.move(first.slot, running)
		close(first.ready)
		p.remove(first.slot)
	}
}

// before reports whether a slot is served before another one that came earlier. p.mu must be
// held.
func (p *Pool) before(a, b *Slot) bool {
	rank := func(last bool) int {
		if last {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(p.places[running].Load(a.who), p.places[running].Load(b.who)),
		cmp.Compare(rank(a.state == waiting), rank(b.state == waiting)),
		cmp.Compare(rank(a.who.stranger()), rank(b.who.stranger())),
		cmp.Compare(b.who.Paid, a.who.Paid),
		cmp.Compare(b.who.Deposit, a.who.Deposit),
	) < 0
}

// remove removes a slot from the queue. p.mu must be held.
func (p *Pool) remove(s *Slot) {
	p.queue = slices.DeleteFunc(p.queue, func(w *waiter) bool { return w.slot == s })
}

// Park frees the running slot for others until Resume. A parked slot stays parked. The error
// is ErrParked; the slot then keeps running.
func (s *Slot) Park() error {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.state != running {
		return nil
	}
	if !p.places[parked].Fits(s.who) {
		return ErrParked
	}
	p.move(s, parked)
	p.serve()
	return nil
}

// Resume waits until the slot runs again. It returns at once if the slot is running. The error
// is the context's; the slot then stays parked.
func (s *Slot) Resume(ctx context.Context) error {
	p := s.pool
	p.mu.Lock()
	if s.state != parked {
		p.mu.Unlock()
		return nil
	}
	i := slices.IndexFunc(p.queue, func(w *waiter) bool { return w.slot == s })
	if i < 0 {
		i = len(p.queue)
		p.queue = append(p.queue, &waiter{slot: s, ready: make(chan struct{})})
	}
	w := p.queue[i]
	w.users++
	p.serve()
	p.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.users--; s.state == running {
		return nil
	}
	if w.users > 0 {
		return ctx.Err()
	}
	p.remove(s)
	return ctx.Err()
}

// Release gives the slot back in any state. Later calls, and calls on nil, have no effect.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	if s.state != released {
		s.pool.release(s)
	}
}

// release ends a slot. p.mu must be held.
func (p *Pool) release(s *Slot) {
	p.remove(s)
	p.move(s, released)
	p.leave(s.who)
	p.serve()
}

// Counts are the numbers of slots by state.
type Counts struct{ Running, Parked, Waiting, Strangers int }

// Counts returns the numbers of slots by state; Waiting includes parked slots that resume, and
// Strangers are running slots of payers that are not known.
func (p *Pool) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := Counts{Waiting: len(p.queue)}
	c.Running, c.Strangers = p.places[running].Used()
	c.Parked, _ = p.places[parked].Used()
	return c
}
