package sale

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// losses are the costs of analyses whose payers stopped paying, as far as no bill demands them:
// an analysis without evidence is not charged. They count as exposure for lossTime. Amounts are
// base units. The mutex of accounts guards it.
type losses struct {
	now       func() time.Time
	recent    []loss // by time
	payers    map[common.Address]uint64
	strangers uint64 // of all strangers, what bills demand included
}

type loss struct {
	payer    common.Address
	unbilled uint64
	stranger uint64 // the part of losses.strangers
	at       time.Time
}

const (
	// lossTime is how long a loss counts.
	lossTime = time.Hour
	// maxLosses limits the remembered losses; the oldest are forgotten first.
	maxLosses = 10_000
)

func newLosses() *losses { return &losses{now: time.Now, payers: make(map[common.Address]uint64)} }

// add records a loss.
func (l *losses) add(payer common.Address, unbilled, stranger uint64) {
	if unbilled == 0 && stranger == 0 {
		return
	}
	l.expire()
	if len(l.recent) >= maxLosses {
		l.forget(1)
	}
	l.recent = append(l.recent, loss{payer, unbilled, stranger, l.now()})
	l.payers[payer] += unbilled
	l.strangers += stranger
}

// expire forgets what is older than lossTime.
func (l *losses) expire() {
	n := 0
	for n < len(l.recent) && l.now().Sub(l.recent[n].at) >= lossTime {
		n++
	}
	l.forget(n)
}

// forget removes the n oldest losses.
func (l *losses) forget(n int) {
	for _, old := range l.recent[:n] {
		if l.payers[old.payer] -= old.unbilled; l.payers[old.payer] == 0 {
			delete(l.payers, old.payer)
		}
		l.strangers -= old.stranger
	}
	l.recent = append(l.recent[:0], l.recent[n:]...)
}
