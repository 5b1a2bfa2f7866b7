package slots

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/testkit/size"
)

// in returns a stranger in a network.
func in(payer, network int) Holder {
	return Holder{Payer: common.Address{1, byte(payer >> 8), byte(payer)}, Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, byte(network >> 8), byte(network), 0}), 24)}
}

func known(payer int) Holder {
	h := in(payer, payer)
	h.Known = true
	return h
}

// grab takes up to n slots and returns those it got.
func (k taker) grab(who Holder, n int) (all []*Slot) {
	k.t.Helper()
	for range n {
		s, err := k.p.Acquire(context.Background(), who, 0)
		if err == nil {
			all = append(all, s)
		} else if !errors.Is(err, ErrBusy) && !errors.Is(err, ErrTooMany) {
			k.t.Fatal(err)
		}
	}
	return all
}

// TestNewcomer: whatever few payers or few networks hold, a stranger without a slot gets one at
// once; see Places.
func TestNewcomer(t *testing.T) {
	f := func(name string, attack func(grab func(Holder) int), holds int, want error) {
		t.Helper()
		k := taker{t, New(Limits{})} // 64 slots, 32 for strangers
		attack(func(who Holder) int { return len(k.grab(who, 16)) })
		k.counts(Counts{Running: holds, Strangers: holds})
		k.take(in(1000, 1000), want)
		for n := range 8 { // known payers get the other half
			for range 3 {
				k.take(known(2000+n), nil)
			}
		}
		for n := range 8 {
			k.take(known(3000+n), nil)
		}
	}
	networks := func(payers, networks int) func(func(Holder) int) {
		return func(grab func(Holder) int) {
			for n := range payers {
				grab(in(n, n%networks))
			}
		}
	}
	f("one payer", networks(1, 1), 8, nil)
	f("six payers in six networks", networks(6, 6), 20, nil)
	f("siblings in one network", networks(200, 1), 8, nil)
	f("siblings in two networks", networks(200, 2), 16, nil)
	f("siblings in six networks", networks(200, 6), 20, nil)
	f("one payer in many networks", func(grab func(Holder) int) {
		for n := range 200 {
			grab(in(1, n))
		}
	}, 8, nil)
	f("as many as leave one", networks(17, 17), 31, nil)
	f("as many as take all", networks(18, 18), 32, ErrBusy)
}

// TestNewcomerWaits: where a stranger must wait, it is until the first slot of a stranger is free.
func TestNewcomerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := taker{t, New(Limits{})}
		var held []*Slot
		for n := range 18 {
			held = append(held, k.grab(in(n, n), 8)...)
		}
		q := newQueue(t, k.p)
		for n := 2; n < 18; n++ { // those who hold slots wait, too
			q.join(fmt.Sprintf("again %d", n), in(n, n), time.Hour)
		}
		q.join("new", in(1000, 1000), time.Hour)
		q.want()
		held[5].Release()
		q.want("new")
		k.counts(Counts{Running: 32, Strangers: 32, Waiting: 16})
		held[20].Release() // the only one of its party
		q.want("new", "again 6")
	})
}

// TestOrder: who is served first of those that wait.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := taker{t, New(Limits{Total: 16, Strangers: 16, Waiting: 100})}
		loaded := k.grab(in(1, 1), 1)[0]
		resumes := k.grab(in(2, 2), 1)[0]
		if err := resumes.Park(); err != nil {
			t.Fatal(err)
		}
		held := k.grab(Holder{}, 15)
		q := newQueue(t, k.p)
		paid, rich := in(3, 3), in(4, 4)
		paid.Paid, rich.Deposit = 10_000, 2_000_000
		q.join("loaded", in(1, 9), time.Hour)
		q.join("sibling", in(9, 1), time.Hour)
		q.join("first", in(5, 5), time.Hour)
		q.join("second", in(6, 6), time.Hour)
		q.join("rich", rich, time.Hour)
		q.join("paid", paid, time.Hour)
		q.join("known", known(7), time.Hour)
		q.resume("resumes", resumes)
		order := []string{"resumes", "known", "paid", "rich", "first", "second", "loaded", "sibling"}
		for n := range order {
			q.want(order[:n]...)
			held[n].Release()
			if n == 6 { // the last eighth is not for parties with a slot
				held[8].Release()
				held[9].Release()
			}
		}
		q.want(order...)
		loaded.Release()
	})
}

// TestLowestLoadFirst: a party that holds a slot is served after one that holds none, however
// long it waits.
func TestLowestLoadFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := taker{t, New(Limits{Total: 4, Strangers: 4})}
		held := append(k.grab(in(1, 1), 3), k.grab(known(2), 2)...)
		k.counts(Counts{Running: 4, Strangers: 2}) // of a small share, too, one stranger gets two
		q := newQueue(t, k.p)
		q.join("loaded", known(2), time.Hour)
		q.join("new", in(3, 3), time.Hour)
		held[3].Release()
		q.want("new")
		held[0].Release()
		q.want("new", "loaded")
	})
}

