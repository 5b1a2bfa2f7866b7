package transport

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"txlens/engine/api"
	"txlens/transport/mcp"
)

const pathMCP = "/mcp"

// Limits of the Model Context Protocol.
const (
	maxSessions    = 4096             // sessions of earlier protocol versions
	sessionTimeout = 10 * time.Minute // time without a request
)

// mcpEndpoint serves the Model Context Protocol over HTTP. Since version 2026-07-28 each
// request is independent; earlier versions have sessions, in which a message can cancel a
// call.
type mcpEndpoint struct {
	s       *Server
	server  *mcp.Server
	alone   http.Handler
	session http.Handler
}

func (s *Server) newMCP() *mcpEndpoint {
	server := mcp.New(mcp.Config{Service: mcpService{s}, Version: s.cfg.Version, Metered: s.cfg.Metered, Log: s.cfg.Log})
	return &mcpEndpoint{
		s: s, server: server,
		alone:   server.HTTP(&sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}),
		session: server.HTTP(&sdk.StreamableHTTPOptions{SessionTimeout: sessionTimeout}),
	}
}

// serveMCP answers POST and DELETE /mcp.
func (s *Server) serveMCP(ctx *fasthttp.RequestCtx) {
	e := s.mcp()
	call, err := e.request(ctx)
	if err != nil {
		fail(ctx, fasthttp.StatusBadRequest, "", "the request is not valid HTTP")
		return
	}
	modern := call.Header.Get("Mcp-Protocol-Version") == mcp.Versions()[0]
	if !modern && call.Header.Get("Mcp-Session-Id") == "" && e.server.Sessions() >= maxSessions {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "5")
		fail(ctx, fasthttp.StatusServiceUnavailable, api.CodeBusy,
			"too many sessions are open; end one, or use protocol version "+mcp.Versions()[0])
		return
	}
	conn := ctx.Conn()
	fasthttpadaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out := &timedWriter{w, conn, s.cfg.WriteTimeout}
		if !modern {
			e.session.ServeHTTP(out, call)
			return
		}
		work, cancel := context.WithCancel(call.Context())
		defer cancel()
		watched := watch(conn, false, cancel)
		defer func() {
			if !watched.end() {
				conn.Close() // the watcher read a byte of the next request
			}
		}()
		e.alone.ServeHTTP(out, call.WithContext(work))
	})(ctx)
}

// request returns a copy of a request, because sessions outlive the buffers of fasthttp.
func (e *mcpEndpoint) request(ctx *fasthttp.RequestCtx) (*http.Request, error) {
	work := mcp.WithOrigin(e.s.base, callerAddr{ctx.RemoteAddr(), visitOf(ctx).caller})
	r, err := http.NewRequestWithContext(work, string(ctx.Method()), pathMCP, bytes.NewReader(bytes.Clone(ctx.PostBody())))
	if err != nil {
		return nil, err
	}
	for k, v := range ctx.Request.Header.All() {
		r.Header.Add(string(k), string(v))
	}
	r.Host = string(ctx.Host())
	return r, nil
}

// timedWriter sets a deadline for each write, because a stream may last longer than one.
type timedWriter struct {
	http.ResponseWriter
	conn    net.Conn
	timeout time.Duration
}

func (w *timedWriter) Write(p []byte) (int, error) {
	if w.conn != nil {
		w.conn.SetWriteDeadline(time.Now().Add(w.timeout))
	}
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *timedWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }
