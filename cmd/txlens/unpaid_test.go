package main

import (
	"net/http"
	"strings"
	"testing"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/internal/testkit/stubnode"
)

// Payers who do not pay, on a running server.

// dropOne buys a stream, pays its first unit and signs nothing more. It returns the id
// of the run once the stream has ended.
func (p *payer) dropOne(n int) (id string) {
	p.t.Helper()
	resp, _, _ := p.buy("POST", pathStream, events, p.body(n))
	if resp.StatusCode != http.StatusOK {
		_, text := read(p.t, resp)
		p.t.Fatalf("%d %s", resp.StatusCode, text)
	}
	id = resp.Header.Get("X-Request-Id")
	last := ""
	p.each(resp, func(_, data string) { last = data })
	if strings.Contains(last, `"type":"result"`) {
		p.t.Fatalf("the result of a run that is not paid: %.200s", last)
	}
	return id
}

// TestDebtIsRemembered: a payer who owes the exposure for runs that ended begins
// nothing new, on this channel or another, before it pays; and it is told what it owes.
func TestDebtIsRemembered(t *testing.T) {
	s := newShop(t, "--voucher-patience", "50ms", "--exposure", "0.03")
	id := s.dropOne(0)
	refusal := s.order(1, s.voucher(s.paid+meter.Cent))
	s.paid += meter.Cent
	s.refused(refusal, mpp.InsufficientBalance)
	if !strings.Contains(refusal.body, id) || refusal.header.Get("Retry-After") != "" {
		t.Errorf("the refusal names no run: %s", refusal.body)
	}
	_, q := s.challenge(refusal.header)
	if q.SessionSnapshot == nil || q.Amount != tempo.AmountFrom(meter.Cent) {
		t.Fatalf("challenge %+v", q)
	}
	first := s.payer.ref
	other := s.order(2, s.open(4*dollar, meter.Cent)) // another channel of the same payer
	s.refused(other, mpp.InsufficientBalance)
	if got := s.another(t); got.order(0, got.open(4*dollar, meter.Cent)).status != http.StatusAccepted {
		t.Error("another payer is refused, too")
	}
	s.ref = first
	s.paid, _ = q.SessionSnapshot.RequiredCumulative.Uint64()
	s.order(1, s.voucher(s.paid)).taken(t)
	if bill, _, err := s.bill(id); err != nil || bill == 0 {
		t.Errorf("the run that was owed: %d, %v", bill, err)
	}
	if got := s.ask("GET", "/explain/run/"+id, "", "", ""); got.status != http.StatusOK {
		t.Errorf("the run that is paid: %d %.200s", got.status, got.body)
	}
}

// bill asks the run what it owes: nothing where it answers.
func (s *shop) bill(id string) (price uint64, owed uint64, err error) {
	s.t.Helper()
	got := s.ask("GET", "/explain/run/"+id, "", "", "")
	if got.status == http.StatusPaymentRequired {
		_, q := s.challenge(got.header)
		owed, _ = q.Amount.Uint64()
		return 0, owed, nil
	}
	var frame map[string]any
	run, _ := got.json(s.t)["frames"].([]any)
	if len(run) > 0 {
		frame, _ = run[len(run)-1].(map[string]any)
	}
	return price0(s.t, frame), 0, nil
}

func price0(t *testing.T, frame map[string]any) uint64 {
	if frame == nil {
		return 0
	}
	return price(t, frame)
}

// TestUnpaidRunsHoldNoSlot: runs that wait for their payers keep nobody out.
func TestUnpaidRunsHoldNoSlot(t *testing.T) {
	s := newShop(t, "--max-analyses", "2", "--exposure", "0.03", "--queue-time", "30s")
	for range 6 { // three times as many as there are slots
		thief := s.another(t)
		resp, _, _ := thief.buy("POST", pathStream, events, thief.body(0))
		if resp.StatusCode != http.StatusOK {
			_, text := read(t, resp)
			t.Fatalf("%d %s", resp.StatusCode, text)
		}
		defer resp.Body.Close()
	}
	if last, _, _ := s.stream2(1); last["type"] != "result" {
		t.Errorf("an honest payer got %v", last)
	}
}

// TestShareOfAChannel: a channel has no more runs than its share, those that wait to be
// paid among them, and is charged nothing for the refusal.
func TestShareOfAChannel(t *testing.T) {
	s := newShop(t, "--max-analyses-per-channel", "2")
	for n := range 2 {
		resp, _, _ := s.buy("POST", pathStream, events, s.body(n))
		if resp.StatusCode != http.StatusOK {
			_, text := read(t, resp)
			t.Fatalf("%d %s", resp.StatusCode, text)
		}
		defer resp.Body.Close()
	}
	got := s.order2(pathStream, 2)
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "Nothing was charged") {
		t.Errorf("the third: %d %s", got.status, got.body)
	}
	// What was signed for it is there for the two; nothing was begun for it.
	if run := s.ask("GET", "/explain/run/"+got.requestID(), "", "", ""); run.status != http.StatusNotFound {
		t.Errorf("the refused run: %d %s", run.status, run.body)
	}
}

// stream2 buys a stream and pays for it to its end.
func (p *payer) stream2(n int) (last map[string]any, rc *mpp.Receipt, needed int) {
	p.t.Helper()
	resp, ch, _ := p.buy("POST", pathStream, events, p.body(n))
	if resp.StatusCode != http.StatusOK {
		_, text := read(p.t, resp)
		p.t.Fatalf("%d %s", resp.StatusCode, text)
	}
	return p.stream(resp, ch, pathStream)
}

