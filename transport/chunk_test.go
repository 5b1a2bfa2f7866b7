package transport

import (
	"bytes"
	"net"
	"testing"
)

// recordConn keeps what is written to it.
type recordConn struct {
	net.Conn
	bytes.Buffer
}

func (c *recordConn) Write(p []byte) (int, error) { return c.Buffer.Write(p) }
func (c *recordConn) Read(p []byte) (int, error)  { return c.Buffer.Read(p) }

// TestChunks: each write is one chunk, and an empty one, which would end the body, is
// none.
func TestChunks(t *testing.T) {
	c := new(recordConn)
	w := &chunkWriter{w: c}
	for _, part := range []string{"a", "", "bc", "0123456789abcdef0"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%q: %d, %v", part, n, err)
		}
	}
	if got, want := c.String(), "1\r\na\r\n2\r\nbc\r\n11\r\n0123456789abcdef0\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
