package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSign: the example of the specification.
func TestSign(t *testing.T) {
	secret, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := Sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestParseSecret(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if _, err := ParseSecret(text); (err == nil) != want || err != nil && len(text) > 12 && strings.Contains(err.Error(), text[6:12]) {
			t.Errorf("%q: %v", text, err)
		}
	}
	of := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	f("whsec_"+of(24), true)
	f("whsec_"+of(64)+"\n", true)
	f("whsec_"+of(23), false)
	f("whsec_"+of(65), false)
	f(of(32), false)
	f("whsec_%%%", false)
	f("", false)
}

func TestCheck(t *testing.T) {
	var allow []string
	for _, text := range []string{"https://Hooks.example.org", "http://plain.example.org:8080/", "https://[2606:4700::1]:444"} {
		origin, err := ParseOrigin(text)
		if err != nil {
			t.Fatal(err)
		}
		allow = append(allow, origin)
	}
	s := New(Options{Allow: allow})
	defer s.Close()
	f := func(address, says string) {
		t.Helper()
		if err := s.Check(address); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", address, err, says)
		}
	}
	f("https://hooks.example.org/a?b=c", "")
	f("https://HOOKS.example.org:443", "")
	f("http://plain.example.org:8080/x", "")
	f("https://[2606:4700::1]:444/", "")
	f("http://hooks.example.org/", "origin")
	f("https://hooks.example.org:8443/", "origin")
	f("https://hooks.example.org.evil.org/", "origin")
	f("https://evil.org/https://hooks.example.org/", "origin")
	f("https://hooks.example.org@evil.org/", "user")
	f("https://hooks.example.org/#x", "fragment")
	f("ftp://hooks.example.org/", "absolute address")
	f("//hooks.example.org/", "absolute address")
	f("https:///x", "absolute address")
	f("", "absolute address")
	f("https://hooks.example.org/"+strings.Repeat("x", 2048), "longer than")
	for _, bad := range []string{"hooks.example.org", "https://a.org/path", "https://a.org?x", "https://u@a.org"} {
		if _, err := ParseOrigin(bad); err == nil {
			t.Errorf("%s is an origin", bad)
		}
	}
}

func TestPublic(t *testing.T) {
	f := func(want bool, list ...string) {
		t.Helper()
		for _, text := range list {
			if a := netip.MustParseAddr(text); public(a) != want {
				t.Errorf("%s: %v", text, !want)
			}
		}
	}
	f(true, "1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2001:4860::8888", "::ffff:1.1.1.1")
	f(false, "127.0.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1",
		"192.0.2.1", "198.18.0.1", "203.0.113.9", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "2001::1", "::127.0.0.1", "fec0::1")
	if public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// receiver is an HTTP server that stands at a public address in the eyes of the sender.
type receiver struct {
	mu       sync.Mutex
	statuses []int // of the next answers; 200 when there are none left
	got      []*http.Request
	bodies   []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, _ := io.ReadAll(req.Body)
	r.got, r.bodies = append(r.got, req), append(r.bodies, string(body))
	status := http.StatusOK
	if len(r.statuses) > 0 {
		status, r.statuses = r.statuses[0], r.statuses[1:]
	}
	if status >= 300 && status < 400 {
		w.Header().Set("Location", "http://127.0.0.1:1/")
	}
	w.WriteHeader(status)
}

// world is a sender with a receiver, in virtual time.
type world struct {
	*Sender
	log    bytes.Buffer
	mu     sync.Mutex
	slept  []time.Duration
	dialed []string
}

func newWorld(t *testing.T, h http.Handler, resolve func(host string) ([]netip.Addr, error)) *world {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	w := &world{}
	w.Sender = New(Options{
		Allow: []string{"http://hooks.example.org:80", "http://10.0.0.1:80"}, Secret: []byte("a secret of 24 bytes long"), Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Now: func() time.Time { return time.Unix(1_900_000_000, 0) },
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if resolve == nil {
				return []netip.Addr{netip.MustParseAddr("1.1.1.1")}, nil
			}
			return resolve(host)
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dialed = append(w.dialed, address)
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.slept = append(w.slept, d)
			return ctx.Err()
		},
	})
	return w
}

// settle waits until all deliveries have ended.
func (w *world) settle() {
	w.wait.Wait()
	w.Close()
	if w.inHand != 0 {
		panic("deliveries that have ended are counted")
	}
}

// TestSend: the message arrives once, signed, at the address that was resolved.
func TestSend(t *testing.T) {
	r := &receiver{}
	w := newWorld(t, r, nil)
	w.Send("msg-1", "http://hooks.example.org/path?q=1", []byte(`{"a":1}`))
	w.settle()
	if len(r.got) != 1 || r.bodies[0] != `{"a":1}` || r.got[0].URL.String() != "/path?q=1" || r.got[0].Host != "hooks.example.org" || r.got[0].Method != "POST" {
		t.Fatalf("%+v %q", r.got, r.bodies)
	}
	h := r.got[0].Header
	if h.Get("webhook-id") != "msg-1" || h.Get("webhook-timestamp") != "1900000000" || h.Get("Content-Type") != "application/json" ||
		h.Get("webhook-signature") != Sign(w.o.Secret, "msg-1", "1900000000", []byte(`{"a":1}`)) {
		t.Errorf("%v", h)
	}
	if !slices.Equal(w.dialed, []string{"1.1.1.1:80"}) || len(w.slept) > 0 || !strings.Contains(w.log.String(), "webhook sent") {
		t.Errorf("dialed %q, slept %v, log %s", w.dialed, w.slept, w.log.String())
	}
}

