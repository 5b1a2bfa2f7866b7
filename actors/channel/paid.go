package channel

import (
	"sync"

	"txlens/engine/mpp/tempo"
)

// paid counts the payouts of this process.
type paid struct {
	mu     sync.Mutex
	sum    Totals
	undone tempo.Amount // counted, but later reverted
}

func (p *paid) add(settled, lost tempo.Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := settled
	if again.Cmp(p.undone) > 0 {
		again = p.undone
	}
	p.undone, _ = p.undone.Sub(again)
	settled, _ = settled.Sub(again)
	if s, ok := p.sum.Settled.Add(settled); ok && !settled.IsZero() {
		p.sum.Settled = s
		p.sum.Payouts++
	}
	if s, ok := p.sum.Lost.Add(lost); ok && !lost.IsZero() {
		p.sum.Lost = s
		p.sum.Losses++
	}
}

func (p *paid) totals() Totals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sum
}

// undo subtracts a payout that a reorganisation reverted. A counter must not decrease, so the
// next payouts are not counted until they compensate it.
func (p *paid) undo(settled, still tempo.Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone, _ := settled.Sub(still)
	if sum, ok := p.undone.Add(gone); ok {
		p.undone = sum
	}
}
