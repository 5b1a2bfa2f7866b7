package signature

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A table file is zstd over: the magic line; header lines that begin with "# " and
// name the sources; an empty line; the number of entries; the entries, one a line,
// sorted by text (which is what makes them small); and then, per entry, the first
// two bytes of its hash. Those bytes only sort entries into buckets: what an entry
// hashes to is always computed from its text.
const magic = "txlens signatures 1\n"

// Entry is one line of a table under construction.
type Entry struct {
	Line string
	ID   [32]byte
}

// Build writes a table file. It sorts entries.
func Build(header []string, entries []Entry) ([]byte, error) {
	raw, err := plain(header, entries)
	if err != nil {
		return nil, err
	}
	enc, err := zstd.NewWriter(
		nil,
		zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithWindowSize(8<<20),
		zstd.WithEncoderConcurrency(1),
	)
	if err != nil {
		return nil, fmt.Errorf("build table: %w", err)
	}
	defer enc.Close()
	return enc.EncodeAll(raw, nil), nil
}

// NewTable makes a table that is in no file. It sorts entries.
func NewTable(header []string, entries []Entry) (*Table, error) {
	raw, err := plain(header, entries)
	if err != nil {
		return nil, err
	}
	return read(raw)
}

// plain is the uncompressed content of a table file.
func plain(header []string, entries []Entry) ([]byte, error) {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Line, b.Line) })
	var b bytes.Buffer
	b.WriteString(magic)
	for _, h := range header {
		fmt.Fprintf(&b, "# %s\n", h)
	}
	fmt.Fprintf(&b, "\n%d\n", len(entries))
	for _, e := range entries {
		if strings.ContainsAny(e.Line, "\n\r") {
			return nil, fmt.Errorf("build table: line break in %q", e.Line)
		}
		b.WriteString(e.Line)
		b.WriteByte('\n')
	}
	for _, e := range entries {
		b.Write(e.ID[:2])
	}
	return b.Bytes(), nil
}

// Table is an opened table. It is safe for concurrent use.
type Table struct {
	Header []string
	text   []byte
	lines  []uint32 // start of each line, grouped by bucket
	bucket []uint32 // 65,537 positions in lines
}

var errTable = errors.New("table is damaged")

// Open decompresses a table file.
func Open(file []byte) (*Table, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, fmt.Errorf("open table: %w", err)
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(file, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress table: %w", err)
	}
	return read(raw)
}

func read(raw []byte) (*Table, error) {
	head, body, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok || !bytes.HasPrefix(head, []byte(magic)) {
		return nil, errTable
	}
	count, body, ok := bytes.Cut(body, []byte("\n"))
	n, err := strconv.Atoi(string(count))
	if !ok || err != nil || n < 0 || len(body) < 2*n {
		return nil, errTable
	}
	t := &Table{text: body[:len(body)-2*n]}
	for _, h := range strings.Split(string(head[len(magic):]), "\n") {
		t.Header = append(t.Header, strings.TrimPrefix(h, "# "))
	}
	return t, t.index(body[len(body)-2*n:], n)
}

// index groups the lines by the first two bytes of their hash: a counting sort.
func (t *Table) index(prefixes []byte, n int) error {
	t.bucket = make([]uint32, 1<<16+1)
	for i := range n {
		t.bucket[int(binary.BigEndian.Uint16(prefixes[2*i:]))+1]++
	}
	for i := 1; i < len(t.bucket); i++ {
		t.bucket[i] += t.bucket[i-1]
	}
	next := slices.Clone(t.bucket[:1<<16])
	t.lines = make([]uint32, n)
	pos := 0
	for i := range n {
		p := binary.BigEndian.Uint16(prefixes[2*i:])
		t.lines[next[p]] = uint32(pos)
		next[p]++
		end := bytes.IndexByte(t.text[pos:], '\n')
		if end < 0 {
			return errTable
		}
		pos += end + 1
	}
	return nil
}

// Bucket gives the lines whose hash begins with the first two bytes of id, in the
// order of their text. The bytes are the table's own and must not be changed.
func (t *Table) Bucket(id []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := int(binary.BigEndian.Uint16(id))
		for _, start := range t.lines[t.bucket[b]:t.bucket[b+1]] {
			if !yield(t.line(start)) {
				return
			}
		}
	}
}

func (t *Table) line(start uint32) []byte {
	rest := t.text[start:]
	return rest[:bytes.IndexByte(rest, '\n')]
}
