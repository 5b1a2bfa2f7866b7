package actors

import (
	"sync"

	"txlens/engine/mpp/tempo"
)

// paid counts what came of payouts in this process.
type paid struct {
	mu            sync.Mutex
	settled, lost tempo.Amount
}

func (p *paid) add(settled, lost tempo.Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.settled.Add(settled); ok {
		p.settled = s
	}
	if s, ok := p.lost.Add(lost); ok {
		p.lost = s
	}
}

func (p *paid) totals() (settled, lost tempo.Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settled, p.lost
}
