package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"
)

// Sizes of bbolt's file format, version 2. Numbers are in the byte order of the
// machine.
const (
	pageHead    = 16 // of a page header: id u64, flags u16, count u16, overflow u32
	pageElement = 16 // of a leaf: flags, pos, ksize, vsize u32; of a branch: pos, ksize u32, page u64
	bucketHead  = 16 // root page u64 (0: the bucket is one inline page), sequence u64

	branchPage = 0x01
	leafPage   = 0x02
	bucketFlag = 0x01

	maxDepth = 64
)

// verify checks the pages of an open file before bbolt writes to it. On a damaged page
// bbolt panics on its own goroutine or reads unmapped memory, which ends the process. Values
// are not checked here; each record has a checksum or is validated when it is decoded.
func verify(db *bolt.DB, f io.ReaderAt, size int64) error {
	return db.View(func(tx *bolt.Tx) error {
		if tx.Size() > size {
			return fmt.Errorf("%w: it is cut short at %d of %d bytes", ErrDamaged, size, tx.Size())
		}
		page := int64(db.Info().PageSize)
		p := &pages{file: f, size: page, high: uint64(tx.Size() / page)}
		p.seen = make([]bool, p.high)
		return p.tree(uint64(tx.Cursor().Bucket().RootPage()), 0, nil, nil)
	})
}

// pages is the state of the check of one file.
type pages struct {
	file io.ReaderAt
	size int64
	high uint64 // number of pages in use: no page id may reach it
	seen []bool // pages that were visited: a page may belong to one tree only
}

// span is a page with its overflow pages, or an inline page.
type span struct {
	r      io.ReaderAt
	length int64
	first  []byte // the first bytes, at most one page
	flags  uint16
	count  int
}

func damaged(page uint64, format string, args ...any) error {
	return fmt.Errorf("%w: page %d %s", ErrDamaged, page, fmt.Sprintf(format, args...))
}

// tree checks a page and all pages below it. Its keys must be at least low and less than
// end.
func (p *pages) tree(id uint64, depth int, low, end []byte) error {
	s, err := p.open(id)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return damaged(id, "lies %d levels deep", depth)
	}
	if s.flags == branchPage {
		return p.branch(id, s, depth, low, end)
	}
	return p.leaf(id, s, depth, low, end)
}

// open reads the header of a page and marks its pages as visited.
func (p *pages) open(id uint64) (*span, error) {
	if id < 2 || id >= p.high { // the first two pages are meta pages
		return nil, damaged(id, "is not in use")
	}
	first := make([]byte, p.size)
	if _, err := p.file.ReadAt(first, int64(id)*p.size); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(first[12:]))
	if own := binary.NativeEndian.Uint64(first); own != id || more >= p.high-id {
		return nil, damaged(id, "says that it is %d with %d more", own, more)
	}
	for n := id; n <= id+more; n++ {
		if p.seen[n] {
			return nil, damaged(n, "has two places")
		}
		p.seen[n] = true
	}
	length := int64(more+1) * p.size
	return newSpan(id, io.NewSectionReader(p.file, int64(id)*p.size, length), length, first)
}

func newSpan(id uint64, r io.ReaderAt, length int64, first []byte) (*span, error) {
	if len(first) < pageHead {
		return nil, damaged(id, "has no head")
	}
	s := &span{
		r:      r,
		length: length,
		first:  first,
		flags:  binary.NativeEndian.Uint16(first[8:]),
		count:  int(binary.NativeEndian.Uint16(first[10:])),
	}
	if s.flags != branchPage && s.flags != leafPage || int64(pageHead+s.count*pageElement) > length {
		return nil, damaged(id, "has flags %#x and %d elements", s.flags, s.count)
	}
	return s, nil
}

// bytes returns n bytes at offset off.
func (s *span) bytes(id uint64, off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > s.length-n {
		return nil, damaged(id, "has an element beyond its end")
	}
	if off+n <= int64(len(s.first)) {
		return s.first[off : off+n], nil
	}
	b := make([]byte, n)
	if _, err := s.r.ReadAt(b, off); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	return b, nil
}

// key reads a key and checks that it follows the previous one and precedes the end.
func (s *span) key(id uint64, off, n int64, index int, last, end []byte) ([]byte, error) {
	if n == 0 || n > bolt.MaxKeySize {
		return nil, damaged(id, "has a key of %d bytes", n)
	}
	key, err := s.bytes(id, off, n)
	if err != nil {
		return nil, err
	}
	order := bytes.Compare(last, key)
	if index == 0 && order > 0 || index > 0 && order >= 0 || end != nil && bytes.Compare(key, end) >= 0 {
		return nil, damaged(id, "has keys out of order")
	}
	return key, nil
}

func (p *pages) branch(id uint64, s *span, depth int, low, end []byte) error {
	if s.count == 0 {
		return damaged(id, "is a branch without children")
	}
	keys, children := make([][]byte, s.count), make([]uint64, s.count)
	last := low
	for i := range s.count {
		at := int64(pageHead + i*pageElement)
		e, err := s.bytes(id, at, pageElement)
		if err != nil {
			return err
		}
		pos, size := binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:])
		children[i] = binary.NativeEndian.Uint64(e[8:])
		if keys[i], err = s.key(id, at+int64(pos), int64(size), i, last, end); err != nil {
			return err
		}
		last = keys[i]
	}
	for i, child := range children {
		before := end
		if i+1 < len(keys) {
			before = keys[i+1]
		}
		if err := p.tree(child, depth+1, keys[i], before); err != nil {
			return err
		}
	}
	return nil
}

func (p *pages) leaf(id uint64, s *span, depth int, low, end []byte) error {
	last := low
	for i := range s.count {
		at := int64(pageHead + i*pageElement)
		e, err := s.bytes(id, at, pageElement)
		if err != nil {
			return err
		}
		flags, pos := binary.NativeEndian.Uint32(e), int64(binary.NativeEndian.Uint32(e[4:]))
		ksize, vsize := int64(binary.NativeEndian.Uint32(e[8:])), int64(binary.NativeEndian.Uint32(e[12:]))
		if last, err = s.key(id, at+pos, ksize, i, last, end); err != nil {
			return err
		}
		value := at + pos + ksize
		switch {
		case flags > bucketFlag || value > s.length-vsize:
			return damaged(id, "has an element beyond its end, or of flags %#x", flags)
		case flags == bucketFlag:
			if err := p.nested(id, s, depth, value, vsize); err != nil {
				return err
			}
		}
	}
	return nil
}

// nested checks the bucket that is stored as the value of an element.
func (p *pages) nested(id uint64, s *span, depth int, off, size int64) error {
	h, err := s.bytes(id, off, min(size, bucketHead))
	if err != nil {
		return err
	}
	if len(h) < bucketHead {
		return damaged(id, "has a bucket of %d bytes", size)
	}
	if root := binary.NativeEndian.Uint64(h); root != 0 {
		return p.tree(root, depth+1, nil, nil)
	}
	inline, err := s.bytes(id, off+bucketHead, size-bucketHead)
	if err != nil {
		return err
	}
	in, err := newSpan(id, bytes.NewReader(inline), int64(len(inline)), inline)
	if err != nil {
		return err
	}
	if in.flags != leafPage || depth >= maxDepth {
		return damaged(id, "has a bucket that is no leaf")
	}
	return p.leaf(id, in, depth+1, nil, nil)
}
