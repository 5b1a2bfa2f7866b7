package channel_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	actors "txlens/actors/channel"
	"txlens/engine/mpp/settle"
	"txlens/internal/dice"
	"txlens/storage"
	"txlens/testkit/size"
)

// TestLedgerModel runs random operations of many payers on the real channels, the real
// database and the settlement sandbox, among them crashes and whatever the chain can
// do, and holds each answer and what is on disk against a reference that knows only
// the rules: nothing is served above what is signed, no request is charged twice, no
// acknowledged voucher or charge is lost, and in the end every channel is closed and
// each deposit is what was captured and what was refunded.
//
// Episodes with an even seed do one thing at a time, so that the same seed does the
// same, and a failure is made shorter before it is shown; in the others things happen
// at once, and any order that explains the answers is good. The usual run has both: half
// of it from the same seed each time, half from a fresh one, which is logged.
// TXLENS_LEDGER_OPS asks for more. TXLENS_LEDGER_SERIAL=1 keeps to the first kind, and
// TXLENS_LEDGER_SEED runs one episode again.
func TestLedgerModel(t *testing.T) {
	m := &modelRun{t: t, dir: fastDir(t), begin: time.Now()}
	if seed := number64(t, "TXLENS_LEDGER_SEED", 0); seed != 0 {
		m.play(seed, 1, 1)
		return
	}
	fresh, next := dice.Seed(t)<<1, uint64(1)
	if os.Getenv("TXLENS_LEDGER_SERIAL") != "" {
		next = 2
	}
	if operations := number64(t, "TXLENS_LEDGER_OPS", 0); operations > 0 {
		m.play(fresh, next, operations)
	} else {
		usual := size.Of[uint64](500, 1_500)
		m.play(2, next, usual)
		m.play(fresh, next, usual)
	}
	if next == 1 && m.concurrent == 0 {
		t.Error("no episode did things at once")
	}
}

func number64(t *testing.T, name string, usual uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q is no number", name, text)
	}
	return n
}

const (
	households  = 8
	mostInGroup = 4 // of one household
)

// groupsEach is how many groups an episode has.
var groupsEach = size.Of(200, 700)

// plan is an episode before it runs. What its numbers mean is decided by the state
// that they meet, so any part of a plan is a plan.
type plan struct {
	serial bool
	groups []group
}

// group is what happens at once.
type group struct {
	ops   []op
	event uint64 // where there are no ops
	r     [3]uint64
	// What goes wrong meanwhile: a crash at the n-th act, 0 none, and a fault of the chain.
	crash int
	after bool
	fault uint64
	// settled: what the group has left open is decided at once.
	settled bool
}

type op struct {
	kind  uint64
	house int
	at    int
	r     [3]uint64
}

func newPlan(seed uint64) plan {
	rnd := rand.New(rand.NewPCG(seed, 1034))
	p := plan{serial: seed%2 == 0}
	for range groupsEach {
		g := group{r: three(rnd), settled: rnd.IntN(3) > 0}
		if rnd.IntN(30) == 0 {
			g.crash, g.after = 1+rnd.IntN(4), rnd.IntN(2) == 0
		}
		if rnd.IntN(12) == 0 {
			g.fault = 1 + rnd.Uint64N(8)
		}
		if rnd.IntN(6) == 0 {
			g.event = rnd.Uint64()
			p.groups = append(p.groups, g)
			continue
		}
		houses, each := 1, 1
		if !p.serial {
			houses, each = 1+rnd.IntN(3), 1+rnd.IntN(mostInGroup)
		}
		for _, house := range rnd.Perm(households)[:houses] {
			for range each {
				g.ops = append(g.ops, op{kind: rnd.Uint64(), house: house, at: rnd.IntN(channelsEach), r: three(rnd)})
			}
		}
		p.groups = append(p.groups, g)
	}
	return p
}

func three(rnd *rand.Rand) [3]uint64 { return [3]uint64{rnd.Uint64(), rnd.Uint64(), rnd.Uint64()} }

// run runs a plan in a folder of its own. The error says which promise was broken.
func (p plan) run(dir string) (e *episode, err error) {
	defer os.RemoveAll(dir)
	w, err := newWorld(dir, households)
	if err != nil {
		return nil, err
	}
	e = &episode{w: w, begun: map[common.Hash]*purse{}}
	for n := range households {
		e.houses = append(e.houses, &household{w: w, n: n, key: walletKey(n)})
	}
	defer func() { w.stop() }()
	for i, g := range p.groups {
		if err := e.do(g); err != nil {
			return e, fmt.Errorf("group %d: %w", i, err)
		}
	}
	return e, e.balance()
}

// forget is what a crash does to what was in memory alone.
func (h *household) forget() {
	for at := range h.books.accounts {
		h.books.accounts[at].reserved = 0
		if h.purse[at] != nil {
			h.purse[at].held = nil
		}
	}
}

// allReverted reports whether err is nothing but transactions that failed on the chain.
func allReverted(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !allReverted(err) })
	}
	_, ok := errors.AsType[*settle.Reverted](err)
	return ok
}

func anyLoose(steps []*step) bool {
	return slices.ContainsFunc(steps, func(s *step) bool { return s.loose })
}

func said(err error) string {
	if err == nil {
		return "yes"
	}
	return fmt.Sprintf("%s (%.120v)", kindOf(err), err)
}

// ready reports whether several things may happen to a household at once: there is
// nothing to be opened or adopted.
func (h *household) ready() bool {
	for _, a := range h.books.accounts {
		if !a.known || a.lost || a.closed {
			return false
		}
	}
	return true
}

// prepare makes an operation of what was drawn.
func (h *household) prepare(o op) *step {
	a := h.books.accounts[o.at]
	if (h.purse[o.at] == nil || a.closed && o.r[0]%2 == 0) && !h.fixed {
		return h.open(o.at, o.r)
	}
	switch n := o.kind % 100; {
	case n < 3:
		return h.open(o.at, o.r)
	case n < 35:
		return h.voucher(o.at, o.r)
	case n < 45:
		return h.use(o.at, o.r)
	case n < 60:
		return h.admit(o.at, o.r)
	case n < 68:
		return h.void(o.r)
	case n < 80:
		return h.collect(o.at, o.r)
	case n < 82:
		return h.final(o.at, o.r)
	case n < 88:
		return h.reserve(o.at, o.r)
	case n < 91:
		return h.topUp(o.at, o.r)
	case n < 94:
		return h.leave(o.at, o.r)
	case n < 95:
		return h.dismiss(o.at)
	}
	return h.settle()
}

// undone reports whether the chain has shown less of a channel than before: that a top-up
// was undone is learnt from the refusal of a payout, which then fails.
func (h *household) undone(at int) bool { return h.purse[at] != nil && h.purse[at].shaken }

// productEvents of the twenty kinds are rounds of the product.
const productEvents = 7

// loseRow takes a channel from the disk, with the intent that would end it.
func loseRow(s *storage.Store, id common.Hash) error {
	intents, err := s.Intents()
	if err != nil {
		return err
	}
	for _, i := range intents {
		if i.Kind == actors.IntentClose && i.Channels[0] == id {
			if err := s.Commit(actors.Entry{Drop: i.ID}); err != nil {
				return err
			}
		}
	}
	return s.Commit(actors.Entry{Forget: &id})
}

var errBooks = errors.New("the books do not balance")
