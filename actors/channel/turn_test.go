package channel

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
)

// TestImpatientPayerChargedOnce: a request whose context ends while its charge is on
// its way to the disk has the turn until the outcome is known. The same request again
// finds the ticket, or the bill as it is paid, and charges nothing.
func TestImpatientPayerChargedOnce(t *testing.T) {
	f := func(name string, do func(ctx context.Context, c *Channels) error, spent, collected uint64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { impatient(t, name, do, spent, collected) })
	}
	id := funded(100).ID
	f("admit", func(ctx context.Context, c *Channels) error {
		_, err := admitOn(ctx, c, id, TicketKey{1}, "b", 10)
		return err
	}, 10, 10)
	f("collect", func(ctx context.Context, c *Channels) error {
		_, _, err := c.Collect(ctx, id, "b", units(30), units(30), units(0))
		return err
	}, 29, 30)
}

// impatient does something twice: once by who leaves while it is on its way to the
// disk, and again.
func impatient(t *testing.T, name string, do func(ctx context.Context, c *Channels) error, spent, collected uint64) {
	row := funded(100)
	book := newBookkeeper(row)
	bill := Bill{ID: "b", Collected: units(1), Price: units(30)}
	book.bills["b"] = bill
	book.hold = make(chan struct{})
	c := openChannels(t, StoreOf(book))
	ctx, cancel := context.WithCancel(context.Background())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- do(ctx, c) }()
	synctest.Wait() // the charge waits for the disk
	cancel()
	synctest.Wait()
	go func() { second <- do(context.Background(), c) }()
	for range 1_000_000 { // a mutex is no wait that synctest knows
		if c.operationLocks.Users() == 2 {
			break // the second waits for its turn
		}
		runtime.Gosched()
	}
	close(book.hold)
	<-first
	if err := <-second; err != nil {
		t.Errorf("%s again: %v", name, err)
	}
	disk, _ := book.Channel(row.ID)
	if got, _ := book.Bill("b"); disk.Spent != units(spent) || got.Collected != units(collected) {
		t.Errorf("%s: spent %s, collected %s; want %d, %d", name, disk.Spent, got.Collected, spent, collected)
	}
}
