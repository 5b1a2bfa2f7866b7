package main

import (
	"bufio"
	"context"
	stdjson "encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/internal/testkit/stubnode"
)

// startServe runs the command until the test ends, and says where it listens.
func startServe(t *testing.T, w *stubWorld, more ...string) (base string) {
	t.Helper()
	base, _ = startServeUntil(t, w, more...)
	return base
}

// startServeUntil is startServe for a command that a test stops earlier.
func startServeUntil(t *testing.T, w *stubWorld, more ...string) (base string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var log lockedBuffer
	ended := make(chan int, 1)
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--grace", "5s", "--data", t.TempDir()}, rpcArgs(w.flags)...)
	args = append(args, more...)
	go func() { ended <- run(ctx, args, console{in: strings.NewReader(""), out: io.Discard, err: &log}) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("serve ended with %d: %s", code, log.String())
		}
	})
	t.Cleanup(stop)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if m := servingAt.FindStringSubmatch(log.String()); m != nil {
			return "http://" + m[1], stop
		}
	}
	t.Fatalf("it does not serve: %s", log.String())
	return "", stop
}

// recovered polls the run until it is there, and gives the hash of its result.
func recovered(t *testing.T, base, id string) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(base + "/explain/run/" + id)
		if err != nil {
			t.Fatal(err)
		}
		var run struct {
			Frames []struct{ Type, TxHash string }
		}
		err = stdjson.NewDecoder(resp.Body).Decode(&run)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			if n := len(run.Frames); err != nil || n < 2 || run.Frames[n-2].Type != "complete" || run.Frames[n-1].Type != "result" {
				t.Fatalf("frames %+v, %v", run.Frames, err)
			}
			return run.Frames[len(run.Frames)-1].TxHash
		}
	}
	t.Fatalf("run %s never came", id)
	return ""
}

// TestRecoverStream: a run whose stream was read to the end is kept.
func TestRecoverStream(t *testing.T) {
	w := newStubWorld(t)
	base := startServe(t, w)
	frames := streamed(t, base, `{"txHash":"`+w.tx.Hash+`","chainId":1}`)
	if got := recovered(t, base, frames[0]["requestId"].(string)); got != w.tx.Hash {
		t.Errorf("recovered %q", got)
	}
}

var idInFrame = regexp.MustCompile(`"requestId":"([0-9a-f-]{36})"`)

// TestRecoverDropped: a run whose client left goes on, and can be had afterwards.
func TestRecoverDropped(t *testing.T) {
	w := newStubWorld(t)
	w.node.SetFault("debug_traceTransaction", stubnode.Fault{Delay: 700 * time.Millisecond})
	base := startServe(t, w)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"txHash":"` + w.tx.Hash + `","chainId":1}`
	head := "POST /explain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: "
	if _, err := io.WriteString(conn, head+strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if m := idInFrame.FindStringSubmatch(line); m != nil {
			conn.Close()
			if got := recovered(t, base, m[1]); got != w.tx.Hash {
				t.Errorf("recovered %q", got)
			}
			return
		}
	}
}