// TestRetries: other answers than success are tried again after growing pauses, but for 410.
func TestRetries(t *testing.T) {
	f := func(attempts int, log string, statuses ...int) {
		t.Helper()
		r := &receiver{statuses: statuses}
		w := newWorld(t, r, nil)
		w.Send("m", "http://hooks.example.org/?token=t0ken", nil)
		w.settle()
		if len(r.got) != attempts || !strings.Contains(w.log.String(), log) || strings.Contains(w.log.String(), "t0ken") {
			t.Errorf("%v: %d attempts, log %s", statuses, len(r.got), w.log.String())
		}
		if !slices.Equal(w.slept, defaultDelays[:attempts-1]) {
			t.Errorf("%v: slept %v", statuses, w.slept)
		}
		for _, q := range r.got {
			if q.Header.Get("webhook-id") != "m" {
				t.Errorf("an attempt has the id %q", q.Header.Get("webhook-id"))
			}
		}
	}
	f(2, "webhook sent", 500)
	f(4, "webhook sent", 404, 429, 302)
	f(6, "webhook given up", 500, 500, 500, 500, 500, 500, 500)
	f(1, "webhook given up", 410)
}

// TestNoPrivateAddress: no connection is made to a host that has any address that is not
// public, also if it has had others a moment ago, or is one itself.
func TestNoPrivateAddress(t *testing.T) {
	f := func(address string, wantDials int, answers ...string) {
		t.Helper()
		r, n := &receiver{statuses: []int{500}}, 0
		w := newWorld(t, r, func(string) ([]netip.Addr, error) {
			var list []netip.Addr
			for _, text := range strings.Fields(answers[min(n, len(answers)-1)]) {
				list = append(list, netip.MustParseAddr(text))
			}
			n++
			return list, nil
		})
		w.Send("m", address, nil)
		w.settle()
		if len(w.dialed) != wantDials || len(r.got) != wantDials || !strings.Contains(w.log.String(), "given up") && wantDials < 2 {
			t.Errorf("%s, %q: dialed %q, log %s", address, answers, w.dialed, w.log.String())
		}
		if len(w.slept) != min(wantDials, 1) {
			t.Errorf("%s, %q: it was tried again after %v", address, answers, w.slept)
		}
		for _, a := range w.dialed {
			if a != "1.1.1.1:80" {
				t.Errorf("dialed %s", a)
			}
		}
	}
	f("http://hooks.example.org/", 0, "127.0.0.1")
	f("http://hooks.example.org/", 0, "1.1.1.1 10.0.0.1")
	f("http://hooks.example.org/", 0, "169.254.169.254")
	f("http://hooks.example.org/", 0, "::ffff:127.0.0.1")
	f("http://10.0.0.1/", 0, "1.1.1.1")
	f("http://hooks.example.org/", 1, "1.1.1.1", "127.0.0.1") // it rebinds between two attempts
	f("http://hooks.example.org/", 2, "1.1.1.1", "1.1.1.1")
}

// TestResolveFails: a name that cannot be resolved is tried again.
func TestResolveFails(t *testing.T) {
	r, n := &receiver{}, 0
	w := newWorld(t, r, func(string) ([]netip.Addr, error) {
		if n++; n == 1 {
			return nil, errors.New("no such host")
		}
		if n == 2 {
			return nil, nil
		}
		return []netip.Addr{netip.MustParseAddr("1.1.1.1")}, nil
	})
	w.Send("m", "http://hooks.example.org/", nil)
	w.settle()
	if len(r.got) != 1 || len(w.slept) != 2 {
		t.Errorf("%d arrived after %v", len(r.got), w.slept)
	}
}

// TestNoAddressInLog: the address, whose path or query may hold a secret, is in no line of the
// log.
func TestNoAddressInLog(t *testing.T) {
	w := newWorld(t, &receiver{}, func(string) ([]netip.Addr, error) { return nil, errors.New("no such host") })
	w.Send("m", "http://hooks.example.org/p4th?token=t0ken", nil)
	w.settle()
	if log := w.log.String(); !strings.Contains(log, "given up") || strings.Contains(log, "t0ken") || strings.Contains(log, "p4th") {
		t.Error(log)
	}
}

// TestBounds: not more deliveries than allowed are in hand, and Close gives up those that
// wait.
func TestBounds(t *testing.T) {
	var log bytes.Buffer
	asleep := make(chan struct{}, maxDeliveries)
	s := New(Options{
		Allow: []string{"http://hooks.example.org:80"}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") },
		Sleep: func(ctx context.Context, _ time.Duration) error {
			asleep <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		},
	})
	s.Send("m", "http://other.example.org/", nil)
	for range maxDeliveries {
		s.Send("m", "http://hooks.example.org/", nil)
	}
	for range maxDeliveries {
		<-asleep
	}
	s.Send("m", "http://hooks.example.org/", nil)
	s.Close()
	s.Send("m", "http://hooks.example.org/", nil)
	if not, given := strings.Count(log.String(), "webhook not sent"), strings.Count(log.String(), "webhook given up"); not != 3 || given != maxDeliveries {
		t.Errorf("%d not sent, %d given up", not, given)
	}
}
