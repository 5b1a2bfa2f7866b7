package slots

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// holder is a payer with a channel of its own.
func holder(n byte, known bool) Holder {
	return Holder{Channel: common.Hash{n}, Payer: common.Address{n}, Origin: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, n}), 32), Known: known}
}

// taker takes slots in a test.
type taker struct {
	t *testing.T
	p *Pool
}

func (k taker) take(who Holder, want error) *Slot {
	k.t.Helper()
	s, err := k.p.Acquire(context.Background(), who, 0)
	if !errors.Is(err, want) || (s == nil) != (want != nil) {
		k.t.Fatalf("acquire: %v, want %v", err, want)
	}
	return s
}

func (k taker) counts(want Counts) {
	k.t.Helper()
	if got := k.p.Counts(); got != want {
		k.t.Errorf("counts %+v, want %+v", got, want)
	}
}

// empty checks that nothing is left of all that was taken.
func (k taker) empty() {
	k.t.Helper()
	k.counts(Counts{})
	if len(k.p.channels)+len(k.p.payers)+len(k.p.origins) != 0 {
		k.t.Errorf("left: %v %v %v", k.p.channels, k.p.payers, k.p.origins)
	}
	for state, places := range k.p.places {
		if places.used+places.strangers+len(places.payers)+len(places.networks) != 0 {
			k.t.Errorf("left in state %d: %+v", state, places)
		}
	}
}

func TestBounds(t *testing.T) {
	k := taker{t, New(Limits{Total: 10, PerChannel: 2, PerPayer: 3, PerOrigin: 4, Strangers: 10})}
	var all []*Slot
	take := func(who Holder, want error) {
		t.Helper()
		if s := k.take(who, want); s != nil {
			all = append(all, s)
		}
	}
	a := holder(1, true)
	take(a, nil)
	take(a, nil)
	take(a, ErrTooMany) // of one channel
	a.Channel = common.Hash{100}
	take(a, nil)
	a.Channel = common.Hash{101}
	take(a, ErrTooMany) // of one payer
	a.Payer = common.Address{100}
	take(a, nil)
	a.Payer, a.Channel = common.Address{101}, common.Hash{102}
	take(a, ErrTooMany) // of one address
	a.Origin = netip.Prefix{}
	take(a, nil) // where the address is not known it has no bound
	for range 5 {
		take(Holder{}, nil) // of nobody only the total counts
	}
	take(Holder{}, ErrBusy)
	k.counts(Counts{Running: 10})
	for _, s := range all {
		s.Release()
		s.Release()
	}
	k.empty()
}

func TestStrangers(t *testing.T) {
	k := taker{t, New(Limits{Total: 4})}
	a, b := k.take(holder(1, false), nil), k.take(holder(2, false), nil)
	k.take(holder(3, false), ErrBusy)
	c := k.take(holder(4, true), nil)
	k.counts(Counts{Running: 3, Strangers: 2})
	a.Release()
	d := k.take(holder(3, false), nil)
	for _, s := range []*Slot{b, c, d} {
		s.Release()
	}
	k.empty()
}

// TestPark: a parked slot lets another run, and comes back before those who wait.
func TestPark(t *testing.T) {
	k := taker{t, New(Limits{Total: 1, Parked: 1})}
	a := k.take(holder(1, true), nil)
	if err := a.Resume(context.Background()); err != nil {
		t.Errorf("resume of a running one: %v", err)
	}
	for range 2 {
		if err := a.Park(); err != nil {
			t.Fatal(err)
		}
	}
	b := k.take(holder(2, true), nil)
	if err := b.Park(); !errors.Is(err, ErrParked) {
		t.Errorf("park: %v", err)
	}
	k.counts(Counts{Running: 1, Parked: 1})
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Resume(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("resume: %v", err)
	}
	k.counts(Counts{Running: 1, Parked: 1})

	var order []string
	var mu sync.Mutex
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		s, err := k.p.Acquire(context.Background(), holder(3, true), time.Minute)
		if err != nil {
			t.Error(err)
			return
		}
		note("new")
		s.Release()
	})
	k.until(Counts{Running: 1, Parked: 1, Waiting: 1})
	wg.Go(func() {
		if err := a.Resume(context.Background()); err != nil {
			t.Error(err)
		}
		note("resumed")
		a.Release()
	})
	k.until(Counts{Running: 1, Parked: 1, Waiting: 2})
	b.Release()
	wg.Wait()
	if len(order) != 2 || order[0] != "resumed" {
		t.Errorf("order %v", order)
	}
	k.empty()
}

// until waits for these counts.
func (k taker) until(want Counts) {
	k.t.Helper()
	for end := time.Now().Add(30 * time.Second); k.p.Counts() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatalf("counts %+v, want %+v", k.p.Counts(), want)
		}
	}
}

