package transport

import (
	"bytes"
	"sort"
	"strings"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
)

// withID are the paths that end in an id, by what stands before it.
var withID = map[string]string{
	"/result/":      "/result/{jobId}",
	"/explain/run/": "/explain/run/{requestId}",
}

// patterns are the paths without an id, as they are.
var patterns = func() map[string]string {
	m := map[string]string{}
	for path := range routes {
		m[path] = path
	}
	return m
}()

// lookUp finds the pattern of a path and its methods; nil when there is none.
func lookUp(path []byte) (pattern string, methods map[string]handler) {
	pattern, ok := patterns[string(path)]
	if i := bytes.LastIndexByte(path, '/') + 1; !ok && i < len(path) {
		pattern = withID[string(path[:i])]
	}
	return pattern, routes[pattern]
}

// pathID returns the id at the end of the path, in its one spelling. It is not ok
// when it is no UUID.
func pathID(ctx *fasthttp.RequestCtx) (id string, ok bool) {
	path := string(ctx.Path())
	id = path[strings.LastIndexByte(path, '/')+1:]
	u, err := uuid.Parse(id)
	return u.String(), err == nil && len(id) == 36 // Parse takes other spellings, too
}

// noSuchPath lists what there is.
func noSuchPath() string {
	var list []string
	for path, methods := range routes {
		for m := range methods {
			list = append(list, m+" "+path)
		}
	}
	sort.Strings(list)
	return "no such path; there are " + strings.Join(list, ", ")
}

// newRequestID makes an id that says its time: run records are kept under it, in
// order.
func newRequestID() string { return uuid.Must(uuid.NewV7()).String() }

func idOf(ctx *fasthttp.RequestCtx) string { return visitOf(ctx).id }
