package transport

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// lfWatch finds a request line that ends in a bare LF in the bytes of a connection. fasthttp ends
// the line there and keeps no trace of it. The version of HTTP ends a request line, so that is what
// is looked for, in bodies too: no body that a route takes has it before a line break. An lfWatch is
// owned by who reads the connection.
type lfWatch struct {
	matched int // characters of the version, and of a line break behind it, at the end of the last read
}

const version = "HTTP/d.d\n" // d is a digit

// in reports whether such a line ends in the next bytes.
func (l *lfWatch) in(b []byte) bool {
	for len(b) > 0 {
		if l.matched == 0 {
			i := bytes.IndexByte(b, version[0])
			if i < 0 {
				return false
			}
			l.matched, b = 1, b[i+1:]
			continue
		}
		want := version[l.matched]
		if b[0] != want && (want != 'd' || b[0] < '0' || b[0] > '9') {
			l.matched = 0 // the character may begin a version
			continue
		}
		if l.matched++; l.matched == len(version) {
			l.matched = 0
			return true
		}
		b = b[1:]
	}
	return false
}

// blankByLF reports whether a request begins with an empty line that ends in a bare LF.
func blankByLF(b []byte) bool {
	for bytes.HasPrefix(b, []byte("\r\n")) {
		b = b[2:]
	}
	return len(b) > 0 && b[0] == '\n'
}

// wellFramed reports whether all implementations of HTTP see the same end of a request. For
// fasthttp a bare LF ends a header line, so that a proxy in front that reads only CRLF as an
// end sees other headers, or another end. Trailers, which no client needs here, are parsed the
// same way and not kept as they were sent.
func wellFramed(h *fasthttp.RequestHeader) bool {
	if len(h.PeekTrailerKeys()) > 0 {
		return false
	}
	raw := h.RawHeaders()
	for at := 0; ; {
		i := bytes.IndexByte(raw[at:], '\n')
		if i < 0 {
			return true
		}
		if at += i; at == 0 || raw[at-1] != '\r' {
			return false
		}
		at++
	}
}