// TestResumeShared: of several that resume one slot each learns of it, and one that
// gives up does not take the turn of the others.
func TestResumeShared(t *testing.T) {
	k := taker{t, New(Limits{Total: 1})}
	a := k.take(holder(1, true), nil)
	if err := a.Park(); err != nil {
		t.Fatal(err)
	}
	b := k.take(holder(2, true), nil)
	ctx, cancel := context.WithCancel(context.Background())
	errs := make(chan error, 2)
	go func() { errs <- a.Resume(ctx) }()
	go func() { errs <- a.Resume(context.Background()) }()
	k.until(Counts{Running: 1, Parked: 1, Waiting: 1})
	for k.p.users(a) != 2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("resume: %v", err)
	}
	b.Release()
	if err := <-errs; err != nil {
		t.Errorf("resume: %v", err)
	}
	a.Release()
	k.empty()
}

func (p *Pool) users(s *Slot) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.queue {
		if w.slot == s {
			return w.users
		}
	}
	return 0
}

// TestWait: who waits gets the next slot that fits, or gives up in time.
func TestWait(t *testing.T) {
	k := taker{t, New(Limits{Total: 2, Waiting: 1})}
	a, b := k.take(holder(1, false), nil), k.take(holder(2, true), nil)
	if _, err := k.p.Acquire(context.Background(), holder(3, false), time.Millisecond); !errors.Is(err, ErrBusy) {
		t.Errorf("acquire: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error, 1)
	go func() { _, err := k.p.Acquire(ctx, holder(3, false), time.Minute); got <- err }()
	k.until(Counts{Running: 2, Waiting: 1, Strangers: 1})
	if _, err := k.p.Acquire(context.Background(), holder(4, false), time.Minute); !errors.Is(err, ErrBusy) {
		t.Errorf("acquire beyond the queue: %v", err)
	}
	b.Release() // a stranger may not have it
	k.counts(Counts{Running: 1, Waiting: 1, Strangers: 1})
	c := k.take(holder(5, true), nil) // who is known goes before
	c.Release()
	k.take(holder(6, false), ErrBusy) // a stranger does not
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("acquire: %v", err)
	}
	go func() {
		s, err := k.p.Acquire(context.Background(), holder(3, false), time.Minute)
		if err == nil {
			s.Release()
		}
		got <- err
	}()
	k.until(Counts{Running: 1, Waiting: 1, Strangers: 1})
	a.Release()
	if err := <-got; err != nil {
		t.Errorf("acquire: %v", err)
	}
	k.empty()
}

// TestConcurrent: whatever many do at once, the bounds hold and nothing is left.
func TestConcurrent(t *testing.T) {
	k := taker{t, New(Limits{Total: 4, Parked: 6, PerPayer: 3})}
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			for i := range 50 {
				s, err := k.p.Acquire(context.Background(), holder(byte(n%20), n%2 == 0), time.Minute)
				if err != nil {
					continue
				}
				if c := k.p.Counts(); c.Running > 4 || c.Strangers > 2 || c.Parked > 6 {
					t.Errorf("counts %+v", c)
				}
				if i%3 == 0 && s.Park() == nil {
					ctx, cancel := context.WithCancel(context.Background())
					if i%2 == 0 {
						cancel()
					}
					s.Resume(ctx)
					cancel()
				}
				s.Release()
			}
		})
	}
	wg.Wait()
	k.empty()
}

func TestDefaults(t *testing.T) {
	want := Limits{Total: 64, PerChannel: 4, PerPayer: 8, Strangers: 32, Parked: 256, Waiting: 64}
	if got := (Limits{}).withDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := (Limits{Total: 1}).withDefaults(); got.Strangers != 1 || got.Parked != 4 || got.Waiting != 1 {
		t.Errorf("of one slot: %+v", got)
	}
	all := Limits{Total: 1, PerChannel: 2, PerPayer: 3, PerOrigin: 4, Strangers: 5, Parked: 6, Waiting: 7}
	if got := all.withDefaults(); !reflect.DeepEqual(got, all) {
		t.Errorf("%+v", got)
	}
}

// TestPartOfOrigin: each of several servers has its part of the slots of an address.
func TestPartOfOrigin(t *testing.T) {
	for _, c := range []struct{ perOrigin, servers, want int }{{4, 1, 4}, {4, 2, 2}, {4, 3, 2}, {4, 9, 1}, {0, 3, 8}, {4, 0, 4}} {
		p := New(Limits{Total: 8, Strangers: 8, PerOrigin: c.perOrigin, Servers: func() int { return c.servers }})
		got := 0
		for range 8 {
			if _, err := p.Acquire(t.Context(), Holder{Origin: netip.MustParsePrefix("192.0.2.1/32")}, 0); err == nil {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
