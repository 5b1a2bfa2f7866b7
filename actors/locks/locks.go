// Package locks has mutexes by name.
package locks

import "sync"

// Set holds a mutex for each name that is locked. A name that is not locked uses no memory. It
// is safe for concurrent use.
type Set struct {
	mu     sync.Mutex
	byName map[string]*lock
}

type lock struct {
	sync.Mutex
	users int
}

// New returns a Set.
func New() *Set { return &Set{byName: make(map[string]*lock)} }

// Lock locks the name and returns the function that unlocks it.
func (s *Set) Lock(name string) (unlock func()) {
	s.mu.Lock()
	l := s.byName[name]
	if l == nil {
		l = new(lock)
		s.byName[name] = l
	}
	l.users++
	s.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		s.mu.Lock()
		if l.users--; l.users == 0 {
			delete(s.byName, name)
		}
		s.mu.Unlock()
	}
}

// Users returns how many have locked one name or wait for it: those of the name that has most.
func (s *Set) Users() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.byName {
		n = max(n, l.users)
	}
	return n
}
