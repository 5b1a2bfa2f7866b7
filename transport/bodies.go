package transport

import (
	"io"
	"sync"

	"txlens/actors/locks"
	"txlens/engine/api"
)

// bodies are the large answers that are being written. All who read the same bytes at a time
// share one buffer, which is dropped when the last of them has ended. It is safe for concurrent
// use.
type bodies struct {
	max      int64 // bytes of all
	perParty int64 // bytes that one party makes the server hold
	makers   chan struct{}
	keys     *locks.Set // answers that are being encoded

	mu      sync.Mutex
	all     map[string]*body
	held    int64
	parties map[string]int64
}

// body is one answer. Its bytes do not change.
type body struct {
	key     string
	data    []byte
	readers map[string]int // by party
}

func newBodies(max, perParty int64, makers int) *bodies {
	return &bodies{
		max: max, perParty: perParty, makers: make(chan struct{}, makers), keys: locks.New(),
		all: make(map[string]*body), parties: make(map[string]int64),
	}
}

// work waits until the caller may decode or encode a large answer, because each that does takes
// a multiple of its size.
func (b *bodies) work() (done func()) {
	b.makers <- struct{}{}
	return func() { <-b.makers }
}

// find returns the body of a key for a party, nil if it is not held. The error is api.ErrTooManyAnswers.
func (b *bodies) find(key, party string) (*hold, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it := b.all[key]; it != nil {
		return b.take(it, party)
	}
	return nil, nil
}

// add is find for a body that may be new. The error is api.ErrTooManyAnswers.
func (b *bodies) add(key, party string, data []byte) (*hold, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.addLocked(key, party, data)
}

func (b *bodies) addLocked(key, party string, data []byte) (*hold, error) {
	if it := b.all[key]; it != nil {
		return b.take(it, party)
	}
	if b.held > 0 && b.held+int64(len(data)) > b.max {
		return nil, api.ErrTooManyAnswers
	}
	it := &body{key: key, data: data, readers: make(map[string]int)}
	h, err := b.take(it, party)
	if err == nil {
		b.all[key] = it
		b.held += int64(len(data))
	}
	return h, err
}

// full reports whether there is no room for another body.
func (b *bodies) full(party string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held >= b.max || party != "" && b.parties[party] >= b.perParty
}

// take counts a reader. A party that holds nothing may have one body of any size, otherwise it
// could never have it.
func (b *bodies) take(it *body, party string) (*hold, error) {
	size := int64(len(it.data))
	if party != "" && it.readers[party] == 0 {
		if has := b.parties[party]; has > 0 && has+size > b.perParty {
			return nil, api.ErrTooManyAnswers
		}
		b.parties[party] += size
	}
	it.readers[party]++
	return &hold{of: b, body: it, party: party, left: it.data}, nil
}

func (b *bodies) leave(it *body, party string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it.readers[party]--; it.readers[party] > 0 {
		return
	}
	delete(it.readers, party)
	if b.parties[party] -= int64(len(it.data)); b.parties[party] <= 0 {
		delete(b.parties, party)
	}
	if len(it.readers) == 0 {
		delete(b.all, it.key)
		b.held -= int64(len(it.data))
	}
}

// hold is the body of one answer, which fasthttp reads and closes. Only Close is safe for
// concurrent use.
type hold struct {
	of    *bodies
	body  *body
	party string
	left  []byte
	once  sync.Once
}

// again returns a hold of the same body for another reader, also after Close. The error is
// api.ErrTooManyAnswers.
func (h *hold) again(party string) (*hold, error) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	return h.of.addLocked(h.body.key, party, h.body.data)
}

// Read implements io.Reader.
func (h *hold) Read(p []byte) (int, error) {
	if len(h.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, h.left)
	h.left = h.left[n:]
	return n, nil
}

// WriteTo writes the rest without a copy of it.
func (h *hold) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(h.left)
	h.left = h.left[n:]
	return int64(n), err
}

// Close gives the body back. Only the first call counts.
func (h *hold) Close() error {
	h.once.Do(func() { h.of.leave(h.body, h.party) })
	return nil
}
