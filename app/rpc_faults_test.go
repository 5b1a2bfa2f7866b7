package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/service"
	"txlens/testkit/size"
	"txlens/transport"
)

// flakyRPC is an endpoint of a chain that fails three calls of ten, and all of them
// while it is out. It is safe for concurrent use.
type flakyRPC struct {
	chain *sandbox.Chain
	faulty,
	out atomic.Bool
	calls, failed atomic.Int64
}

func (f *flakyRPC) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.calls.Add(1)
	how := rand.IntN(20)
	switch {
	case f.out.Load():
		f.failed.Add(1)
		f.refuse(w, r, how)
	case f.faulty.Load() && how < 6:
		f.failed.Add(1)
		f.fail(w, r, how)
	default:
		f.chain.ServeHTTP(w, r)
	}
}

// refuse is an outage: nothing is done, and some callers are not told.
func (f *flakyRPC) refuse(w http.ResponseWriter, r *http.Request, how int) {
	switch how % 3 {
	case 0:
		for f.out.Load() && r.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		panic(http.ErrAbortHandler)
	case 1:
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "down", http.StatusBadGateway)
}

// fail is one of the ways in which one call fails while others do not.
func (f *flakyRPC) fail(w http.ResponseWriter, r *http.Request, how int) {
	switch how {
	case 0: // done, and not told
		f.chain.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 1:
		panic(http.ErrAbortHandler)
	case 2:
		http.Error(w, "<html>bad gateway</html>", http.StatusBadGateway)
	case 3:
		http.Error(w, "slow down", http.StatusTooManyRequests)
	case 4:
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"limit exceeded"}}`)
	default:
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
	}
}

// faultPlan is how long the endpoint is faulty, and its outages.
type faultPlan struct {
	lasts              time.Duration
	quiet, outage      func() time.Duration // between two outages, and of one
	stateTTL           time.Duration        // how long the chain's word is good; 0: the default
	streamsPerChannel  int
	purchases          int // of one stream
	betweenPurchases   time.Duration
	mostRetryAfterWait time.Duration
}

// planned is a short plan or, with TXLENS_RPC_FAULT_MINUTES, one of so many minutes.
func planned(t *testing.T) faultPlan {
	text := os.Getenv("TXLENS_RPC_FAULT_MINUTES")
	if text == "" {
		// One outage that is longer than the chain's word is good otherwise.
		if !size.Full() {
			return faultPlan{
				lasts: 3 * time.Second, quiet: func() time.Duration { return 500 * time.Millisecond }, outage: func() time.Duration { return 1500 * time.Millisecond },
				stateTTL: time.Second, streamsPerChannel: 1000, purchases: 30, betweenPurchases: 10 * time.Millisecond, mostRetryAfterWait: 100 * time.Millisecond,
			}
		}
		return faultPlan{
			lasts: 12 * time.Second, quiet: func() time.Duration { return 2 * time.Second }, outage: func() time.Duration { return 7 * time.Second },
			streamsPerChannel: 1000, purchases: 30, betweenPurchases: 50 * time.Millisecond, mostRetryAfterWait: 200 * time.Millisecond,
		}
	}
	minutes, err := strconv.ParseFloat(text, 64)
	if err != nil || minutes <= 0 {
		t.Fatalf("TXLENS_RPC_FAULT_MINUTES=%q is no number of minutes", text)
	}
	between := func(from, to time.Duration) func() time.Duration {
		return func() time.Duration { return from + rand.N(to-from) }
	}
	return faultPlan{
		lasts: time.Duration(minutes * float64(time.Minute)), quiet: between(10*time.Second, 50*time.Second), outage: between(5*time.Second, 60*time.Second),
		streamsPerChannel: 3, purchases: 40, betweenPurchases: 500 * time.Millisecond, mostRetryAfterWait: 10 * time.Second,
	}
}

// steadyPayer is a payer who buys stream after stream, signs what it is asked to, and comes
// again when it is told to. Its fields are owned by its goroutine until it is done.
type steadyPayer struct {
	*service.Payer
	plan faultPlan

	streams, vouchers, opened, closed, comeAgain int
	spent                                        map[common.Hash]uint64 // by the receipts
	faults                                       []string
}

func (r *steadyPayer) wrong(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// wait obeys Retry-After.
func (r *steadyPayer) wait(s service.Answer) {
	r.comeAgain++
	seconds, err := strconv.Atoi(s.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		r.wrong("503 with Retry-After %q", s.Header.Get("Retry-After"))
	}
	time.Sleep(min(time.Duration(seconds)*time.Second, r.plan.mostRetryAfterWait))
}

// openChannel opens one, by further transactions where one has expired.
func (r *steadyPayer) openChannel() bool {
	for range 40 {
		open := r.Open(500*service.Dollar, 0)
		for range 40 {
			s := r.Manage(open)
			if s.Status == http.StatusNoContent {
				r.opened++
				return true
			}
			if s.Status == http.StatusPaymentRequired {
				break // it can land no more
			}
			if s.Status != http.StatusServiceUnavailable {
				r.wrong("open: %d %s", s.Status, s.Body)
				return false
			}
			r.wait(s)
		}
	}
	r.wrong("no channel could be opened")
	return false
}

// closeChannel ends the channel. While the outcome of a close is open the channel is
// closing, which is told as 410.
func (r *steadyPayer) closeChannel() {
	closing := r.Closing(r.Paid)
	for range 400 {
		s := r.Manage(closing)
		switch s.Status {
		case http.StatusNoContent:
			r.closed++
			r.Ref = mpp.ChannelRef{}
			return
		case http.StatusServiceUnavailable:
			r.wait(s)
		case http.StatusGone:
			time.Sleep(r.plan.mostRetryAfterWait / 2)
		default:
			r.wrong("close: %d %s", s.Status, s.Body)
			return
		}
	}
	r.wrong("the channel could not be closed")
}

// streamOnce buys a stream to its end.
func (r *steadyPayer) streamOnce(n int) {
	ch, _ := r.Terms("POST", service.PathStream, service.EventStream, r.Body(n))
	r.Paid += meter.Cent
	credential := r.Credential(ch, r.Voucher(r.Paid))
	var resp *http.Response
	for range 400 {
		resp = r.Send("POST", service.PathStream, service.EventStream, r.Body(n), credential)
		if resp.StatusCode != http.StatusServiceUnavailable {
			break
		}
		status, body := service.ReadAnswer(r.T, resp)
		r.wait(service.Answer{Status: status, Header: resp.Header, Body: body})
	}
	if resp.StatusCode != http.StatusOK {
		status, body := service.ReadAnswer(r.T, resp)
		r.wrong("stream: %d %s", status, body)
		return
	}
	last, receipt := "", (*mpp.Receipt)(nil)
	r.Each(resp, func(event, data string) {
		switch event {
		case mpp.EventNeedVoucher:
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				r.wrong("need-voucher: %v", err)
				return
			}
			r.sign(need, ch)
		case mpp.EventReceipt:
			receipt, _ = mpp.DecodeReceipt([]byte(data))
		default:
			last = data
		}
	})
	if !strings.Contains(last, `"type":"result"`) || receipt == nil {
		r.wrong("a stream is lost: %.300s", last)
		return
	}
	r.streams++
	r.spent[r.Ref.ChannelID], _ = receipt.Spent.Uint64()
}

// sign posts the voucher that a stream asks for. It must be taken at once: the published
// client gives a stream up where it is told to come again.
func (r *steadyPayer) sign(need *mpp.NeedVoucher, ch *mpp.Challenge) {
	want, _ := need.RequiredCumulative.Uint64()
	r.Paid = max(r.Paid, want)
	s := r.Ask("POST", service.PathStream, "", "", r.Credential(ch, r.Payer.Voucher(r.Paid)))
	if s.Status != http.StatusNoContent {
		r.wrong("voucher: %d %s", s.Status, s.Body)
	}
	r.vouchers++
}

// spend buys until the time is over, on one channel after the other.
func (r *steadyPayer) spend(until time.Time) {
	for n := 0; time.Now().Before(until) && len(r.faults) == 0; n++ {
		if r.Ref.ChannelID == (common.Hash{}) && !r.openChannel() {
			return
		}
		r.streamOnce(n)
		if (n+1)%r.plan.streamsPerChannel == 0 {
			r.closeChannel()
		}
	}
}

// TestRPCFaults: streams whose payers keep paying come to their end whatever the
// settlement chain's endpoint does: three calls of ten fail, and it is out for up to a
// minute at a time. The usual run is short, with an outage that is longer than the
// chain's word is good while it answers; TXLENS_RPC_FAULT_MINUTES=10 is the long one.
func TestRPCFaults(t *testing.T) {
	t.Parallel()
	plan := planned(t)
	chain, _ := service.NewSettlementChain(t, sandbox.Options{BlockTime: 200 * time.Millisecond})
	rpc := &flakyRPC{chain: chain}
	server := httptest.NewServer(rpc)
	defer server.Close()
	sells := saleOn(t, chain, server.URL)
	sells.StateTTL = plan.stateTTL
	h := sellingServer(t, chain, sells)
	h.script = func(ctx context.Context, job transport.RunSpec) (*api.Result, error) {
		for n := range plan.purchases {
			hold, err := job.Gate(ctx, 20_000_000)
			if err != nil {
				return nil, err
			}
			job.OnCost(int64(n+1) * 20_000_000) // two cents each
			hold.End()
			select {
			case <-time.After(plan.betweenPurchases):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return &api.Result{TxHash: job.Request.TxHash, Chain: "ethereum-mainnet", Status: api.StatusSuccess, AnalysisModel: api.ModelRules, Summary: "Sent 1 ETH.", Confidence: api.High}, nil
	}
	var payers []*steadyPayer
	for range 4 {
		r := &steadyPayer{Payer: h.payer.Another(t), plan: plan, spent: map[common.Hash]uint64{}}
		payers = append(payers, r)
		if !r.openChannel() {
			t.Fatal(r.faults)
		}
	}
	until := time.Now().Add(plan.lasts)
	faults, over := context.WithDeadline(t.Context(), until)
	defer over()
	ended := make(chan outageStats, 1)
	go func() { ended <- rpc.disturb(faults, plan) }()
	var all sync.WaitGroup
	for _, r := range payers {
		all.Go(func() { r.spend(until) })
	}
	all.Wait()
	past := <-ended
	held := func(a tempo.Amount) uint64 { n, _ := a.Uint64(); return n }
	streams, vouchers, again, opened := 0, 0, 0, 0
	for _, r := range payers {
		if r.Ref.ChannelID != (common.Hash{}) && len(r.faults) == 0 {
			r.closeChannel()
		}
		for _, fault := range r.faults {
			t.Error(fault)
		}
		streams, vouchers, again, opened = streams+r.streams, vouchers+r.vouchers, again+r.comeAgain, opened+r.opened
		for _, row := range chain.Books().Channels {
			if spent, mine := r.spent[row.ID]; mine && (row.Open || row.Captured.Uint64() != spent) {
				t.Errorf("channel %s: open %t, captured %s; the payer was charged %d", row.ID, row.Open, row.Captured, spent)
			}
		}
	}
	sum := h.sales.Channels.Totals()
	t.Logf("%s: %d outages, %s in all, the longest %s; %d of %d calls failed", plan.lasts, past.outages, past.out.Round(time.Second), past.longest.Round(time.Second), rpc.failed.Load(), rpc.calls.Load())
	t.Logf("%d streams to their end, %d vouchers, %d channels; %d answers of 503; %d base units paid out, %d lost", streams, vouchers, opened, again, held(sum.Settled), held(sum.Lost))
	if streams < len(payers) || past.outages == 0 || rpc.failed.Load() == 0 || !sum.Lost.IsZero() {
		t.Error("too little happened, or something was lost")
	}
}

// outageStats are the outages of a run.
type outageStats struct {
	outages      int
	out, longest time.Duration
}

// disturb makes the endpoint faulty until ctx ends, with outages by the plan.
func (f *flakyRPC) disturb(ctx context.Context, plan faultPlan) (past outageStats) {
	f.faulty.Store(true)
	defer f.faulty.Store(false)
	rest := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-ctx.Done():
			return false
		}
	}
	for rest(plan.quiet()) {
		began := time.Now()
		f.out.Store(true)
		past.outages++
		rest(plan.outage())
		f.out.Store(false)
		took := time.Since(began)
		past.out, past.longest = past.out+took, max(past.longest, took)
	}
	return past
}
