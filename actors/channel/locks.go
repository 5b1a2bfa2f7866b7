package channel

import "sync"

// locks are mutexes by name, which cost nothing while nobody holds them.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	sync.Mutex
	users int
}

func newLocks() *locks { return &locks{held: make(map[string]*lock)} }

// lock waits for the name and returns what gives it back.
func (l *locks) lock(name string) (unlock func()) {
	l.mu.Lock()
	k := l.held[name]
	if k == nil {
		k = new(lock)
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
		l.mu.Unlock()
	}
}
