package actors

import (
	"sync"

	"txlens/engine/mpp/tempo"
)

// paid counts what came of payouts in this process.
type paid struct {
	mu  sync.Mutex
	sum Totals
}

func (p *paid) add(settled, lost tempo.Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
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
