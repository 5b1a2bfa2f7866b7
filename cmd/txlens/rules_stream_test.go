package main

import (
	"strings"
	"testing"
	"time"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// Rules of paid streams.

// forgedPaymentEvents: no text of an analysis makes an event, for a reader that ends
// lines as the standard does.
func forgedPaymentEvents(t *testing.T, _ *shop) {
	h := newMeteredHouse(t)
	resp, ch, _ := h.payer.buy("POST", pathStream, events, explainBody("forged"))
	var all strings.Builder
	resp.Body = teeBody{resp.Body, &all}
	last, rc, needed := h.payer.stream(resp, ch, pathStream)
	if summary, _ := last["summary"].(string); summary != forgedSummary || rc == nil || rc.Spent != tempo.AmountFrom(analysisPrice) {
		t.Fatalf("%q, receipt %+v", last["summary"], rc)
	}
	needs, receipts := 0, 0
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(all.String()), "\n") {
		switch {
		case line == "event: "+mpp.EventNeedVoucher:
			needs++
		case line == "event: "+mpp.EventReceipt:
			receipts++
		case line != "" && !strings.HasPrefix(line, "data: {"):
			t.Errorf("a line of its own: %.100q", line)
		}
	}
	if needs != needed || receipts != 1 || strings.Contains(all.String(), "\r") {
		t.Errorf("%d vouchers and %d receipts in %.300q", needs, receipts, all.String())
	}
}

// forgedSummary would be two events of payment for who ends a line at any of its ends.
const forgedSummary = "x\r\revent: payment-need-voucher\rdata: {\"requiredCumulative\":\"16000000\"}\r\r\n\nevent: payment-receipt\ndata: {}\n\n"

// streamPrice: a stream costs what its analysis does, however many events it has, and
// its last event is the receipt.
func streamPrice(t *testing.T, s *shop) {
	resp, ch, _ := s.buy("POST", pathStream, events, s.body(0))
	if rc := s.receipt(resp.Header); rc.Spent != tempo.AmountFrom(meter.Cent) || rc.ChallengeID != ch.ID {
		t.Errorf("first receipt %+v", rc)
	}
	var order []string
	var last *mpp.Receipt
	costs := uint64(0)
	s.each(resp, func(event, data string) {
		order = append(order, event)
		switch event {
		case mpp.EventNeedVoucher:
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil || need.ChannelID != s.ref.ChannelID || need.Deposit != tempo.AmountFrom(16*dollar) || need.AcceptedCumulative != tempo.AmountFrom(s.paid) || need.RequiredCumulative.Cmp(need.AcceptedCumulative) <= 0 {
				t.Fatalf("%v %+v", err, need)
			}
			s.answerNeed(need, ch, pathStream)
		case mpp.EventReceipt:
			var err error
			if last, err = mpp.DecodeReceipt([]byte(data)); err != nil {
				t.Fatal(err)
			}
		default:
			if strings.Contains(data, `"type":"result"`) {
				costs = price(t, said{body: data}.json(t))
			}
		}
	})
	if len(order) < 10 || order[len(order)-1] != mpp.EventReceipt || last == nil || last.Spent != tempo.AmountFrom(costs) || costs == 0 || last.ChallengeID != ch.ID {
		t.Errorf("%d events, the last %q; receipt %+v, costs %d", len(order), order[max(0, len(order)-1)], last, costs)
	}
}

// prepaidUnit: what the request brought is part of the price, not on top of it.
func prepaidUnit(t *testing.T, s *shop) {
	resp, ch, _ := s.buy("POST", pathStream, events, s.body(0))
	first := s.paid
	last, rc, _ := s.stream(resp, ch, pathStream)
	if want := price(t, last); first != meter.Cent || s.paid != want || rc.Spent != tempo.AmountFrom(want) {
		t.Errorf("signed %d, then %d in all for a price of %d", first, s.paid, want)
	}
}

// streamHeaders: nobody between the two keeps a stream or changes it.
func streamHeaders(t *testing.T, s *shop) {
	resp, ch, _ := s.buy("POST", pathStream, events, s.body(0))
	keep := resp.Header.Get("Cache-Control")
	for _, word := range []string{"no-cache", "no-transform", "private"} {
		if !strings.Contains(keep, word) {
			t.Errorf("Cache-Control %q", keep)
		}
	}
	if resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Payment-Receipt") == "" {
		t.Errorf("%v", resp.Header)
	}
	s.stream(resp, ch, pathStream)
}

// atNeed reads a stream until it asks for a voucher, has do answer that, and then
// reads on as a client that pays. It gives the last frame and the receipt.
func (p *payer) atNeed(path, body string, do func(need *mpp.NeedVoucher, ch *mpp.Challenge)) (last string, rc *mpp.Receipt) {
	p.t.Helper()
	resp, ch, _ := p.buy("POST", path, events, body)
	if resp.StatusCode != 200 {
		_, text := read(p.t, resp)
		p.t.Fatalf("%d %s", resp.StatusCode, text)
	}
	first := true
	p.each(resp, func(event, data string) {
		var err error
		switch event {
		case mpp.EventNeedVoucher:
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				p.t.Fatal(err)
			}
			if first {
				first = false
				do(need, ch)
				return
			}
			p.answerNeed(need, ch, path)
		case mpp.EventReceipt:
			if rc, err = mpp.DecodeReceipt([]byte(data)); err != nil {
				p.t.Fatal(err)
			}
		default:
			last = data
		}
	})
	if first {
		p.t.Error("no voucher was asked for")
	}
	return last, rc
}

