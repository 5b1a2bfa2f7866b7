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

// floors are bare handlers of fasthttp on default settings: "same" sends what the
// service sends, field by field, and "bare" only its status and body, which no
// server may that keeps the interface.
var floors = []string{"same", "bare"}

// BenchmarkSmallAnswers says how many requests a second the service answers beside
// bare handlers. One client, a process of its own, asks all in short rounds of
// turning order, so that what else the machine does meets all alike; a ratio is the
// median over the rounds.
func BenchmarkSmallAnswers(b *testing.B) {
	for _, name := range []string{"health", "400"} {
		b.Run(name, func(b *testing.B) {
			ours := listen(b)
			srv := transport.New(transport.Config{Explainer: new(idle)})
			go srv.Serve(ours)
			defer srv.Shutdown(context.Background())
			answer := ask(b, ours.Addr().String(), smallRequests[name])

			sides := []string{"ours=" + ours.Addr().String()}
			for _, floor := range floors {
				ln := listen(b)
				bare := &fasthttp.Server{Handler: answer.handler(floor == "same")}
				go bare.Serve(ln)
				defer bare.Shutdown()
				sides = append(sides, floor+"="+ln.Addr().String())
			}
			for b.Loop() {
				compare(b, name, sides)
			}
		})
	}
}

func compare(b *testing.B, name string, sides []string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoad$")
	cmd.Env = append(os.Environ(), "TXLENS_BENCH_LOAD="+name+" "+strings.Join(sides, " "))
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	// All servers live here, and one works at a time: the processor time between two
	// lines is what the round of the second has cost.
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
	if err := cmd.Wait(); err != nil || len(rates) != len(sides) || len(rates["ours"]) != loadRounds+1 {
		b.Fatalf("load: %v: %s", err, said)
	}
	b.ReportMetric(0, "ns/op") // says nothing here
	b.ReportMetric(quantile(rates["ours"], 2), "req/s")
	b.ReportMetric(quantile(costs["ours"], 2), "cpu-us/req")
	for _, floor := range floors {
		var ratios []float64
		for i := range loadRounds {
			ratios = append(ratios, rates["ours"][i+1]/rates[floor][i+1]) // the first are to warm up
		}
		for q, name := range []string{1: "-q1", 2: "", 3: "-q3"} {
			if q > 0 {
				b.ReportMetric(quantile(ratios, q), "of-"+floor+name)
			}
		}
		b.ReportMetric(quantile(costs[floor], 2), floor+"-cpu-us/req")
	}
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

// answer is what a server sent.
type answer struct {
	status int
	head   [][2]string // without what fasthttp writes by itself
	body   []byte
}

// handler answers in the same way, with nothing to do for it.
func (a answer) handler(head bool) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(a.status)
		if head {
			for _, field := range a.head {
				ctx.Response.Header.Set(field[0], field[1])
			}
		}
		ctx.SetBody(a.body)
	}
}

// ask sends one request and returns what came.
func ask(b *testing.B, addr, request string) (a answer) {
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
	a.body = body
	a.status, _ = strconv.Atoi(string(head[9:12]))
	for _, line := range strings.Split(string(head), "\r\n")[1:] {
		if name, value, _ := strings.Cut(line, ": "); name != "Date" && name != "Content-Length" {
			a.head = append(a.head, [2]string{name, value})
		}
	}
	return a
}

// TestLoad is the client of BenchmarkSmallAnswers, in its own process.
func TestLoad(t *testing.T) {
	args := strings.Fields(os.Getenv("TXLENS_BENCH_LOAD"))
	if len(args) < 2 {
		return
	}
	round := loadRound
	if d, err := time.ParseDuration(os.Getenv("TXLENS_BENCH_ROUND")); err == nil {
		round = d
	}
	var sides []*side
	for _, arg := range args[1:] {
		who, addr, _ := strings.Cut(arg, "=")
		sides = append(sides, connect(t, who, args[0], addr))
	}
	for i := range loadRounds + 1 {
		for k := range sides {
			sides[(i+k)%len(sides)].ask(t, round)
		}
	}
}

// side is one of the servers, by keep-alive connections that each have one
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
