package channel

import "sync"

// locks are mutexes by name. A name that is not locked uses no memory.
type locks struct {
	mu     sync.Mutex
	byName map[string]*lock
}

type lock struct {
	sync.Mutex
	users int
}

func newLocks() *locks { return &locks{byName: make(map[string]*lock)} }

// lock locks the name and returns the function that unlocks it.
func (l *locks) lock(name string) (unlock func()) {
	l.mu.Lock()
	k := l.byName[name]
	if k == nil {
		k = new(lock)
		l.byName[name] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		if k.users--; k.users == 0 {
			delete(l.byName, name)
		}
		l.mu.Unlock()
	}
}
