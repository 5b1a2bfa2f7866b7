package buckets

import (
	"testing"
	"time"
)

func TestTake(t *testing.T) {
	s := New[string](10, 2)
	now := time.Unix(1_900_000_000, 0)
	f := func(key string, after, most, wantWait time.Duration, wantOK bool) {
		t.Helper()
		if wait, ok := s.Take(key, now.Add(after), most); wait != wantWait || ok != wantOK {
			t.Errorf("wait %s, %t; want %s, %t", wait, ok, wantWait, wantOK)
		}
	}
	f("a", 0, 0, 0, true)
	f("a", 0, 0, 0, true)
	f("a", 0, 0, 0, false) // the burst is used up
	f("b", 0, 0, 0, true)  // by another party it is not
	f("a", 0, time.Second, 100*time.Millisecond, true)
	f("a", 0, time.Second, 200*time.Millisecond, true)
	f("a", 0, 250*time.Millisecond, 0, false)
	f("a", 0, 300*time.Millisecond, 300*time.Millisecond, true) // the refused one took nothing
	f("a", 500*time.Millisecond, 0, 0, true)
}

// TestReserve: a token that is given back can be taken again, once.
func TestReserve(t *testing.T) {
	s := New[string](1, 2)
	now := time.Unix(1_900_000_000, 0)
	s.Take("a", now, 0)
	_, undo, ok := s.Reserve("a", now, 0)
	if _, taken := s.Take("a", now, 0); !ok || taken {
		t.Fatalf("%t, %t: want the last token, and then none", ok, taken)
	}
	undo()
	undo()
	if _, ok := s.Take("a", now, 0); !ok {
		t.Error("the token was not given back")
	}
	if _, ok := s.Take("a", now, 0); ok {
		t.Error("the token was given back twice")
	}
	if _, undo, ok := New[int](0, 1).Reserve(1, now, 0); !ok {
		t.Error("refused without a limit")
	} else {
		undo()
	}
}

func TestNoLimit(t *testing.T) {
	s := New[int](0, 5)
	for range 100 {
		if wait, ok := s.Take(1, time.Time{}, 0); wait != 0 || !ok {
			t.Fatalf("wait %s, %t", wait, ok)
		}
	}
}

// TestForget: the number of parties is bounded, and those that use up their tokens are
// kept as long as there are others to forget.
func TestForget(t *testing.T) {
	s := New[int](1, 1)
	now := time.Unix(1_900_000_000, 0)
	later := now.Add(10 * time.Second)
	for i := range maxParties - 1 {
		s.Take(i, now, 0)
	}
	s.Take(-1, later, 0)
	s.Take(-2, later, 0)
	if len(s.all) != 2 {
		t.Errorf("%d parties", len(s.all))
	}
	if _, ok := s.Take(-1, later, 0); ok {
		t.Error("a party that had used its tokens was forgotten")
	}
	for i := range 3 * maxParties {
		s.Take(i, later, 0)
		if len(s.all) > maxParties {
			t.Fatalf("%d parties", len(s.all))
		}
	}
}
