package main

import (
	"context"
	stdjson "encoding/json"
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
	"txlens/transport"
)

// house is a whole server on a store of its own: the real actors of jobs and runs
// over a scripted analysis, and a clock that tests move.
type house struct {
	t       *testing.T
	base    string
	store   *storage.Store
	ahead   atomic.Int64 // of the store's clock before the true one, in nanoseconds
	full    atomic.Bool  // the store takes no job
	release chan struct{}
	ran     atomic.Int32
	sales   *app.Sales // nil: nothing is sold
	payer   *payer     // of what is
	// script is the analysis of every request; nil: its context scripts it.
	script func(ctx context.Context, job transport.RunSpec) (*api.Result, error)
}

func newHouse(t *testing.T) *house { t.Helper(); return openHouse(t, nil) }

// newMeteredHouse is a house that sells, on a settlement sandbox. What the context of
// a request scripts costs five cents before it comes to its end.
func newMeteredHouse(t *testing.T) *house {
	t.Helper()
	return newMeteredHouseAt(t)
}

// newMeteredHouseAt is newMeteredHouse with a server that is configured by change.
func newMeteredHouseAt(t *testing.T, change ...func(*transport.Config)) *house {
	t.Helper()
	chain, rpc := newReserve(t, sandbox.Options{})
	return meteredHouseOn(t, chain, rpc, change...)
}

// meteredHouseOn is newMeteredHouse on a chain that is there.
func meteredHouseOn(t *testing.T, chain *sandbox.Chain, rpc string, change ...func(*transport.Config)) *house {
	t.Helper()
	return sellingHouse(t, chain, sandboxFlags(t, chain, rpc), change...)
}

// adoptingHouse is newMeteredHouse with a server that also serves channels that others
// opened on the chain.
func adoptingHouse(t *testing.T) *house {
	t.Helper()
	chain, rpc := newReserve(t, sandbox.Options{})
	flags := sandboxFlags(t, chain, rpc)
	flags.AdoptChannels = true
	return sellingHouse(t, chain, flags)
}

func sellingHouse(t *testing.T, chain *sandbox.Chain, flags *app.SaleOptions, change ...func(*transport.Config)) *house {
	t.Helper()
	h := openHouse(t, flags, change...)
	h.payer = newPayer(t, h.base, contractHash, chain, new(atomic.Uint32))
	return h
}

// sandboxFlags sell on a chain of a test.
func sandboxFlags(t *testing.T, chain *sandbox.Chain, rpc string) *app.SaleOptions {
	t.Helper()
	payee, _ := secretKey(payeeKey)
	return &app.SaleOptions{
		RPC: []string{rpc}, ChainID: chain.ChainID(), Token: sandbox.PathUSD, Key: payee, Realm: "shop.test", SuggestedDeposit: tempo.AmountFrom(16 * dollar),
	}
}

