package locks_test

import (
	"sync"
	"testing"

	"txlens/actors/locks"
)

// TestSet: one name is held by one at a time, names do not wait for each other, and what is
// unlocked is forgotten.
func TestSet(t *testing.T) {
	s := locks.New()
	other := s.Lock("other")
	held, total := 0, 0
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			defer s.Lock("name")()
			if held++; held != 1 {
				t.Errorf("%d hold the lock", held)
			}
			total++
			held--
		})
	}
	wg.Wait()
	if total != 50 || s.Users() != 1 {
		t.Errorf("%d had the lock, %d users are left; want 50 and the one of the other name", total, s.Users())
	}
	other()
	if s.Users() != 0 {
		t.Errorf("%d users are left", s.Users())
	}
}
