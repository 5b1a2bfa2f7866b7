package app_test

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"txlens/engine/meter"
	"txlens/testkit/service"
	"txlens/testkit/stubnode"
)

// upstreamRow is one way in which nodes fail, and what each rail tells of it.
type upstreamRow struct {
	name   string
	method string // that fails; empty: none
	fault  stubnode.Fault
	chain  bool // the request names the chain
	hash   string

	status int    // of the blocking answer
	code   string // of the blocking answer and the job; empty: a result
	event  string // code of the error that ends a stream; empty: a result
	phase  string // of the partial result, on the rails that tell one; empty: a whole one
	why    string // in the words of the error, or of the partial result
	// evidence: a job has a partial result although the blocking answer is an error
	evidence bool
}

const (
	cannotPay  = "the service could not pay its data provider"
	notPaid    = "the service could not pay one of its upstream providers"
	notReached = "could not be looked up: 1 chain did not answer: ethereum-mainnet"
	off        = "the data provider is not available at the moment"
)

var upstreamRows = []upstreamRow{
	{name: "402, chain not given", method: stubnode.All, fault: stubnode.Fault{Status: 402}, status: 502, code: "upstream_payment_unavailable", phase: "probe", why: cannotPay},
	{name: "402, chain given", method: stubnode.All, fault: stubnode.Fault{Status: 402}, chain: true, status: 502, code: "upstream_payment_unavailable", phase: "transaction and trace", why: cannotPay},
	{name: "401, chain not given", method: stubnode.All, fault: stubnode.Fault{Status: 401}, status: 502, code: "upstream_payment_unavailable", phase: "probe", why: cannotPay},
	{name: "quota", method: stubnode.All, fault: stubnode.Fault{Error: &stubnode.RPCError{Code: -32000, Message: "monthly quota exceeded at node.example"}}, chain: true, status: 502, code: "upstream_payment_unavailable", phase: "transaction and trace", why: cannotPay},
	{name: "-32601, chain not given", method: stubnode.All, fault: stubnode.Fault{Error: stubnode.ErrMethodNotFound}, status: 502, code: "upstream_unavailable", event: "upstream_unavailable", why: notReached},
	{name: "-32601, chain given", method: stubnode.All, fault: stubnode.Fault{Error: stubnode.ErrMethodNotFound}, chain: true, status: 502, code: "upstream_unavailable", event: "upstream_unavailable", why: notReached},
	{name: "500, chain not given", method: stubnode.All, fault: stubnode.Fault{Status: 500}, status: 502, code: "upstream_unavailable", event: "upstream_unavailable", why: notReached},
	{name: "500, chain given", method: stubnode.All, fault: stubnode.Fault{Status: 500}, chain: true, status: 502, code: "upstream_unavailable", event: "upstream_unavailable", why: notReached},
	{name: "500 of the transaction alone, chain given", method: "eth_getTransactionByHash", fault: stubnode.Fault{Status: 500}, chain: true, status: 200, phase: "transaction", why: "the transaction could not be fetched: " + off},
	{name: "402 of the receipt", method: "eth_getTransactionReceipt", fault: stubnode.Fault{Status: 402}, status: 502, code: "upstream_payment_unavailable", phase: "transaction", why: cannotPay, evidence: true},
	{name: "500 of the receipt", method: "eth_getTransactionReceipt", fault: stubnode.Fault{Status: 500}, status: 200, phase: "transaction", why: "the receipt could not be fetched: " + off},
	{name: "402 of the trace", method: "debug_traceTransaction", fault: stubnode.Fault{Status: 402}, status: 200, phase: "trace", why: cannotPay},
	{name: "401 of the trace", method: "debug_traceTransaction", fault: stubnode.Fault{Status: 401}, status: 200, phase: "trace", why: cannotPay},
	{name: "500 of the trace", method: "debug_traceTransaction", fault: stubnode.Fault{Status: 500}, status: 200, phase: "trace", why: off},
	{name: "500 of the block", method: "eth_getBlockByNumber", fault: stubnode.Fault{Status: 500}, status: 200},
	{name: "500 of state reads", method: "eth_call", fault: stubnode.Fault{Status: 500}, status: 200},
	{name: "no such hash", hash: service.NoHash, status: 404, code: "transaction_not_found", event: "transaction_not_found", why: "not found on 1 chain"},
	{name: "no such hash, chain given", hash: service.NoHash, chain: true, status: 404, code: "transaction_not_found", event: "transaction_not_found", why: "not found on 1 chain"},
}

