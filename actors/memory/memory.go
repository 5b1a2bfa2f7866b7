// Package memory bounds the memory of concurrent work by what it is expected to need.
package memory

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull means that there was no memory for the work within the time that it may wait.
var ErrFull = errors.New("the memory of the server is in use")

// Wait is how long a reservation waits for memory.
const Wait = 10 * time.Second

// Budget is a number of bytes that reservations share. A nil *Budget has no bound. It is safe
// for concurrent use.
type Budget struct {
	max int64

	mu    sync.Mutex
	used  int64
	fresh int64              // of used, what belongs to reservations that have not grown
	next  int64              // number of the next reservation
	grown map[int64]struct{} // numbers of the reservations that have grown
	freed chan struct{}      // closed when others may go on: bytes were given back, or fresh fell
}

// New returns a budget of max bytes.
func New(max int64) *Budget {
	return &Budget{max: max, grown: make(map[int64]struct{}), freed: make(chan struct{})}
}

// Used returns the number of bytes that are reserved.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Reserve reserves bytes for new work, and waits for them at most as long as it may. The error
// is ErrFull or that of the context. Work that has not grown has at most half of the budget, which
// leaves others a quarter to grow in: they hold requests to nodes that it may wait for.
func (b *Budget) Reserve(ctx context.Context, n int64) (*Reservation, error) {
	if b == nil {
		return nil, nil
	}
	r := &Reservation{of: b}
	err := b.await(ctx, func() bool {
		if b.used+n > b.max && b.used > 0 || b.fresh+n > b.max/2 && b.fresh > 0 {
			return false
		}
		b.next++
		r.number, r.bytes = b.next, n
		b.used += n
		b.fresh += n
		return true
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// await waits until take, which is called with b.mu held, returns true.
func (b *Budget) await(ctx context.Context, take func() bool) error {
	var late <-chan time.Time
	for {
		b.mu.Lock()
		ok, freed := take(), b.freed
		b.mu.Unlock()
		if ok {
			return nil
		}
		if late == nil {
			timer := time.NewTimer(Wait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-freed:
		case <-late:
			return ErrFull
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Reservation is the memory of one work. A nil *Reservation has no bound. It is safe for
// concurrent use.
type Reservation struct {
	of     *Budget
	number int64
	bytes  int64 // guarded by the mutex of the budget
	ended  bool
}

// GrowTo reserves as many bytes as are needed to have n, and waits for them like Reserve. The
// last quarter of a budget is for work that has not grown, so that small work goes on beside
// large one. The oldest work that has grown may have it too: otherwise all could wait for each
// other.
func (r *Reservation) GrowTo(ctx context.Context, n int64) error {
	if r == nil {
		return nil
	}
	b := r.of
	if n > b.max {
		return ErrFull
	}
	return b.await(ctx, func() bool {
		more := n - r.bytes
		if more <= 0 || r.ended {
			return true
		}
		bound := b.max - b.max/4
		if b.oldest(r.number) {
			bound = b.max
		}
		if b.used+more > bound {
			return false
		}
		b.leaveFresh(r)
		b.grown[r.number] = struct{}{}
		b.used += more
		r.bytes = n
		return true
	})
}

// oldest reports whether no older reservation has grown. b.mu must be held.
func (b *Budget) oldest(number int64) bool {
	for other := range b.grown {
		if other < number {
			return false
		}
	}
	return true
}

// leaveFresh takes a reservation off those that have not grown, which may let others begin. b.mu
// must be held.
func (b *Budget) leaveFresh(r *Reservation) {
	if _, grown := b.grown[r.number]; !grown {
		b.fresh -= r.bytes
		b.wake()
	}
}

// wake lets all that wait look again. b.mu must be held.
func (b *Budget) wake() {
	close(b.freed)
	b.freed = make(chan struct{})
}

// Release gives the bytes back. Only the first call counts.
func (r *Reservation) Release() {
	if r == nil {
		return
	}
	b := r.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	b.leaveFresh(r)
	b.used -= r.bytes
	delete(b.grown, r.number)
	b.wake()
}
