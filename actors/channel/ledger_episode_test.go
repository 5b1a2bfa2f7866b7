package channel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	actors "txlens/actors/channel"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
	"txlens/storage"

	"github.com/ethereum/go-ethereum/common"
)

// modelRun counts over episodes.
type modelRun struct {
	t                             *testing.T
	dir                           string
	begin                         time.Time
	episodes, concurrent, crashes int
	done                          uint64
}

// play runs episodes of the seeds from seed on, next apart, until there were so many
// operations, and at least two of them where there is more than one to be.
func (m *modelRun) play(seed, next, operations uint64) {
	m.t.Helper()
	until := m.done + operations
	for n := uint64(0); m.done < until || n < 2 && operations > 1; n++ {
		p := newPlan(seed + n*next)
		e, err := p.run(fmt.Sprintf("%s/%d", m.dir, m.episodes))
		if err != nil {
			if p.serial {
				p, e, err = p.shrink(m.dir, err)
			}
			m.t.Fatalf("TXLENS_LEDGER_SEED=%d: %v\n%s", seed+n*next, err, e.trace())
		}
		m.episodes++
		m.done += uint64(e.operations)
		m.crashes += e.crashes
		if !p.serial {
			m.concurrent++
		}
		if m.episodes%50 == 0 {
			m.t.Logf("%d operations, %d crashes, %s", m.done, m.crashes, time.Since(m.begin).Round(time.Second))
		}
	}
	m.t.Logf("%d operations in %d episodes (%d of them at once), %d crashes, %s, first seed %d",
		m.done, m.episodes, m.concurrent, m.crashes, time.Since(m.begin).Round(time.Millisecond), seed)
}

// episode is a plan that runs.
type episode struct {
	w          *world
	houses     []*household
	log        []string
	operations int
	crashes    int
	begun      map[common.Hash]*purse // all channels that were ever to be opened
}

func (e *episode) trace() string {
	const most = 120
	lines := e.log[max(0, len(e.log)-most):]
	return strings.Join(lines, "\n")
}

func (e *episode) note(format string, args ...any) {
	e.log = append(e.log, fmt.Sprintf(format, args...))
}

// do runs one group and judges it.
func (e *episode) do(g group) error {
	e.w.pass(time.Second)
	if g.r[2]>>32%4 == 0 {
		if n := e.w.land(); n > 0 {
			e.note("-- %d late transactions land", n)
			e.shake(true)
		}
	}
	if g.ops == nil && g.event%20 >= productEvents {
		g.crash, g.fault = 0, 0 // it is not the product's doing
	}
	strict := g.fault == 0 && g.crash == 0
	var err error
	if g.ops == nil {
		err = e.happen(g, strict)
	} else {
		err = e.operate(g, strict)
	}
	if err != nil {
		return err
	}
	if !strict && g.settled {
		return e.decide()
	}
	return nil
}

// recover ends what was to go wrong: the chain answers well again, and a process that
// has crashed is followed by another.
func (e *episode) recover(between func(*storage.Store) error) error {
	e.w.chain.ClearFaults()
	e.w.life.left.Store(0)
	e.w.life.vague.Store(0)
	e.w.life.mu.Lock()
	e.w.life.impatient = nil
	e.w.life.mu.Unlock()
	if !e.w.life.dead.Load() && between == nil {
		return nil
	}
	e.crashes++
	e.note("-- crashed")
	return e.w.crash(between)
}

// decide has the product find out what became of all that is open.
func (e *episode) decide() error {
	e.note("reconcile")
	e.operations++
	// A payout that came too late fails on the chain, which is told and is no fault.
	if err := e.w.c.Reconcile(context.Background()); err != nil && !allReverted(err) {
		return fmt.Errorf("reconcile: %w", err)
	}
	open, err := e.w.store.Intents()
	if err != nil {
		return err
	}
	for _, h := range e.houses {
		h.murky = false
		for at, chain := range e.w.truth(h.channel(0), h.channel(1)) {
			row, err := e.w.store.Channel(h.channel(at))
			if err != nil && !errors.Is(err, actors.ErrNoChannel) {
				return err
			}
			// What is at work is not over; what is over, the chain must have seen to.
			pending := slices.ContainsFunc(open, func(i actors.Intent) bool { return slices.Contains(i.Channels, h.channel(at)) })
			ended := row.Status == session.Closed
			h.murky = h.murky || pending && !ended || ended && !chain.Deposit.IsZero()
		}
	}
	return e.audit()
}

