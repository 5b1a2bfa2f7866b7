package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"txlens/app"
	"txlens/bench/queue"
	"txlens/testkit/service"
)

// capacityLoads are measured and simulated: so many clients, and so long a node takes for each
// of its answers.
var capacityLoads = []struct {
	clients int
	delay   time.Duration
}{{1, 0}, {4, 0}, {16, 0}, {1, 10 * time.Millisecond}, {4, 10 * time.Millisecond}, {32, 10 * time.Millisecond}}

// BenchmarkCapacity measures a whole server with its node and its clients in one process, and
// simulates the same with costs that were recorded before: processor time of a server with one
// client for each processor, the calls of a single client and their rounds. The ratio says how
// far the simulation can be trusted; docs/scale.md rests on it.
//
//	analyses/s     measured
//	simulated/s    by package queue
//	of-measured    the ratio
//	cpu-ms         processor time of an analysis, with its node and its client
//	calls, rounds  requests to the node, and how many times the analysis waits for some
func BenchmarkCapacity(b *testing.B) {
	s := newCapacityServer(b)
	s.record(b)
	for _, load := range capacityLoads {
		b.Run(fmt.Sprintf("clients=%d/delay=%v", load.clients, load.delay), func(b *testing.B) {
			for b.Loop() {
				measured, _ := s.load(b, load.clients, load.delay)
				call := time.Duration(0)
				if load.delay > 0 {
					call = load.delay + s.overhead
				}
				simulated := queue.Run(queue.Load{
					Processors: runtime.GOMAXPROCS(0), Clients: load.clients, Requests: s.recorded, Count: 20_000, Seed: 1,
					CallTime: call, Slots: slotsPerEndpoint,
				})
				b.ReportMetric(0, "ns/op") // says nothing here
				b.ReportMetric(measured, "analyses/s")
				b.ReportMetric(simulated.PerSecond, "simulated/s")
				b.ReportMetric(simulated.PerSecond/measured, "of-measured")
				cost, calls, rounds := s.means()
				b.ReportMetric(cost.Seconds()*1e3, "cpu-ms")
				b.ReportMetric(calls, "calls")
				b.ReportMetric(rounds, "rounds")
			}
		})
	}
}

// slotsPerEndpoint is the default of upstream.Config.MaxConcurrent.
const slotsPerEndpoint = 8

// capacityServer is a server on a node that has one recorded block.
type capacityServer struct {
	world *service.World
	url   string
	http  *http.Client
	next  atomic.Int64
	delay atomic.Int64 // of each answer of the node, in nanoseconds

	mu     sync.Mutex
	starts []time.Time // of requests to the node

	// Recorded.
	recorded []queue.Request
	overhead time.Duration // of a call that is delayed: how late timers are, and the connection
}

func newCapacityServer(b *testing.B) *capacityServer {
	b.Helper()
	s := &capacityServer{world: service.NewWorld(b), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.starts = append(s.starts, time.Now())
		s.mu.Unlock()
		if d := time.Duration(s.delay.Load()); d > 0 {
			time.Sleep(d)
		}
		s.world.Node.ServeHTTP(w, r)
	}))
	b.Cleanup(node.Close)
	// Runs are not kept: a disk would be measured with the processors.
	o, err := service.ServerOptions(io.Discard, "--listen", "127.0.0.1:0", "--admin-listen", "off", "--data", b.TempDir(), "--keep-runs", "none", "--keep-results", "off",
		"--rpc-only", "--sources", "off", "--rpc", fmt.Sprintf("%d=%s", s.world.Block.ChainID, node.URL))
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
	b.Cleanup(func() { cancel(); <-ended; srv.Close() })
	s.url = "http://" + srv.Address().String() + "/explain"
	return s
}

// ask has one transaction of the block analysed, one after the other.
func (s *capacityServer) ask() error {
	txs := s.world.Block.Txs
	tx := txs[int(s.next.Add(1))%len(txs)]
	body := fmt.Sprintf(`{"txHash":%q,"chainId":%d}`, tx.Hash, s.world.Block.ChainID)
	resp, err := s.http.Post(s.url, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// recordedRequests is how many requests of a single client are recorded.
const recordedRequests = 200

// record measures what the simulation needs.
func (s *capacityServer) record(b *testing.B) {
	b.Helper()
	s.load(b, 1, 0) // to warm up
	const delay = 20 * time.Millisecond
	s.delay.Store(int64(delay))
	began := time.Now()
	for range recordedRequests {
		s.starts = s.starts[:0] // no request to the node is under way
		before := processorTime()
		if err := s.ask(); err != nil {
			b.Fatal(err)
		}
		s.recorded = append(s.recorded, queue.Request{Cost: processorTime() - before, Rounds: roundsOf(s.starts, delay/2)})
	}
	alone := time.Since(began) / recordedRequests
	_, busy := s.load(b, runtime.GOMAXPROCS(0), 0)
	cost, _, rounds := s.means()
	s.overhead = max(0, time.Duration(float64(alone-busy)/rounds)-delay)
	for i := range s.recorded { // single requests differ as these do, and cost what those of a busy server do
		s.recorded[i].Cost = time.Duration(float64(s.recorded[i].Cost) * float64(busy) / float64(cost))
	}
}

// means of the recorded requests.
func (s *capacityServer) means() (cost time.Duration, calls, rounds float64) {
	n := float64(len(s.recorded))
	for _, r := range s.recorded {
		cost += r.Cost
		rounds += float64(len(r.Rounds)) / n
		for _, c := range r.Rounds {
			calls += float64(c) / n
		}
	}
	return cost / time.Duration(len(s.recorded)), calls, rounds
}

// roundsOf counts the calls of each round: those that begin less than gap after the last one
// belong to its round.
func roundsOf(starts []time.Time, gap time.Duration) (rounds []int) {
	for i, at := range starts {
		if i == 0 || at.Sub(starts[i-1]) >= gap {
			rounds = append(rounds, 0)
		}
		rounds[len(rounds)-1]++
	}
	return rounds
}

// load measures analyses per second of so many clients, and the processor time of one.
func (s *capacityServer) load(b *testing.B, clients int, delay time.Duration) (perSecond float64, cost time.Duration) {
	b.Helper()
	s.delay.Store(int64(delay))
	const rounds = 5 * time.Second
	var ended atomic.Int64
	var over atomic.Bool
	var all sync.WaitGroup
	began, used := time.Now(), processorTime()
	for range clients {
		all.Go(func() {
			for !over.Load() {
				if err := s.ask(); err != nil {
					b.Error(err)
					return
				}
				ended.Add(1)
			}
		})
	}
	time.Sleep(rounds)
	over.Store(true)
	all.Wait()
	return float64(ended.Load()) / time.Since(began).Seconds(), (processorTime() - used) / time.Duration(max(1, ended.Load()))
}
