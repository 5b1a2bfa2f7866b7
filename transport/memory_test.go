package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"txlens/actors/memory"
	"txlens/engine/api"
)

// TestMemory: an analysis without memory waits, and is then answered 503, also in a stream. One
// that grows leaves small ones their part, and all memory is given back.
func TestMemory(t *testing.T) {
	var grown chan error
	var free chan struct{}
	run := func(ctx context.Context, job RunSpec) (*api.Result, error) {
		if job.Request.ChainID == 10 { // large
			grown <- job.Room(ctx, 3<<20)
			<-free
		}
		if job.Request.ChainID == 8453 {
			err := job.Room(ctx, 3<<20)
			return result(job.Request), err
		}
		if job.Request.ChainID == 137 {
			<-free
		}
		return result(job.Request), nil
	}
	inVirtualTime(t, Config{}, run, func(t *testing.T, s *Server, in *pipes) {
		budget := memory.New(40 << 20) // with channels of the bubble
		s.cfg.Memory, grown, free = budget, make(chan error, 1), make(chan struct{})
		send := func(chain int) *bufio.Reader {
			c := in.dial(t)
			body := fmt.Sprintf(`{"txHash":"%s","chainId":%d}`, hash, chain)
			go fmt.Fprintf(c, "POST /explain HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			return bufio.NewReader(c)
		}
		receive := func(r *bufio.Reader, status int, want string) {
			t.Helper()
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != status || !strings.Contains(string(text), want) || status == 503 && resp.Header.Get("Retry-After") == "" {
				t.Errorf("%d %s, want %d with %s", resp.StatusCode, text, status, want)
			}
		}
		large := send(10)
		if err := <-grown; err != nil || budget.Used() != 24<<20 {
			t.Fatalf("%v, %d bytes", err, budget.Used())
		}
		receive(send(1), 200, hash) // a small one goes on
		begin := time.Now()
		receive(send(8453), 500, "") // a second large one waits in vain
		if waited := time.Since(begin); waited != memory.Wait {
			t.Errorf("it waited %v", waited)
		}
		small := []*bufio.Reader{send(137), send(137)}
		synctest.Wait()
		if budget.Used() != 40<<20 {
			t.Errorf("%d bytes", budget.Used())
		}
		receive(send(1), 503, `"code":"busy"`)
		resp := ask(t, in.dial(t), goodBody)
		if got := frames(t, resp); kinds(got) != "error" || got[0]["code"] != "busy" {
			t.Errorf("a stream: %v", got)
		}
		close(free)
		receive(large, 200, hash)
		for _, r := range small {
			receive(r, 200, hash)
		}
		synctest.Wait()
		if budget.Used() != 0 {
			t.Errorf("%d bytes are not given back", budget.Used())
		}
	})
}
