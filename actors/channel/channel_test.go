package channel

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"txlens/actors/job"
	"txlens/actors/runtime"
	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
	"go.uber.org/goleak"
)

// bookkeeper is a Ledger in memory whose disk can be slow or broken.
type bookkeeper struct {
	mu       sync.Mutex
	channels map[common.Hash]session.Channel
	bills    map[string]Bill
	tickets  map[TicketKey]Ticket
	intents  map[string]Intent
	runs     map[string]job.RunRow
	commits  int
	hold     chan struct{} // when set, commits wait for it
	broken   error
}

func newBookkeeper(rows ...session.Channel) *bookkeeper {
	b := &bookkeeper{channels: map[common.Hash]session.Channel{}, bills: map[string]Bill{}, tickets: map[TicketKey]Ticket{}, intents: map[string]Intent{},
		runs: map[string]job.RunRow{}}
	for _, row := range rows {
		b.channels[row.ID] = row
	}
	return b
}

func (b *bookkeeper) Commit(entries ...Entry) error {
	if b.hold != nil {
		<-b.hold
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return b.broken
	}
	b.commits++
	for _, e := range entries {
		b.put(e)
	}
	return nil
}

func (b *bookkeeper) CommitThen(then func(error), entries ...Entry) {
	go func() { then(b.Commit(entries...)) }()
}

func (b *bookkeeper) put(e Entry) {
	if e.Channel != nil {
		row := *e.Channel
		row.Reserved = tempo.Amount{}
		b.channels[row.ID] = row
	}
	if e.Run != nil {
		b.runs[e.Run.ID] = *e.Run
	}
	if e.Bill != nil {
		b.bills[e.Bill.ID] = *e.Bill
	}
	for _, t := range []*Ticket{e.Ticket, e.Request} {
		if t != nil {
			b.tickets[t.Key] = *t
		}
	}
	if e.Intent != nil {
		b.intents[e.Intent.ID] = *e.Intent
	}
	delete(b.intents, e.Drop)
	if e.Forget != nil {
		delete(b.channels, *e.Forget)
	}
	for _, key := range []*TicketKey{e.Void, e.VoidRequest} {
		if key != nil {
			delete(b.tickets, *key)
		}
	}
}

func (b *bookkeeper) Channel(id common.Hash) (session.Channel, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	row, ok := b.channels[id]
	if !ok {
		return row, ErrNoChannel
	}
	return row, nil
}

