package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"txlens/actors/analysis"
	"txlens/actors/job"
	"txlens/app"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
	"txlens/storage"
	"txlens/storage/stores"
	"txlens/testkit/service"
	"txlens/transport"
)

// testServer is a whole server on a store of its own: the real actors of jobs and runs
// over a scripted analysis, and a clock that tests move.
type testServer struct {
	t       *testing.T
	base    string
	store   *storage.Store
	ahead   atomic.Int64 // of the store's clock before the true one, in nanoseconds
	full    atomic.Bool  // the store takes no job
	release chan struct{}
	ran     atomic.Int32
	sales   *app.Sales     // nil: nothing is sold
	payer   *service.Payer // of what is
	// script is the analysis of every request; nil: its context scripts it.
	script func(ctx context.Context, job transport.RunSpec) (*api.Result, error)
}

func newTestServer(t *testing.T) *testServer { t.Helper(); return openTestServer(t, nil) }

// newMeteredServer is a testServer that sells, on a settlement sandbox. What the context of
// a request scripts costs five cents before it comes to its end.
func newMeteredServer(t *testing.T) *testServer {
	t.Helper()
	return newMeteredServerWith(t)
}

// newMeteredServerWith is newMeteredServer with a server that is configured by change.
func newMeteredServerWith(t *testing.T, change ...func(*transport.Config)) *testServer {
	t.Helper()
	chain, rpc := service.NewSettlementChain(t, sandbox.Options{})
	return meteredServerOn(t, chain, rpc, change...)
}

// meteredServerOn is newMeteredServer on a chain that is there.
func meteredServerOn(t *testing.T, chain *sandbox.Chain, rpc string, change ...func(*transport.Config)) *testServer {
	t.Helper()
	return sellingServer(t, chain, saleOn(t, chain, rpc), change...)
}

// adoptingServer is newMeteredServer with a server that also serves channels that others
// opened on the chain.
func adoptingServer(t *testing.T) *testServer {
	t.Helper()
	chain, rpc := service.NewSettlementChain(t, sandbox.Options{})
	flags := saleOn(t, chain, rpc)
	flags.AdoptChannels = true
	return sellingServer(t, chain, flags)
}

func sellingServer(t *testing.T, chain *sandbox.Chain, flags *app.SaleOptions, change ...func(*transport.Config)) *testServer {
	t.Helper()
	h := openTestServer(t, flags, change...)
	h.payer = service.NewPayer(t, h.base, contractHash, chain, new(atomic.Uint32))
	return h
}

// sandboxFlags sell on a chain of a test.
func saleOn(t *testing.T, chain *sandbox.Chain, rpc string) *app.SaleOptions {
	t.Helper()
	payee, _ := service.SecretKey(service.PayeeKey)
	return &app.SaleOptions{
		RPC: []string{rpc}, ChainID: chain.ChainID(), Token: sandbox.PathUSD, Key: payee, Realm: "shop.test", SuggestedDeposit: tempo.AmountFrom(16 * service.Dollar),
	}
}

