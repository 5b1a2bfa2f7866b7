package sale

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp/tempo"
)

func units(n uint64) tempo.Amount { return tempo.AmountFrom(n) }

// gate buys something that costs nothing.
func gate(ctx context.Context, t *RunBalance, slot Parker) error {
	hold, err := t.Gate(ctx, 0, slot)
	if err == nil {
		hold.End()
	}
	return err
}

func TestTab(t *testing.T) {
	balance := newAccounts(250_000, 0).join(common.Address{1}, "x", 10_000, false)
	ctx := context.Background()
	f := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	due := func(want uint64) {
		t.Helper()
		if got := balance.Due(); got != units(want) {
			t.Errorf("due %s, want %d", got, want)
		}
	}
	due(10_000) // two cents are owed from the beginning
	f("within the exposure", gate(ctx, balance, nil), nil)
	balance.OnCost(200_000_000) // $0.20 costs $0.26
	due(250_000)
	f("at the exposure", gate(ctx, balance, nil), nil)
	balance.OnCost(200_000_001)
	balance.OnCost(5) // late news
	due(260_000)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	f("above the exposure", gate(gone, balance, nil), context.Canceled)
	passed := make(chan error)
	go func() { passed <- gate(ctx, balance, nil) }()
	balance.Collected(units(20_000))
	balance.Collected(units(15_000)) // late news
	due(250_000)
	f("after a collection", <-passed, nil)
	balance.OnCost(900_000_000)
	go func() { passed <- gate(ctx, balance, nil) }()
	balance.GiveUp()
	balance.GiveUp()
	f("given up", <-passed, api.ErrUnpaid)
	<-balance.GivenUp()
	f("for good", gate(ctx, balance, nil), api.ErrUnpaid)
	balance.Fix(units(30_000))
	due(10_000)
	balance.Fix(units(0)) // nothing is a price, too
	due(0)
}

// TestAccount: what a payer owes counts over its runs and its debts, and a run that owes
// nothing itself goes on whatever the others owe.
func TestAccount(t *testing.T) {
	all := newAccounts(100_000, 0)
	payer := common.Address{1}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	a, b := all.join(payer, "a", 0, false), all.join(payer, "b", 0, false)
	other := all.join(common.Address{2}, "c", 0, false)
	none, noneToo := all.join(common.Address{}, "d", 0, false), all.join(common.Address{}, "e", 0, false)
	f := func(what string, balance *RunBalance, open bool) {
		t.Helper()
		if err := gate(gone, balance, nil); (err == nil) != open {
			t.Errorf("%s: %v, want open %t", what, err, open)
		}
	}
	f("both owe two cents", a, true)
	a.OnCost(50_000_000) // eight cents
	f("ten cents together", b, true)
	a.OnCost(50_000_001)
	f("more than that", a, false)
	f("the other run of the payer", b, false)
	f("another payer", other, true)
	b.Collected(units(20_000))
	f("nothing is owed on this one", b, true)
	f("nine cents are owed on the other", a, true)
	all.setDebt(payer, 10_000)
	f("with a debt of one cent", a, true)
	all.setDebt(payer, 10_001)
	f("with a debt beyond that", a, false)
	all.setDebt(payer, 0)
	f("without debt", a, true)
	none.OnCost(900_000_000)
	f("a payer that is not known", none, false)
	f("another one that is not known", noneToo, true)
	all.leave(a)
	if !all.has(payer) {
		t.Error("the account of a payer with a run is gone")
	}
	all.leave(b)
	if all.has(payer) || len(all.all) != 1 {
		t.Errorf("accounts left: %v", all.all)
	}
}

// TestLeaveWakes: a run that ends frees those that waited for what it owed.
func TestLeaveWakes(t *testing.T) {
	all := newAccounts(100_000, 0)
	a, b := all.join(common.Address{1}, "a", 0, false), all.join(common.Address{1}, "b", 0, false)
	a.OnCost(900_000_000)
	passed := make(chan error, 1)
	go func() { passed <- gate(context.Background(), b, nil) }()
	all.leave(a)
	if err := <-passed; err != nil {
		t.Error(err)
	}
}

// slot is a slot that runs or is parked.
type slot struct {
	mu              sync.Mutex
	away            bool // it is parked
	parked, resumed int  // how often it was
	full            error
}

func (s *slot) Park() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil
	}
	if s.full == nil {
		s.away = true
		s.parked++
	}
	return s.full
}

func (s *slot) Resume(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = false
	s.resumed++
	return nil
}

// TestGateParks: a run lends its slot to others while it waits, and has it again before
// it buys.
func TestGateParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		balance := newAccounts(0, 0).join(common.Address{1}, "x", 0, false)
		s := new(slot)
		passed := make(chan error, 1)
		go func() { passed <- gate(context.Background(), balance, s) }()
		synctest.Wait()
		if s.parked != 1 || s.resumed != 0 {
			t.Fatalf("parked %d, resumed %d", s.parked, s.resumed)
		}
		balance.Collected(units(10_000)) // not enough
		synctest.Wait()
		if s.parked != 1 || s.resumed != 0 {
			t.Fatalf("parked %d, resumed %d", s.parked, s.resumed)
		}
		balance.Collected(units(20_000))
		if err := <-passed; err != nil || s.resumed != 1 {
			t.Errorf("%v, resumed %d", err, s.resumed)
		}
		balance.OnCost(1)
		s.full = errors.New("full")
		if err := gate(context.Background(), balance, s); !errors.Is(err, api.ErrUnpaid) {
			t.Errorf("where nobody may wait any more: %v", err)
		}
	})
}

// TestGateParksAgain: the slot of a run is parked whenever one of its purchases waits and none is
// in progress, also after another purchase has resumed it.
func TestGateParksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		balance := newAccounts(0, 0).join(common.Address{1}, "x", 0, false)
		s := new(slot)
		buy := func() <-chan meter.Hold {
			passed := make(chan meter.Hold, 1)
			go func() {
				hold, err := balance.Gate(context.Background(), 10_000_000, s) // one cent
				if err != nil {
					t.Error(err)
				}
				passed <- hold
			}()
			synctest.Wait()
			return passed
		}
		f := func(what string, away bool) {
			t.Helper()
			synctest.Wait()
			if s.away != away {
				t.Errorf("%s: parked %t, want %t", what, s.away, away)
			}
		}
		first, second := buy(), buy()
		f("two purchases wait", true)
		balance.Collected(units(uint64(meter.Owed(10_000_000))))
		one := <-first
		f("the first is in progress", false)
		one.Use(10_000_000)
		one.End()
		f("the first has ended and the second waits", true)
		balance.Collected(units(uint64(meter.Owed(20_000_000))))
		two := <-second
		f("the second is in progress", false)
		third := buy()
		f("the third waits for the payer, and the run works", false)
		two.Use(10_000_000)
		two.End()
		f("the third alone is left", true)
		balance.Collected(units(uint64(meter.Owed(30_000_000))))
		(<-third).End()
		f("all are paid", false)
	})
}

// TestPatience: each collection starts the patience anew.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		balance := newAccounts(0, 0).join(common.Address{1}, "x", 0, false)
		defer balance.Expect(time.Minute)()
		given := func() bool {
			synctest.Wait()
			select {
			case <-balance.GivenUp():
				return true
			default:
				return false
			}
		}
		for i := range 5 {
			time.Sleep(50 * time.Second)
			balance.Collected(units(uint64(i + 1)))
			if given() {
				t.Fatalf("given up after collection %d", i+1)
			}
		}
		time.Sleep(30 * time.Second)
		balance.Collected(units(1)) // no news
		time.Sleep(29 * time.Second)
		if given() {
			t.Fatal("given up too early")
		}
		time.Sleep(2 * time.Second)
		if !given() {
			t.Error("not given up")
		}
	})
}

// TestPatienceStops: nothing is given up when nobody waits any more.
func TestPatienceStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		balance := newAccounts(0, 0).join(common.Address{1}, "x", 0, false)
		balance.Expect(time.Minute)()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case <-balance.GivenUp():
			t.Error("given up")
		default:
		}
	})
}