func (b *bookkeeper) OpenChannels(visit func(session.Channel) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, row := range b.channels {
		if row.Status != session.Closed {
			if err := visit(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bookkeeper) Channels(ended bool, from common.Hash, limit int) (rows []session.Channel, next *common.Hash, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range slices.SortedFunc(maps.Keys(b.channels), common.Hash.Cmp) {
		row := b.channels[id]
		if (row.Status == session.Closed) != ended || id.Cmp(from) < 0 {
			continue
		}
		if len(rows) == limit {
			return rows, &id, nil
		}
		rows = append(rows, row)
	}
	return rows, nil, nil
}

func (b *bookkeeper) Bill(id string) (Bill, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bill, ok := b.bills[id]
	if !ok {
		return bill, ErrNoBill
	}
	return bill, nil
}

func (b *bookkeeper) BillsAfter(id string, limit int) (list []Bill, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, bill := range b.bills {
		if bill.ID > id {
			list = append(list, bill)
		}
	}
	slices.SortFunc(list, func(a, b Bill) int { return strings.Compare(a.ID, b.ID) })
	return list[:min(len(list), limit)], nil
}

func (b *bookkeeper) Debts(payer common.Address) (list []Bill, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, bill := range b.bills {
		if bill.Payer == payer && bill.Debt() {
			list = append(list, bill)
		}
	}
	slices.SortFunc(list, func(a, b Bill) int { return strings.Compare(a.ID, b.ID) })
	return list[:min(len(list), MaxDebts)], nil
}

func (b *bookkeeper) ChannelsOf(payer common.Address) (ids []common.Hash, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, row := range b.channels {
		if row.Descriptor.Payer == payer && row.Status != session.Closed {
			ids = append(ids, row.ID)
		}
	}
	return ids, nil
}

func (b *bookkeeper) Ticket(key TicketKey) (Ticket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.tickets[key]
	if !ok {
		return t, ErrNoTicket
	}
	return t, nil
}

func (b *bookkeeper) Intents() (list []Intent, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range b.intents {
		list = append(list, i)
	}
	return list, nil
}

var domain = tempo.NewDomain(42431, common.HexToAddress("0x4d50500000000000000000000000000000000000"))

func units(n uint64) tempo.Amount { return tempo.AmountFrom(n) }

// funded is a channel with deposit and signed sum n.
func funded(n uint64) session.Channel {
	return session.Opened(domain, tempo.Descriptor{Payer: common.Address{1}}, session.State{Deposit: units(n), Seen: 1},
		session.Voucher{Cumulative: units(n)}, common.Hash{2}, time.Unix(1_900_000_000, 0))
}

func openChannels(t *testing.T, book PaymentStore, set ...func(*Options)) *Channels {
	t.Helper()
	before := goleak.IgnoreCurrent()
	sys := runtime.NewSystem(slog.New(slog.DiscardHandler))
	o := Options{Store: book, InProgress: func(string) (bool, error) { return true, nil }}
	for _, f := range set {
		f(&o)
	}
	c := New(sys, o)
	t.Cleanup(func() {
		c.Close()
		sys.Wait()
		goleak.VerifyNone(t, before)
	})
	return c
}

// charge takes amount from a channel.
func charge(c *Channels, id common.Hash, amount uint64) error {
	_, err := c.ask(context.Background(), id, edit(func(row *session.Channel, now time.Time) (Entry, error) {
		return Entry{}, orNil(row.Charge(units(amount), now))
	}))
	return err
}

// TestChannelChargesOnce: of many at once just as many succeed as are paid for.
func TestChannelChargesOnce(t *testing.T) {
	row := funded(100)
	book := newBookkeeper(row)
	c := openChannels(t, StoreOf(book))
	var wg sync.WaitGroup
	var mu sync.Mutex
	paid, short := 0, 0
	for range 250 {
		wg.Go(func() {
			err := charge(c, row.ID, 1)
			mu.Lock()
			defer mu.Unlock()
			var f *mpp.Problem
			switch {
			case err == nil:
				paid++
			case errors.As(err, &f) && f.Type == mpp.InsufficientBalance:
				short++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	disk, _ := book.Channel(row.ID)
	if paid != 100 || short != 150 || disk.Spent != units(100) || disk.Units != 100 {
		t.Errorf("paid %d, short %d, disk %s in %d units", paid, short, disk.Spent, disk.Units)
	}
	if book.commits > 100 {
		t.Errorf("%d commits for 100 charges", book.commits)
	}
}

// TestChannelSharesCommits: what comes while the disk works is written at once.
func TestChannelSharesCommits(t *testing.T) {
	row := funded(100)
	book := newBookkeeper(row)
	book.hold = make(chan struct{})
	c := openChannels(t, StoreOf(book))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := charge(c, row.ID, 1); err != nil {
				t.Error(err)
			}
		})
	}
	close(book.hold)
	wg.Wait()
	if disk, _ := book.Channel(row.ID); disk.Spent != units(50) {
		t.Errorf("disk has %s", disk.Spent)
	}
}

// TestChannelAnswersAfterTheDisk: no answer leaves while its commit is under way,
// not even one that changes nothing.
func TestChannelAnswersAfterTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := funded(100)
		book := newBookkeeper(row)
		book.hold = make(chan struct{})
		c := openChannels(t, StoreOf(book))
		done := make(chan struct{}, 2)
		go func() { charge(c, row.ID, 1); done <- struct{}{} }()
		synctest.Wait() // the charge waits for the disk
		go func() { c.storedRow(context.Background(), row.ID); done <- struct{}{} }()
		synctest.Wait()
		select {
		case <-done:
			t.Error("an answer came before the disk had it")
		default:
		}
		close(book.hold)
		<-done
		<-done
	})
}

// TestChannelBrokenDisk: nobody is told of success, and what is asked next is read
// from the disk again.
func TestChannelBrokenDisk(t *testing.T) {
	row := funded(100)
	book := newBookkeeper(row)
	c := openChannels(t, StoreOf(book))
	if err := charge(c, row.ID, 10); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	book.mu.Lock()
	book.broken = full
	book.mu.Unlock()
	if err := charge(c, row.ID, 10); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	book.mu.Lock()
	book.broken = nil
	book.mu.Unlock()
	if err := charge(c, row.ID, 5); err != nil { // the first actor may be ending
		t.Fatal(err)
	}
	if disk, _ := book.Channel(row.ID); disk.Spent != units(15) {
		t.Errorf("disk has %s, want 15", disk.Spent)
	}
}

// TestChannelCrash: an actor that falls over while its commit is under way leaves a
// successor that reads the disk after that commit.
func TestChannelCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := funded(100)
		book := newBookkeeper(row)
		book.hold = make(chan struct{})
		c := openChannels(t, StoreOf(book))
		first := make(chan error, 1)
		go func() { first <- charge(c, row.ID, 10) }()
		synctest.Wait() // the charge waits for the disk
		fallen := make(chan error, 1)
		go func() {
			_, err := c.ask(context.Background(), row.ID, func(*session.Channel, time.Time) (*session.Channel, Entry, any, error) { panic("on purpose") })
			fallen <- err
		}()
		synctest.Wait() // it is told to fall over
		second := make(chan error, 1)
		go func() { second <- charge(c, row.ID, 1) }()
		synctest.Wait()
		select {
		case err := <-fallen:
			t.Errorf("told %v while a commit was under way: who asks again could not see it", err)
		default:
		}
		close(book.hold)
		if err := <-fallen; !errors.Is(err, errChannelEnded) {
			t.Errorf("fallen: %v", err)
		}
		if err := <-first; err != nil && !errors.Is(err, errChannelEnded) {
			t.Errorf("first: %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("second: %v", err)
		}
		if disk, _ := book.Channel(row.ID); disk.Spent != units(11) {
			t.Errorf("disk has %s, want 11: the charge under way when it fell, and the next", disk.Spent)
		}
	})
}