// order2 asks a path for content with one more unit signed.
func (p *payer) order2(path string, n int) said {
	p.t.Helper()
	ch, _ := p.terms("POST", path, events, p.body(n))
	p.paid += meter.Cent
	return p.ask("POST", path, events, p.body(n), p.credential(ch, p.voucher(p.paid)))
}

// TestVoucherRate: a channel takes so many vouchers, and those that would have to wait
// too long are refused. A voucher that repeats another counts for nothing.
func TestVoucherRate(t *testing.T) {
	s := newShop(t)
	s.restart("--voucher-rate", "0.001") // the next token is a quarter of an hour away
	if got := s.manage(s.open(4*dollar, meter.Cent)); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	ch, _ := s.terms("POST", pathJobs, "", "")
	statuses := map[int]int{}
	for i := range 40 { // more than a channel may bring at once
		got := s.ask("POST", pathJobs, "", "", s.credential(ch, s.voucher(uint64(i+2)*meter.Cent)))
		statuses[got.status]++
		if got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") == "" {
			t.Error("a 429 without Retry-After")
		}
	}
	if statuses[http.StatusTooManyRequests] == 0 || statuses[http.StatusNoContent] < 20 || len(statuses) != 2 {
		t.Errorf("%v", statuses)
	}
	for range 60 { // the same voucher again
		if got := s.manage(s.voucher(s.accepted())); got.status != http.StatusNoContent {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
}

// accepted is the highest voucher that the server has taken, by the snapshot of a
// refusal.
func (s *shop) accepted() uint64 {
	s.t.Helper()
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	got := s.ask("POST", pathJobs, "", s.body(0), s.credential(ch, s.voucher(1)))
	s.refused(got, mpp.VerificationFailed)
	_, q := s.challenge(got.header)
	if q.SessionSnapshot == nil {
		s.t.Fatal("no snapshot for a voucher that is too low")
	}
	n, _ := q.SessionSnapshot.AcceptedCumulative.Uint64()
	return n
}

// TestOpenRate: one payer, and one address, has so many openings broadcast.
func TestOpenRate(t *testing.T) {
	f := func(flag string, other int) {
		t.Helper()
		s := newShop(t)
		s.restart(flag, "2")
		for i, want := range []int{202, 202, 429} {
			if got := s.order(i, s.open(4*dollar, meter.Cent)); got.status != want {
				t.Errorf("%s: opening %d: %d %s", flag, i, got.status, got.body)
			}
		}
		if n := len(s.chain.Books().Channels); n != 2 {
			t.Errorf("%s: %d channels", flag, n)
		}
		p := s.another(t)
		if got := p.order(0, p.open(4*dollar, meter.Cent)); got.status != other {
			t.Errorf("%s: another payer: %d %s", flag, got.status, got.body)
		}
	}
	f("--open-rate", 202)
	f("--open-rate-per-ip", 429)
}

// TestVoucherMinimumStep: a voucher raises by one unit at least, as the challenge says.
func TestVoucherMinimumStep(t *testing.T) {
	s := newShop(t)
	if got := s.manage(s.open(4*dollar, meter.Cent)); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	_, q := s.terms("POST", pathJobs, "", s.body(0))
	if q.MinVoucherDelta != tempo.AmountFrom(meter.Cent) {
		t.Errorf("the challenge says %s", q.MinVoucherDelta)
	}
	s.refused(s.manage(s.voucher(2*meter.Cent-1)), mpp.DeltaTooSmall)
	if got := s.manage(s.voucher(2 * meter.Cent)); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestNothingDelivered: an outage of what the analysis needs costs nothing.
func TestNothingDelivered(t *testing.T) {
	s := newShop(t)
	for _, method := range []string{"eth_getTransactionByHash", "eth_getTransactionReceipt", "debug_traceTransaction", "trace_transaction", "eth_getBlockByNumber", "eth_getBlockByHash"} {
		s.w.node.SetFault(method, stubnode.Fault{Status: 500})
	}
	resp, ch, _ := s.buy("POST", pathStream, events, s.body(0))
	last, _, _ := s.stream(resp, ch, pathStream)
	t.Logf("%v %v", last["type"], last["summary"])
	s.close(0)
}

// TestOwedJobSaysSo: the 402 of a job that is owed says how much, and how far it is.
func TestOwedJobSaysSo(t *testing.T) {
	s := newShop(t)
	got := s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	id, _ := got.json(t)["jobId"].(string)
	s.eventually("the job is complete", func() bool {
		got = s.ask("GET", "/result/"+id, "", "", "")
		return strings.Contains(got.body, "complete")
	})
	details, _ := got.json(t)["details"].(map[string]any)
	_, q := s.challenge(got.header)
	if got.status != http.StatusPaymentRequired || details["owed"] != q.Amount.String() || details["status"] != "complete" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestSmallChannelIsToppedUp: a channel of before the minimum was raised is refused
// with a challenge, and served once it is topped up.
func TestSmallChannelIsToppedUp(t *testing.T) {
	s := newShop(t)
	if got := s.manage(s.open(2*dollar, meter.Cent)); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.restart("--min-deposit", "3")
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	got := s.ask("POST", pathJobs, "", s.body(0), s.credential(ch, s.voucher(s.paid)))
	if got.status != 402 || got.json(t)["code"] != "deposit_below_minimum" {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.challenge(got.header)
	if n := s.spent(); n != 0 {
		t.Errorf("spent %d", n)
	}
	if got := s.manage(s.topUp(dollar)); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	s.order(0, s.voucher(s.paid)).taken(t)
}
