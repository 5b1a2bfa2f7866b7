package main

import (
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/transport"
)

// What a paid request is, and when money moves, as clients see it over HTTP.

// jobOf is the job of an answer that was taken.
func (s said) jobOf(t *testing.T) string {
	t.Helper()
	id, _ := s.taken(t).json(t)["jobId"].(string)
	return id
}

// TestIdempotencyKey: a request is one with an earlier one by its key, up to 256 bytes,
// whatever its voucher; another key makes the same request a new one. A longer key is
// none, so that nobody has the server keep what it likes.
func TestIdempotencyKey(t *testing.T) {
	h := newMeteredHouse(t)
	n := 0
	f := func(what string, counts bool, key func(fill string) []string) {
		t.Helper()
		p := h.payer.another(t)
		if got := p.manage(p.open(16*dollar, 0)); got.status != 204 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		n++
		body := explainBody("wait " + strings.Repeat("x", n)) // which nobody has the result of
		ask := func(fill string) string {
			t.Helper()
			ch, _ := p.terms("POST", pathJobs, "", body)
			p.paid += meter.Cent
			return p.ask("POST", pathJobs, "", body, p.credential(ch, p.voucher(p.paid)), key(fill)...).jobOf(t)
		}
		first := ask("a")
		if again := ask("a"); again != first {
			t.Errorf("%s: the same request is another job", what)
		}
		if other := ask("b"); (other != first) != counts {
			t.Errorf("%s: another key is another job: %v, want %v", what, other != first, counts)
		}
		want := uint64(meter.Cent)
		if counts {
			want += meter.Cent
		}
		if got := p.spent(); got != want {
			t.Errorf("%s: spent %d, want %d", what, got, want)
		}
	}
	of := func(bytes int) func(string) []string {
		return func(fill string) []string { return []string{"Idempotency-Key: " + strings.Repeat(fill, bytes)} }
	}
	f("no key", false, func(string) []string { return nil })
	f("1 byte", true, of(1))
	f("256 bytes", true, of(256))
	f("257 bytes", false, of(257))
	f("4000 bytes", false, of(4000))
	close(h.release)
}

// TestOneKeyOnTwoPaths: a stream and a job are two requests, also with one key, one
// voucher and one body; so is another body, and so is another channel.
func TestOneKeyOnTwoPaths(t *testing.T) {
	h := newMeteredHouse(t)
	f := func(what string, key ...string) {
		t.Helper()
		p := h.payer.another(t)
		open := p.open(16*dollar, 40*meter.Cent)
		ask := func(path, accept, body string) said {
			t.Helper()
			ch, _ := p.terms("POST", path, accept, body)
			return p.ask("POST", path, accept, body, p.credential(ch, open), key...)
		}
		job := ask(pathJobs, "", explainBody("one")).jobOf(t)
		if n := p.spent(); n != meter.Cent {
			t.Errorf("%s: a job is charged %d", what, n)
		}
		if other := ask(pathJobs, "", explainBody("two")).jobOf(t); other == job {
			t.Errorf("%s: another body is the same job", what)
		}
		if n := p.spent(); n != 2*meter.Cent {
			t.Errorf("%s: two jobs are charged %d", what, n)
		}
		stream := ask(pathStream, events, explainBody("one")).has(t, 200, `"type":"result"`)
		if stream.requestID() == job || strings.Contains(stream.body, job) {
			t.Errorf("%s: the stream is the job", what)
		}
		if n := p.spent(); n != 2*meter.Cent+analysisPrice {
			t.Errorf("%s: a stream and two jobs are charged %d", what, n)
		}
	}
	f("by voucher")
	f("by key", "Idempotency-Key: one")
	f("of another channel", "Idempotency-Key: one")
}