// spoil has something go wrong in what comes next.
func (e *episode) spoil(g group) {
	if g.crash > 0 {
		e.note("-- crash at act %d, after it: %v", g.crash, g.after)
		e.w.life.after = g.after
		e.w.life.left.Store(int64(g.crash))
	}
	if g.fault == 0 {
		return
	}
	if g.fault > 5 {
		e.note("-- outcome %d of the next transaction is not told", g.fault-5)
		e.w.life.vague.Store(int64(g.fault - 5))
		return
	}
	times := 1 + int(g.r[0]%3)
	fault := sandbox.Fault{Times: times}
	switch g.fault {
	case 1:
		fault.Refuse = &sandbox.Error{Code: -32000, Message: "busy"}
	case 2:
		fault.Method, fault.Lose, fault.Times = "eth_sendRawTransactionSync", true, 1
	case 3:
		fault.Method, fault.Revert, fault.Times = "eth_sendRawTransactionSync", true, 1
	case 4:
		fault.Method, fault.Lag = "eth_call", 1+int(g.r[1]%3)
	case 5:
		fault.Method, fault.Lag = "eth_getLogs", 1+int(g.r[1]%3)
	}
	e.note("-- fault %d, %d times", g.fault, fault.Times)
	if err := e.w.chain.Inject(fault); err != nil {
		panic(err)
	}
}

// operate runs the operations of a group at once and looks for an order of them that
// explains what came.
func (e *episode) operate(g group, strict bool) error {
	steps := map[*household][]*step{}
	var order []*household
	for _, o := range g.ops {
		h := e.houses[o.house]
		if steps[h] == nil {
			order = append(order, h)
		} else if !h.ready() {
			continue // one thing at a time while it is opened or adopted
		}
		steps[h] = append(steps[h], h.prepare(o))
		h.fixed = true
	}
	before := map[*household][]session.State{}
	all := 0
	for _, h := range order {
		h.fixed = false
		before[h] = e.w.truth(h.channel(0), h.channel(1))
		all += len(steps[h])
		for at, p := range h.purse {
			if p != nil {
				e.begun[h.channel(at)] = p
			}
		}
	}
	e.spoil(g)
	var wg sync.WaitGroup
	for _, h := range order {
		for _, s := range steps[h] {
			wg.Go(func() { s.err = s.do() })
		}
	}
	wg.Wait()
	e.operations += all
	for _, h := range order {
		for _, s := range steps[h] {
			e.note("%s: %s", s.name, said(s.err))
			if s.after != nil {
				s.after()
			}
		}
	}
	crashes := e.crashes
	if err := e.recover(nil); err != nil {
		return err
	}
	for _, h := range order {
		clear := strict && !h.murky && (len(steps[h]) == 1 || !anyLoose(steps[h]))
		h.murky = h.murky || !strict
		if err := e.judge(h, steps[h], before[h], clear, e.crashes > crashes); err != nil {
			return err
		}
	}
	if e.crashes > crashes {
		for _, h := range e.houses {
			h.forget()
		}
	}
	return nil
}

// judge holds what came of the steps of a household against the reference and the disk.
func (e *episode) judge(h *household, steps []*step, before []session.State, strict, crashed bool) error {
	d, err := e.disk(h, crashed)
	if err != nil {
		return err
	}
	if strict {
		for _, s := range steps {
			if s.outcome() == unknown && !errors.Is(s.err, context.Canceled) && !h.undone(s.at) {
				return fmt.Errorf("%s: no answer although nothing was wrong: %w", s.name, s.err)
			}
		}
	}
	findFailedCloses(steps)
	after, why := findOrder(h.books, steps, strict, before, d.same(h))
	if why != "" {
		return fmt.Errorf("household %d: no order explains it: %s; books %+v", h.n, why, h.books)
	}
	h.books = after
	for i, d := range h.books.replaced {
		if d.id != "" {
			h.retired = append(h.retired, d)
		}
		h.books.replaced[i] = debt{}
	}
	if len(steps) == 1 && strict && steps[0].err == nil && steps[0].told != nil {
		s := steps[0]
		if a := h.books.accounts[s.at]; s.told.Accepted != amount(a.highest) || s.told.Spent != amount(a.spent) {
			return fmt.Errorf("%s: told accepted %s, spent %s; the books say %+v", s.name, s.told.Accepted, s.told.Spent, a)
		}
	}
	return d.audit(h)
}

