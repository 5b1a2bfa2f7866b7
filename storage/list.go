package storage

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/engine/api"
)

// The methods of this file list everything that a store contains, for copies. Each returns up to
// limit rows that have not expired, in the order of their keys, after a key that is not returned;
// the empty or zero key is before all others.

// JobsAfter lists jobs with their bodies by id.
func (s *Store) JobsAfter(id string, limit int) (rows []job.Row, err error) {
	ids, err := jobs.after(s, id, limit)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		row, err := s.Job(id)
		if errors.Is(err, api.ErrNoJob) {
			continue // it has expired
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// RunsAfter lists run records of all classes with their frames by id, but no evidence.
func (s *Store) RunsAfter(id string, limit int) (rows []job.RunRow, err error) {
	var ids []string
	for _, r := range runs[:job.RunEvidence] {
		of, err := r.after(s, id, limit)
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	slices.Sort(ids)
	for _, id := range ids[:min(limit, len(ids))] {
		row, err := s.Run(id)
		if errors.Is(err, api.ErrNoRun) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// after returns the ids of records that have not expired.
func (r records[H]) after(s *Store, id string, limit int) (ids []string, err error) {
	from := []byte{}
	if id != "" {
		rid, err := parseID(id)
		if err != nil {
			return nil, err
		}
		from = rid.keyAfterRecord()
	}
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(r.bucket).Cursor()
		for k, _ := c.Seek(from); k != nil && len(ids) < limit; {
			rid, err := idOfKey(k)
			if err != nil {
				return err
			}
			if k[len(rid)] == partHead && !s.hasExpired(rid, r.retention) {
				ids = append(ids, rid.String())
			}
			k, _ = c.Seek(rid.keyAfterRecord())
		}
		return nil
	})
	return ids, err
}

// BillsAfter lists bills by id.
func (s *Store) BillsAfter(id string, limit int) (list []channel.Bill, err error) {
	from := []byte{}
	if id != "" {
		rid, err := parseID(id)
		if err != nil {
			return nil, err
		}
		from = rid.keyAfterRecord()
	}
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketBills).Cursor()
		for k, v := c.Seek(from); k != nil && len(list) < limit; k, v = c.Next() {
			rid, err := idOfKey(k)
			if err != nil {
				return err
			}
			if s.hasExpired(rid, billRetention) {
				continue
			}
			b, err := bills.decode(k, v)
			if err != nil {
				return err
			}
			list = append(list, b.bill(rid))
		}
		return nil
	})
	return list, err
}

// TicketsAfter lists tickets by key.
func (s *Store) TicketsAfter(key channel.TicketKey, limit int) (list []channel.Ticket, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketTickets).Cursor()
		for k, v := c.Seek(key[:]); k != nil && len(list) < limit; k, v = c.Next() {
			if bytes.Equal(k, key[:]) {
				continue
			}
			t, err := tickets.decode(k, v)
			if err != nil {
				return err
			}
			id, err := parseID(t.Bill)
			if err != nil {
				return err
			}
			if !s.hasExpired(id, billRetention) {
				list = append(list, channel.Ticket{Key: channel.TicketKey(k), Bill: t.Bill, Charged: t.Charged})
			}
		}
		return nil
	})
	return list, err
}

// secretPrefix begins the keys of secrets in bucketMeta.
const secretPrefix = "secret "

// Secrets returns all secrets by their names.
func (s *Store) Secrets() (map[string][]byte, error) {
	all := map[string][]byte{}
	err := s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketMeta).Cursor()
		for k, v := c.Seek([]byte(secretPrefix)); k != nil && strings.HasPrefix(string(k), secretPrefix); k, v = c.Next() {
			all[strings.TrimPrefix(string(k), secretPrefix)] = bytes.Clone(v)
		}
		return nil
	})
	return all, err
}

// keyCopy is the key in bucketMeta of how far a copy into this store has come.
var keyCopy = []byte("copy")

// CopyState returns how far a copy into this store has come, as SetCopyState wrote it; empty
// unless a copy has begun and not ended.
func (s *Store) CopyState() (state string, err error) {
	err = s.view(func(tx *bolt.Tx) error { state = string(tx.Bucket(bucketMeta).Get(keyCopy)); return nil })
	return state, err
}

// SetCopyState stores how far a copy has come; empty: it has ended.
func (s *Store) SetCopyState(state string) error {
	return s.update(len(state), func(c *change) error {
		if state == "" {
			return c.delete(bucketMeta, keyCopy)
		}
		return c.put(bucketMeta, keyCopy, []byte(state))
	})
}
