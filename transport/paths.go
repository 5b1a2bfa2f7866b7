package transport

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"
)

// pathsWithID are the paths that end in an id, by their prefix.
var pathsWithID = map[string]string{
	"/result/":      "/result/{jobId}",
	"/explain/run/": "/explain/run/{requestId}",
}

// pathsWithoutID are the paths without an id.
var pathsWithoutID = func() map[string]string {
	m := map[string]string{}
	for path := range routes {
		m[path] = path
	}
	return m
}()

// namesOfRoutes has the name of each route, by its method and pattern, for an Observer.
func namesOfRoutes() map[[2]string]string {
	names := map[[2]string]string{}
	for path, methods := range routes {
		for method := range methods {
			names[[2]string{method, path}] = method + " " + path
		}
	}
	return names
}

// lookUp returns the pattern of a path and its methods; nil if there is none.
func lookUp(path []byte) (pattern string, methods map[string]handler) {
	pattern, ok := pathsWithoutID[string(path)]
	if i := bytes.LastIndexByte(path, '/') + 1; !ok && i < len(path) {
		pattern = pathsWithID[string(path[:i])]
		if _, _, part := cutRunPart(path); part {
			pattern = pathRunPart
		} else if _, _, exported := cutRunExport(path); exported {
			pattern = pathRunExport
		} else if page := pagePattern(path); page != "" {
			pattern = page
		}
	}
	return pattern, routes[pattern]
}

// hidesSeparators reports whether a path, as it was sent, has a coded slash, backslash or dot. A
// proxy that allows some paths would read another one than the server.
func hidesSeparators(sent []byte) bool {
	for i := 0; i+2 < len(sent); i++ {
		if sent[i] != '%' {
			continue
		}
		switch strings.ToLower(string(sent[i+1 : i+3])) {
		case "2f", "5c", "2e":
			return true
		}
	}
	return false
}

// pathID returns the id at the end of the path, in canonical form. ok is false if it is not a
// UUID.
func pathID(ctx *fasthttp.RequestCtx) (id string, ok bool) {
	path := string(ctx.Path())
	return parseID(path[strings.LastIndexByte(path, '/')+1:])
}

func parseID(id string) (spelled string, ok bool) {
	u, err := uuid.Parse(id)
	return u.String(), err == nil && len(id) == 36 // Parse accepts other forms, too
}

// noSuchPath answers 404 with the list of paths.
func (s *Server) noSuchPath() string {
	list := slices.Collect(maps.Values(s.routeNames))
	sort.Strings(list)
	return "no such path; there are " + strings.Join(list, ", ")
}

// newRequestID returns a UUID of version 7 (RFC 9562). Its first 48 bits are the time, so that
// run records are stored in order. The others are random, because the id of a run gives access
// to its result.
func newRequestID(at time.Time) (id requestID) {
	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], uint64(at.UnixMilli())<<16)
	rand.Read(u[6:]) // never fails: it would end the process
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	for i, j := 0, 0; i < len(u); i++ {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			id[j] = '-'
			j++
		}
		id[j], id[j+1] = "0123456789abcdef"[u[i]>>4], "0123456789abcdef"[u[i]&15]
		j += 2
	}
	return id
}

// requestID is the text of a UUID. As an array it needs no allocation.
type requestID [36]byte

func (id *requestID) String() string { return string(id[:]) }

func idOf(ctx *fasthttp.RequestCtx) string { return visitOf(ctx).id.String() }