// audit holds all households against the disk and the chain while nothing happens.
func (e *episode) audit() error {
	for _, h := range e.houses {
		if err := e.judge(h, nil, nil, false, false); err != nil {
			return err
		}
	}
	return nil
}

// happen runs an event: something of the chain, of the clock, of the machine, or a
// round of the product's own.
func (e *episode) happen(g group, strict bool) error {
	h := e.houses[g.r[0]%households]
	at := int(g.r[1] % channelsEach)
	p := h.purse[at]
	ctx := context.Background()
	var between func(*storage.Store) error
	e.operations++
	e.spoil(g)
	switch n := g.event % 20; {
	case n < 4:
		err := e.w.rounds.WatchRound(ctx)
		e.note("watch round: %v", err)
		if err != nil && strict && !e.anyMurky() && !(allReverted(err) && e.anyUndone()) {
			return fmt.Errorf("watch round: %w", err)
		}
	case n < productEvents:
		for _, h := range e.houses {
			h.settle().success(&h.books)
		}
		err := e.w.rounds.SettleRound(ctx)
		e.note("settle round: %v", err)
	case n < 9 && p != nil:
		e.note("payer asks the chain to close %d/%d: %v", h.n, at, e.w.direct(h.key, tempo.RequestCloseCall{Descriptor: p.ref.Descriptor}))
	case n < 11 && p != nil:
		e.note("payer tops up %d/%d on chain: %v", h.n, at, e.w.direct(h.key, tempo.TopUpCall{Descriptor: p.ref.Descriptor, Additional: amount(unit * (g.r[2] % 5))}))
	case n < 12 && p != nil:
		e.w.pass(901 * time.Second)
		err := e.w.direct(h.key, tempo.WithdrawCall{Descriptor: p.ref.Descriptor})
		p.withdrawn = p.withdrawn || err == nil
		e.note("payer withdraws %d/%d: %v", h.n, at, err)
	case n < 13:
		d := time.Duration(g.r[2] % uint64(3*time.Hour))
		e.note("%s pass", d)
		e.w.pass(d)
	case n < 15:
		e.w.pass(time.Minute)
		e.w.c.Sweep()
		e.note("actors rest")
	case n < 17:
		drop := g.r[2]%2 == 0
		if e.w.reorganise(drop) {
			e.note("-- the last block is replaced, its transactions are lost: %v", drop)
			e.shake(drop)
		}
	case n < 18 && p != nil && strict && g.r[2]%4 == 0:
		// The row is lost, as from an old backup.
		id := h.channel(at)
		if h.books.accounts[at].known && !h.books.accounts[at].closed {
			e.note("-- the row of %d/%d is lost", h.n, at)
			h.books.accounts[at] = account{lost: true}
			p.lost = true
			between = func(s *storage.Store) error { return loseRow(s, id) }
		}
	default:
		if strict {
			e.w.life.dead.Store(true)
		}
	}
	crashes := e.crashes
	if err := e.recover(between); err != nil {
		return err
	}
	for _, h := range e.houses {
		h.murky = h.murky || !strict
		if e.crashes > crashes {
			h.forget()
		}
	}
	return e.audit()
}

// shake is told when the chain is not as it said before: of all households whose
// channels may look otherwise than they did nothing is certain until the product has
// looked. Where no transaction was lost, one that the chain had refused may have come
// to pass: a close.
func (e *episode) shake(drop bool) {
	for _, h := range e.houses {
		for at, s := range e.w.truth(h.channel(0), h.channel(1)) {
			if h.purse[at] == nil {
				continue
			}
			less := s.Deposit.Cmp(amount(h.purse[at].deposit)) < 0
			h.murky = h.murky || drop || less && !h.books.accounts[at].closed
			h.purse[at].shaken = h.purse[at].shaken || less
		}
	}
}

func (e *episode) anyUndone() bool {
	return slices.ContainsFunc(e.houses, func(h *household) bool { return h.undone(0) || h.undone(1) })
}

func (e *episode) anyMurky() bool {
	return slices.ContainsFunc(e.houses, func(h *household) bool { return h.murky })
}
