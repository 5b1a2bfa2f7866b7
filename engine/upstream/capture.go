package upstream

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// plainBelow is the size up to which an answer is stored uncompressed: most are state reads
// of a few dozen bytes, which compression does not shrink.
const plainBelow = 16 << 10

// packed is a recorded result, compressed if it is large. It is immutable.
type packed struct {
	size  int64  // unpacked bytes
	data  []byte // plain, or a zstd frame
	plain bool
}

func packBytes(b []byte) *packed {
	p := newPacker()
	p.Write(b)
	return p.finish()
}

// open returns a reader of the uncompressed bytes; the caller must call close.
func (p *packed) open() (r io.Reader, close func(), err error) {
	if p.plain {
		return bytes.NewReader(p.data), func() {}, nil
	}
	zr, err := zstd.NewReader(
		bytes.NewReader(p.data),
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow),
	)
	if err != nil {
		return nil, nil, err
	}
	return io.LimitReader(zr, p.size), zr.Close, nil
}

// decode runs the decoder over the recorded result.
func (p *packed) decode(decode decodeFunc) (any, error) {
	r, done, err := p.open()
	if err != nil {
		return nil, err
	}
	defer done()
	dec := newDecoder(r)
	v, err := decode(dec)
	if err != nil {
		return nil, err
	}
	return v, atEnd(dec)
}

// encoders are expensive to create (their tables take megabytes) and cheap to reset.
var encoders = sync.Pool{New: func() any {
	// The options are constants, so there is no error.
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	return e
}}

// packer collects a result and compresses it once it is large.
type packer struct {
	buf  bytes.Buffer
	enc  *zstd.Encoder
	size int64
}

func newPacker() *packer { return &packer{} }

// Write never fails, because it writes to memory.
func (p *packer) Write(b []byte) (int, error) {
	p.size += int64(len(b))
	if p.enc == nil && p.buf.Len()+len(b) > plainBelow {
		p.enc = encoders.Get().(*zstd.Encoder)
		plain := bytes.Clone(p.buf.Bytes())
		p.buf.Reset()
		p.enc.Reset(&p.buf)
		p.enc.Write(plain)
	}
	if p.enc != nil {
		return p.enc.Write(b)
	}
	return p.buf.Write(b)
}

func (p *packer) finish() *packed {
	out := &packed{size: p.size, plain: p.enc == nil}
	if p.enc != nil {
		p.enc.Close()
		p.drop()
	}
	out.data = bytes.Clone(p.buf.Bytes())
	return out
}

// drop returns the encoder of an unfinished packer to the pool.
func (p *packer) drop() {
	if p.enc != nil {
		p.enc.Reset(nil)
		encoders.Put(p.enc)
		p.enc = nil
	}
}

// heldBack is how many of the latest bytes a capture keeps back. The decoder reads ahead by
// less than one read, which body bounds by chunk.
const heldBack = 4 * chunk

// capture copies the bytes of one value from the stream while a decoder reads it, so that a
// large answer is never in memory uncompressed.
type capture struct {
	r    io.Reader
	pack *packer // nil until begin
	tail []byte  // latest bytes, which may not belong to the value
	fed  int64   // bytes given to pack
	from int64   // input offset of the value
}

func (c *capture) Read(p []byte) (int, error) {
	if len(p) > chunk {
		p = p[:chunk]
	}
	n, err := c.r.Read(p)
	if c.pack != nil {
		c.take(p[:n])
	}
	return n, err
}

func (c *capture) take(b []byte) {
	c.tail = append(c.tail, b...)
	if n := len(c.tail) - heldBack; n > heldBack {
		c.pack.Write(c.tail[:n])
		c.fed += int64(n)
		c.tail = append(c.tail[:0], c.tail[n:]...)
	}
}

// begin starts at the next value of the decoder.
func (c *capture) begin(dec *jsontext.Decoder) {
	dec.PeekKind() // brings the first byte of the value into the buffer
	ahead := dec.UnreadBuffer()
	value := bytes.TrimLeft(ahead, ": \t\r\n")
	c.pack, c.tail, c.fed = newPacker(), nil, 0
	c.from = dec.InputOffset() + int64(len(ahead)-len(value))
	c.take(value)
}

var errCapture = errors.New("recorded bytes and decoded value do not meet")

// end stops after the value that the decoder has just read.
func (c *capture) end(dec *jsontext.Decoder) (*packed, error) {
	rest := dec.InputOffset() - c.from - c.fed
	if rest < 0 || rest > int64(len(c.tail)) {
		return nil, errCapture
	}
	c.pack.Write(c.tail[:rest])
	out := c.pack.finish()
	c.pack = nil
	return out, nil
}

// abandon releases the buffers after a failed decode.
func (c *capture) abandon() {
	if c.pack != nil {
		c.pack.drop()
		c.pack = nil
	}
}