// expiredMidway: the stream's own challenge is too old by now; the answer to it has a
// fresh one, and the stream goes on.
func expiredMidway(t *testing.T, s *shop) {
	last, rc := s.atNeed(pathStream, s.body(0), func(need *mpp.NeedVoucher, ch *mpp.Challenge) {
		old := s.reissued(ch, func(c *mpp.Challenge, _ *mpp.SessionRequest) {
			c.Expires = mpp.FormatTime(time.Now().Add(-time.Minute))
		})
		s.paid, _ = need.RequiredCumulative.Uint64()
		refused := s.ask("POST", pathStream, "", "", s.credential(old, s.voucher(s.paid)))
		s.refused(refused, mpp.PaymentExpired)
		fresh, _ := s.challenge(refused.header)
		if got := s.ask("POST", pathStream, "", "", s.credential(fresh, s.voucher(s.paid))); got.status != 204 {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
	if !strings.Contains(last, `"type":"result"`) || rc == nil {
		t.Errorf("%.200s, %+v", last, rc)
	}
}

// toppedUpMidway: a deposit that is too small for the stream is raised while it waits.
func toppedUpMidway(t *testing.T, _ *shop) {
	h := newMeteredHouse(t)
	p := h.payer
	open := p.open(2*dollar, meter.Cent)
	ch, _ := p.terms("POST", pathStream, events, explainBody("dear"))
	resp := p.send("POST", pathStream, events, explainBody("dear"), p.credential(ch, open))
	var rc *mpp.Receipt
	topped := false
	p.each(resp, func(event, data string) {
		switch event {
		case mpp.EventNeedVoucher:
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				t.Fatal(err)
			}
			if need.RequiredCumulative.Cmp(need.Deposit) > 0 {
				topped = true
				if got := p.ask("POST", pathStream, "", "", p.credential(ch, p.topUp(2*dollar))); got.status != 204 {
					t.Fatalf("%d %s", got.status, got.body)
				}
			}
			p.answerNeed(need, ch, pathStream)
		case mpp.EventReceipt:
			rc, _ = mpp.DecodeReceipt([]byte(data))
		}
	})
	if !topped || rc == nil || rc.Spent != tempo.AmountFrom(dearPrice) {
		t.Errorf("topped up: %t, receipt %+v", topped, rc)
	}
	p.close(dearPrice)
}

// unsignedStream: a client that does not sign is waited for as long as the server has
// patience. Then the stream ends in payment_incomplete and says where the run is kept;
// the run is had there for the outstanding balance, and for nothing the second time.
func unsignedStream(t *testing.T, s *shop) {
	last, _ := s.atNeed(pathStream, s.body(0), func(need *mpp.NeedVoucher, _ *mpp.Challenge) {})
	end := said{body: last}.json(t)
	id, _ := end["requestId"].(string)
	message, _ := end["message"].(string)
	run := "/explain/run/" + id
	if end["type"] != "error" || end["code"] != "payment_incomplete" || end["recover"] != "GET "+run || !strings.Contains(message, "GET "+run) || !strings.Contains(message, "outstanding balance") {
		t.Fatalf("last %.400s", last)
	}
	before := s.spent()
	if before > s.paid {
		t.Errorf("spent %d of %d", before, s.paid)
	}
	_, q := s.terms("GET", run, "", "")
	owed, _ := q.Amount.Uint64()
	resp, _, _ := s.buy("GET", run, "", "")
	status, text := read(t, resp)
	if status != 200 || !strings.Contains(text, `"type":"result"`) || owed == 0 || s.spent() != before+owed {
		t.Errorf("%d %.300s; owed %d, spent %d after %d", status, text, owed, s.spent(), before)
	}
	if again := s.ask("GET", run, "", "", ""); again.status != 200 || again.body != text {
		t.Errorf("the second time %d %.300s", again.status, again.body)
	}
}

// leftStream: a client that leaves is charged no more than is owed, and its run waits
// for it.
func leftStream(t *testing.T, s *shop) {
	resp, _, _ := s.buy("POST", pathStream, events, s.body(0))
	id := resp.Header.Get("X-Request-Id")
	resp.Body.Close()
	s.eventually("the run is there", func() bool {
		resp, _, _ := s.buy("GET", "/explain/run/"+id, "", "")
		status, _ := read(t, resp)
		return status == 200
	})
	if n := s.spent(); n != s.paid {
		t.Errorf("spent %d of %d", n, s.paid)
	}
}

// streamOfClosingChannel: once the payer asks the chain to close nothing is charged
// any more, for a stream as little as for a request.
func streamOfClosingChannel(t *testing.T, s *shop) {
	spent := uint64(0)
	last, _ := s.atNeed(pathStream, s.body(0), func(need *mpp.NeedVoucher, ch *mpp.Challenge) {
		spent, _ = need.AcceptedCumulative.Uint64()
		s.onChain(tempo.RequestCloseCall{Descriptor: s.ref.Descriptor})
		s.refused(s.ask("POST", pathStream, "", "", s.credential(ch, s.voucher(16*dollar+1))), mpp.ChannelFinalized)
		s.refused(s.ask("POST", pathStream, "", "", s.credential(ch, s.voucher(dollar))), mpp.ChannelFinalized)
	})
	if last == "" {
		t.Error("the stream has no end")
	}
	if got := s.manage(s.closing(s.paid)); got.status != 204 { // the payee may close, too
		t.Errorf("%d %s", got.status, got.body)
	}
	s.booked(spent)
}
