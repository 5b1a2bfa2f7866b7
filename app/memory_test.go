package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"txlens/engine/api"
	"txlens/testkit/service"
)

// budgeted is a server with 64 MiB of memory, of which 40 MiB are for analyses. The trace of
// its transaction has about size bytes.
type budgeted struct {
	t    *testing.T
	base string

	mu   sync.Mutex
	size int
	gate chan struct{} // traces are interrupted in their middle until it is closed; nil: no

	began chan struct{} // gets a value for each trace with a gate
}

func newBudgeted(t *testing.T) *budgeted {
	t.Helper()
	b := &budgeted{t: t, began: make(chan struct{}, 8)}
	scene := service.NewScene(t)
	scene.Streams(b.write)
	args := append(service.RPCFlags(scene.Flags), "--listen", "127.0.0.1:0", "--admin-listen", "off", "--data", t.TempDir())
	var log service.LogBuffer
	o, err := service.ServerOptions(&log, args...)
	if err != nil {
		t.Fatal(err)
	}
	o.MemoryMax = 64 << 20 // less than the flag accepts
	b.base, _ = service.Run(t, o, &log)
	return b
}

// traces sets the size of further traces, and the gate in their middle.
func (b *budgeted) traces(size int, gate chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size, b.gate = size, gate
}

func (b *budgeted) write(w io.Writer) {
	b.mu.Lock()
	size, gate := b.size, b.gate
	b.mu.Unlock()
	if gate != nil {
		b.began <- struct{}{}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	n, _ := fmt.Fprintf(out, `{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x30d40","value":"0x0","input":"0x","calls":[`, service.SceneSender, service.SceneTarget)
	for i, comma := 0, ""; n < size; i, comma = i+1, "," {
		if gate != nil && n >= size/2 {
			out.Flush()
			<-gate
			gate = nil
		}
		more, err := fmt.Fprintf(out, `%s{"type":"CALL","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","value":"0x0","input":"0x%064x"}`, comma, service.SceneTarget, service.SceneOther, i&0xff)
		if err != nil {
			return
		}
		n += more
	}
	out.WriteString(`]}`)
	out.Flush()
}

// ask returns the answer to a request for the transaction.
func (b *budgeted) ask() (status int, body string) {
	req, err := http.NewRequestWithContext(b.t.Context(), "POST", b.base+"/explain", strings.NewReader(fmt.Sprintf(`{"txHash":"%s","chainId":1,"fresh":true}`, service.SceneHash)))
	if err != nil {
		b.t.Error(err)
		return 0, ""
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Error(err)
	}
	return resp.StatusCode, string(text)
}

const (
	traced  = `"traceSource":"debug_traceTransaction"`
	without = `"traceSource":"receipt"`
)

// TestServerMemory: a trace that needs more than the budget is left out of the result, which says
// so. Small transactions are explained whole while large ones are read. All memory is given back:
// at the end a trace is read that needs nearly all of it.
func TestServerMemory(t *testing.T) {
	b := newBudgeted(t)
	b.traces(6<<20, nil) // 48 MiB
	if status, body := b.ask(); status != 200 || !strings.Contains(body, without) || !strings.Contains(body, "no memory") {
		t.Errorf("a trace above the budget: %d %.600s", status, body)
	}
	gate := make(chan struct{})
	b.traces(2400<<10, gate) // 19 MiB each, and both are more than three quarters
	var whole atomic.Int32
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			status, body := b.ask()
			busy := status == 503 && strings.Contains(body, `"code":"`+api.CodeBusy+`"`)
			if !busy && (status != 200 || !strings.Contains(body, traced) && !strings.Contains(body, without)) {
				t.Errorf("a large one: %d %.300s", status, body)
			}
			if strings.Contains(body, traced) {
				whole.Add(1)
			}
		})
	}
	for range 2 {
		<-b.began
	}
	b.traces(0, nil)
	for range 4 {
		if status, body := b.ask(); status != 200 || !strings.Contains(body, traced) {
			t.Errorf("a small one: %d %.300s", status, body)
		}
	}
	close(gate)
	all.Wait()
	if whole.Load() == 0 {
		t.Error("the older of two large ones had no memory")
	}
	b.traces(4<<20+1<<19, nil) // 36 MiB
	if status, body := b.ask(); status != 200 || !strings.Contains(body, traced) {
		t.Errorf("memory was not given back: %d %.600s", status, body)
	}
}
