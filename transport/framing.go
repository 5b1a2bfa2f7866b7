package transport

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

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
