package transport

import (
	"mime"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

const eventStream = "text/event-stream"

// wantsStream reports whether the caller asks for events rather than for one
// answer of the type other. Only who names text/event-stream gets it: a wildcard
// is what clients send that think of no stream. Of two that are named the one of
// higher quality wins, and the stream where they are equal.
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

// accepted is how much a type is wanted, by the most exact range that names it.
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

// parseRange reads one media range. One that cannot be read says nothing.
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
