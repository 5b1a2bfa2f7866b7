package transport

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// minCompressed is the size of the smallest answer that is compressed.
const minCompressed = 1 << 10

// codings are the supported content codings. If a client accepts several with equal quality,
// the first of them is used.
var codings = []struct {
	name   string
	encode func(dst, src []byte) []byte
}{
	{"zstd", func(dst, src []byte) []byte {
		return fasthttp.AppendZstdBytesLevel(dst, src, fasthttp.CompressZstdDefault)
	}},
	{"br", func(dst, src []byte) []byte { return fasthttp.AppendBrotliBytesLevel(dst, src, 4) }},
	{"gzip", func(dst, src []byte) []byte {
		return fasthttp.AppendGzipBytesLevel(dst, src, fasthttp.CompressDefaultCompression)
	}},
}

// compress encodes the body of an answer with a coding that the client accepts. Event streams
// are not compressed, so that each event is sent at once.
func compress(ctx *fasthttp.RequestCtx) {
	r := &ctx.Response
	if r.IsBodyStream() || len(r.Body()) < minCompressed || len(r.Header.ContentEncoding()) > 0 {
		return
	}
	vary(&r.Header)
	at := codingOf(ctx)
	if at < 0 {
		return
	}
	r.SetBodyRaw(codings[at].encode(nil, r.Body()))
	setCoding(&r.Header, at)
}

// vary tells caches that the answer depends on the codings that the client accepts.
func vary(h *fasthttp.ResponseHeader) {
	if !bytes.HasPrefix(h.Peek(fasthttp.HeaderCacheControl), []byte("no-store")) {
		h.Add(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	}
}

// codingOf is wantedCoding of a request.
func codingOf(ctx *fasthttp.RequestCtx) int {
	return wantedCoding(ctx.Request.Header.PeekAll(fasthttp.HeaderAcceptEncoding))
}

// setCoding says in the headers how the body is encoded.
func setCoding(h *fasthttp.ResponseHeader, at int) {
	h.SetContentEncoding(codings[at].name)
	if tag := h.Peek(fasthttp.HeaderETag); len(tag) > 0 && tag[0] == '"' {
		h.Set(fasthttp.HeaderETag, "W/"+string(tag)) // the bytes differ, the document is the same
	}
}

// wantedCoding returns the index of the coding that a client prefers, -1 if there is none (RFC
// 9110, 12.5.3).
func wantedCoding(fields [][]byte) int {
	if len(fields) == 0 {
		return -1
	}
	quality := map[string]float64{}
	for _, field := range fields {
		for item := range strings.SplitSeq(string(field), ",") {
			name, params, _ := strings.Cut(item, ";")
			quality[strings.ToLower(strings.TrimSpace(name))] = qualityOf(params)
		}
	}
	best, at := 0.0, -1
	for i, c := range codings {
		q, named := quality[c.name]
		if !named {
			q = quality["*"]
		}
		if q > best {
			best, at = q, i
		}
	}
	return at
}

// qualityOf parses the parameter q. A missing one is 1, an invalid one 0.
func qualityOf(params string) float64 {
	name, value, given := strings.Cut(params, "=")
	if !given || strings.ToLower(strings.TrimSpace(name)) != "q" {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || q < 0 || q > 1 {
		return 0
	}
	return q
}
