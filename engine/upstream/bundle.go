package upstream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"
)

// A bundle file is
//
//	8 bytes   "TXLENSB" and the version of the format
//	zstd      head of Meta, then for each call, by ascending key: head, result bytes
//	          an empty head, and the end
//
// where a head is its length as uvarint and so many bytes of JSON.
const (
	bundleMagic   = "TXLENSB"
	bundleVersion = 1
)

// Bounds of a file that is read, which may come from anybody: a result is at most what a node
// may answer, and what stays in memory unpacked, the heads, is a small multiple of what an
// analysis asks.
const (
	maxBundleFile = 256 << 20
	maxEntries    = 1 << 16
	maxHead       = 1 << 20
	maxHeads      = 32 << 20 // of all calls
	maxResult     = 256 << 20
	maxUnpacked   = 512 << 20
	maxWindow     = 8 << 20
	maxSeq        = 1 << 40
)

// Errors of a file that cannot be read.
var (
	// ErrNotBundle: the file is something else.
	ErrNotBundle = errors.New("not an evidence bundle")
	// ErrBundleVersion: a newer version of the program wrote the file.
	ErrBundleVersion = errors.New("bundle has a newer format")
	// ErrBundleTooLarge: the file would be larger than it may be.
	ErrBundleTooLarge = errors.New("bundle is too large")
	// ErrBundleDamaged: the file is truncated or corrupted.
	ErrBundleDamaged = errors.New("bundle is damaged")
)

// Meta describes the analysis that a bundle records, and its options.
type Meta struct {
	TxHash     string `json:"txHash,omitzero"`
	ChainID    uint64 `json:"chainId,omitzero"`   // as requested; 0: the chain was probed for
	Version    string `json:"version,omitzero"`   // of the program
	CreatedAt  int64  `json:"createdAt,omitzero"` // Unix seconds
	Context    string `json:"context,omitzero"`
	Model      string `json:"model,omitzero"`
	Quick      bool   `json:"quick,omitzero"`
	SourcesOff bool   `json:"sourcesOff,omitzero"`
	RPCOnly    bool   `json:"rpcOnly,omitzero"`

	// Overlay is the digest of the user's data that the analysis used, and OverlayFiles are the names
	// of its files, whose content is not in the bundle.
	Overlay      string   `json:"overlay,omitzero"`
	OverlayFiles []string `json:"overlayFiles,omitempty"`

	// Phases that the deadline cut off, in their order; a replay does not run them.
	Expired    []string `json:"expired,omitempty"`
	DeadlineMs int64    `json:"deadlineMs,omitzero"`
	Finished   bool     `json:"finished,omitzero"` // the end of the service cut them off, not the deadline
	Unpaid     bool     `json:"unpaid,omitzero"`   // an unpaid voucher cut them off, not the deadline
}

// Bundle holds the answers of one analysis. It is immutable except for Meta, and safe for
// concurrent use.
type Bundle struct {
	Meta    Meta
	entries map[string]*entry
}

// head precedes the result of one call.
type head struct {
	Key   string       `json:"key"`
	Tool  string       `json:"tool"`
	Seq   int64        `json:"seq,omitzero"`
	Ms    int64        `json:"ms"`
	Nano  int64        `json:"nano,omitzero"`
	Size  int64        `json:"size,omitzero"` // of the result that follows
	Error *errorRecord `json:"error,omitzero"`
}

