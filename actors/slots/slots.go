// Package slots shares a bounded number of running analyses among the parties that
// ask for them.
//
// A slot is running from Acquire, parked while its analysis waits for its payer, and
// gone with Release. Parked slots do not count against the number of running ones, so
// who does not pay keeps nobody else out; they count against the bounds of their own
// party, so nobody can park many.
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

// Holder is the party that an analysis runs for. The zero value is one that nothing is
// known of: only the total bounds it.
type Holder struct {
	Channel common.Hash
	Payer   common.Address
	Origin  netip.Prefix // network address
	// Known: the payer has paid at least as much as it could owe.
	Known bool
}

// Limits bound a Pool. Zero values mean the defaults named at each field.
type Limits struct {
	Total      int // running at a time, default 64
	PerChannel int // running and parked slots of one channel, default 4
	PerPayer   int // running and parked slots of one payer, default 8
	PerOrigin  int // running and parked slots of one network address; 0: no bound
	// Strangers are the running slots that all payers together may hold who are not
	// Known, default half of Total.
	Strangers int
	Parked    int // parked slots, default 4 times Total
	Waiting   int // that wait for a slot, default Total
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
	// ErrBusy: all slots are taken, or those that strangers may have.
	ErrBusy = errors.New("all slots are taken")
	// ErrTooMany: the party has as many slots as one may have.
	ErrTooMany = errors.New("the party has as many slots as one may have")
	// ErrParked: too many slots are parked for one more.
	ErrParked = errors.New("too many slots are parked")
)

// Pool is the shared slots. It is safe for concurrent use.
type Pool struct {
	limits Limits

	mu        sync.Mutex
	running   int
	parked    int
	strangers int // of those that run
	channels  map[common.Hash]int
	payers    map[common.Address]int
	origins   map[netip.Prefix]int
	resuming  []*waiter // go first
	waiting   []*waiter
}

// waiter waits for a running slot.
type waiter struct {
	slot  *Slot
	ready chan struct{} // closed when it has one
	users int           // calls of Resume that share it
}

// New makes a pool.
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

// Acquire takes a slot, and waits for one for at most patience. The error is ErrBusy,
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

// contended reports whether somebody waits whose turn comes before that of a new one
// of this kind. p.mu is held.
func (p *Pool) contended(who Holder) bool {
	return slices.ContainsFunc(p.waiting, func(w *waiter) bool { return who.stranger() || !w.slot.who.stranger() })
}

// stranger reports whether the bound of strangers holds for the party.
func (h Holder) stranger() bool { return h.Payer != (common.Address{}) && !h.Known }

// enter counts a slot of a party, unless it has too many. p.mu is held.
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

// leave takes back enter. p.mu is held.
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

// fits reports whether a slot may run now. p.mu is held.
func (p *Pool) fits(s *Slot) bool {
	return p.running < p.limits.Total && (!s.who.stranger() || p.strangers < p.limits.Strangers)
}

// start has a slot run. p.mu is held.
func (p *Pool) start(s *Slot) {
	s.state = running
	p.running++
	if s.who.stranger() {
		p.strangers++
	}
}

// stop takes back start. p.mu is held.
func (p *Pool) stop(s *Slot) {
	p.running--
	if s.who.stranger() {
		p.strangers--
	}
}

// next lets those run who waited and fit now, the ones that resume first. p.mu is held.
func (p *Pool) next() {
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

// Park gives the running slot to others until Resume. A slot that is parked already
// stays so. The error is ErrParked; the slot runs on then.
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
	p.next()
	return nil
}

// Resume waits for a running slot again. One that runs returns at once. The error is
// the context's; the slot stays parked then.
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
	p.next()
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

// Release gives the slot up, in whatever state it is. Later calls do nothing, and neither
// does a call on nil.
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
	p.next()
}

// Counts are the slots by state.
type Counts struct{ Running, Parked, Waiting, Strangers int }

// Counts returns the slots by state; Strangers are those that run for parties not
// known.
func (p *Pool) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Counts{Running: p.running, Parked: p.parked, Waiting: len(p.waiting) + len(p.resuming), Strangers: p.strangers}
}
