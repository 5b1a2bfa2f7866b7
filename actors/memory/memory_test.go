package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"txlens/actors/memory"
)

// TestBudget: what waits, what does not, and what is refused.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(100)
		ctx, cancel := context.WithCancel(t.Context())
		reserve := func(n int64) *memory.Reservation {
			t.Helper()
			r, err := b.Reserve(ctx, n)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		used := func(want int64) {
			t.Helper()
			if got := b.Used(); got != want {
				t.Errorf("%d bytes are reserved, want %d", got, want)
			}
		}
		wait := func(do func() error) chan error {
			ended := make(chan error, 1)
			go func() { ended <- do() }()
			synctest.Wait()
			return ended
		}
		pending := func(c chan error) {
			t.Helper()
			select {
			case err := <-c:
				t.Errorf("it did not wait: %v", err)
			default:
			}
		}
		first, second := reserve(10), reserve(10)
		if err := first.GrowTo(ctx, 50); err != nil {
			t.Fatal(err)
		}
		used(60)
		grows := wait(func() error { return second.GrowTo(ctx, 30) }) // 80 is more than three quarters
		pending(grows)
		if err := first.GrowTo(ctx, 70); err != nil { // the oldest may
			t.Fatal(err)
		}
		small := reserve(20)
		used(100)
		more := wait(func() error { _, err := b.Reserve(ctx, 1); return err })
		pending(more)
		first.Release()
		first.Release()
		if err := <-grows; err != nil {
			t.Error(err)
		}
		if err := <-more; err != nil {
			t.Error(err)
		}
		used(51)
		small.Release()
		if err := second.GrowTo(ctx, 20); err != nil { // has more already
			t.Error(err)
		}
		used(31)
		begin := time.Now()
		if err := second.GrowTo(ctx, 101); err != memory.ErrFull || time.Since(begin) != 0 {
			t.Errorf("more than all: %v after %v", err, time.Since(begin))
		}
		if _, err := b.Reserve(ctx, 70); err != memory.ErrFull || time.Since(begin) != memory.Wait {
			t.Errorf("nobody gave back: %v after %v", err, time.Since(begin))
		}
		cancelled := wait(func() error { _, err := b.Reserve(ctx, 70); return err })
		cancel()
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		second.Release()
		used(1)
		if err := second.GrowTo(context.Background(), 90); err != nil {
			t.Error(err)
		}
		used(1) // it had ended
	})
}

// TestLargeAlone: work that needs more than there is runs alone.
func TestLargeAlone(t *testing.T) {
	b := memory.New(100)
	r, err := b.Reserve(t.Context(), 150)
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
	if b.Used() != 0 {
		t.Error(b.Used())
	}
}

// TestNoBound: nil bounds nothing.
func TestNoBound(t *testing.T) {
	var b *memory.Budget
	r, err := b.Reserve(t.Context(), 1<<60)
	if err == nil {
		err = r.GrowTo(t.Context(), 1<<62)
	}
	if err != nil || b.Used() != 0 {
		t.Error(err)
	}
	r.Release()
}

// TestRoomToGrow: however much work begins at once, there is room for what has begun to grow.
func TestRoomToGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(400)
		var all []*memory.Reservation
		for range 20 {
			r, err := b.Reserve(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		if _, err := b.Reserve(t.Context(), 10); !errors.Is(err, memory.ErrFull) {
			t.Errorf("more than half for work that has not grown: %v", err)
		}
		begins := make(chan error, 1)
		go func() {
			_, err := b.Reserve(t.Context(), 10)
			begins <- err
		}()
		synctest.Wait() // it waits
		if err := all[5].GrowTo(t.Context(), 80); err != nil {
			t.Errorf("no room to grow: %v", err)
		}
		if err := <-begins; err != nil {
			t.Errorf("work that waited for others to grow: %v", err)
		}
		if err := all[6].GrowTo(t.Context(), 20); err != nil {
			t.Error(err)
		}
		if _, err := b.Reserve(t.Context(), 10); err != nil {
			t.Errorf("one that has grown counts: %v", err)
		}
		for _, r := range all {
			r.Release()
		}
		if b.Used() != 20 { // of the two that began later
			t.Errorf("%d bytes are left", b.Used())
		}
	})
}
