package storage

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	bolt "go.etcd.io/bbolt"
)

// table is a bucket of rows of one type, encoded as JSON, with keys of any bytes. Reads use
// the transaction of view or update; writes are part of an update.
type table[V any] struct{ bucket []byte }

// get returns the row with this key, if there is one.
func (t table[V]) get(tx *bolt.Tx, key []byte) (row V, there bool, err error) {
	b := tx.Bucket(t.bucket)
	if b == nil {
		return row, false, fmt.Errorf("%w: %s", errNoBucket, t.bucket)
	}
	v := b.Get(key)
	if v == nil {
		return row, false, nil
	}
	row, err = t.decode(key, v)
	return row, err == nil, err
}

// put creates or replaces the row with this key.
func (t table[V]) put(c *change, key []byte, row V) error {
	v, err := json.Marshal(row, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write %x of %s: %w", key, t.bucket, err)
	}
	return c.put(t.bucket, key, v)
}

// delete deletes the row with this key, if there is one.
func (t table[V]) delete(c *change, key []byte) error { return c.delete(t.bucket, key) }

// scan calls f with the rows whose keys begin with prefix, in the order of their keys. It
// stops at the first error of f and returns it. The key is valid during the call only. f must
// not call the store: a nested read can wait for a writer that waits for the outer read.
func (t table[V]) scan(tx *bolt.Tx, prefix []byte, f func(key []byte, row V) error) error {
	b := tx.Bucket(t.bucket)
	if b == nil {
		return fmt.Errorf("%w: %s", errNoBucket, t.bucket)
	}
	c := b.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		row, err := t.decode(k, v)
		if err == nil {
			err = f(k, row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t table[V]) decode(key, value []byte) (row V, err error) {
	if err := json.Unmarshal(value, &row); err != nil {
		return row, fmt.Errorf("%w: row %x of %s: %w", ErrDamaged, key, t.bucket, err)
	}
	return row, nil
}
