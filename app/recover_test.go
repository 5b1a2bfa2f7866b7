package app_test

import (
	"bufio"
	stdjson "encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"txlens/testkit/service"
	"txlens/testkit/stubnode"
)

// recovered polls the run until it is there, and gives the hash of its result.
func recovered(t *testing.T, base, id string) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
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
	w := service.NewWorld(t)
	base := service.Start(t, w)
	frames := streamed(t, base, `{"txHash":"`+w.Tx.Hash+`","chainId":1}`)
	if got := recovered(t, base, frames[0]["requestId"].(string)); got != w.Tx.Hash {
		t.Errorf("recovered %q", got)
	}
}

var idInFrame = regexp.MustCompile(`"requestId":"([0-9a-f-]{36})"`)

// TestRecoverDropped: a run whose client left goes on, and can be had afterwards.
func TestRecoverDropped(t *testing.T) {
	t.Parallel()
	w := service.NewWorld(t)
	w.Node.SetFault("debug_traceTransaction", stubnode.Fault{Delay: 700 * time.Millisecond})
	base := service.Start(t, w)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"txHash":"` + w.Tx.Hash + `","chainId":1}`
	head := "POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: "
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
			if got := recovered(t, base, m[1]); got != w.Tx.Hash {
				t.Errorf("recovered %q", got)
			}
			return
		}
	}
}