// TestFailedUpstreams: a failed upstream is told as one on every rail of the running
// server, and never as a hash that nobody knows; upstream_payment_unavailable is not told
// on streams. Nothing tells what only the operator may read.
func TestFailedUpstreams(t *testing.T) {
	for _, row := range upstreamRows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			serve := func() (h *testServer, body string) { // a new one: each leaves a node alone that failed it often
				w := service.NewWorld(t)
				if row.method != "" {
					w.Node.SetFault(row.method, row.fault)
				}
				return &testServer{t: t, base: service.Start(t, w, "--admin-listen", "off")}, row.body(w)
			}
			h, body := serve()
			s := h.post("/explain", body).Is(t, row.status)
			row.tellsNoInternals(t, s.Body)
			if o := s.JSON(t); row.code == "" {
				row.isResult(t, o)
			} else if o["code"] != row.code || !strings.Contains(fmt.Sprint(o["error"]), row.why) && o["error"] != notPaid || len(o) != 2 {
				t.Errorf("blocking: %s", s.Body)
			}
			if want := map[string]string{"upstream_unavailable": "30"}[row.code]; s.Header.Get("Retry-After") != want {
				t.Errorf("Retry-After %q", s.Header.Get("Retry-After"))
			}

			h, body = serve()
			frames := strings.Split(strings.TrimSpace(h.stream(body).Is(t, 200).Body), "\n\n")
			row.tellsNoInternals(t, strings.Join(frames, "\n"))
			row.endsStream(t, strings.TrimPrefix(frames[len(frames)-1], "data: "), strings.Join(frames, "\n"))

			h, body = serve()
			id, _ := h.post("/explain/async", body).Is(t, 202).JSON(t)["jobId"].(string)
			job := h.ended(id).Is(t, 200)
			row.tellsNoInternals(t, job.Body)
			row.isJob(t, job.JSON(t))
		})
	}
}

// TestFailedUpstreamsSold: the same where analyses are sold.
func TestFailedUpstreamsSold(t *testing.T) {
	for _, row := range upstreamRows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			sell := func() (s *service.Seller, body string) {
				s = service.NewSeller(t)
				if row.method != "" {
					s.World.Node.SetFault(row.method, row.fault)
				}
				return s, row.body(s.World)
			}
			s, body := sell()
			resp, ch, _ := s.Buy("POST", service.PathStream, service.EventStream, body)
			last, _, _ := s.Stream(resp, ch, service.PathStream)
			text, err := stdjson.Marshal(last)
			if err != nil {
				t.Fatal(err)
			}
			row.endsStream(t, string(text), string(text))
			row.tellsNoInternals(t, string(text))
			row.captures(t, s, last)

			s, body = sell()
			h := &testServer{t: t, base: s.Base, payer: s.Payer}
			resp, _, _ = s.Buy("POST", service.PathJobs, "", body)
			_, taken := service.ReadAnswer(t, resp)
			id, _ := service.Answer{Body: taken}.JSON(t)["jobId"].(string)
			job := h.paidEnd(id).JSON(t)
			row.isJob(t, job)
			result, _ := job["result"].(map[string]any)
			row.captures(t, s, result)
		})
	}
}

// captures closes the channel: the price of a result is captured, one cent where no chain knows
// the hash, and nothing for an analysis that failed.
func (r *upstreamRow) captures(t *testing.T, s *service.Seller, result map[string]any) {
	t.Helper()
	var want uint64
	switch {
	case r.phase == "probe" || r.phase == "transaction and trace": // a result without evidence
	case result["costs"] != nil:
		want = service.Price(t, result)
	case r.code == "transaction_not_found":
		want = meter.Cent
	}
	if got := s.Manage(s.Closing(s.Paid)); got.Status != 204 || s.Row().Captured.Uint64() != want {
		t.Errorf("close: %d %s, captured %s, want %d", got.Status, got.Body, s.Row().Captured, want)
	}
}

