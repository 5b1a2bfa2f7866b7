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

// Limits of one group: number of operations and bytes.
const (
	maxGroup      = 2048
	maxGroupBytes = 8 << 20
)

// operation is one write operation that waits for the writer.
type operation struct {
	do     func(*change) error
	size   int
	onDone func(error) // called once, by the writer; must not block
}

// update sends do to the writer and returns when its changes are on disk. Many callers
// share one fsync, and each gets the outcome of its own operation:
//
//   - do runs once, on the writer's goroutine, after all operations that were sent before it,
//     and sees their changes. So it may check a row and then change it without another write
//     in between. It must not block or call the store.
//   - If do returns an error, its changes are reverted and update returns that error. The
//     other operations of the group are committed.
//   - If the commit fails, no change of the group is stored. After ErrBroken it is unknown
//     whether the changes are stored.
//
// size is the approximate number of bytes that do writes.
func (s *Store) update(size int, do func(*change) error) error {
	done := make(chan error, 1)
	o := operation{do: do, size: size, onDone: func(err error) { done <- err }}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return ErrClosed
	}
	s.ops <- o
	s.mu.RUnlock()
	return <-done
}

// updateThen is update for callers that do not wait. A goroutine of the store calls then
// once with the outcome; then must not block.
func (s *Store) updateThen(size int, do func(*change) error, then func(error)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.closed {
		select {
		case s.ops <- operation{do: do, size: size, onDone: then}:
			return
		default: // room for a whole group
		}
	}
	go func() { then(s.update(size, do)) }()
}

// writeLoop commits operations until ops is closed and empty.
func (s *Store) writeLoop() {
	defer s.workers.Done()
	debug.SetPanicOnFault(true) // used by this goroutine alone
	for first := range s.ops {
		s.apply(s.collectGroup(first))
	}
}

// After a group of at least busyGroup operations the writer waits for gatherTime before the
// next commit, because a commit costs the same for one operation and for hundreds.
const (
	largeGroup = 4
	gatherTime = 500 * time.Microsecond
)

// collectGroup collects the waiting operations. After each one it yields to other goroutines, so
// that callers that are about to write share this commit. On an idle machine the yield takes
// no time.
func (s *Store) collectGroup(first operation) []operation {
	group, size := []operation{first}, first.size
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
		case len(group) >= largeGroup && !gathered:
			gathered = true
			time.Sleep(gatherTime)
		default:
			return group
		}
	}
	return group
}

// apply commits a group and reports the outcome to each operation. The error of an operation
// may depend on the changes of another one, so it is reported only after the commit.
func (s *Store) apply(group []operation) {
	errs := make([]error, len(group))
	s.syncing.Lock()
	err := s.commit(group, errs)
	s.syncing.Unlock()
	for i, o := range group {
		if err != nil {
			errs[i] = err
		}
		o.onDone(errs[i])
	}
}

// commit runs a group in one transaction. It returns the error that concerns the whole group.
func (s *Store) commit(group []operation, errs []error) (err error) {
	if s.broken != nil {
		return s.broken
	}
	// bbolt panics on a damaged file.
	defer s.recoverAsError(&err)
	tx, err := s.db.Begin(true)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() // does nothing after a commit
	wrote, grown := false, growth{}
	for i, o := range group {
		c := &change{tx: tx}
		if errs[i] = s.attempt(o, c); errs[i] != nil {
			if err := c.revert(); err != nil {
				return fmt.Errorf("take back what failed: %w", err)
			}
			continue
		}
		wrote = wrote || len(c.undo) > 0
		grown.add(c.growth)
	}
	evicted := s.makeRoom(tx, grown)
	grown.add(evicted.growth)
	wrote = wrote || evicted.records > 0
	if !wrote {
		return nil // the transaction saw an earlier commit
	}
	id := int64(tx.ID())
	if err := s.commitTx(tx); err != nil {
		return s.commitFailed(id, err)
	}
	s.durableTx.Store(id)
	s.book(grown, evicted.records)
	return nil
}

// attempt runs one operation and turns its panic into its error.
func (s *Store) attempt(o operation, c *change) (err error) {
	defer s.recoverAsError(&err)
	return o.do(c)
}

// commitFailed handles the error of a commit. If the file is unchanged, for example because the
// disk is full, writing goes on. If the last page was written but could not be synced, the
// state after a power cut is unknown and another write could overwrite pages that are needed
// then, so the store stops writing.
func (s *Store) commitFailed(id int64, cause error) error {
	seen := id
	if err := s.db.View(func(tx *bolt.Tx) error { seen = int64(tx.ID()); return nil }); err == nil && seen < id {
		return fmt.Errorf("commit: %w", cause)
	}
	s.broken = fmt.Errorf("%w: commit: %w", ErrBroken, cause)
	s.options.Log.Error("the database takes no more writes", "error", s.broken)
	return s.broken
}

// recoverAsError is deferred; it turns a panic into an error.
func (s *Store) recoverAsError(err *error) {
	if p := recover(); p != nil {
		s.options.Log.Error("storage panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = fmt.Errorf("%w: %v", ErrDamaged, p)
	}
}

// change is the view of one operation on the transaction of its group. It records old values
// so that they can be restored. Slices that it returns are valid until the operation ends;
// slices that it is given must not change until the commit.
type change struct {
	tx   *bolt.Tx
	undo []oldValue
	growth
}

// oldValue is the old value of a key; value is nil where the key did not exist.
type oldValue struct{ bucket, key, value []byte }

var errNoBucket = errors.New("no such bucket")

func (c *change) bucket(name []byte) (*bolt.Bucket, error) {
	if b := c.tx.Bucket(name); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("%w: %s", errNoBucket, name)
}

// put writes a value, which must not be nil, under a key.
func (c *change) put(bucket, key, value []byte) error {
	b, err := c.bucket(bucket)
	if err != nil {
		return err
	}
	was := b.Get(key)
	c.undo = append(c.undo, oldValue{bucket, key, was})
	c.note(bucket, key, was, -1)
	c.note(bucket, key, value, 1)
	return b.Put(key, value)
}

// delete deletes a key if it exists.
func (c *change) delete(bucket, key []byte) error {
	b, err := c.bucket(bucket)
	if err != nil {
		return err
	}
	was := b.Get(key)
	c.undo = append(c.undo, oldValue{bucket, bytes.Clone(key), was})
	c.note(bucket, key, was, -1)
	return b.Delete(key)
}

// revert restores the old values, the last change first.
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
