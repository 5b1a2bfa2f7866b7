// Package buckets holds one token bucket for each party, such as a payer or a network address.
package buckets

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxParties limits the number of parties with a bucket at a time.
const maxParties = 8192

// Set has one token bucket for each party. It is safe for concurrent use.
type Set[K comparable] struct {
	rate  rate.Limit
	burst int

	mu  sync.Mutex
	all map[K]*rate.Limiter
}

// New returns buckets that gain perSecond tokens and hold at most burst. A rate of zero
// means no limit.
func New[K comparable](perSecond float64, burst int) *Set[K] {
	return &Set[K]{rate: rate.Limit(perSecond), burst: max(1, burst), all: make(map[K]*rate.Limiter)}
}

// Take takes a token of a party and returns how long to wait before using it. ok is false if
// the wait would exceed most; then no token is taken.
func (s *Set[K]) Take(key K, now time.Time, most time.Duration) (wait time.Duration, ok bool) {
	wait, _, ok = s.Reserve(key, now, most)
	return wait, ok
}

// Reserve is Take, and undo gives the token back: another limit refused what it was for.
func (s *Set[K]) Reserve(key K, now time.Time, most time.Duration) (wait time.Duration, undo func(), ok bool) {
	if s.rate <= 0 {
		return 0, func() {}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.all[key]
	if b == nil {
		if len(s.all) >= maxParties {
			s.forget(now)
		}
		b = rate.NewLimiter(s.rate, s.burst)
		s.all[key] = b
	}
	r := b.ReserveN(now, 1)
	undo = sync.OnceFunc(func() { r.CancelAt(now) })
	if wait = r.DelayFrom(now); !r.OK() || wait > most {
		undo()
		return 0, nil, false
	}
	return wait, undo, true
}

// forget drops full buckets, which are equal to new ones. If none is full, it drops all of
// them, so that many parties cannot exhaust the memory. s.mu must be held.
func (s *Set[K]) forget(now time.Time) {
	for key, b := range s.all {
		if b.TokensAt(now) >= float64(s.burst) {
			delete(s.all, key)
		}
	}
	if len(s.all) >= maxParties {
		clear(s.all)
	}
}