func openTestServer(t *testing.T, sells *app.SaleOptions, change ...func(*transport.Config)) *testServer {
	t.Helper()
	h := &testServer{t: t, release: make(chan struct{})}
	var err error
	dir := t.TempDir()
	h.store, err = storage.Open(dir, storage.Options{ExpireEvery: -1, Now: func() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	x := analysis.New(analysis.Options{})
	cfg := transport.Config{Explainer: scripted{h}, Runs: job.NewRuns(h.store, job.KeepAll)}
	if sells != nil {
		if h.sales, err = app.OpenSales(t.Context(), *sells, app.SaleSite{System: x.System(), Store: stores.OfFile(h.store), DataDir: dir}); err != nil {
			t.Fatal(err)
		}
		cfg.Payments = h.sales.Payments
	}
	o := job.Options{Store: fullStore{h.store, &h.full}, Analyst: scriptedJobs{h}}
	if sells != nil {
		o.Party, o.OnEnd = h.sales.Seller.JobHolder, h.sales.Seller.JobEnded
	}
	jobs, err := job.New(x.System(), o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Jobs = jobs
	for _, f := range change {
		f(&cfg)
	}
	srv := transport.New(cfg)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	h.base = "http://" + ln.Addr().String()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := errors.Join(srv.Shutdown(ctx), <-ended, jobs.Close(ctx)); err != nil {
			t.Errorf("stop: %v", err)
		}
		if h.sales != nil {
			h.sales.Close()
		}
		x.Close()
		h.store.Close()
	})
	return h
}

// fullStore refuses jobs while it is full.
type fullStore struct {
	*storage.Store
	full *atomic.Bool
}

func (s fullStore) PutJobs(rows ...job.Row) error {
	if s.full.Load() {
		return errors.New("secret: the disk is full")
	}
	return s.Store.PutJobs(rows...)
}

type unpaidUpstream struct{}

func (unpaidUpstream) Error() string         { return "402 from https://node.example/secret" }
func (unpaidUpstream) UpstreamPayment() bool { return true }

// analysisCost is what each analysis of a metered testServer costs, in nano-dollars, and
// analysisPrice what its payer owes for it, in base units: 0.05 * 1.20 + 0.02.
const (
	analysisCost  = 50_000_000
	analysisPrice = 8 * meter.Cent
	// The same of one that costs more than the smallest deposit that is served.
	dearCost  = 2_500_000_000
	dearPrice = 302 * meter.Cent
)

// buy is the one purchase of an analysis that is paid for.
func (h *testServer) buy(ctx context.Context, job transport.RunSpec) error {
	if job.Gate == nil {
		return nil
	}
	var cost int64 = analysisCost
	if strings.HasPrefix(job.Request.Context, "dear") {
		cost = dearCost
	}
	hold, err := job.Gate(ctx, cost)
	if err != nil {
		return err
	}
	job.OnCost(cost)
	hold.End()
	return nil
}

// analyse does what the context of the request tells it to.
func (h *testServer) analyse(ctx context.Context, job transport.RunSpec) (*api.Result, error) {
	h.ran.Add(1)
	if h.script != nil {
		return h.script(ctx, job)
	}
	if err := h.buy(ctx, job); err != nil {
		return nil, err
	}
	req := job.Request
	switch word, _, _ := strings.Cut(req.Context, " "); word {
	case "unpaid":
		return nil, fmt.Errorf("fetch trace: %w", unpaidUpstream{})
	case "broken":
		return nil, errors.New("secret: https://key@node.example")
	case "nowhere":
		return nil, &api.NotFoundError{TxHash: req.TxHash, Asked: 80}
	case "partial":
		return cutShort(req), nil
	case "forged":
		return &api.Result{TxHash: req.TxHash, Status: api.StatusSuccess, AnalysisModel: api.ModelRules, Summary: forgedSummary, Confidence: api.High}, nil
	case "wait":
		select {
		case <-h.release:
		case <-job.Finish:
			return cutShort(req), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "rises": // it costs more just before it ends
		select {
		case <-h.release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if job.OnCost != nil {
			job.OnCost(dearCost)
		}
	case "large": // what no compression makes small
		noise := make([]byte, 24<<20)
		for i, x := 0, uint32(1); i < len(noise); i++ {
			x = x*1664525 + 1013904223
			noise[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[x>>26]
		}
		return &api.Result{TxHash: req.TxHash, Status: api.StatusSuccess, AnalysisModel: api.ModelRules, Summary: string(noise), Confidence: api.High}, nil
	}
	return &api.Result{TxHash: req.TxHash, Chain: "ethereum-mainnet", Status: api.StatusSuccess, AnalysisModel: api.ModelRules, Summary: "Sent 1 ETH.", Confidence: api.High}, nil
}

func cutShort(req api.Request) *api.Result {
	return &api.Result{TxHash: req.TxHash, Status: api.StatusSuccess, AnalysisModel: api.ModelPartial, Summary: "**Partial result**: the trace could not be fetched.", Confidence: api.Low}
}

type (
	scripted     struct{ *testServer }
	scriptedJobs struct{ *testServer }
)

func (scripted) Check(api.Request) error { return nil }

func (s scripted) Explain(ctx context.Context, job transport.RunSpec) (*api.Result, error) {
	return s.analyse(ctx, job)
}

func (s scriptedJobs) Explain(ctx context.Context, w job.Work) (*api.Result, error) {
	return s.sales.RunJob(ctx, w, s.analyse)
}

const contractHash = "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"

// explainBody is a request whose analysis the word scripts.
func explainBody(word string) string {
	return `{"txHash":"` + contractHash + `","context":"` + word + `"}`
}

func (h *testServer) ask(method, path, accept, body string) service.Answer {
	h.t.Helper()
	if h.payer != nil {
		return h.payer.Ask(method, path, accept, body, "")
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return service.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(out)}
}

func (h *testServer) post(path, body string) service.Answer {
	h.t.Helper()
	return h.ask("POST", path, "", body)
}
func (h *testServer) get(path string) service.Answer { h.t.Helper(); return h.ask("GET", path, "", "") }
func (h *testServer) stream(body string) service.Answer {
	h.t.Helper()
	return h.ask("POST", "/explain", "text/event-stream", body)
}
func (h *testServer) later(d time.Duration) { h.ahead.Add(int64(d)) }

// submit gives the id of a job that was taken.
func (h *testServer) submit(word string) (id string) {
	h.t.Helper()
	job := h.post("/explain/async", explainBody(word)).Is(h.t, 202, `"status":"pending"`).JSON(h.t)
	id, _ = job["jobId"].(string)
	return id
}

// ended polls until the job has come to its end.
func (h *testServer) ended(id string) service.Answer {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		s := h.get("/result/" + id)
		if s.Status != 200 || !strings.Contains(s.Body, `"status":"pending"`) && !strings.Contains(s.Body, `"status":"running"`) {
			return s
		}
		if time.Now().After(end) {
			h.t.Fatalf("the job does not end: %s", s.Body)
		}
	}
}
