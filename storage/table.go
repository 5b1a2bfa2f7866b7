package storage

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	bolt "go.etcd.io/bbolt"
)

// table is a bucket of rows of one type, JSON, under keys of any bytes. Reads take
// the transaction of a view or of a change; writes take part in an update.
type table[V any] struct{ bucket []byte }

// get returns the row under key, if there is one.
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

// put writes the row under key, whatever stood there before.
func (t table[V]) put(c *change, key []byte, row V) error {
	v, err := json.Marshal(row, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write %x of %s: %w", key, t.bucket, err)
	}
	return c.put(t.bucket, key, v)
}

// delete drops the row under key, if there is one.
func (t table[V]) delete(c *change, key []byte) error { return c.delete(t.bucket, key) }

// scan calls f with the rows whose keys begin with prefix, in the order of their
// keys, until it returns an error, which is then that of scan. The key is valid
// during the call. f must not call the store: two reads inside each other can wait
// for a writer that waits for the outer one.
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
