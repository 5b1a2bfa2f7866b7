package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

const (
	chunkSize = 64 << 10
	// maxBody bounds what one body may unpack to.
	maxBody = 1 << 30

	partHead  = 0
	partChunk = 1
)

// errNoRecord: there is no head under that id.
var errNoRecord = errors.New("no such record")

// recordID is a UUID of version 7 in bytes: a time and randomness.
type recordID [16]byte

// parseID takes only what NewID makes: under another id a record would expire at
// a random time.
func parseID(id string) (recordID, error) {
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 || u.Version() != 7 {
		return recordID{}, fmt.Errorf("%q is no UUID of version 7", id)
	}
	return recordID(u), nil
}

func (id recordID) String() string { return uuid.UUID(id).String() }

// created is the time in the id.
func (id recordID) created() time.Time {
	var ms [8]byte
	copy(ms[2:], id[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:])))
}

func (id recordID) headKey() []byte { return append(id[:len(id):len(id)], partHead) }

func (id recordID) chunkKey(n int) []byte {
	return binary.BigEndian.AppendUint32(append(id[:len(id):len(id)], partChunk), uint32(n))
}

// putRecord writes head and body under id, whatever stood there before.
func putRecord(b *bolt.Bucket, id recordID, head, body []byte) error {
	b.FillPercent = 0.9 // keys are appended
	if err := b.Put(id.headKey(), head); err != nil {
		return err
	}
	n := 0
	for ; len(body) > 0; n++ {
		size := min(len(body), chunkSize)
		if err := b.Put(id.chunkKey(n), body[:size:size]); err != nil {
			return err
		}
		body = body[size:]
	}
	return dropChunks(b, id, n)
}

// dropChunks deletes the chunks of id from the n-th on.
func dropChunks(b *bolt.Bucket, id recordID, n int) error {
	var stale [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(id.chunkKey(n)); bytes.HasPrefix(k, id[:]); k, _ = c.Next() {
		stale = append(stale, k)
	}
	for _, k := range stale {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// getRecord copies head and body.
func getRecord(b *bolt.Bucket, id recordID) (head, body []byte, err error) {
	c := b.Cursor()
	k, v := c.Seek(id.headKey())
	if !bytes.Equal(k, id.headKey()) {
		return nil, nil, errNoRecord
	}
	head = bytes.Clone(v)
	for k, v := c.Next(); bytes.HasPrefix(k, id[:]); k, v = c.Next() {
		body = append(body, v...)
	}
	return head, body, nil
}

// pack compresses; the body of nothing is empty.
func (s *Store) pack(parts ...[]byte) []byte {
	plain := bytes.Join(parts, nil)
	if len(plain) == 0 {
		return nil
	}
	return s.enc.EncodeAll(plain, nil)
}

// unpack cuts a body into parts of the given lengths. A length of 0 gives nil.
func (s *Store) unpack(body []byte, lengths ...int) ([][]byte, error) {
	total := 0
	for _, n := range lengths {
		total += n
	}
	parts := make([][]byte, len(lengths))
	if total == 0 {
		return parts, nil
	}
	plain, err := s.dec.DecodeAll(body, make([]byte, 0, total))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if len(plain) != total {
		return nil, fmt.Errorf("unpack: %d bytes where the head says %d", len(plain), total)
	}
	for i, n := range lengths {
		if n > 0 {
			parts[i], plain = plain[:n:n], plain[n:]
		}
	}
	return parts, nil
}