// TestLastEighth: known payers leave a slot to one without a slot.
func TestLastEighth(t *testing.T) {
	k := taker{t, New(Limits{Total: 16})}
	for n := range 2 {
		k.grab(known(n), 8)
	}
	k.counts(Counts{Running: 14})
	k.take(known(1), ErrBusy)
	k.take(known(2), nil)
	k.take(in(3, 3), nil)
	k.take(known(4), ErrBusy)
}

// TestResumeFair: payers that park and resume hold no more than others.
func TestResumeFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := taker{t, New(Limits{})}
		q := newQueue(t, k.p)
		for n := range 2 {
			for _, s := range k.grab(in(n, n), 8) {
				if err := s.Park(); err != nil {
					t.Fatal(err)
				}
				q.resume("", s)
			}
		}
		for n := range 2 {
			k.grab(in(n+2, n+2), 8)
		}
		synctest.Wait()
		k.counts(Counts{Running: 18, Strangers: 18})
		k.take(in(100, 100), nil)
	})
}

// TestParkedShare: strangers that do not pay leave known payers, and strangers without a parked
// slot, the right to park.
func TestParkedShare(t *testing.T) {
	k := taker{t, New(Limits{})} // 256 parked slots, 128 of strangers
	var err error
	for n := 0; err == nil; n++ {
		s := k.take(in(n/8, n/8), nil)
		if err = s.Park(); err != nil && !errors.Is(err, ErrParked) {
			t.Fatal(err)
		}
	}
	k.counts(Counts{Running: 1, Parked: 65, Strangers: 1})
	for _, who := range []Holder{in(100, 100), known(1000), known(1000)} {
		if err := k.take(who, nil).Park(); err != nil {
			t.Errorf("%+v: %v", who, err)
		}
	}
}

// TestWaitingShare: strangers that wait leave others a place in the queue.
func TestWaitingShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := taker{t, New(Limits{Total: 8, Strangers: 4, Waiting: 32})}
		k.grab(Holder{}, 8)
		q := newQueue(t, k.p)
		for n := range 6 {
			for range 8 {
				q.join("", in(n, n), time.Hour)
			}
		}
		synctest.Wait()
		if c := k.p.Counts(); c.Waiting != 12 {
			t.Errorf("%+v", c)
		}
		q.join("", in(100, 100), time.Hour)
		q.join("", known(101), time.Hour)
		synctest.Wait()
		if c := k.p.Counts(); c.Waiting != 14 {
			t.Errorf("%+v", c)
		}
	})
}

func TestNetworkOf(t *testing.T) {
	f := func(origin, want string) {
		t.Helper()
		got := NetworkOf(netip.MustParsePrefix(origin))
		if want == "" && got != (netip.Prefix{}) || want != "" && got != netip.MustParsePrefix(want) {
			t.Errorf("%s: %s, want %s", origin, got, want)
		}
	}
	f("203.0.113.7/32", "203.0.113.0/24")
	f("203.0.0.0/16", "203.0.0.0/16")
	f("2001:db8:1:2::/64", "2001:db8:1::/48")
	f("127.0.0.1/32", "")
	f("10.1.2.3/32", "")
	f("169.254.2.3/32", "")
	f("fd00:1::/64", "")
	if got := NetworkOf(netip.Prefix{}); got.IsValid() {
		t.Errorf("of nothing: %s", got)
	}
}

func TestOriginLimit(t *testing.T) {
	f := func(limit, total int, origin string, want int) {
		t.Helper()
		var from netip.Prefix
		if origin != "" {
			from = netip.MustParsePrefix(origin)
		}
		if got := OriginLimit(limit, total, from); got != want {
			t.Errorf("%d of %d, %s: %d, want %d", limit, total, origin, got, want)
		}
	}
	const none = math.MaxInt
	f(-1, 64, "203.0.113.7/32", 16)
	f(-1, 64, "2001:db8:1:2::/64", 16)
	f(-1, 5, "203.0.113.7/32", 4)
	f(-1, 64, "127.0.0.1/32", none)
	f(-1, 64, "10.1.2.3/32", none)
	f(-1, 64, "", none)
	f(0, 64, "203.0.113.7/32", none)
	f(3, 64, "203.0.113.7/32", 3)
	f(3, 64, "127.0.0.1/32", 3)
	f(3, 64, "", none)
}

