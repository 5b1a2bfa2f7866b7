package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"txlens/engine/api"
	"txlens/transport"
)

// idleStreams are open at once. They stay for idleFor, with a heartbeat each
// second; TXLENS_BENCH_HOLD makes it shorter or longer.
const (
	idleStreams = 2000
	idleFor     = time.Minute
)

// idle is an Explainer whose analyses end when their client goes.
type idle struct{ running atomic.Int64 }

func (*idle) Check(api.Request) error { return nil }

func (x *idle) Explain(ctx context.Context, job transport.RunSpec) (*api.Result, error) {
	x.running.Add(1)
	defer x.running.Add(-1)
	job.Sink(api.Event{Type: api.EventPreflightStart, TxHash: job.Request.TxHash})
	<-ctx.Done()
	return nil, ctx.Err()
}

// memory is what the process holds: of the runtime, and of the system.
func memory(b *testing.B) (runtimeBytes, resident int) {
	b.Helper()
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return int(m.HeapInuse + m.StackInuse), 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(statm))[1])
	return int(m.HeapInuse + m.StackInuse), pages * os.Getpagesize()
}

func wait(b *testing.B, what string, cond func() bool) {
	b.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("not: %s", what)
		}
	}
}

// BenchmarkIdleStreams opens many silent streams from a process of its own, and
// says what one costs the server while it waits and how soon all are noticed to
// be gone when that process is killed.
func BenchmarkIdleStreams(b *testing.B) {
	hold := idleFor
	if d, err := time.ParseDuration(os.Getenv("TXLENS_BENCH_HOLD")); err == nil {
		hold = d
	}
	x := new(idle)
	srv := transport.New(transport.Config{Explainer: x, MaxAnalyses: idleStreams, Heartbeat: time.Second})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	defer func() { srv.Shutdown(context.Background()); <-ended }()
	goroutines := runtime.NumGoroutine()
	for b.Loop() {
		heap, rss := memory(b)
		var out bytes.Buffer
		clients := exec.Command(os.Args[0], "-test.run=^TestIdleClients$")
		clients.Env = append(os.Environ(), "TXLENS_BENCH_CLIENTS="+ln.Addr().String())
		clients.Stdout = &out
		stdin, err := clients.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := clients.Start(); err != nil {
			b.Fatal(err)
		}
		wait(b, "all streams are open", func() bool { return x.running.Load() == idleStreams })
		time.Sleep(hold)
		heap2, rss2 := memory(b)
		b.ReportMetric(float64(heap2-heap)/1024/idleStreams, "KiB/stream")
		b.ReportMetric(float64(rss2-rss)/1024/idleStreams, "rss-KiB/stream")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/idleStreams, "goroutines/stream")
		stdin.Close() // they count what they have, then leave without a word
		clients.Wait()
		left := time.Now()
		wait(b, "all are noticed to be gone", func() bool { return x.running.Load() == 0 })
		b.ReportMetric(float64(time.Since(left).Milliseconds()), "gone-ms")
		// fasthttp keeps the goroutine of a connection for ten seconds, and some of its own.
		wait(b, "goroutines are back", func() bool { return runtime.NumGoroutine() <= goroutines+4 })
		var streams, fewest int
		fmt.Sscanf(out.String(), "%d streams, %d heartbeats at least", &streams, &fewest)
		b.ReportMetric(float64(streams), "streams")
		b.ReportMetric(float64(fewest), "heartbeats-at-least")
		// A machine that has much else to do may be late with some.
		if streams != idleStreams || fewest < int(hold/time.Second)*9/10 {
			b.Errorf("%d of %d streams accounted for, %d heartbeats at least: %s", streams, idleStreams, fewest, out.String())
		}
	}
}

// TestIdleClients is the other end of BenchmarkIdleStreams, in its own process.
func TestIdleClients(t *testing.T) {
	addr := os.Getenv("TXLENS_BENCH_CLIENTS")
	if addr == "" {
		return
	}
	var streams atomic.Int64
	beats := make([]atomic.Int64, idleStreams)
	var wg sync.WaitGroup
	for i := range idleStreams {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"txHash":"0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"}`
		fmt.Fprintf(c, "POST /explain HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		wg.Go(func() {
			lines := bufio.NewScanner(c)
			for lines.Scan() {
				switch {
				case strings.Contains(lines.Text(), "preflight_start"):
					streams.Add(1)
				case strings.Contains(lines.Text(), "heartbeat"):
					beats[i].Add(1)
				}
			}
		})
	}
	io.Copy(io.Discard, os.Stdin)
	fewest := beats[0].Load()
	for i := range beats {
		fewest = min(fewest, beats[i].Load())
	}
	fmt.Printf("%d streams, %d heartbeats at least\n", streams.Load(), fewest)
	os.Exit(0) // all connections at once
}
