package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"
)

const (
	// chunkSize lets several chunks share a page of 4 KiB, which leaves little of it unused.
	chunkSize = 640

	headSize = 1 << 10 // approximate size of a head, counted toward maxGroupBytes

	partHead  = 0
	partChunk = 1

	headKeySize  = len(recordID{}) + 1
	chunkKeySize = headKeySize + 4
)

// recordID is a UUID of version 7 in binary: a time and random bits.
type recordID [16]byte

// parseID accepts UUIDs of version 7 only. Any other id would expire at a random time.
func parseID(id string) (recordID, error) {
	u, err := uuid.Parse(id)
	if err != nil || len(id) != 36 || u.Version() != 7 {
		return recordID{}, fmt.Errorf("%q is no UUID of version 7", id)
	}
	return recordID(u), nil
}

// idOfKey returns the id at the beginning of a key.
func idOfKey(key []byte) (recordID, error) {
	if head, chunk := len(key) == headKeySize, len(key) == chunkKeySize; !head && !chunk ||
		head && key[headKeySize-1] != partHead || chunk && key[headKeySize-1] != partChunk {
		return recordID{}, fmt.Errorf("%w: %x is no key of a record", ErrDamaged, key)
	}
	return recordID(key[:len(recordID{})]), nil
}

func (id recordID) String() string { return uuid.UUID(id).String() }

// created returns the time of creation in the id.
func (id recordID) created() time.Time {
	var ms [8]byte
	copy(ms[2:], id[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:])))
}

func (id recordID) headKey() []byte { return append(id[:len(id):len(id)], partHead) }

func (id recordID) chunkKey(n int) []byte {
	return binary.BigEndian.AppendUint32(append(id[:len(id):len(id)], partChunk), uint32(n))
}

// keyAfterRecord is greater than all keys of the record and smaller than those of the next.
func (id recordID) keyAfterRecord() []byte { return append(id[:len(id):len(id)], 0xff) }

// recordHead is the stored part of a record without its body.
type recordHead interface {
	// parts returns the lengths of the parts of the body, in their order.
	parts() []int
	// validate returns an error if a head that was read has impossible values.
	validate() error
}

// records stores records with heads of one type in one bucket.
type records[H recordHead] struct {
	table[H]
	kind      string        // name of the record in error messages
	retention time.Duration // retention, counted from the time in the id
	notFound  error         // error for a record that does not exist
}

// packedRecord is a record that is encoded and compressed.
type packedRecord[H recordHead] struct {
	id   recordID
	head H
	body []byte
}

func (r records[H]) pack(s *Store, id string, h H, parts ...[]byte) (packedRecord[H], error) {
	rid, err := parseID(id)
	if err != nil {
		return packedRecord[H]{}, fmt.Errorf("store %s: %w", r.kind, err)
	}
	body, err := s.pack(parts...)
	if err != nil {
		return packedRecord[H]{}, fmt.Errorf("store %s %s: %w", r.kind, id, err)
	}
	return packedRecord[H]{rid, h, body}, nil
}

