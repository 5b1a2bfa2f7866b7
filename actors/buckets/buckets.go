// Package buckets holds token buckets by party, such as a payer or a network address.
package buckets

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxParties bounds the parties whose rate is counted at a time.
const maxParties = 8192

// Set has one token bucket for each party. It is safe for concurrent use.
type Set[K comparable] struct {
	rate  rate.Limit
	burst int

	mu  sync.Mutex
	all map[K]*rate.Limiter
}

// New makes buckets that gain perSecond tokens and hold at most burst. A rate of zero
// means no limit.
func New[K comparable](perSecond float64, burst int) *Set[K] {
	return &Set[K]{rate: rate.Limit(perSecond), burst: max(1, burst), all: make(map[K]*rate.Limiter)}
}

// Take takes a token of a party and returns how long to wait for it. ok is false
// where that is longer than most; then no token is taken.
func (s *Set[K]) Take(key K, now time.Time, most time.Duration) (wait time.Duration, ok bool) {
	if s.rate <= 0 {
		return 0, true
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
	if wait = r.DelayFrom(now); !r.OK() || wait > most {
		r.CancelAt(now)
		return 0, false
	}
	return wait, true
}

// forget drops the buckets that are full again, since a new one is no different. Where
// none is, all are dropped: a flood of parties must not take up memory. s.mu is held.
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
