package agent

import (
	"fmt"
	"sync"
	"time"

	"txlens/engine/api"
)

// Budget limits what all runs together may cost. A turn is begun only if its highest price is
// left. It is safe for concurrent use; a nil Budget has no limit.
type Budget struct {
	hour, total int64 // nano-dollars; 0: no limit
	now         func() time.Time

	mu       sync.Mutex
	reserved int64     // highest prices of the turns in progress
	spent    int64     // in all
	minutes  [60]int64 // spent in each of the last minutes, by minute modulo 60
	newest   int64     // the newest minute of minutes
}

// NewBudget returns a Budget of so many nano-dollars in any hour and in all, since the start of
// the process. 0 means no limit.
func NewBudget(hour, total int64) *Budget { return &Budget{hour: hour, total: total, now: time.Now} }

// reserve keeps the highest price of a turn until end is called with the actual one. The error
// is ErrBudget.
func (b *Budget) reserve(most int64) (end func(cost int64), err error) {
	if b == nil {
		return func(int64) {}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn()
	switch {
	case b.total > 0 && b.spent+b.reserved+most > b.total:
		return nil, fmt.Errorf("%w of $%s of the whole service", ErrBudget, api.NanoDollars(b.total))
	case b.hour > 0 && b.lastHour()+b.reserved+most > b.hour:
		return nil, fmt.Errorf("%w of $%s an hour of the whole service", ErrBudget, api.NanoDollars(b.hour))
	}
	b.reserved += most
	return func(cost int64) { b.spend(most, cost) }, nil
}

func (b *Budget) spend(reserved, cost int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn()
	b.reserved -= reserved
	b.spent += cost
	b.minutes[b.newest%60] += cost
}

// turn deletes the minutes that are more than an hour old. b.mu must be held.
func (b *Budget) turn() {
	minute := b.now().Unix() / 60
	for gone := b.newest + 1; gone <= minute && gone <= b.newest+60; gone++ {
		b.minutes[gone%60] = 0
	}
	b.newest = max(b.newest, minute)
}

// lastHour returns what was spent in this minute and the 59 before it. b.mu must be held.
func (b *Budget) lastHour() (sum int64) {
	for _, n := range b.minutes {
		sum += n
	}
	return sum
}
