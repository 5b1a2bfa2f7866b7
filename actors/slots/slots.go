// Package slots shares a limited number of running analyses among the parties that request
// them.
//
// A slot is running after Acquire, parked while its analysis waits for its payer, and gone
// after Release. Parked slots do not count as running, so a party that does not pay does not
// block others. They count against the limits of their own party, so no party can park many.
package slots

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// Holder is the party that an analysis runs for. The zero value is an unknown party: only the
// total limits it.
type Holder struct {
	Channel common.Hash
	Payer   common.Address
	Origin  netip.Prefix // network address
	// the payer has paid at least the maximum debt
	Known bool
}

// Limits limit a Pool. Zero values mean the defaults named at each field.
type Limits struct {
	Total      int // concurrent analyses, default 64
	PerChannel int // running and parked slots of one channel, default 4
	PerPayer   int // running and parked slots of one payer, default 8
	PerOrigin  int // running and parked slots of one network address; 0: no limit
	// Strangers is the number of running slots that all payers who are not Known may hold
	// together, default half of Total.
	Strangers int
	Parked    int // parked slots, default 4 times Total
	Waiting   int // requests that wait for a slot, default Total
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
	// ErrBusy means that all slots, or all slots for strangers, are taken.
	ErrBusy = errors.New("all slots are taken")
	// ErrTooMany means that the party has its maximum of slots.
	ErrTooMany = errors.New("the party has as many slots as one may have")
	// ErrParked means that the maximum of parked slots is reached.
	ErrParked = errors.New("too many slots are parked")
)

// Pool holds the shared slots. It is safe for concurrent use.
type Pool struct {
	limits Limits

	mu        sync.Mutex
	running   int
	parked    int
	strangers int // counts of running slots
	channels  map[common.Hash]int
	payers    map[common.Address]int
	origins   map[netip.Prefix]int
	resuming  []*waiter // resuming slots, which go before new ones
	waiting   []*waiter
}

// waiter is a request that waits for a running slot.
type waiter struct {
	slot  *Slot
	ready chan struct{} // closed when it has a slot
	users int           // calls of Resume that share it
}

// New returns a pool.
func New(l Limits) *Pool {
	return &Pool{
		limits: l.withDefaults(), channels: make(map[common.Hash]int), payers: make(map[common.Address]int), origins: make(map[netip.Prefix]int),
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

// Acquire returns a slot, after waiting for at most patience. The error is ErrBusy,
// ErrTooMany, or the context's.
func (p *Pool) Acquire(ctx context.Context, who Holder, patience time.Duration) (*Slot, error) {
	p.mu.Lock()
	s := &Slot{pool: p, who: who}
	if !p.enter(who) {
		p.mu.Unlock()
		return nil, ErrTooMany
	}
	if len(p.resuming) == 0 && !p.contended(who) && p.fits(s) {
		p.start(s)
		p.mu.Unlock()
		return s, nil
	}
	if patience <= 0 || len(p.waiting) >= p.limits.Waiting {
		p.leave(who)
		p.mu.Unlock()
		return nil, ErrBusy
	}
	w := &waiter{slot: s, ready: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	over := time.NewTimer(patience)
	defer over.Stop()
	var err error
	select {
	case <-w.ready:
		return s, nil
	case <-over.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.Release()
	return nil, err
}

// contended reports whether a waiter goes before a new request of this kind. p.mu must be
// held.
func (p *Pool) contended(who Holder) bool {
	return slices.ContainsFunc(p.waiting, func(w *waiter) bool { return who.stranger() || !w.slot.who.stranger() })
}

// stranger reports whether the limit for strangers applies to the party.
func (h Holder) stranger() bool { return h.Payer != (common.Address{}) && !h.Known }

// enter counts a slot of a party unless it has its maximum. p.mu must be held.
func (p *Pool) enter(who Holder) bool {
	l := p.limits
	switch {
	case who.Channel != (common.Hash{}) && p.channels[who.Channel] >= l.PerChannel,
		who.Payer != (common.Address{}) && p.payers[who.Payer] >= l.PerPayer,
		l.PerOrigin > 0 && who.Origin.IsValid() && p.origins[who.Origin] >= l.PerOrigin:
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

func drop[K comparable](m map[K]int, k K) {
	if m[k]--; m[k] <= 0 {
		delete(m, k)
	}
}

// fits reports whether a slot may run now. p.mu must be held.
func (p *Pool) fits(s *Slot) bool {
	return p.running < p.limits.Total && (!s.who.stranger() || p.strangers < p.limits.Strangers)
}

// start counts a slot as running. p.mu must be held.
func (p *Pool) start(s *Slot) {
	s.state = running
	p.running++
	if s.who.stranger() {
		p.strangers++
	}
}

// stop reverts start. p.mu must be held.
func (p *Pool) stop(s *Slot) {
	p.running--
	if s.who.stranger() {
		p.strangers--
	}
}

// serveWaiters gives free slots to waiters, first to those that resume. p.mu must be held.
func (p *Pool) serveWaiters() {
	for _, queue := range []*[]*waiter{&p.resuming, &p.waiting} {
		kept := (*queue)[:0]
		for _, w := range *queue {
			if !p.fits(w.slot) {
				kept = append(kept, w)
				continue
			}
			if w.slot.state == parked {
				p.parked--
			}
			p.start(w.slot)
			close(w.ready)
		}
		clear((*queue)[len(kept):])
		*queue = kept
	}
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
	if p.parked >= p.limits.Parked {
		return ErrParked
	}
	s.state = parked
	p.parked++
	p.stop(s)
	p.serveWaiters()
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
	i := slices.IndexFunc(p.resuming, func(w *waiter) bool { return w.slot == s })
	if i < 0 {
		i = len(p.resuming)
		p.resuming = append(p.resuming, &waiter{slot: s, ready: make(chan struct{})})
	}
	w := p.resuming[i]
	w.users++
	p.serveWaiters()
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
	p.resuming = slices.DeleteFunc(p.resuming, func(o *waiter) bool { return o == w })
	return ctx.Err()
}

// Release gives the slot back in any state. Later calls, and calls on nil, have no effect.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := func(w *waiter) bool { return w.slot == s }
	switch s.state {
	case released:
		return
	case running:
		p.stop(s)
	case parked:
		p.parked--
		p.resuming = slices.DeleteFunc(p.resuming, mine)
	case waiting:
		p.waiting = slices.DeleteFunc(p.waiting, mine)
	}
	s.state = released
	p.leave(s.who)
	p.serveWaiters()
}

// Counts are the numbers of slots by state.
type Counts struct{ Running, Parked, Waiting, Strangers int }

// Counts returns the numbers of slots by state; Strangers are running slots of parties that
// are not known.
func (p *Pool) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Counts{Running: p.running, Parked: p.parked, Waiting: len(p.waiting) + len(p.resuming), Strangers: p.strangers}
}
