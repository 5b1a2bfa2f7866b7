package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"txlens/app"
	"txlens/testkit/service"
)

// BenchmarkKept measures the first look at a transaction and a second one over HTTP, one client on
// a node in the same process that answers at once. The first is an analysis, the second its kept
// result. Answers are not compressed, which would take most of the time of the second.
//
//	looks/s   of one client
//	x         how many times faster than the first look
//	bytes     of an answer
func BenchmarkKept(b *testing.B) {
	look := newLooks(b)
	var first float64
	run := func(name, more string, accept string) {
		b.Run(name, func(b *testing.B) {
			size := look(b, more, accept) // is kept, or makes the report
			began := time.Now()
			n := 0
			for b.Loop() {
				look(b, more, accept)
				n++
			}
			rate := float64(n) / time.Since(began).Seconds()
			if first == 0 {
				first = rate
			}
			b.ReportMetric(rate, "looks/s")
			b.ReportMetric(rate/first, "x")
			b.ReportMetric(float64(size), "bytes")
		})
	}
	run("first", `,"fresh":true`, "application/json")
	run("second", "", "application/json")
	run("stream", "", "text/event-stream")
	run("report", `,"report":true`, "text/html")
}

// newLooks starts a server, and returns a function that has one transaction explained and returns
// the size of the answer.
func newLooks(b *testing.B) func(b *testing.B, more, accept string) int {
	b.Helper()
	w := service.NewWorld(b)
	args := append([]string{"--listen", "127.0.0.1:0", "--admin-listen", "off", "--data", b.TempDir()}, service.RPCFlags(w.Flags)...)
	o, err := service.ServerOptions(io.Discard, args...)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv, err := app.New(ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	b.Cleanup(func() { client.CloseIdleConnections(); cancel(); <-ended; srv.Close() })
	return func(b *testing.B, more, accept string) int {
		b.Helper()
		body := fmt.Sprintf(`{"txHash":%q,"chainId":%d%s}`, w.Tx.Hash, w.Block.ChainID, more)
		req, err := http.NewRequestWithContext(ctx, "POST", "http://"+srv.Address().String()+"/explain", bytes.NewReader([]byte(body)))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status, err)
		}
		return int(n)
	}
}
