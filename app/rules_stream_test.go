package app_test

import (
	"strings"
	"testing"
	"time"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/service"
)

// Rules of paid streams.

// forgedPaymentEvents: no text of an analysis makes an event, for a reader that ends
// lines as the standard does.
func forgedPaymentEvents(t *testing.T, _ *service.Seller) {
	h := newMeteredServer(t)
	resp, ch, _ := h.payer.Buy("POST", service.PathStream, service.EventStream, explainBody("forged"))
	var all strings.Builder
	resp.Body = service.TeeBody{ReadCloser: resp.Body, Seen: &all}
	last, rc, needed := h.payer.Stream(resp, ch, service.PathStream)
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
func streamPrice(t *testing.T, s *service.Seller) {
	resp, ch, _ := s.Buy("POST", service.PathStream, service.EventStream, s.Body(0))
	if rc := s.Receipt(resp.Header); rc.Spent != tempo.AmountFrom(meter.Cent) || rc.ChallengeID != ch.ID {
		t.Errorf("first receipt %+v", rc)
	}
	var order []string
	var last *mpp.Receipt
	costs := uint64(0)
	s.Each(resp, func(event, data string) {
		order = append(order, event)
		switch event {
		case mpp.EventNeedVoucher:
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil || need.ChannelID != s.Ref.ChannelID || need.Deposit != tempo.AmountFrom(16*service.Dollar) || need.AcceptedCumulative != tempo.AmountFrom(s.Paid) || need.RequiredCumulative.Cmp(need.AcceptedCumulative) <= 0 {
				t.Fatalf("%v %+v", err, need)
			}
			s.AnswerNeed(need, ch, service.PathStream)
		case mpp.EventReceipt:
			var err error
			if last, err = mpp.DecodeReceipt([]byte(data)); err != nil {
				t.Fatal(err)
			}
		default:
			if strings.Contains(data, `"type":"result"`) {
				costs = service.Price(t, service.Answer{Body: data}.JSON(t))
			}
		}
	})
	if len(order) < 10 || order[len(order)-1] != mpp.EventReceipt || last == nil || last.Spent != tempo.AmountFrom(costs) || costs == 0 || last.ChallengeID != ch.ID {
		t.Errorf("%d events, the last %q; receipt %+v, costs %d", len(order), order[max(0, len(order)-1)], last, costs)
	}
}

// prepaidUnit: what the request brought is part of the price, not on top of it.
func prepaidUnit(t *testing.T, s *service.Seller) {
	resp, ch, _ := s.Buy("POST", service.PathStream, service.EventStream, s.Body(0))
	first := s.Paid
	last, rc, _ := s.Stream(resp, ch, service.PathStream)
	if want := service.Price(t, last); first != meter.Cent || s.Paid != want || rc.Spent != tempo.AmountFrom(want) {
		t.Errorf("signed %d, then %d in all for a price of %d", first, s.Paid, want)
	}
}

// streamHeaders: nobody between the two keeps a stream or changes it.
func streamHeaders(t *testing.T, s *service.Seller) {
	resp, ch, _ := s.Buy("POST", service.PathStream, service.EventStream, s.Body(0))
	keep := resp.Header.Get("Cache-Control")
	for _, word := range []string{"no-cache", "no-transform", "private"} {
		if !strings.Contains(keep, word) {
			t.Errorf("Cache-Control %q", keep)
		}
	}
	if resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Payment-Receipt") == "" {
		t.Errorf("%v", resp.Header)
	}
	s.Stream(resp, ch, service.PathStream)
}

// expiredMidway: the stream's own challenge is too old by now; the answer to it has a
// fresh one, and the stream goes on.
func expiredMidway(t *testing.T, s *service.Seller) {
	last, rc := s.AtNeed(service.PathStream, s.Body(0), func(need *mpp.NeedVoucher, ch *mpp.Challenge) {
		old := s.Reissued(ch, func(c *mpp.Challenge, _ *mpp.SessionRequest) {
			c.Expires = mpp.FormatTime(time.Now().Add(-time.Minute))
		})
		s.Paid, _ = need.RequiredCumulative.Uint64()
		refused := s.Ask("POST", service.PathStream, "", "", s.Credential(old, s.Voucher(s.Paid)))
		s.Refused(refused, mpp.PaymentExpired)
		fresh, _ := s.Challenge(refused.Header)
		if got := s.Ask("POST", service.PathStream, "", "", s.Credential(fresh, s.Voucher(s.Paid))); got.Status != 204 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	})
	if !strings.Contains(last, `"type":"result"`) || rc == nil {
		t.Errorf("%.200s, %+v", last, rc)
	}
}