// put creates or replaces records, all or none, and returns when they are on disk.
func (r records[H]) put(s *Store, all ...packedRecord[H]) error {
	size := 0
	for _, p := range all {
		size += len(p.body) + headSize
	}
	err := s.update(size, func(c *change) error {
		for _, p := range all {
			if err := r.putOne(c, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store %s: %w", r.kind, err)
	}
	return nil
}

func (r records[H]) putOne(c *change, p packedRecord[H]) error {
	b, err := c.bucket(r.bucket)
	if err != nil {
		return err
	}
	b.FillPercent = 1 // keys are appended, so pages are filled completely
	if err := r.table.put(c, p.id.headKey(), p.head); err != nil {
		return err
	}
	n := 0
	for chunk := range bytesChunks(p.body) {
		if err := c.put(r.bucket, p.id.chunkKey(n), chunk); err != nil {
			return err
		}
		n++
	}
	return r.dropChunks(c, b, p.id, n)
}

// bytesChunks yields a body in pieces of chunkSize.
func bytesChunks(body []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(body) > 0 {
			size := min(len(body), chunkSize)
			if !yield(body[:size:size]) {
				return
			}
			body = body[size:]
		}
	}
}

// drop deletes the record of id, if there is one.
func (r records[H]) drop(c *change, id recordID) error {
	b, err := c.bucket(r.bucket)
	if err != nil || b.Get(id.headKey()) == nil {
		return err
	}
	if err := c.delete(r.bucket, id.headKey()); err != nil {
		return err
	}
	return r.dropChunks(c, b, id, 0)
}

// dropChunks deletes the chunks of id from the n-th on.
func (r records[H]) dropChunks(c *change, b *bolt.Bucket, id recordID, n int) error {
	var stale [][]byte
	cur := b.Cursor()
	for k, _ := cur.Seek(id.chunkKey(n)); bytes.HasPrefix(k, id[:]); k, _ = cur.Next() {
		stale = append(stale, k)
	}
	for _, k := range stale {
		if err := c.delete(r.bucket, k); err != nil {
			return err
		}
	}
	return nil
}

// get returns a record and the parts of its body, or the error r.none.
func (r records[H]) get(s *Store, id string) (rid recordID, h H, parts [][]byte, err error) {
	rid, err = parseID(id)
	if err != nil || s.hasExpired(rid, r.retention) {
		return rid, h, nil, r.notFound
	}
	there := false
	var body []byte
	err = s.view(func(tx *bolt.Tx) error {
		h, there, err = r.table.get(tx, rid.headKey())
		if err != nil || !there {
			return err
		}
		c := tx.Bucket(r.bucket).Cursor()
		for k, v := c.Seek(rid.chunkKey(0)); bytes.HasPrefix(k, rid[:]); k, v = c.Next() {
			body = append(body, v...)
		}
		return h.validate()
	})
	if err == nil && !there {
		return rid, h, nil, r.notFound
	}
	if err == nil {
		parts, err = s.unpack(body, h.parts())
	}
	if err != nil {
		return rid, h, nil, fmt.Errorf("read %s %s: %w", r.kind, rid, err)
	}
	return rid, h, parts, nil
}

// eachHead calls f with the head of each record that has not expired, oldest first.
func (r records[H]) eachHead(s *Store, f func(recordID, H)) error {
	err := s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(r.bucket).Cursor()
		for k, v := c.First(); k != nil; {
			id, err := idOfKey(k)
			if err != nil {
				return err
			}
			if k[len(id)] == partHead && !s.hasExpired(id, r.retention) { // otherwise a chunk whose head has expired
				h, err := r.decode(k, v)
				if err == nil {
					err = h.validate()
				}
				if err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
				f(id, h)
			}
			k, v = c.Seek(id.keyAfterRecord())
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list %ss: %w", r.kind, err)
	}
	return nil
}

// pack compresses a body. The result for an empty body is empty.
func (s *Store) pack(parts ...[]byte) ([]byte, error) {
	plain := bytes.Join(parts, nil)
	if len(plain) > s.options.maxBody {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(plain), s.options.maxBody)
	}
	if len(plain) == 0 {
		return nil, nil
	}
	return s.enc.EncodeAll(plain, nil), nil
}

// unpack decompresses a body and splits it into parts of the given lengths. A length of 0
// gives nil.
func (s *Store) unpack(body []byte, lengths []int) ([][]byte, error) {
	total := 0
	for _, n := range lengths {
		if n < 0 || n > s.options.maxBody-total {
			return nil, fmt.Errorf("%w: parts of %d bytes", ErrDamaged, lengths)
		}
		total += n
	}
	plain, err := s.inflate(body, total)
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, len(lengths))
	for i, n := range lengths {
		if n > 0 {
			parts[i], plain = plain[:n:n], plain[n:]
		}
	}
	return parts, nil
}

// inflate decompresses a body whose frame states the expected length.
func (s *Store) inflate(body []byte, total int) ([]byte, error) {
	if total == 0 && len(body) == 0 {
		return nil, nil
	}
	if !s.enter() {
		return nil, ErrClosed
	}
	defer s.readers.Done()
	var h zstd.Header
	err := h.Decode(body)
	// zstd may omit a size below 256 bytes.
	if known := h.HasFCS && h.FrameContentSize == uint64(total); err != nil || !known && (h.HasFCS || total >= 256) {
		return nil, fmt.Errorf("%w: a body that is none of %d bytes", ErrDamaged, total)
	}
	plain, err := s.dec.DecodeAll(body, make([]byte, 0, total))
	if err != nil || len(plain) != total {
		return nil, fmt.Errorf("%w: unpack %d of %d bytes: %w", ErrDamaged, len(plain), total, err)
	}
	return plain, nil
}
