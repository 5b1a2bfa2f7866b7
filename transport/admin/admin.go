// Package admin is what the operator of a server reaches, on a listener of its own:
//
//	GET /livez            200: the process answers
//	GET /readyz           200, with a line for each warning, or 503 with a line for
//	                      each thing that is not ready
//	GET /metrics          Prometheus text format
//	GET|POST /backup      a consistent copy of the database, while it is in use
//	GET /channels         payment channels, page by page
//	POST /settle          pays channels out
//	GET /debug/pprof/...  profiles of the process
//
// There are no accounts here: who reaches the listener may do all of it. So it
// listens on loopback unless the operator says otherwise, and there it refuses what
// a web page can make a browser on the same machine send.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Check is one thing that a server needs in order to be ready.
type Check struct {
	Name string
	Err  func() error // nil when it is there, else one line for each fault; must not block
}

// Config of a Server.
type Config struct {
	Checks []Check
	// Warnings are what an operator should look into while the server is ready.
	Warnings []Check
	Metrics  http.Handler // nil: there are none
	// Backup writes a consistent copy of the database. nil: there is none.
	Backup   func(w io.Writer) (int64, error)
	Channels ChannelOperator // nil: nothing is sold
	// Loopback says that the listener is one: then requests that name another host,
	// or come from a page of another site, are refused.
	Loopback bool
	Log      *slog.Logger // nil: silent
}

// Server answers the operator. It is safe for concurrent use.
type Server struct {
	cfg      Config
	http     *http.Server
	draining atomic.Bool
	copying  sync.Mutex // one backup at a time
	settling sync.Mutex // one settlement at a time
}

// patience with a client that takes 64 KiB of a backup: while it is written, pages
// of the database that become free cannot be used again.
const patience = 30 * time.Second

// New makes a server; Serve starts it.
func New(cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	if cfg.Metrics != nil {
		mux.Handle("GET /metrics", cfg.Metrics)
	}
	if cfg.Backup != nil {
		mux.HandleFunc("GET /backup", s.backup)
		mux.HandleFunc("POST /backup", s.backup)
	}
	mux.HandleFunc("GET /channels", s.channels)
	mux.HandleFunc("POST /settle", s.settle)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound) // the arguments may hold keys
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	s.http = &http.Server{
		Handler: s.fromHere(mux), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers connections of ln until Close, then returns nil.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the admin listener: %w", err)
	}
	return nil
}

// Drain makes the server say that it is not ready any more.
func (s *Server) Drain() { s.draining.Store(true) }

// Close ends the listener and lets requests end until ctx does, then cuts them.
func (s *Server) Close(ctx context.Context) error {
	if s.http.Shutdown(ctx) == nil {
		return nil
	}
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("stop the admin listener: %w", err)
	}
	return nil
}

// fromHere lets a request through that was meant for this listener. A name in Host
// that is no address may have been pointed here by a page (DNS rebinding), and
// Sec-Fetch-Site tells what another site's page has a browser send.
func (s *Server) fromHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if site := r.Header.Get("Sec-Fetch-Site"); s.cfg.Loopback && (!literal(r.Host) || site == "cross-site" || site == "same-site") {
			http.Error(w, "this listener answers to its address only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func literal(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost"
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	var missing []string
	if s.draining.Load() {
		missing = append(missing, "server: draining")
	}
	missing = append(missing, failing(s.cfg.Checks)...)
	warnings := failing(s.cfg.Warnings)
	for i, text := range warnings {
		warnings[i] = "warning: " + text
	}
	if len(missing) > 0 {
		http.Error(w, strings.Join(append(missing, warnings...), "\n"), http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, strings.Join(append([]string{"ok"}, warnings...), "\n")+"\n")
}

// failing has a line for each check that fails.
func failing(checks []Check) (lines []string) {
	for _, c := range checks {
		err := c.Err()
		if err == nil {
			continue
		}
		for text := range strings.SplitSeq(err.Error(), "\n") {
			lines = append(lines, c.Name+": "+text)
		}
	}
	return lines
}

// backup streams a copy. One that breaks off has no end that a client would take
// for one.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	if !s.copying.TryLock() {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "a backup is being made", http.StatusConflict)
		return
	}
	defer s.copying.Unlock()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="txlens.db"`)
	out := &patientWriter{w: w, c: http.NewResponseController(w)}
	start := time.Now()
	n, err := s.cfg.Backup(out)
	switch {
	case err == nil:
		s.cfg.Log.Info("backup", "bytes", n, "took", time.Since(start))
	case out.n > 0:
		s.cfg.Log.Warn("backup broke off", "bytes", out.n, "error", err)
		panic(http.ErrAbortHandler)
	default:
		s.cfg.Log.Error("backup", "error", err)
		h.Del("Content-Disposition")
		http.Error(w, "the database cannot be copied now; the log says why", http.StatusServiceUnavailable)
	}
}

// patientWriter gives each piece of an answer its own deadline.
type patientWriter struct {
	w http.ResponseWriter
	c *http.ResponseController
	n int64
}

func (p *patientWriter) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		if err = p.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			break
		}
		var m int
		m, err = p.w.Write(b[n:min(len(b), n+64<<10)])
		n += m
	}
	p.n += int64(n)
	return n, err
}

// Loopback reports whether an address to listen on, host:port, can be reached from
// this machine alone. An error says what is wrong with the address.
func Loopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("want HOST:PORT: %w", err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil || port == "" {
		return false, fmt.Errorf("%q is no port", port)
	}
	if host == "localhost" {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil && strings.ContainsAny(host, " \t/@?#") {
		return false, fmt.Errorf("%q is no host", host)
	}
	return err == nil && ip.IsLoopback(), nil
}