// TestChannelEnding: a change that an ending actor has not received is applied by the next one.
func TestChannelEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := funded(100)
		book := newBookkeeper(row)
		c := openChannels(t, StoreOf(book))
		release, fallen := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := c.ask(context.Background(), row.ID, func(*session.Channel, time.Time) (*session.Channel, Entry, any, error) {
				<-release
				panic("on purpose")
			})
			fallen <- err
		}()
		synctest.Wait()
		next := make(chan error, 1)
		go func() { next <- charge(c, row.ID, 5) }()
		synctest.Wait() // the charge is behind the change that panics
		close(release)
		if err := <-fallen; !errors.Is(err, errChannelEnded) {
			t.Errorf("the change that was received: %v", err)
		}
		if err := <-next; err != nil {
			t.Errorf("the change that was not received: %v", err)
		}
		if disk, _ := book.Channel(row.ID); disk.Spent != units(5) {
			t.Errorf("disk has %s, want 5", disk.Spent)
		}
	})
}

func TestChannelWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := funded(100)
		c := openChannels(t, StoreOf(newBookkeeper(row)))
		signal, stop, err := c.Watch(row.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := charge(c, row.ID, 1); err != nil {
			t.Fatal(err)
		}
		<-signal
		stop()
		if err := charge(c, row.ID, 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case <-signal:
			t.Error("a signal after the end")
		default:
		}
		if _, err := c.storedRow(context.Background(), common.Hash{7}); !errors.Is(err, ErrNoChannel) || len(c.refs) != 1 {
			t.Errorf("%v, %d actors", err, len(c.refs))
		}
	})
}

// TestChannelWatchOfACrash: who watches a channel whose actor falls over is told to look
// again, and a glance reads the disk.
func TestChannelWatchOfACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := funded(100)
		book := newBookkeeper(row)
		c := openChannels(t, StoreOf(book))
		signal, stop, err := c.Watch(row.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		synctest.Wait()
		_, err = c.ask(context.Background(), row.ID, func(*session.Channel, time.Time) (*session.Channel, Entry, any, error) { panic("on purpose") })
		if !errors.Is(err, errChannelEnded) {
			t.Errorf("fallen: %v", err)
		}
		synctest.Wait()
		select {
		case <-signal:
		default:
			t.Error("no signal after the crash")
		}
	})
}

// TestChannelGlance: a glance waits for nobody, and tells what was answered last.
func TestChannelGlance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := funded(100)
		book := newBookkeeper(row)
		c := openChannels(t, StoreOf(book))
		spent := func(want uint64) {
			t.Helper()
			if got, err := c.knownRow(context.Background(), row.ID); err != nil || got.Spent != units(want) {
				t.Errorf("spent %s, %v, want %d", got.Spent, err, want)
			}
		}
		spent(0) // without an actor
		if err := charge(c, row.ID, 1); err != nil {
			t.Fatal(err)
		}
		spent(1)
		book.mu.Lock()
		book.hold = make(chan struct{})
		book.mu.Unlock()
		done := make(chan error)
		go func() { done <- charge(c, row.ID, 2) }()
		synctest.Wait() // the charge waits for the disk
		spent(1)
		close(book.hold)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		spent(3)
		if err := c.Hold(context.Background(), row.ID, units(5)); err != nil {
			t.Fatal(err)
		}
		if got, err := c.knownRow(context.Background(), row.ID); err != nil || got.Reserved != units(5) {
			t.Errorf("reserved %s, %v", got.Reserved, err)
		}
		if _, err := c.knownRow(context.Background(), common.Hash{7}); !errors.Is(err, ErrNoChannel) {
			t.Errorf("a glance at nothing: %v", err)
		}
	})
}
