package storage

import (
	"errors"
	"time"

	bolt "go.etcd.io/bbolt"

	"txlens/engine/api"
)

// maxExpired bounds the keys that one transaction deletes, so that a deletion delays
// writers by milliseconds only.
const maxExpired = 500

// hasExpired reports whether the retention of a record has passed. Reads call it too, so
// that a record expires on time even if it is deleted later.
func (s *Store) hasExpired(id recordID, keep time.Duration) bool {
	return !s.options.Now().Before(id.created().Add(keep))
}

// expireLoop deletes expired records in the background until the store is closed.
func (s *Store) expireLoop() {
	defer s.workers.Done()
	if s.options.ExpireEvery < 0 {
		return
	}
	tick := time.NewTicker(s.options.ExpireEvery)
	defer tick.Stop()
	for {
		if n, err := s.Expire(); errors.Is(err, ErrClosed) {
			return
		} else if err != nil {
			s.options.Log.Error("expire records", "error", err)
		} else if n > 0 {
			s.options.Log.Debug("expired records", "keys", n)
		}
		select {
		case <-tick.C:
		case <-s.stop:
			return
		}
	}
}

// Expire deletes all expired records and returns the number of deleted keys. If the file is
// bounded it then makes room.
func (s *Store) Expire() (total int, err error) {
	for _, b := range []struct {
		name []byte
		keep time.Duration
		also func(c *change, key []byte) error // deletes other rows that belong to a key; may be nil
	}{
		{bucketJobs, api.JobRetention, nil}, {bucketRuns, api.RunRetention, forgetRun},
		{bucketStreams, api.RunRetention, forgetRun}, {bucketBlocking, api.RunRetention, forgetRun}, {bucketEvidence, api.RunRetention, forgetRun},
		{bucketAdmissions, billRetention, dropTickets}, {bucketBills, billRetention, dropDebt},
	} {
		for {
			n, err := s.expireFront(b.name, b.keep, b.also)
			total += n
			if err != nil {
				return total, err
			}
			if n < maxExpired {
				break
			}
		}
	}
	return total, s.shrink()
}

// expireFront deletes expired keys from the front of a bucket, in one transaction. It writes
// nothing when no key has expired.
func (s *Store) expireFront(bucket []byte, keep time.Duration, also func(*change, []byte) error) (n int, err error) {
	due := false
	err = s.view(func(tx *bolt.Tx) error {
		keys, err := s.expiredKeys(tx, bucket, keep, 1)
		due = len(keys) > 0
		return err
	})
	if err != nil || !due {
		return 0, err
	}
	err = s.update(0, func(c *change) error {
		keys, err := s.expiredKeys(c.tx, bucket, keep, maxExpired)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if also != nil {
				if err := also(c, k); err != nil {
					return err
				}
			}
			if err := c.delete(bucket, k); err != nil {
				return err
			}
		}
		n = len(keys)
		return nil
	})
	return n, err
}

// expiredKeys returns the first expired keys. They are valid while tx is open.
func (s *Store) expiredKeys(tx *bolt.Tx, bucket []byte, keep time.Duration, limit int) (keys [][]byte, err error) {
	c := tx.Bucket(bucket).Cursor()
	for k, _ := c.First(); k != nil && len(keys) < limit; k, _ = c.Next() {
		id, err := idOfKey(k)
		if err != nil {
			return nil, err
		}
		if !s.hasExpired(id, keep) {
			break
		}
		keys = append(keys, k)
	}
	return keys, nil
}