// toppedUpMidway: a deposit that is too small for the stream is raised while it waits.
func toppedUpMidway(t *testing.T, _ *service.Seller) {
	h := newMeteredServer(t)
	p := h.payer
	open := p.Open(2*service.Dollar, meter.Cent)
	ch, _ := p.Terms("POST", service.PathStream, service.EventStream, explainBody("dear"))
	resp := p.Send("POST", service.PathStream, service.EventStream, explainBody("dear"), p.Credential(ch, open))
	var rc *mpp.Receipt
	topped := false
	p.Each(resp, func(event, data string) {
		switch event {
		case mpp.EventNeedVoucher:
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				t.Fatal(err)
			}
			if need.RequiredCumulative.Cmp(need.Deposit) > 0 {
				topped = true
				if got := p.Ask("POST", service.PathStream, "", "", p.Credential(ch, p.TopUp(2*service.Dollar))); got.Status != 204 {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
			}
			p.AnswerNeed(need, ch, service.PathStream)
		case mpp.EventReceipt:
			rc, _ = mpp.DecodeReceipt([]byte(data))
		}
	})
	if !topped || rc == nil || rc.Spent != tempo.AmountFrom(dearPrice) {
		t.Errorf("topped up: %t, receipt %+v", topped, rc)
	}
	p.Close(dearPrice)
}

// unsignedStream: a client that does not sign is waited for as long as the server has
// patience. Then the stream ends in payment_incomplete and says where the run is kept;
// the run is had there for the outstanding balance, and for nothing the second time.
func unsignedStream(t *testing.T, s *service.Seller) {
	last, _ := s.AtNeed(service.PathStream, s.Body(0), func(need *mpp.NeedVoucher, _ *mpp.Challenge) {})
	end := service.Answer{Body: last}.JSON(t)
	id, _ := end["requestId"].(string)
	message, _ := end["message"].(string)
	run := "/explain/run/" + id
	if end["type"] != "error" || end["code"] != "payment_incomplete" || end["recover"] != "GET "+run || !strings.Contains(message, "GET "+run) || !strings.Contains(message, "outstanding balance") {
		t.Fatalf("last %.400s", last)
	}
	before := s.Spent()
	if before > s.Paid {
		t.Errorf("spent %d of %d", before, s.Paid)
	}
	_, q := s.Terms("GET", run, "", "")
	owed, _ := q.Amount.Uint64()
	resp, _, _ := s.Buy("GET", run, "", "")
	status, text := service.ReadAnswer(t, resp)
	if status != 200 || !strings.Contains(text, `"type":"result"`) || owed == 0 || s.Spent() != before+owed {
		t.Errorf("%d %.300s; owed %d, spent %d after %d", status, text, owed, s.Spent(), before)
	}
	if again := s.Ask("GET", run, "", "", ""); again.Status != 200 || again.Body != text {
		t.Errorf("the second time %d %.300s", again.Status, again.Body)
	}
}

// leftStream: a client that leaves is charged no more than is owed, and its run waits
// for it.
func leftStream(t *testing.T, s *service.Seller) {
	resp, _, _ := s.Buy("POST", service.PathStream, service.EventStream, s.Body(0))
	id := resp.Header.Get("X-Request-Id")
	resp.Body.Close()
	s.Eventually("the run is there", func() bool {
		resp, _, _ := s.Buy("GET", "/explain/run/"+id, "", "")
		status, _ := service.ReadAnswer(t, resp)
		return status == 200
	})
	if n := s.Spent(); n != s.Paid {
		t.Errorf("spent %d of %d", n, s.Paid)
	}
}

// streamOfClosingChannel: once the payer asks the chain to close nothing is charged
// any more, for a stream as little as for a request.
func streamOfClosingChannel(t *testing.T, s *service.Seller) {
	spent := uint64(0)
	last, _ := s.AtNeed(service.PathStream, s.Body(0), func(need *mpp.NeedVoucher, ch *mpp.Challenge) {
		spent, _ = need.AcceptedCumulative.Uint64()
		s.OnChain(tempo.RequestCloseCall{Descriptor: s.Ref.Descriptor})
		s.Refused(s.Ask("POST", service.PathStream, "", "", s.Credential(ch, s.Voucher(16*service.Dollar+1))), mpp.ChannelFinalized)
		s.Refused(s.Ask("POST", service.PathStream, "", "", s.Credential(ch, s.Voucher(service.Dollar))), mpp.ChannelFinalized)
	})
	if last == "" {
		t.Error("the stream has no end")
	}
	if got := s.Manage(s.Closing(s.Paid)); got.Status != 204 { // the payee may close, too
		t.Errorf("%d %s", got.Status, got.Body)
	}
	s.Booked(spent)
}
