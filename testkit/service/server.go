package service

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/app"
	"txlens/app/settings"

	"github.com/alecthomas/kong"
)

// Start runs a server until the test ends, and returns the URL of its public
// listener. more are further flags of txlens serve.
func Start(t *testing.T, w *World, more ...string) (base string) {
	t.Helper()
	base, _ = StartUntil(t, w, more...)
	return base
}

// StartUntil is startServe for a server that a test stops earlier.
func StartUntil(t *testing.T, w *World, more ...string) (base string, stop func()) {
	t.Helper()
	return startChanged(t, w, func(*app.Options) {}, more...)
}

// startChanged changes the options that the flags mean. The server asks an upstream that
// failed it again at once.
func startChanged(t *testing.T, w *World, change func(*app.Options), more ...string) (base string, stop func()) {
	t.Helper()
	var log LogBuffer
	args := append([]string{"--listen", "127.0.0.1:0", "--grace", "5s", "--data", t.TempDir()}, RPCFlags(w.Flags)...)
	o, err := ServerOptions(&log, append(args, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	o.Analysis.Upstream.Backoff = 5 * time.Millisecond
	change(&o)
	return Run(t, o, &log)
}

// Run starts a server with options that log to log. It runs until stop, or until the test ends.
func Run(t *testing.T, o app.Options, log *LogBuffer) (base string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := app.New(ctx, o)
	if err != nil {
		t.Fatalf("%v; %s", err, log.String())
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(s.Serve(ctx), s.Close()) }()
	stop = sync.OnceFunc(func() {
		cancel()
		// On a slow machine a short grace ends before the last connection does.
		if err := <-ended; err != nil && !(o.Grace < time.Second && errors.Is(err, context.DeadlineExceeded)) {
			t.Errorf("the server ended with %v: %s", err, log.String())
		}
	})
	t.Cleanup(stop)
	return "http://" + s.Address().String(), stop
}

// ServerOptions are the options that these flags of txlens serve mean. The environment
// counts, too. The server logs to w.
func ServerOptions(w io.Writer, args ...string) (app.Options, error) {
	more, err := StoreFlags(args)
	if err != nil {
		return app.Options{}, err
	}
	args = append(slices.Clip(args), more...)
	var s settings.Server
	parser, err := kong.New(&s, kong.Vars(settings.Vars()))
	if err != nil {
		return app.Options{}, err
	}
	if _, err := parser.Parse(args); err != nil {
		return app.Options{}, err
	}
	if err := settings.InOneLine(s.Faults()); err != nil {
		return app.Options{}, err
	}
	return s.Options(s.Logger(w))
}

// LogBuffer is a log that a test reads while the server writes.
type LogBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was logged so far.
func (l *LogBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// ListeningAt finds the address of the public listener in a log.
var ListeningAt = regexp.MustCompile(`"?address"?[=:]"?([0-9.:]+)`)

// AskAdmin asks an admin listener; its answers are in no description of the service.
func AskAdmin(t *testing.T, url string) (status int, body string) {
	t.Helper()
	return askAdmin(t, app.AdminAccess{URL: url})
}

// AskOperator asks the admin listener of the server on a data folder, with its token.
func AskOperator(t *testing.T, dir, path string) (status int, body string) {
	t.Helper()
	at, there := app.FindAdmin(dir)
	if !there {
		t.Fatal("no admin listener")
	}
	return askAdmin(t, app.AdminAccess{URL: at.URL + path, Token: at.Token})
}

func askAdmin(t *testing.T, at app.AdminAccess) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if at.Token != "" {
		req.Header.Set("Authorization", "Bearer "+at.Token)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr, Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(out)
}

// Metric reads one sample of a scrape.
func Metric(t *testing.T, scrape, sample string) float64 {
	t.Helper()
	_, rest, found := strings.Cut(scrape, "\n"+sample+" ")
	if !found {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(line, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
