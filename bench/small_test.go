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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/transport"
)

const (
	loadConns  = 32                     // to each side
	loadRounds = 40                     // of each side
	loadRound  = 250 * time.Millisecond // TXLENS_BENCH_ROUND makes it shorter or longer
)

// smallRequests are answered at once: what they cost is the server itself.
var smallRequests = map[string]string{
	"health": "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"400":    "POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"txHash\":\"0x12\"}",
}

// BenchmarkSmallAnswers says how many requests a second the service answers beside
// a bare handler of fasthttp on default settings, which sends a body of the same
// size under the same status. One client, a process of its own, asks both in short
// rounds of turning order, so that what else the machine does meets both alike; the
// ratio is the median over the pairs of rounds.
func BenchmarkSmallAnswers(b *testing.B) {
	for _, name := range []string{"health", "400"} {
		b.Run(name, func(b *testing.B) {
			request := smallRequests[name]
			ours := listen(b)
			srv := transport.New(transport.Config{Explainer: new(idle)})
			go srv.Serve(ours)
			defer srv.Shutdown(context.Background())
			status, body := ask(b, ours.Addr().String(), request)

			floor := listen(b)
			bare := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.SetStatusCode(status)
				ctx.SetBody(body)
			}}
			go bare.Serve(floor)
			defer bare.Shutdown()

			for b.Loop() {
				compare(b, name, ours.Addr().String(), floor.Addr().String())
			}
		})
	}
}

func compare(b *testing.B, name, ours, floor string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoad$")
	cmd.Env = append(os.Environ(), "TXLENS_BENCH_LOAD="+name+" "+ours+" "+floor)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	// Both servers live here, and one works at a time: the processor time between
	// two lines is what the round of the second has cost.
	rates, costs, said := map[string][]float64{}, map[string][]float64{}, ""
	before := processorTime()
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		said += lines.Text() + "\n"
		var who string
		var answers int
		var rate float64
		if _, err := fmt.Sscanf(lines.Text(), "%s %d answers, %f/s", &who, &answers, &rate); err != nil {
			continue
		}
		now := processorTime()
		rates[who] = append(rates[who], rate)
		costs[who] = append(costs[who], float64((now-before).Microseconds())/float64(answers))
		before = now
	}
	if err := cmd.Wait(); err != nil || len(rates["ours"]) != loadRounds+1 || len(rates["bare"]) != loadRounds+1 {
		b.Fatalf("load: %v: %s", err, said)
	}
	var ratios []float64
	for i := range loadRounds {
		ratios = append(ratios, rates["ours"][i+1]/rates["bare"][i+1]) // the first are to warm up
	}
	b.ReportMetric(0, "ns/op") // says nothing here
	b.ReportMetric(quantile(ratios, 2), "of-bare")
	b.ReportMetric(quantile(ratios, 1), "of-bare-q1")
	b.ReportMetric(quantile(ratios, 3), "of-bare-q3")
	b.ReportMetric(quantile(rates["ours"], 2), "req/s")
	b.ReportMetric(quantile(costs["ours"], 2), "cpu-us/req")
	b.ReportMetric(quantile(costs["bare"], 2), "bare-cpu-us/req")
}

// quantile is the n-th quarter of the values.
func quantile(v []float64, n int) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[(len(v)-1)*n/4]
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func listen(b *testing.B) net.Listener {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return ln
}

// ask sends one request and returns what came.
func ask(b *testing.B, addr, request string) (status int, body []byte) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	size, err := firstAnswer(c, request)
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprint(c, request)
	whole := make([]byte, size)
	if _, err := io.ReadFull(c, whole); err != nil {
		b.Fatal(err)
	}
	head, body, _ := bytes.Cut(whole, []byte("\r\n\r\n"))
	status, _ = strconv.Atoi(string(head[9:12]))
	return status, body
}

// TestLoad is the client of BenchmarkSmallAnswers, in its own process.
func TestLoad(t *testing.T) {
	args := strings.Fields(os.Getenv("TXLENS_BENCH_LOAD"))
	if len(args) != 3 {
		return
	}
	round := loadRound
	if d, err := time.ParseDuration(os.Getenv("TXLENS_BENCH_ROUND")); err == nil {
		round = d
	}
	ours, bare := connect(t, "ours", args[0], args[1]), connect(t, "bare", args[0], args[2])
	for i := range loadRounds + 1 {
		if i%2 == 0 {
			ours.ask(t, round)
			bare.ask(t, round)
		} else {
			bare.ask(t, round)
			ours.ask(t, round)
		}
	}
}

// side is one of the two servers, by keep-alive connections that each have one
// request on its way at a time.
type side struct {
	who     string
	conns   []net.Conn
	request []byte
	size    int // of an answer
}

func connect(t *testing.T, who, name, addr string) *side {
	s := &side{who: who, request: []byte(smallRequests[name])}
	for range loadConns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if s.size, err = firstAnswer(c, string(s.request)); err != nil {
			t.Fatal(err)
		}
		s.conns = append(s.conns, c)
	}
	return s
}

// ask prints the answers a second. It does as little as can be, since it runs on
// the same processors as the server.
func (s *side) ask(t *testing.T, round time.Duration) {
	var answers atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	began := time.Now()
	for _, c := range s.conns {
		wg.Go(func() {
			n, err := s.repeat(c, &over)
			if err != nil {
				t.Error(err)
			}
			answers.Add(n)
		})
	}
	time.Sleep(round)
	over.Store(true)
	wg.Wait()
	n := answers.Load()
	fmt.Printf("%s %d answers, %.0f/s\n", s.who, n, float64(n)/time.Since(began).Seconds())
}

// repeat sends the request again and again. Each answer must have the size and the
// status of the first.
func (s *side) repeat(c net.Conn, over *atomic.Bool) (n int64, err error) {
	buf, line := make([]byte, s.size), make([]byte, 0, 12)
	for ; !over.Load(); n++ {
		if _, err := c.Write(s.request); err != nil {
			return n, err
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return n, err
		}
		if len(line) == 0 {
			line = append(line, buf[:12]...)
		}
		if !bytes.Equal(buf[:12], line) {
			return n, fmt.Errorf("another answer: %q", buf)
		}
	}
	return n, nil
}

// firstAnswer sends the request and returns the size of its answer.
func firstAnswer(c net.Conn, request string) (size int, err error) {
	if _, err := io.WriteString(c, request); err != nil {
		return 0, err
	}
	var got []byte
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return 0, err
		}
		got = append(got, buf[:n]...)
		head, body, whole := bytes.Cut(got, []byte("\r\n\r\n"))
		if !whole {
			continue
		}
		_, after, _ := bytes.Cut(head, []byte("Content-Length: "))
		length, _, _ := bytes.Cut(after, []byte("\r\n"))
		want, err := strconv.Atoi(string(length))
		if err != nil {
			return 0, fmt.Errorf("no Content-Length: %q", head)
		}
		if len(body) >= want {
			return len(head) + 4 + want, nil
		}
	}
}
