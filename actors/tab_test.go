package actors

import (
	"context"
	"errors"
	"testing"
	"time"

	"txlens/engine/explain"
)

func TestTab(t *testing.T) {
	tab := NewTab("x", units(10_000), 250_000)
	ctx := context.Background()
	f := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	due := func(want uint64) {
		t.Helper()
		if got, _ := tab.Due(); got != units(want) {
			t.Errorf("due %s, want %d", got, want)
		}
	}
	due(10_000) // two cents are owed from the beginning
	f("within the exposure", tab.Gate(ctx), nil)
	tab.OnCost(200_000_000) // $0.20 costs $0.26
	due(250_000)
	f("at the exposure", tab.Gate(ctx), nil)
	tab.OnCost(200_000_001)
	tab.OnCost(5) // late news
	due(260_000)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	f("above the exposure", tab.Gate(short), context.DeadlineExceeded)
	passed := make(chan error)
	go func() { passed <- tab.Gate(ctx) }()
	tab.Collected(units(20_000))
	f("after a collection", <-passed, nil)
	tab.OnCost(900_000_000)
	go func() { passed <- tab.Gate(ctx) }()
	tab.GiveUp()
	f("given up", <-passed, explain.ErrUnpaid)
	<-tab.GivenUp()
	f("for good", tab.Gate(ctx), explain.ErrUnpaid)
}

// TestTabPatience: each collection starts the patience anew.
func TestTabPatience(t *testing.T) {
	tab := NewTab("x", units(0), 0)
	stop := tab.Expect(600 * time.Millisecond)
	for i := range 5 {
		time.Sleep(40 * time.Millisecond)
		tab.Collected(units(uint64(i + 1)))
	}
	select {
	case <-tab.GivenUp():
		t.Error("given up while it was paid")
	default:
	}
	<-tab.GivenUp()
	stop()
}