// Keys lists the calls in the bundle, sorted.
func (b *Bundle) Keys() []string {
	keys := make([]string, 0, len(b.entries))
	for k := range b.entries {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Bytes returns the bundle as the content of a file.
func (b *Bundle) Bytes() ([]byte, error) {
	var buf bytes.Buffer
	err := b.Encode(&buf)
	return buf.Bytes(), err
}

// Encode writes the bundle as a file to w.
func (b *Bundle) Encode(w io.Writer) error {
	// One goroutine and a fixed level: the same answers give the same bytes.
	zw, err := zstd.NewWriter(
		w,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithWindowSize(maxWindow),
	)
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return b.encode(w, zw)
}

// Compact returns the bundle as the content of a file of at most so many bytes, or
// ErrBundleTooLarge. It takes less time and memory than Encode, and the file is somewhat larger.
func (b *Bundle) Compact(most int) ([]byte, error) {
	zw := encoders.Get().(*zstd.Encoder)
	defer func() {
		zw.Reset(nil)
		encoders.Put(zw)
	}()
	file := boundedBuffer{most: most}
	zw.Reset(&file)
	if err := b.encode(&file, zw); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

// boundedBuffer takes at most so many bytes.
type boundedBuffer struct {
	bytes.Buffer
	most int
}

func (f *boundedBuffer) Write(b []byte) (int, error) {
	if f.Len()+len(b) > f.most {
		return 0, ErrBundleTooLarge
	}
	return f.Buffer.Write(b)
}

// encode writes the file to w, and what is compressed in it to zw.
func (b *Bundle) encode(w io.Writer, zw *zstd.Encoder) error {
	_, err := w.Write(append([]byte(bundleMagic), bundleVersion))
	if err == nil {
		err = b.write(zw)
	}
	if cerr := zw.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

func (b *Bundle) write(w io.Writer) error {
	if err := writeHead(w, b.Meta); err != nil {
		return err
	}
	for _, key := range b.Keys() {
		e := b.entries[key]
		h := head{Key: key, Tool: e.tool, Seq: e.seq, Ms: e.took.Milliseconds(), Nano: e.nano, Error: e.err.record()}
		if e.err == nil {
			h.Size = e.raw.size
		}
		if err := writeHead(w, h); err != nil {
			return err
		}
		if e.err == nil {
			if err := e.raw.copyTo(w); err != nil {
				return err
			}
		}
	}
	_, err := w.Write([]byte{0})
	return err
}

func (p *packed) copyTo(w io.Writer) error {
	r, done, err := p.open()
	if err != nil {
		return err
	}
	defer done()
	_, err = io.Copy(w, r)
	return err
}

func writeHead(w io.Writer, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	if len(text) > maxHead {
		return fmt.Errorf("a head is larger than %d bytes", maxHead)
	}
	_, err = w.Write(append(binary.AppendUvarint(nil, uint64(len(text))), text...))
	return err
}

// WriteFile writes the bundle to path atomically, in place of a file that is there. Only its
// owner may read it.
func (b *Bundle) WriteFile(path string) error { return b.writeFile(path, os.Rename) }

// CreateFile is WriteFile for a path where no file may be; otherwise the error is fs.ErrExist.
func (b *Bundle) CreateFile(path string) error { return b.writeFile(path, placeNew) }

// placeNew uses a link where the file system has them, because unlike a rename it does not
// replace a file that was created meanwhile.
func placeNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}

// writeFile writes a temporary file, and place gives it its name.
func (b *Bundle) writeFile(path string, place func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".bundle-*")
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	defer os.Remove(f.Name()) // of no effect after a rename
	buf := bufio.NewWriterSize(f, 64<<10)
	err = b.Encode(buf)
	if err == nil {
		err = buf.Flush()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = place(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// ReadBundle reads a bundle file.
func ReadBundle(path string) (*Bundle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > maxBundleFile {
		return nil, fmt.Errorf("read bundle %s: %w: larger than %d MiB", path, ErrNotBundle, maxBundleFile>>20)
	}
	b, err := parseBundle(io.LimitReader(f, maxBundleFile))
	if err != nil {
		return nil, fmt.Errorf("read bundle %s: %w", path, err)
	}
	return b, nil
}

// ParseBundle reads a bundle from memory. Results stay compressed.
func ParseBundle(file []byte) (*Bundle, error) {
	b, err := parseBundle(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	return b, nil
}

func parseBundle(r io.Reader) (*Bundle, error) {
	var start [len(bundleMagic) + 1]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || string(start[:len(bundleMagic)]) != bundleMagic {
		return nil, ErrNotBundle
	}
	switch v := start[len(bundleMagic)]; {
	case v > bundleVersion:
		return nil, fmt.Errorf("%w: %d, this program reads up to %d", ErrBundleVersion, v, bundleVersion)
	case v == 0:
		return nil, ErrNotBundle
	}
	zr, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, damaged(err)
	}
	defer zr.Close()
	p := bundleReader{r: bufio.NewReader(io.LimitReader(zr, maxUnpacked))}
	return p.read()
}

func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrBundleDamaged, err)
}

// bundleReader reads the unpacked part of a bundle.
type bundleReader struct {
	r     *bufio.Reader
	heads uint64 // bytes of all heads so far
}

func (p *bundleReader) read() (*Bundle, error) {
	b := &Bundle{entries: map[string]*entry{}}
	if more, err := p.head(&b.Meta); err != nil || !more {
		return nil, damaged(or(err, error(io.ErrUnexpectedEOF)))
	}
	last := ""
	for {
		var h head
		more, err := p.head(&h)
		if err != nil {
			return nil, damaged(err)
		}
		if !more {
			break
		}
		if h.Key <= last || len(b.entries) == maxEntries {
			return nil, damaged(errors.New("calls are out of order or too many"))
		}
		last = h.Key
		if b.entries[h.Key], err = p.entry(h); err != nil {
			return nil, damaged(err)
		}
	}
	if _, err := p.r.ReadByte(); err != io.EOF {
		return nil, damaged(or(err, errors.New("something follows the end")))
	}
	return b, nil
}

// head reads one head into v; it returns false for the empty one, which ends the list.
func (p *bundleReader) head(v any) (bool, error) {
	n, err := binary.ReadUvarint(p.r)
	if err != nil || n == 0 {
		return false, err
	}
	if n > maxHead {
		return false, errors.New("a head is too large")
	}
	if p.heads += n; p.heads > maxHeads {
		return false, errors.New("the heads are too large")
	}
	text, err := readExactly(p.r, int64(n))
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(text, v)
}

// readExactly allocates as data arrives, not by the claimed length.
func readExactly(r io.Reader, n int64) ([]byte, error) {
	var buf bytes.Buffer
	got, err := io.Copy(&buf, io.LimitReader(r, n))
	if err == nil && got < n {
		err = io.ErrUnexpectedEOF
	}
	return buf.Bytes(), err
}

func (p *bundleReader) entry(h head) (*entry, error) {
	const longest = int64(time.Duration(1<<63-1) / time.Millisecond)
	if h.Seq < 0 || h.Seq > maxSeq || h.Ms < 0 || h.Ms > longest || h.Nano < 0 || h.Size < 0 || h.Size > maxResult {
		return nil, errors.New("a number is out of range")
	}
	e := &entry{tool: h.Tool, seq: h.Seq, took: time.Duration(h.Ms) * time.Millisecond, nano: h.Nano, err: h.Error.restore()}
	if e.err != nil {
		if h.Size != 0 {
			return nil, errors.New("a call has both result and error")
		}
		return e, nil
	}
	pack := newPacker()
	got, err := io.Copy(pack, io.LimitReader(p.r, h.Size))
	if err == nil && got < h.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		pack.drop()
		return nil, err
	}
	e.raw = pack.finish()
	return e, nil
}
