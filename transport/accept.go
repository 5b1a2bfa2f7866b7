package transport

import (
	"mime"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

const eventStream = "text/event-stream"

// wantsStream reports whether the Accept header asks for events rather than for the content
// type other. Only a client that names text/event-stream gets a stream, because clients that
// do not expect a stream send wildcards. If both types are named the higher quality wins, and
// the stream at equal quality.
func wantsStream(h *fasthttp.RequestHeader, other string) bool {
	var stream float64
	rest := accepted{rank: -1}
	for _, line := range h.PeekAll(fasthttp.HeaderAccept) {
		for item := range strings.SplitSeq(string(line), ",") {
			kind, q, ok := parseRange(item)
			if !ok {
				continue
			}
			if kind == eventStream {
				stream = max(stream, q)
			}
			rest.take(kind, q, other)
		}
	}
	return stream > 0 && stream >= rest.q
}

// accepted returns the quality of a type, by the most specific range that matches it.
type accepted struct {
	rank int
	q    float64
}

func (a *accepted) take(kind string, q float64, want string) {
	family, _, _ := strings.Cut(want, "/")
	rank := map[string]int{"*/*": 0, family + "/*": 1, want: 2}
	if r, ok := rank[kind]; ok && (r > a.rank || r == a.rank && q > a.q) {
		a.rank, a.q = r, q
	}
}

// parseRange parses one media range. An invalid range is ignored.
func parseRange(item string) (kind string, q float64, ok bool) {
	kind, params, err := mime.ParseMediaType(item)
	if err != nil {
		return "", 0, false
	}
	text, given := params["q"]
	if !given {
		return kind, 1, true
	}
	q, err = strconv.ParseFloat(text, 64)
	return kind, q, err == nil && q >= 0 && q <= 1
}
