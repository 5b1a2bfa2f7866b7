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
		p := &pageCheck{file: f, size: page, pageCount: uint64(tx.Size() / page)}
		p.visited = make([]bool, p.pageCount)
		return p.checkTree(uint64(tx.Cursor().Bucket().RootPage()), 0, nil, nil)
	})
}

// pageCheck is the state of the check of one file.
type pageCheck struct {
	file      io.ReaderAt
	size      int64
	pageCount uint64 // number of pages in use: no page id may reach it
	visited   []bool // pages that were visited: a page may belong to one tree only
}

// page is a page with its overflow pages, or an inline page.
type page struct {
	r      io.ReaderAt
	length int64
	first  []byte // the first bytes, at most one page
	flags  uint16
	count  int
}

func damaged(page uint64, format string, args ...any) error {
	return fmt.Errorf("%w: page %d %s", ErrDamaged, page, fmt.Sprintf(format, args...))
}

// checkTree checks a page and all pages below it. Its keys must be at least low and less than
// end.
func (p *pageCheck) checkTree(id uint64, depth int, low, end []byte) error {
	s, err := p.openPage(id)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return damaged(id, "lies %d levels deep", depth)
	}
	if s.flags == branchPage {
		return p.checkBranch(id, s, depth, low, end)
	}
	return p.checkLeaf(id, s, depth, low, end)
}

// openPage reads the header of a page and marks its pages as visited.
func (p *pageCheck) openPage(id uint64) (*page, error) {
	if id < 2 || id >= p.pageCount { // the first two pages are meta pages
		return nil, damaged(id, "is not in use")
	}
	first := make([]byte, p.size)
	if _, err := p.file.ReadAt(first, int64(id)*p.size); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(first[12:]))
	if own := binary.NativeEndian.Uint64(first); own != id || more >= p.pageCount-id {
		return nil, damaged(id, "says that it is %d with %d more", own, more)
	}
	for n := id; n <= id+more; n++ {
		if p.visited[n] {
			return nil, damaged(n, "has two places")
		}
		p.visited[n] = true
	}
	length := int64(more+1) * p.size
	return newPage(id, io.NewSectionReader(p.file, int64(id)*p.size, length), length, first)
}

func newPage(id uint64, r io.ReaderAt, length int64, first []byte) (*page, error) {
	if len(first) < pageHead {
		return nil, damaged(id, "has no head")
	}
	s := &page{
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
func (s *page) bytes(id uint64, off, n int64) ([]byte, error) {
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
func (s *page) key(id uint64, off, n int64, index int, last, end []byte) ([]byte, error) {
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

func (p *pageCheck) checkBranch(id uint64, s *page, depth int, low, end []byte) error {
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
		if err := p.checkTree(child, depth+1, keys[i], before); err != nil {
			return err
		}
	}
	return nil
}

func (p *pageCheck) checkLeaf(id uint64, s *page, depth int, low, end []byte) error {
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
			if err := p.checkNested(id, s, depth, value, vsize); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNested checks the bucket that is stored as the value of an element.
func (p *pageCheck) checkNested(id uint64, s *page, depth int, off, size int64) error {
	h, err := s.bytes(id, off, min(size, bucketHead))
	if err != nil {
		return err
	}
	if len(h) < bucketHead {
		return damaged(id, "has a bucket of %d bytes", size)
	}
	if root := binary.NativeEndian.Uint64(h); root != 0 {
		return p.checkTree(root, depth+1, nil, nil)
	}
	inline, err := s.bytes(id, off+bucketHead, size-bucketHead)
	if err != nil {
		return err
	}
	in, err := newPage(id, bytes.NewReader(inline), int64(len(inline)), inline)
	if err != nil {
		return err
	}
	if in.flags != leafPage || depth >= maxDepth {
		return damaged(id, "has a bucket that is no leaf")
	}
	return p.checkLeaf(id, in, depth+1, nil, nil)
}
