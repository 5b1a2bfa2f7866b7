package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"txlens/actors/webhook"
	"txlens/engine/api"
	"txlens/transport"
)

// TestCallback: a job that is submitted over HTTP tells its address how it ended, signed, and
// the id in the message is that of the job.
func TestCallback(t *testing.T) {
	type message struct {
		header http.Header
		body   []byte
	}
	arrived := make(chan message, 4)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- message{r.Header, body}
	}))
	defer receiver.Close()
	secret := bytes.Repeat([]byte{7}, 32)
	o := Options{
		Listen: "127.0.0.1:0", DataDir: t.TempDir(), Grace: 20 * time.Second,
		Callbacks: &webhook.Options{
			Allow: []string{"http://hooks.example.org:80"}, Secret: secret,
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("1.1.1.1")}, nil
			},
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, receiver.Listener.Addr().String())
			},
		},
		Explain: func(_ context.Context, spec transport.RunSpec) (*api.Result, error) {
			if spec.Request.Context == "fail" {
				return nil, errors.New("no")
			}
			return &api.Result{TxHash: spec.Request.TxHash}, nil
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	defer func() {
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	}()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	hash := "0x" + strings.Repeat("a", 64)
	post := func(path, more string) (int, string) {
		t.Helper()
		resp, err := c.Post("http://"+s.Address().String()+path, "application/json", strings.NewReader(`{"txHash":"`+hash+`","chainId":1`+more+`}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	f := func(more, kind, status, code string) {
		t.Helper()
		answer, body := post("/explain/async", `,"callbackUrl":"http://hooks.example.org/job"`+more)
		var accepted struct{ JobID string }
		if err := json.Unmarshal([]byte(body), &accepted); err != nil || answer != http.StatusAccepted {
			t.Fatalf("%d %s", answer, body)
		}
		got := <-arrived
		var m struct {
			Type, Timestamp string
			Data            struct{ JobID, Status, TxHash, ErrorCode string }
		}
		if err := json.Unmarshal(got.body, &m); err != nil {
			t.Fatal(err)
		}
		if m.Type != kind || m.Data.JobID != accepted.JobID || m.Data.Status != status || m.Data.TxHash != hash || m.Data.ErrorCode != code {
			t.Errorf("%s", got.body)
		}
		if _, err := time.Parse(time.RFC3339, m.Timestamp); err != nil {
			t.Error(err)
		}
		at := got.header.Get("webhook-timestamp")
		if got.header.Get("webhook-signature") != webhook.Sign(secret, accepted.JobID, at, got.body) {
			t.Errorf("signature %v", got.header)
		}
		if job, err := s.jobs.Job(accepted.JobID); err != nil || string(job.Status) != status {
			t.Errorf("the message says %s, the job is %+v, %v", status, job, err)
		}
	}
	f("", "job.complete", "complete", "")
	f(`,"context":"fail"`, "job.error", "error", api.CodeInternal)

	bad := func(path, more, says string) {
		t.Helper()
		if status, body := post(path, more); status != http.StatusBadRequest || !strings.Contains(body, "callbackUrl: ") || !strings.Contains(body, says) {
			t.Errorf("%s %s: %d %s", path, more, status, body)
		}
	}
	bad("/explain", `,"callbackUrl":"http://hooks.example.org/job"`, "send the request to POST /explain/async")
	bad("/explain/async", `,"callbackUrl":"http://other.example.org/job"`, "origin that this server may not call")
	bad("/explain/async", `,"callbackUrl":"file:///etc/passwd"`, "absolute address")
	bad("/explain/async", `,"callbackUrl":""`, "must be an address")
	bad("/explain/async", `,"callbackUrl":7`, "must be an address")
	bad("/explain/async", `,"callbackUrl":"http://hooks.example.org/`+strings.Repeat("x", 2048)+`"`, "at most 2048")
}