func (r *upstreamRow) body(w *service.World) string {
	hash := w.Tx.Hash
	if r.hash != "" {
		hash = r.hash
	}
	if r.chain {
		return `{"txHash":"` + hash + `","chainId":1}`
	}
	return `{"txHash":"` + hash + `"}`
}

func (r *upstreamRow) tellsNoInternals(t *testing.T, text string) {
	t.Helper()
	service.CheckLacks(t, r.name, text, "127.0.0.1", "localhost", "HTTP status", "node.example", "ask eth_", "ask debug_", "method does not exist", "dial tcp", "on 0 chains")
}

// isResult holds a result to the row.
func (r *upstreamRow) isResult(t *testing.T, o service.Object) {
	t.Helper()
	summary, _ := o["summary"].(string)
	if r.phase == "" {
		if o["analysisModel"] != "rules" || strings.Contains(summary, "artial") || o["confidence"] == "low" {
			t.Errorf("not whole: %v, %v, %s", o["analysisModel"], o["confidence"], summary)
		}
		return
	}
	word := "phase"
	if strings.Contains(r.phase, " and ") {
		word = "phases"
	}
	if o["analysisModel"] != "partial-synthesis" || o["confidence"] != "low" || !strings.HasPrefix(summary, "**Partial result: the "+r.phase+" "+word+" failed (") || !strings.Contains(summary, r.why) || strings.ContainsAny(summary, "\n\r") {
		t.Errorf("%v, %v, %s", o["analysisModel"], o["confidence"], summary)
	}
}

// endsStream holds the last frame of a stream, and all of it, to the row.
func (r *upstreamRow) endsStream(t *testing.T, last, all string) {
	t.Helper()
	o := service.Answer{Body: last}.JSON(t)
	switch {
	case strings.Contains(all, "upstream_payment_unavailable"):
		t.Errorf("the stream tells the code: %.300s", all)
	case r.event == "" && o["type"] == "result":
		r.isResult(t, o)
	case r.event == "" || o["type"] != "error" || o["code"] != r.event || !strings.Contains(fmt.Sprint(o["message"]), r.why):
		t.Errorf("the stream ends with %.400s", last)
	}
}

func (r *upstreamRow) isJob(t *testing.T, o service.Object) {
	t.Helper()
	if r.code == "" || r.evidence {
		result, _ := o["result"].(map[string]any)
		if o["status"] != "complete" || result == nil {
			t.Fatalf("job %.300v", o)
		}
		r.isResult(t, result)
		return
	}
	if o["status"] != "error" || o["errorCode"] != r.code || o["result"] != nil || !strings.Contains(fmt.Sprint(o["error"]), r.why) && o["error"] != notPaid {
		t.Errorf("job %.400v", o)
	}
}

// TestSomeChainsSilent: one chain that says no and one that does not answer are no
// "not found"; two that say no are.
func TestSomeChainsSilent(t *testing.T) {
	w := service.NewWorld(t)
	other := stubnode.New(nil, stubnode.Options{ChainID: 8453})
	w.Flags.RPC = append(w.Flags.RPC, "8453="+other.Start(t))
	h := &testServer{t: t, base: service.Start(t, w, "--admin-listen", "off")}
	body := `{"txHash":"` + service.NoHash + `"}`
	h.post("/explain", body).Is(t, 404, "not found on 2 chains", `"code":"transaction_not_found"`)
	other.SetFault(stubnode.All, stubnode.Fault{Status: 500})
	h.post("/explain", body).Is(t, 502, "1 chain did not answer: base-mainnet; it is not on the 1 chain that answered", `"code":"upstream_unavailable"`)
	other.SetFault(stubnode.All, stubnode.Fault{Status: 402})
	h.post("/explain", body).Is(t, 502, `"code":"upstream_payment_unavailable"`)
}