func openHouse(t *testing.T, sells *app.SaleOptions, change ...func(*transport.Config)) *house {
	t.Helper()
	h := &house{t: t, release: make(chan struct{})}
	var err error
	dir := t.TempDir()
	h.store, err = storage.Open(dir, storage.Options{ExpireEvery: -1, Now: func() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	x := analysis.New(analysis.Options{})
	cfg := transport.Config{Explainer: scripted{h}, Runs: job.NewRuns(h.store, job.KeepAll)}
	if sells != nil {
		if h.sales, err = app.OpenSales(t.Context(), *sells, app.SaleSite{System: x.System(), Store: h.store, DataDir: dir}); err != nil {
			t.Fatal(err)
		}
		cfg.Payments = h.sales.Payments
	}
	jobs, err := job.New(x.System(), job.Options{Store: fullStore{h.store, &h.full}, Analyst: scriptedJobs{h}})
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
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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

// analysisCost is what each analysis of a metered house costs, in nano-dollars, and
// analysisPrice what its payer owes for it, in base units: 0.05 * 1.20 + 0.02.
const (
	analysisCost  = 50_000_000
	analysisPrice = 8 * meter.Cent
	// The same of one that costs more than the smallest deposit that is served.
	dearCost  = 2_500_000_000
	dearPrice = 302 * meter.Cent
)

// buy is the one purchase of an analysis that is paid for.
func (h *house) buy(ctx context.Context, job transport.RunSpec) error {
	if job.Gate == nil {
		return nil
	}
	if err := job.Gate(ctx); err != nil {
		return err
	}
	job.OnCost(analysisCost)
	if strings.HasPrefix(job.Request.Context, "dear") {
		job.OnCost(dearCost)
	}
	return nil
}

// analyse does what the context of the request tells it to.
func (h *house) analyse(ctx context.Context, job transport.RunSpec) (*api.Result, error) {
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
	scripted     struct{ *house }
	scriptedJobs struct{ *house }
)

func (scripted) Check(api.Request) error { return nil }

func (s scripted) Explain(ctx context.Context, job transport.RunSpec) (*api.Result, error) {
	return s.analyse(ctx, job)
}

func (s scriptedJobs) Explain(ctx context.Context, w job.Work) (*api.Result, error) {
	return s.sales.RunJob(ctx, w, s.analyse)
}

// said is an answer, read to its end.
type said struct {
	status int
	header http.Header
	body   string
}

// is complains unless the answer has the status and all of the texts, or where it asks
// for payment or tells what only the operator may know.
func (s said) is(t *testing.T, status int, texts ...string) said {
	t.Helper()
	s.has(t, status, texts...)
	for name := range s.header {
		if name == "Www-Authenticate" || strings.HasPrefix(name, "Payment-") {
			t.Errorf("nothing is to be paid, and the server sent %s", name)
		}
	}
	if strings.Contains(s.body, "use_metered_sse") || strings.Contains(s.body, "deposit_below_minimum") {
		t.Errorf("%.300s", s.body)
	}
	return s
}

// has is is for an answer that may be about payment.
func (s said) has(t *testing.T, status int, texts ...string) said {
	t.Helper()
	if s.status != status {
		t.Errorf("%d, want %d: %.300s", s.status, status, s.body)
	}
	for _, text := range texts {
		if !strings.Contains(s.body, text) {
			t.Errorf("it lacks %q: %.300s", text, s.body)
		}
	}
	if strings.Contains(s.body, "secret") {
		t.Errorf("%.300s", s.body)
	}
	return s
}

const contractHash = "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"

// explainBody is a request whose analysis the word scripts.
func explainBody(word string) string {
	return `{"txHash":"` + contractHash + `","context":"` + word + `"}`
}

func (h *house) ask(method, path, accept, body string) said {
	h.t.Helper()
	if h.payer != nil {
		return h.payer.ask(method, path, accept, body, "")
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
	return said{resp.StatusCode, resp.Header, string(out)}
}

func (h *house) post(path, body string) said { h.t.Helper(); return h.ask("POST", path, "", body) }
func (h *house) get(path string) said        { h.t.Helper(); return h.ask("GET", path, "", "") }
func (h *house) stream(body string) said {
	h.t.Helper()
	return h.ask("POST", "/explain", "text/event-stream", body)
}
func (h *house) later(d time.Duration)      { h.ahead.Add(int64(d)) }
func (s said) requestID() string            { return s.header.Get("X-Request-Id") }
func (s said) json(t *testing.T) (o object) { t.Helper(); s.decode(t, &o); return o }
func (s said) decode(t *testing.T, into any) {
	t.Helper()
	if err := stdjson.Unmarshal([]byte(s.body), into); err != nil {
		t.Errorf("%v: %.300s", err, s.body)
	}
}

// submit gives the id of a job that was taken.
func (h *house) submit(word string) (id string) {
	h.t.Helper()
	job := h.post("/explain/async", explainBody(word)).is(h.t, 202, `"status":"pending"`).json(h.t)
	id, _ = job["jobId"].(string)
	return id
}

// ended polls until the job has come to its end.
func (h *house) ended(id string) said {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s := h.get("/result/" + id)
		if s.status != 200 || !strings.Contains(s.body, `"status":"pending"`) && !strings.Contains(s.body, `"status":"running"`) {
			return s
		}
		if time.Now().After(end) {
			h.t.Fatalf("the job does not end: %s", s.body)
		}
	}
}