// TestRestIsPaidFirst: a job that came to cost more after it asked for payment, and
// has ended since, is handed out when all of that is paid.
func TestRestIsPaidFirst(t *testing.T) {
	h := newMeteredHouse(t)
	p := h.payer
	id := h.order("rises")
	p.eventually("the purchase is owed", func() bool {
		s := h.get("/result/" + id)
		if s.status != 402 {
			return false
		}
		_, q := p.challenge(s.header)
		return q.Amount == tempo.AmountFrom(analysisPrice-meter.Cent)
	})
	ch, _ := p.terms("GET", "/result/"+id, "", "")
	close(h.release)
	p.eventually("the job has ended", func() bool {
		row, err := h.store.Job(id)
		return err == nil && row.Status == api.JobComplete
	})
	p.paid = analysisPrice
	part := p.ask("GET", "/result/"+id, "", "", p.credential(ch, p.voucher(p.paid)))
	p.refused(part, mpp.PaymentRequired)
	if _, q := p.challenge(part.header); q.Amount != tempo.AmountFrom(dearPrice-analysisPrice) || strings.Contains(part.body, "result") {
		t.Errorf("then it asks for %s: %s", q.Amount, part.body)
	}
	if n := p.spent(); n != analysisPrice {
		t.Errorf("spent %d, want %d", n, analysisPrice)
	}
	h.paidEnd(id).has(t, 200, `"status":"complete"`)
	if n := p.spent(); n != dearPrice {
		t.Errorf("spent %d in all, want %d", n, dearPrice)
	}
}

// TestBusyHoldsNothing: a stream that is refused because the server is busy leaves the
// voucher as it was: it is charged nothing and buys something else.
func TestBusyHoldsNothing(t *testing.T) {
	h := newMeteredHouseAt(t, func(c *transport.Config) { c.MaxAnalyses = 1 })
	running := h.payer.another(t)
	resp, first, _ := running.buy("POST", pathStream, events, explainBody("wait"))
	p := h.payer
	if got := p.manage(p.open(16*dollar, 0)); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for range 3 {
		ch, _ := p.terms("POST", pathStream, events, explainBody(""))
		p.paid += meter.Cent
		busy := p.ask("POST", pathStream, events, explainBody(""), p.credential(ch, p.voucher(p.paid))).has(t, 503, `"code":"busy"`, "Nothing was charged")
		if busy.header.Get("Retry-After") == "" || busy.header.Get("Payment-Receipt") != "" {
			t.Errorf("%v", busy.header)
		}
	}
	p.buysWithoutSigning(3)
	close(h.release)
	if last, _, _ := running.stream(resp, first, pathStream); last["type"] != "result" {
		t.Errorf("%v", last)
	}
}

// buysWithoutSigning submits so many jobs on the voucher that stands. It is worth so
// many cents, and nothing of it may be spent or held yet.
func (p *payer) buysWithoutSigning(jobs int) {
	p.t.Helper()
	if n := p.spent(); n != 0 {
		p.t.Errorf("spent %d", n)
	}
	for n := range jobs {
		if got := p.order(n, p.voucher(p.paid)); got.status != 202 {
			p.t.Errorf("job %d of %d: %d %s", n+1, jobs, got.status, got.body)
		}
	}
	if n := p.spent(); n != uint64(jobs)*meter.Cent {
		p.t.Errorf("spent %d for %d jobs", n, jobs)
	}
}

// TestRefusalHoldsNothing: nothing of a voucher is held for a request that is not
// served: on a channel whose deposit is too small, and for the probe, which buys
// nothing.
func TestRefusalHoldsNothing(t *testing.T) {
	h := adoptingHouse(t)
	f := func(what, method, path, accept, body string, deposit uint64, status int) {
		t.Helper()
		p := h.payer.another(t)
		if tx := p.tx(p.openCall(deposit)); deposit < 2*dollar {
			p.sendRaw(tx) // the server would refuse to send it
			p.openBy(tx, 0)
		} else if got := p.manage(p.openBy(tx, 0)); got.status != 204 {
			t.Fatalf("%s: %d %s", what, got.status, got.body)
		}
		for range 3 {
			ch, _ := p.terms(method, path, accept, body)
			p.paid += meter.Cent
			p.ask(method, path, accept, body, p.credential(ch, p.voucher(p.paid))).has(t, status)
		}
		if deposit < 2*dollar {
			if got := p.manage(p.topUp(dollar)); got.status != 204 {
				t.Fatalf("%s: %d %s", what, got.status, got.body)
			}
		}
		p.buysWithoutSigning(3)
	}
	f("stream on a small deposit", "POST", pathStream, events, explainBody(""), 2*dollar-meter.Cent, 402)
	f("job on a small deposit", "POST", pathJobs, "", explainBody(""), 2*dollar-meter.Cent, 402)
	f("probe on a small deposit", "POST", "/session/deposit", "", "{}", 2*dollar-meter.Cent, 402)
	f("probe", "POST", "/session/deposit", "", "{}", 16*dollar, 200)
	f("probe without a body", "POST", "/session/deposit", "", "", 16*dollar, 200)
	f("stream without a body", "POST", pathStream, events, "", 16*dollar, 204)
}
