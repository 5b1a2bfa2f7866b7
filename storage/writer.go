package storage

import (
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// Bounds of one group: operations and their bytes.
const (
	maxGroup      = 2048
	maxGroupBytes = 8 << 20
)

// op is one write. do may run more than once, each time in a new transaction.
type op struct {
	do   func(*bolt.Tx) error
	size int
	done chan error // capacity 1
}

// commit hands do to the writer and returns when it is on disk.
func (s *Store) commit(size int, do func(*bolt.Tx) error) error {
	o := op{do: do, size: size, done: make(chan error, 1)}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return ErrClosed
	}
	s.ops <- o
	s.mu.RUnlock()
	return <-o.done
}

// write commits operations until ops is closed and empty.
func (s *Store) write() {
	defer s.workers.Done()
	for first := range s.ops {
		s.apply(s.group(first))
	}
}

// group takes what waits already. It waits for nothing.
func (s *Store) group(first op) []op {
	group, bytes := []op{first}, first.size
	for len(group) < maxGroup && bytes < maxGroupBytes {
		select {
		case o, ok := <-s.ops:
			if !ok {
				return group
			}
			group, bytes = append(group, o), bytes+o.size
		default:
			return group
		}
	}
	return group
}

// apply commits a group. One operation that cannot be done must not cost its
// neighbours theirs: then each runs by itself.
func (s *Store) apply(group []op) {
	var culprit error
	err := s.db.Update(func(tx *bolt.Tx) error {
		for _, o := range group {
			if culprit = o.do(tx); culprit != nil {
				return culprit
			}
		}
		return nil
	})
	if culprit != nil && len(group) > 1 {
		for _, o := range group {
			s.apply([]op{o})
		}
		return
	}
	for _, o := range group {
		o.done <- err
	}
}

func databasePath(dir string) string { return filepath.Join(dir, FileName) }

// syncDir makes a rename in the folder of path durable.
func syncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
