package storage

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Bounds of one group: operations and their bytes.
const (
	maxGroup      = 2048
	maxGroupBytes = 8 << 20
)

// op is one write that waits for the writer.
type op struct {
	do   func(*change) error
	size int
	then func(error) // called once, by the writer; must not block
}

// update hands do to the writer and returns when what it wrote is on disk. Many
// callers share one fsync, and each gets the outcome of its own operation:
//
//   - do runs once, on the writer's goroutine, after all that was handed over
//     before it, and sees what that wrote. So it may check a row and then change it,
//     and no other write comes between. It must not block, nor call the store.
//   - When do returns an error, nothing of what it wrote stays, update returns that
//     error as it is, and its neighbours are committed all the same.
//   - When the commit fails, nothing of the whole group stays. With ErrBroken it is
//     not known whether it does.
//
// size is about the number of bytes that do writes.
func (s *Store) update(size int, do func(*change) error) error {
	done := make(chan error, 1)
	o := op{do: do, size: size, then: func(err error) { done <- err }}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return ErrClosed
	}
	s.ops <- o
	s.mu.RUnlock()
	return <-done
}

// updateThen is update for who does not wait: then is told the outcome, once, by a
// goroutine of the store's, and must not block.
func (s *Store) updateThen(size int, do func(*change) error, then func(error)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.closed {
		select {
		case s.ops <- op{do: do, size: size, then: then}:
			return
		default: // a whole group waits
		}
	}
	go func() { then(s.update(size, do)) }()
}

// writeAlways commits operations until ops is closed and empty.
func (s *Store) writeAlways() {
	defer s.workers.Done()
	debug.SetPanicOnFault(true) // of this goroutine alone
	for first := range s.ops {
		s.apply(s.group(first))
	}
}

// A group of so many is not the last: it gathers for so long what comes behind it. A
// commit costs the same for one and for hundreds.
const (
	busyGroup  = 4
	gatherTime = 500 * time.Microsecond
)

// group takes what waits already, and lets others run whenever it has found
// something, which on an idle machine takes no time: who is about to write then
// shares this commit. Who writes alone waits for nothing; many gather once.
func (s *Store) group(first op) []op {
	group, size := []op{first}, first.size
	yielded, gathered := false, false
	for len(group) < maxGroup && size < maxGroupBytes {
		select {
		case o, ok := <-s.ops:
			if !ok {
				return group
			}
			group, size, yielded = append(group, o), size+o.size, false
			continue
		default:
		}
		switch {
		case !yielded:
			yielded = true
			runtime.Gosched()
		case len(group) >= busyGroup && !gathered:
			gathered = true
			time.Sleep(gatherTime)
		default:
			return group
		}
	}
	return group
}

// apply commits a group and answers each of it. What an operation found wrong may
// rest on what a neighbour wrote, so it holds only where the commit does.
func (s *Store) apply(group []op) {
	errs := make([]error, len(group))
	s.syncing.Lock()
	err := s.commit(group, errs)
	s.syncing.Unlock()
	for i, o := range group {
		if err != nil {
			errs[i] = err
		}
		o.then(errs[i])
	}
}

// commit runs a group in one transaction. Its error is that of all.
func (s *Store) commit(group []op, errs []error) (err error) {
	if s.broken != nil {
		return s.broken
	}
	// bbolt panics where the file is not as it must be.
	defer s.caught(&err)
	tx, err := s.db.Begin(true)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // once it is committed this does nothing
	wrote := false
	for i, o := range group {
		c := &change{tx: tx}
		if errs[i] = s.attempt(o, c); errs[i] != nil {
			if err := c.revert(); err != nil {
				return fmt.Errorf("take back what failed: %w", err)
			}
			continue
		}
		wrote = wrote || len(c.undo) > 0
	}
	if !wrote {
		return nil // what it saw was committed before
	}
	id := int64(tx.ID())
	if err := s.commitTx(tx); err != nil {
		return s.failed(id, err)
	}
	s.durable.Store(id)
	return nil
}

// attempt runs one operation; its panic is its own.
func (s *Store) attempt(o op, c *change) (err error) {
	defer s.caught(&err)
	return o.do(c)
}

// failed tells the commit that left the file as it was, because the disk is full
// say, from the one that wrote its last page and could not sync it. After the
// latter nobody knows what a power cut leaves, and another write could make use of
// pages that are needed then: so there is none.
func (s *Store) failed(id int64, cause error) error {
	seen := id
	if err := s.db.View(func(tx *bolt.Tx) error { seen = int64(tx.ID()); return nil }); err == nil && seen < id {
		return fmt.Errorf("commit: %w", cause)
	}
	s.broken = fmt.Errorf("%w: commit: %w", ErrBroken, cause)
	s.o.Log.Error("the database takes no more writes", "error", s.broken)
	return s.broken
}

// caught is to be deferred: it makes a panic an error.
func (s *Store) caught(err *error) {
	if p := recover(); p != nil {
		s.o.Log.Error("storage panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = fmt.Errorf("%w: %v", ErrDamaged, p)
	}
}

// change is what one operation does within the transaction of its group. It
// remembers what stood there before. What it returns is valid until the operation
// ends, and what it is given must stay as it is until the commit.
type change struct {
	tx   *bolt.Tx
	undo []before
}

// before is a key as it was; value is nil where there was none.
type before struct{ bucket, key, value []byte }

var errNoBucket = errors.New("no such bucket")

func (c *change) bucket(name []byte) (*bolt.Bucket, error) {
	if b := c.tx.Bucket(name); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("%w: %s", errNoBucket, name)
}

// put writes a value under a key; the value must not be nil.
func (c *change) put(bucket, key, value []byte) error {
	b, err := c.bucket(bucket)
	if err != nil {
		return err
	}
	c.undo = append(c.undo, before{bucket, key, b.Get(key)})
	return b.Put(key, value)
}

// delete drops a key, whether it is there or not.
func (c *change) delete(bucket, key []byte) error {
	b, err := c.bucket(bucket)
	if err != nil {
		return err
	}
	c.undo = append(c.undo, before{bucket, bytes.Clone(key), b.Get(key)})
	return b.Delete(key)
}

// revert brings back what stood there, the last change first.
func (c *change) revert() error {
	for i := len(c.undo) - 1; i >= 0; i-- {
		u := c.undo[i]
		b, err := c.bucket(u.bucket)
		if err != nil {
			return err
		}
		if u.value == nil {
			err = b.Delete(u.key)
		} else {
			err = b.Put(u.key, bytes.Clone(u.value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
