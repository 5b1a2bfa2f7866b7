package storage

import (
	"errors"
	"math"
	"path/filepath"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/storage/budget"
)

// Bounds of a file that an operator may set, and the default on a large disk.
const (
	LeastMaxBytes   = 64_000_000
	largestDefault  = 20_000_000_000
	defaultDiskPart = 10 // the default is this part of a smaller disk
)

// DefaultMaxBytes is the bound of a file in dir for which none is set: a tenth of the disk, at
// most 20 GB. Folders of dir may be missing.
func DefaultMaxBytes(dir string) int64 {
	for {
		if n := diskSize(dir); n > 0 {
			return max(LeastMaxBytes, min(n/defaultDiskPart, largestDefault))
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return largestDefault
		}
		dir = parent
	}
}

// maxPassed bounds the records of earlier versions that one transaction reads.
const maxPassed = 2000

// elementSize is what bbolt stores beside a key and its value.
const elementSize = 16

// growth is what a change adds to the file, in bytes of keys and values.
type growth struct{ promised, evictable int64 }

func (g *growth) add(o growth) {
	g.promised += o.promised
	g.evictable += o.evictable
}

// note counts a key and its value; a nil value is not there.
func (g *growth) note(bucket, key, value []byte, sign int64) {
	if value == nil {
		return
	}
	n := sign * int64(len(key)+len(value)+elementSize)
	switch string(bucket) {
	case string(bucketStreams), string(bucketBlocking), string(bucketEvidence), string(bucketKept), string(bucketKeptRuns):
		g.evictable += n
	default:
		g.promised += n
	}
}

// counters count what is in a bounded file.
type counters struct {
	live, promised, evictable atomic.Int64
	evicted                   atomic.Uint64

	// passed is the key in bucketRuns up to which the writer has looked for records of
	// earlier versions. The writer owns it.
	passed []byte
}

// eviction is what was deleted to make room.
type eviction struct {
	growth
	records int
}

// openBudget counts what is in the file.
func (s *Store) openBudget() error {
	if s.options.MaxBytes <= 0 {
		return nil
	}
	// The file grows in steps, which must be small against the bound.
	s.db.AllocSize = int(min(int64(s.db.AllocSize), max(s.options.MaxBytes/64, 64<<10)))
	var all growth
	err := s.guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
				return b.ForEach(func(k, v []byte) error { all.note(name, k, v, 1); return nil })
			})
		})
	})
	if err != nil {
		return err
	}
	fileSizes(s.db) // updates the number of free pages
	s.book(all, 0)
	return nil
}

// book counts what a commit has changed.
func (s *Store) book(g growth, evicted int) {
	if s.options.MaxBytes <= 0 {
		return
	}
	s.budget.promised.Add(g.promised)
	s.budget.evictable.Add(g.evictable)
	s.budget.evicted.Add(uint64(evicted))
	if err := s.db.View(func(tx *bolt.Tx) error { s.budget.live.Store(s.liveBytes(tx)); return nil }); err != nil {
		s.options.Log.Error("measure the database", "error", err)
	}
}

// liveBytes is the size of the pages that are not free.
func (s *Store) liveBytes(tx *bolt.Tx) int64 {
	stats := s.db.Stats()
	return tx.Size() - int64(stats.FreePageN+stats.PendingPageN)*int64(s.db.Info().PageSize)
}

// Usage returns what the file contains: pages that are not free. It is zero for a file without a
// bound.
func (s *Store) Usage() budget.Usage {
	b := &s.budget
	u := budget.Usage{Live: b.live.Load(), Max: s.options.MaxBytes, Evicted: b.evicted.Load()}
	promised, evictable := b.promised.Load(), b.evictable.Load()
	if all := promised + evictable; all > 0 {
		u.Promised = int64(math.Ceil(float64(u.Live) * (float64(promised) / float64(all))))
	}
	return u
}

// Room returns api.ErrFull if nothing more should be promised to a caller, otherwise nil. It
// does not read the file.
func (s *Store) Room() error {
	if s.Usage().Full() {
		return api.ErrFull
	}
	return nil
}

// makeRoom deletes records for what a group adds. If that fails it deletes nothing, and the
// group is written nevertheless.
func (s *Store) makeRoom(tx *bolt.Tx, g growth) (e eviction) {
	added := g.promised + g.evictable
	if !s.Usage().Crowded(added) {
		return e
	}
	c := &change{tx: tx}
	do := func(c *change) (err error) { e.records, err = s.evict(c, budget.Excess(added)); return err }
	if err := s.attempt(operation{do: do}, c); err != nil {
		s.options.Log.Error("delete records to make room", "error", err)
		if err := c.revert(); err != nil {
			s.options.Log.Error("restore records after a failed deletion", "error", err)
		}
		return eviction{}
	}
	e.growth = c.growth
	return e
}

// evict deletes records of about want bytes, if there are so many.
func (s *Store) evict(c *change, want int64) (records int, err error) {
	for _, r := range []struct {
		bucket []byte
		from   *[]byte // where to begin; nil: at the first key
	}{{bucketEvidence, nil}, {bucketBlocking, nil}, {bucketStreams, nil}, {bucketRuns, &s.budget.passed}} {
		n, err := s.evictFrom(c, r.bucket, r.from, want)
		records += n
		if err != nil {
			return records, err
		}
	}
	return records, nil
}

// evictFrom deletes records of one bucket until c has deleted want bytes. passed is set if the
// bucket contains promised records, which it passes over; it then holds the position.
func (s *Store) evictFrom(c *change, bucket []byte, passed *[]byte, want int64) (records int, err error) {
	var from []byte
	if passed != nil {
		from = *passed
	}
	for looked := 0; -c.promised-c.evictable < want && looked < maxPassed; {
		id, head, err := nextRecord(c, bucket, from)
		if err != nil || head == nil {
			return records, err
		}
		from = id.keyAfterRecord()
		if passed != nil {
			*passed = from
			looked++
			if keep, err := isPromised(c, id, head); err != nil || keep {
				if err != nil {
					return records, err
				}
				continue
			}
		}
		if err := errors.Join(runsIn(bucket).drop(c, id), forgetRun(c, id.headKey())); err != nil {
			return records, err
		}
		records++
	}
	return records, nil
}

// nextRecord returns the first record of a bucket that is not below from; head is nil at the
// end.
func nextRecord(c *change, bucket, from []byte) (id recordID, head []byte, err error) {
	b, err := c.bucket(bucket)
	if err != nil {
		return id, nil, err
	}
	cur := b.Cursor()
	for k, v := cur.Seek(from); k != nil; k, v = cur.Seek(id.keyAfterRecord()) {
		// A chunk without a head belongs to a record whose head has expired.
		if id, err = idOfKey(k); err != nil || k[len(id)] == partHead {
			return id, v, err
		}
	}
	return id, nil, nil
}

// isPromised reports whether a record of bucketRuns was promised to a payer: it says so, or an
// earlier version wrote it and there is a bill for it.
func isPromised(c *change, id recordID, head []byte) (bool, error) {
	h, err := runs[job.RunPaid].decode(id.headKey(), head)
	if err != nil || h.Paid {
		return true, err
	}
	b, err := c.bucket(bucketBills)
	return err == nil && b.Get(id.headKey()) != nil, err
}

// shrink deletes records until the file has room, or there is nothing more to delete.
func (s *Store) shrink() error {
	for s.Usage().Crowded(0) {
		before := s.budget.evicted.Load()
		if err := s.update(0, func(*change) error { return nil }); err != nil {
			return err
		}
		if s.budget.evicted.Load() == before {
			return nil
		}
	}
	return nil
}
