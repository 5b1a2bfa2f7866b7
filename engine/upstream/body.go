package upstream

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"txlens/engine/api"
)

// chunk is the largest read that body returns; capture relies on it.
const chunk = 64 << 10

// maxToken bounds the bytes between two structural characters of JSON. A decoder buffers
// one whole token, so without it a single string would cost the limit of the answer several
// times over. The largest legitimate string is the calldata or return data of one frame:
// with 300 million gas the EVM's quadratic memory price allows 12.5 MB, which is 25.03 MB
// of hex.
const maxToken = 24 << 20

var (
	errAnswerTooLarge = errors.New("answer is larger than the limit")
	errTokenTooLarge  = errors.New("answer holds a single value that is too large")
)

// body reads an HTTP body and bounds its decompressed size and the size of one JSON token.
// err keeps the reason of the end, to distinguish a truncated answer from a broken
// connection.
type body struct {
	r    io.Reader
	left int64
	err  error
	// count, if not nil, is called with the number of bytes of each read.
	count func(n int) error

	first    byte // the first that is no white space, 0 before it was read
	token    int  // bound of run; 0: none, the bytes are not JSON
	run      int  // bytes since the last structural character
	inString bool
	escaped  bool // the next byte of the string is escaped
}

// openBody decompresses the body of resp and bounds it by limit bytes, each JSON token by
// token bytes. Compressed bytes are counted too: an endless gzip stream may decompress to
// nothing.
func openBody(resp *http.Response, limit int64, token int) (*body, error) {
	switch enc := strings.ToLower(resp.Header.Get("Content-Encoding")); enc { // RFC 9110, section 8.4.1
	case "", "identity":
		return &body{r: resp.Body, left: limit, token: token}, nil
	case "gzip", "x-gzip":
		packed := &body{r: resp.Body, left: limit}
		zr, err := gzip.NewReader(packed)
		if err != nil {
			if packed.err != nil && packed.err != io.EOF {
				return nil, packed.err
			}
			return nil, fmt.Errorf("unpack answer: %w", err)
		}
		return &body{r: zr, left: limit, token: token}, nil
	default:
		return nil, fmt.Errorf("unpack answer: unknown encoding %q", api.Clean(enc, 20))
	}
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) > chunk {
		p = p[:chunk]
	}
	// One byte more than is left tells a full answer from one that goes on.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		b.err = errAnswerTooLarge
		return 0, b.err
	}
	if b.count != nil {
		if b.err = b.count(n); b.err != nil {
			return 0, b.err
		}
	}
	if b.first == 0 {
		if text := bytes.TrimLeft(p[:n], " \t\r\n"); len(text) > 0 {
			b.first = text[0]
		}
	}
	if b.token > 0 {
		if b.scan(p[:n]); b.run > b.token {
			b.err = errTokenTooLarge
			return 0, b.err
		}
	}
	b.err = err
	return n, err
}

// scan follows strings and structure as far as needed to measure tokens.
func (b *body) scan(p []byte) {
	for i := 0; i < len(p); i++ {
		if b.inString {
			i = b.scanString(p, i) - 1
			continue
		}
		b.run++
		switch p[i] {
		case '"':
			b.inString = true
		case '{', '}', '[', ']', ',', ':':
			b.run = 0
		}
	}
}

// scanString continues inside a string and returns the index after what it passed.
func (b *body) scanString(p []byte, from int) int {
	for i := from; i < len(p); i++ {
		switch c := p[i]; {
		case b.escaped:
			b.escaped = false
		case c == '\\':
			b.escaped = true
		case c == '"':
			b.inString = false
			b.run += i + 1 - from
			return i + 1
		}
	}
	b.run += len(p) - from
	return len(p)
}

// page reports whether the body is HTML or XML, which gateways in trouble send with status 200.
func (b *body) page() bool { return b.first == '<' }

// broken returns what cut the answer short, nil when it ended regularly.
func (b *body) broken() error {
	if b.err == nil || b.err == io.EOF {
		return nil
	}
	return b.err
}
