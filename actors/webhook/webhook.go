// Package webhook tells receivers that a job has ended, by a signed POST as Standard
// Webhooks describes it (https://www.standardwebhooks.com).
//
// Whoever submits a job chooses the address, so it is treated as hostile: only origins that
// the operator allows are called; the name is resolved here, every address of it must be
// public, and the connection goes to an address that was checked, so that a name cannot
// resolve to another one in between. Proxies are not used and redirects not followed.
//
// Deliveries are kept in memory. A server that stops gives them up; the receiver can always
// ask for the job.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options of a Sender. Zero values mean the defaults named at each field.
type Options struct {
	Allow  []string // origins that may be called, as ParseOrigin returns them
	Secret []byte   // of the signatures
	Log    *slog.Logger

	// Resolve returns the addresses of a host, default those of the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked, default by TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Sleep waits between attempts; it returns early with an error when ctx ends.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the time of the signatures.
	Now func() time.Time
	// Delays are the pauses before each further attempt, default 5 s to 30 min.
	Delays []time.Duration
	// Transport replaces the transport of HTTP but for its dialer; for tests of TLS.
	Transport *http.Transport
}

// Bounds of deliveries.
const (
	maxDeliveries  = 1024 // in hand
	maxCalls       = 16   // at a time
	attemptTime    = 10 * time.Second
	maxAnswer      = 64 << 10
	minSecretBytes = 24
	maxSecretBytes = 64
)

var defaultDelays = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute}

// ParseSecret reads a secret as Standard Webhooks writes it: whsec_ and 24 to 64 bytes in
// base64.
func ParseSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), "whsec_")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(secret) < minSecretBytes || len(secret) > maxSecretBytes {
		return nil, fmt.Errorf("want whsec_ and %d to %d bytes in base64", minSecretBytes, maxSecretBytes)
	}
	return secret, nil
}

// Sender delivers messages. It is safe for concurrent use.
type Sender struct {
	o      Options
	http   *http.Client
	calls  chan struct{} // one for each call at a time
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	inHand int
	closed bool
	wait   sync.WaitGroup
}

// New makes a sender. Close it.
func New(o Options) *Sender {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: attemptTime}).DialContext
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Delays == nil {
		o.Delays = defaultDelays
	}
	t := &http.Transport{}
	if o.Transport != nil {
		t = o.Transport.Clone()
	}
	s := &Sender{o: o, calls: make(chan struct{}, maxCalls)}
	t.Proxy, t.DialContext, t.DisableKeepAlives = nil, s.dial, true
	t.TLSHandshakeTimeout, t.MaxResponseHeaderBytes = attemptTime, maxAnswer
	s.http = &http.Client{Transport: t, Timeout: attemptTime}
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Check says why an address may not be called; nil: it may, as far as its origin tells.
func (s *Sender) Check(address string) error {
	_, origin, err := parseURL(address)
	if err != nil {
		return err
	}
	for _, allowed := range s.o.Allow {
		if origin == allowed {
			return nil
		}
	}
	return errors.New("is of an origin that this server may not call; ask its operator to allow it")
}

// errNotPublic: a name has an address that is not of the public internet.
var errNotPublic = errors.New("the host has an address that is not public")

// dial connects to a host by an address that was checked. If any address of the host is not
// public, none is used.
func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{ip}
	} else if addrs, err = s.o.Resolve(ctx, host); err != nil {
		return nil, errors.New("the host cannot be resolved")
	}
	if len(addrs) == 0 {
		return nil, errors.New("the host has no address")
	}
	for _, a := range addrs {
		if !public(a) {
			return nil, errNotPublic
		}
	}
	var failed error
	for _, a := range addrs {
		conn, err := s.o.Dial(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// Send delivers a message under an id, which is the same for every attempt. It returns at
// once; what cannot be delivered is logged.
func (s *Sender) Send(id, address string, body []byte) {
	if err := s.Check(address); err != nil {
		s.o.Log.Error("webhook not sent", "id", id, "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.inHand >= maxDeliveries {
		s.o.Log.Error("webhook not sent", "id", id, "error", "too many deliveries are in hand, or the server stops")
		return
	}
	s.inHand++
	s.wait.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.inHand--
		}()
		s.deliver(id, address, body)
	})
}

// Close gives up what was not delivered and returns when nothing runs any more.
func (s *Sender) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wait.Wait()
}

// deliver tries until the receiver accepts, refuses for good, or the attempts are over.
func (s *Sender) deliver(id, address string, body []byte) {
	var err error
	for n := 0; ; n++ {
		final := false
		if final, err = s.attempt(id, address, body); err == nil {
			s.o.Log.Info("webhook sent", "id", id, "attempts", n+1)
			return
		}
		if final || n >= len(s.o.Delays) || s.o.Sleep(s.ctx, s.o.Delays[n]) != nil {
			s.o.Log.Error("webhook given up", "id", id, "attempts", n+1, "error", err)
			return
		}
	}
}

// attempt sends the message once. final: another attempt makes no sense.
func (s *Sender) attempt(id, address string, body []byte) (final bool, err error) {
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	case <-s.ctx.Done():
		return true, s.ctx.Err()
	}
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return true, errors.New("the address cannot be used")
	}
	at := strconv.FormatInt(s.o.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "txlens")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", Sign(s.o.Secret, id, at, body))
	resp, err := s.http.Do(req)
	if err != nil {
		return errors.Is(err, errNotPublic), unwrapped(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // what the receiver says is of no interest
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return false, nil
	}
	return resp.StatusCode == http.StatusGone, fmt.Errorf("the receiver answered %d", resp.StatusCode)
}

// unwrapped is the cause of an error of the HTTP client without the address, whose path or
// query may hold a secret of the receiver.
func unwrapped(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Sign is the signature of a message, version 1 of Standard Webhooks.
func Sign(secret []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