// TestPoolOriginLimit: by default one public address holds a quarter of the places of a pool, and
// an address that a proxy may have all.
func TestPoolOriginLimit(t *testing.T) {
	f := func(origin string, want int) {
		t.Helper()
		p := New(Limits{Total: 20, PerOrigin: -1})
		from, got := netip.MustParsePrefix(origin), 0
		for range 20 {
			if _, err := p.Acquire(t.Context(), Holder{Origin: from}, 0); err == nil {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d, want %d", origin, got, want)
		}
	}
	f("203.0.113.7/32", 5)
	f("192.168.1.2/32", 20)
}

// queue records in which order those that wait in a pool are served. Use it in a bubble of
// synctest.
type queue struct {
	t      *testing.T
	p      *Pool
	ctx    context.Context
	served []string
	notes  chan string
}

func newQueue(t *testing.T, p *Pool) *queue {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return &queue{t: t, p: p, ctx: ctx, notes: make(chan string, 1000)}
}

func (q *queue) join(name string, who Holder, patience time.Duration) {
	go func() {
		if _, err := q.p.Acquire(q.ctx, who, patience); err == nil {
			q.notes <- name
		}
	}()
	synctest.Wait()
}

func (q *queue) resume(name string, s *Slot) {
	go func() {
		if s.Resume(q.ctx) == nil {
			q.notes <- name
		}
	}()
	synctest.Wait()
}

// want checks who was served so far.
func (q *queue) want(names ...string) {
	q.t.Helper()
	synctest.Wait()
	for len(q.notes) > 0 {
		q.served = append(q.served, <-q.notes)
	}
	if !slices.Equal(q.served, names) {
		q.t.Fatalf("served %v, want %v", q.served, names)
	}
}

// random drives a pool with random calls and knows what should come of them.
type random struct {
	t   *testing.T
	r   *rand.Rand
	p   *Pool
	all []*customer
}

// customer is one slot in random.
type customer struct {
	slot    *Slot // nil while it waits
	who     Holder
	parked  bool
	resumes bool
	gone    bool
	cancel  context.CancelFunc
}

// TestRandom: whatever is called in which order, places are counted rightly, the guarantee of
// Places holds, and everyone that waits is served when the others end.
func TestRandom(t *testing.T) {
	for seed := range uint64(size.Of(30, 300)) {
		synctest.Test(t, func(t *testing.T) {
			x := &random{t: t, r: rand.New(rand.NewPCG(seed, 1)), p: New(Limits{Total: 16, PerPayer: 6, PerChannel: 6, Parked: 16, Waiting: 16})}
			for range 200 {
				x.step()
				synctest.Wait()
				x.check()
			}
			x.finish()
			taker{t, x.p}.empty()
		})
	}
}

func (x *random) holder() Holder {
	h := in(x.r.IntN(14), x.r.IntN(10))
	h.Known, h.Paid = x.r.IntN(3) == 0, x.r.Uint64N(3)
	if x.r.IntN(10) == 0 {
		return Holder{}
	}
	return h
}

func (x *random) step() {
	if len(x.all) == 0 || x.r.IntN(3) == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		c := &customer{who: x.holder(), cancel: cancel}
		x.all = append(x.all, c)
		go func() {
			s, err := x.p.Acquire(ctx, c.who, time.Hour)
			if c.slot, c.gone = s, err != nil; c.gone {
				cancel()
			}
		}()
		return
	}
	c := x.all[x.r.IntN(len(x.all))]
	switch {
	case c.gone:
	case c.slot == nil:
		if x.r.IntN(4) == 0 {
			c.cancel()
		}
	case x.r.IntN(3) == 0:
		x.release(c)
	case !c.parked:
		c.parked = c.slot.Park() == nil
	case c.resumes:
		if x.r.IntN(4) == 0 {
			c.cancel()
		}
	default:
		x.resume(c)
	}
}

func (x *random) release(c *customer) {
	c.gone = true
	c.slot.Release()
	c.cancel()
}

func (x *random) resume(c *customer) {
	c.cancel()
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	c.resumes = true
	go func() {
		c.parked = c.slot.Resume(ctx) != nil
		c.resumes = false
	}()
}

// check compares the counts of the pool with those of the customers.
func (x *random) check() {
	var want Counts
	payers, networks := make(map[common.Address]bool), make(map[netip.Prefix]bool)
	for _, c := range x.all {
		switch {
		case c.gone:
		case c.slot == nil:
			want.Waiting++
		case c.parked:
			want.Parked++
			if c.resumes {
				want.Waiting++
			}
		default:
			want.Running++
			if c.who.stranger() {
				want.Strangers++
				payers[c.who.Payer], networks[c.who.Network] = true, true
			}
		}
	}
	if got := x.p.Counts(); got != want {
		x.t.Fatalf("counts %+v, want %+v", got, want)
	}
	if want.Running > 16 || want.Strangers > 8 || want.Parked > 16 {
		x.t.Fatalf("too many: %+v", want)
	}
	if least := want.Strangers - 4; len(payers) < least || len(networks) < least {
		x.t.Fatalf("%d places of strangers are of %d payers in %d networks", want.Strangers, len(payers), len(networks))
	}
	for _, c := range x.all {
		if !c.gone && (c.slot == nil || c.resumes) && x.p.places[running].Fits(c.who) {
			x.t.Fatalf("%+v waits beside a place", c.who)
		}
	}
}

// finish releases those that run until nobody is left.
func (x *random) finish() {
	for rounds := 0; ; rounds++ {
		left, ran := 0, false
		for _, c := range x.all {
			switch {
			case c.gone:
				continue
			case c.slot != nil && !c.parked:
				x.release(c)
				ran = true
			case c.parked && !c.resumes:
				x.resume(c)
				ran = true
			}
			left++
			synctest.Wait()
		}
		if left == 0 {
			return
		}
		if !ran {
			x.t.Fatalf("%d wait and nothing runs", left)
		}
	}
}
