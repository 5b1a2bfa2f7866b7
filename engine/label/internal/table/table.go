// Package table is the embedded form of what is known about addresses: for each
// (chain, address) a byte and a few strings. It is written by a generator and
// read without unpacking it into maps: sorted keys, columns of indices into
// dictionaries, and one block of text that all strings share.
package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/ethereum/go-ethereum/common"
	"github.com/klauspost/compress/zstd"
)

// magic opens the uncompressed form and changes with it.
const magic = "txlens-table-1"

// Row is one entry; all rows of a table have the same number of Fields.
type Row struct {
	Chain   uint64
	Address common.Address
	Byte    byte
	Fields  []string
}

// Table answers look-ups; it is safe for concurrent use.
type Table struct {
	chains  []segment
	keys    []byte // 20 bytes per row, sorted within a chain
	bytes   []byte
	columns []column
}

// segment is the run of rows of one chain.
type segment struct {
	id         uint64
	start, end int
}

// column holds one field of all rows: an index into a dictionary.
type column struct {
	text    string
	offsets []uint32 // len(dictionary)+1
	rows    []uint32
}

func (c *column) at(row int) string {
	i := c.rows[row]
	return c.text[c.offsets[i]:c.offsets[i+1]]
}

// Encode packs rows; the result depends on their set only. Two rows of the same
// chain and address are an error.
func Encode(rows []Row) ([]byte, error) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Chain, b.Chain), a.Address.Cmp(b.Address))
	})
	for i := 1; i < len(rows); i++ {
		if rows[i].Chain == rows[i-1].Chain && rows[i].Address == rows[i-1].Address {
			return nil, fmt.Errorf("encode table: %s on chain %d is there twice", rows[i].Address, rows[i].Chain)
		}
	}
	raw := []byte(magic)
	raw = appendChains(raw, rows)
	for _, r := range rows {
		raw = append(raw, r.Address[:]...)
	}
	for _, r := range rows {
		raw = append(raw, r.Byte)
	}
	fields := 0
	if len(rows) > 0 {
		fields = len(rows[0].Fields)
	}
	raw = binary.AppendUvarint(raw, uint64(fields))
	for f := range fields {
		raw = appendColumn(raw, rows, f)
	}
	return Pack(raw)
}

// Pack compresses a table of any layout.
func Pack(raw []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("encode table: %w", err)
	}
	return enc.EncodeAll(raw, nil), nil
}

// Unpack returns what Pack compressed; it refuses more than 64 MiB.
func Unpack(packed []byte) ([]byte, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, fmt.Errorf("decode table: %w", err)
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("decode table: %w", err)
	}
	return raw, nil
}

func appendChains(raw []byte, rows []Row) []byte {
	counts := map[uint64]uint64{}
	for _, r := range rows {
		counts[r.Chain]++
	}
	raw = binary.AppendUvarint(raw, uint64(len(counts)))
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		raw = binary.AppendUvarint(raw, id)
		raw = binary.AppendUvarint(raw, counts[id])
	}
	return raw
}

// appendColumn writes the dictionary of a field, most frequent first so that
// indices are short, and the index of each row.
func appendColumn(raw []byte, rows []Row, f int) []byte {
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.Fields[f]]++
	}
	words := slices.Collect(maps.Keys(counts))
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	index := make(map[string]uint64, len(words))
	raw = binary.AppendUvarint(raw, uint64(len(words)))
	for i, w := range words {
		index[w] = uint64(i)
		raw = binary.AppendUvarint(raw, uint64(len(w)))
	}
	for _, w := range words {
		raw = append(raw, w...)
	}
	for _, r := range rows {
		raw = binary.AppendUvarint(raw, index[r.Fields[f]])
	}
	return raw
}

// errShort is any table that ends too early or points outside itself.
var errShort = errors.New("table is cut or damaged")

// Decode unpacks what Encode made.
func Decode(packed []byte) (*Table, error) {
	raw, err := Unpack(packed)
	if err != nil {
		return nil, err
	}
	t, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("decode table: %w", err)
	}
	return t, nil
}

func parse(raw []byte) (*Table, error) {
	r := reader{rest: raw}
	if !bytes.Equal(r.take(len(magic)), []byte(magic)) {
		return nil, errShort
	}
	t := &Table{}
	n := 0
	for range r.count(2) {
		s := segment{id: r.uvarint(), start: n}
		n += r.count(common.AddressLength)
		s.end = n
		t.chains = append(t.chains, s)
	}
	t.keys = r.take(n * common.AddressLength)
	t.bytes = r.take(n)
	for range r.count(1) {
		t.columns = append(t.columns, r.column(n))
	}
	if r.failed || len(r.rest) > 0 {
		return nil, errShort
	}
	return t, nil
}

// reader takes pieces off a buffer; after the first failure all it gives is empty.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if r.failed || n < 0 || n > len(r.rest) {
		r.failed = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.take(n)
	return v
}

// count reads the number of things that take at least size bytes each.
func (r *reader) count(size int) int {
	v := r.uvarint()
	if r.failed || v > uint64(len(r.rest)/size) {
		r.failed = true
		return 0
	}
	return int(v)
}

func (r *reader) column(rows int) column {
	words := r.count(1)
	c := column{offsets: make([]uint32, 1, words+1)}
	sum := uint64(0)
	for range words {
		sum += uint64(r.count(1))
		c.offsets = append(c.offsets, uint32(sum))
	}
	if sum > uint64(len(r.rest)) || rows > len(r.rest) {
		r.failed = true
		return column{}
	}
	c.text = string(r.take(int(sum)))
	c.rows = make([]uint32, rows)
	for i := range c.rows {
		v := r.uvarint()
		if v >= uint64(words) {
			r.failed = true
			return column{}
		}
		c.rows[i] = uint32(v)
	}
	return c
}

// Find is the row number of an address on a chain.
func (t *Table) Find(chain uint64, a common.Address) (int, bool) {
	s, ok := t.segment(chain)
	if !ok {
		return 0, false
	}
	i := s.start + sort.Search(s.end-s.start, func(i int) bool {
		return bytes.Compare(t.key(s.start+i), a[:]) >= 0
	})
	return i, i < s.end && bytes.Equal(t.key(i), a[:])
}

func (t *Table) segment(chain uint64) (segment, bool) {
	i, ok := slices.BinarySearchFunc(t.chains, chain, func(s segment, id uint64) int { return cmp.Compare(s.id, id) })
	if !ok {
		return segment{}, false
	}
	return t.chains[i], true
}

func (t *Table) key(row int) []byte {
	return t.keys[row*common.AddressLength : (row+1)*common.AddressLength]
}

// Field is one string of a row.
func (t *Table) Field(row, field int) string { return t.columns[field].at(row) }

// Byte is the byte of a row.
func (t *Table) Byte(row int) byte { return t.bytes[row] }

// Address is the key of a row.
func (t *Table) Address(row int) common.Address { return common.BytesToAddress(t.key(row)) }

// Rows are the row numbers of a chain: from start up to, not including, end.
func (t *Table) Rows(chain uint64) (start, end int) {
	s, _ := t.segment(chain)
	return s.start, s.end
}

// Chains are the ids that have rows, ascending.
func (t *Table) Chains() []uint64 {
	ids := make([]uint64, len(t.chains))
	for i, s := range t.chains {
		ids[i] = s.id
	}
	return ids
}
