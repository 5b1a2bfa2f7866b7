package job

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// maxUnpaid limits the running and parked jobs of one payer while one of them waits for it to pay:
// a further job would soon wait, too. Jobs that run already are not stopped.
const maxUnpaid = 4

// party is a payer with its unfinished jobs. All jobs of unknown payers are one party.
type party struct {
	payer    common.Address
	waiting  []accepted  // in the order in which they came
	resuming []resumeJob // for parked jobs, in the order in which they came
	jobs     int         // all that are unfinished
	started  int         // running and parked ones
	parked   int
}

// mayStart reports whether a job of the party waits and may start if there is a place. maxUnpaid
// does not apply to unknown payers, which would wait for each other.
func (p *party) mayStart() bool {
	return len(p.waiting) > 0 && (p.parked == 0 || p.started < maxUnpaid || p.payer == common.Address{})
}

// take removes the first waiting job and returns it.
func (p *party) take() accepted {
	m := p.waiting[0]
	p.waiting[0] = accepted{} // so that the array does not keep the request
	p.waiting = p.waiting[1:]
	return m
}

// grant answers all requests to resume a job.
func (p *party) grant(id string) {
	p.resuming = slices.DeleteFunc(p.resuming, func(m resumeJob) bool {
		if m.id == id {
			close(m.granted)
		}
		return m.id == id
	})
}

// parties are the payers with unfinished jobs.
type parties struct {
	all   map[common.Address]*party
	turns []*party // the one that was served last is at the end
}

// of returns the party of a payer for one more job.
func (l *parties) of(payer common.Address) *party {
	p := l.all[payer]
	if p == nil {
		p = &party{payer: payer}
		l.all[payer] = p
		l.turns = append(l.turns, p)
	}
	p.jobs++
	return p
}

// served puts a party behind the others.
func (l *parties) served(p *party) {
	i := slices.Index(l.turns, p)
	l.turns = append(slices.Delete(l.turns, i, i+1), p)
}

// ended counts a job less, and removes the party with its last one.
func (l *parties) ended(p *party) {
	if p.jobs--; p.jobs == 0 {
		delete(l.all, p.payer)
		l.turns = slices.DeleteFunc(l.turns, func(o *party) bool { return o == p })
	}
}

// has reports whether a job waits.
func (l *parties) has(id string) bool {
	return slices.ContainsFunc(l.turns, func(p *party) bool {
		return slices.ContainsFunc(p.waiting, func(m accepted) bool { return m.row.ID == id })
	})
}
