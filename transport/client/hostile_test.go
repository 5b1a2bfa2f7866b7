package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// need is an event that asks for a voucher.
func need(channel common.Hash, required, accepted tempo.Amount) string {
	n := mpp.NeedVoucher{ChannelID: channel, RequiredCumulative: required, AcceptedCumulative: accepted, Deposit: usd(1600)}
	return "event: payment-need-voucher\ndata: " + string(n.JSON())
}

// TestHostileStream: whatever a stream asks for, no more is signed than the payer
// allows, and the error says why.
func TestHostileStream(t *testing.T) {
	f := func(event func(channel common.Hash) string, target error, text string) {
		t.Helper()
		r := newRogue(t)
		r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) {
			if req.ContentLength == 0 {
				w.WriteHeader(204)
				return
			}
			p, _ := cr.Payload()
			r.stream(w, cr, event(p.Ref().ChannelID), r.result())
		}
		c := r.client(func(o *Options) { o.Limits = Limits{MaxDeposit: usd(2000), MaxCharge: usd(10)} })
		_, err := c.Explain(context.Background(), request, nil)
		if !has(err, target, text) {
			t.Errorf("error %v, want %v with %q", err, target, text)
		}
		r.noMore(10)
	}
	f(func(ch common.Hash) string { return need(ch, usd(11), usd(1)) }, nil, "asks for $0.11 for this request, and $0.10 are allowed")
	f(func(ch common.Hash) string { return need(ch, tempo.MaxAmount, usd(1)) }, nil, "$0.10 are allowed")
	f(func(ch common.Hash) string { return need(common.Hash{1}, usd(2), usd(1)) }, ErrProtocol, "another channel")
	f(func(ch common.Hash) string { return need(ch, usd(3), usd(2)) }, ErrProtocol, "more was accepted than signed")
	f(func(ch common.Hash) string { return "event: payment-need-voucher\ndata: {}" }, ErrProtocol, "read need-voucher")
	f(func(ch common.Hash) string { return strings.Repeat(need(ch, usd(1), usd(1))+"\n\n", maxVouchers+1) }, ErrProtocol, "vouchers")
	f(func(ch common.Hash) string { return "data: []" }, ErrProtocol, "no JSON object")
	f(func(ch common.Hash) string { return "data: {\"type\":\"result\",\"steps\":3}" }, ErrProtocol, "read result")
	f(func(ch common.Hash) string {
		return `data: {"type":"error","code":"internal_error","message":"no\u0007"}`
	}, nil, "the analysis failed: no")
	f(func(ch common.Hash) string { return "event: payment-receipt\ndata: {}" }, ErrProtocol, "read receipt")
}

// TestHostileDeposit: a stream cannot bring more into escrow than MaxDeposit.
func TestHostileDeposit(t *testing.T) {
	r := newRogue(t)
	r.offer.SuggestedDeposit = usd(100)
	r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) {
		p, _ := cr.Payload()
		mined(r, p)
		if req.ContentLength == 0 {
			w.WriteHeader(204)
			return
		}
		r.stream(w, cr, need(p.Ref().ChannelID, usd(150), usd(1)), need(p.Ref().ChannelID, usd(201), usd(1)))
	}
	c := r.client(func(o *Options) { o.Limits.MaxDeposit = usd(200) })
	_, err := c.Explain(context.Background(), request, nil)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Allowed != usd(200) {
		t.Errorf("error %v", err)
	}
	r.noMore(150)
	if ch := c.Channels(); len(ch) != 1 || ch[0].Deposit != usd(200) {
		t.Errorf("channels %+v", ch)
	}
	for _, p := range r.moves {
		if up, ok := p.(*mpp.TopUp); ok && up.AdditionalDeposit != usd(100) {
			t.Errorf("top-up of %s", up.AdditionalDeposit)
		}
	}
}

// TestHostileReceipt: a receipt that claims more than was signed ends the request.
func TestHostileReceipt(t *testing.T) {
	f := func(change func(*mpp.Receipt), text string) {
		t.Helper()
		r := newRogue(t)
		r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) {
			rc := r.receipt(cr)
			change(rc)
			w.Header().Set("Payment-Receipt", rc.HeaderValue())
			w.WriteHeader(200)
		}
		c := r.client()
		_, err := c.Explain(context.Background(), request, nil)
		if !has(err, ErrProtocol, text) {
			t.Errorf("error %v, want %q", err, text)
		}
		if ch := c.Channels(); len(ch) != 1 || ch[0].Spent.Cmp(ch[0].Signed) > 0 {
			t.Errorf("channels %+v", ch)
		}
		r.noMore(1)
	}
	f(func(rc *mpp.Receipt) { rc.ChannelID = common.Hash{1} }, "another channel")
	f(func(rc *mpp.Receipt) { rc.AcceptedCumulative = usd(2) }, "more was accepted than signed")
	f(func(rc *mpp.Receipt) { rc.Spent = usd(2) }, "more was spent than accepted")
	f(func(rc *mpp.Receipt) { rc.AcceptedCumulative, rc.Spent = tempo.Amount{}, tempo.Amount{} }, "less was accepted")
	f(func(rc *mpp.Receipt) { rc.ChallengeID = "x" }, "not answered")
	f(func(rc *mpp.Receipt) { rc.ChallengeID = strings.Repeat("x", 20_000) }, "read receipt")
}

// TestHostileTerms: nothing is signed, and nothing opened, on other terms.
func TestHostileTerms(t *testing.T) {
	f := func(change func(*mpp.SessionRequest), target error, text string) {
		t.Helper()
		r := newRogue(t)
		change(&r.offer)
		c := r.client(func(o *Options) { o.Limits = Limits{MaxDeposit: usd(200), MaxCharge: usd(10)} })
		_, err := c.Explain(context.Background(), request, nil)
		if !has(err, target, text) {
			t.Errorf("error %v, want %v with %q", err, target, text)
		}
		if len(r.payloads) != 0 || len(c.Channels()) != 0 {
			t.Errorf("%d payments, channels %+v", len(r.payloads), c.Channels())
		}
	}
	f(func(q *mpp.SessionRequest) { q.ChainID = 4217 }, ErrTerms, "chain 4217")
	f(func(q *mpp.SessionRequest) { q.Currency = common.Address{1} }, ErrTerms, "token")
	f(func(q *mpp.SessionRequest) { q.EscrowContract = common.Address{1} }, ErrTerms, "not the channel reserve")
	f(func(q *mpp.SessionRequest) { q.Recipient = common.Address{} }, ErrTerms, "payee")
	f(func(q *mpp.SessionRequest) { q.Amount = usd(11) }, nil, "for this request, and $0.10")
	f(func(q *mpp.SessionRequest) { q.Amount = tempo.MaxAmount }, nil, "for this request, and $0.10")
}

// TestHostileRefusals: a server that is never content gets a bounded number of
// vouchers; one that denies a channel gets no second one while the chain has it.
func TestHostileRefusals(t *testing.T) {
	f := func(kind mpp.ProblemType, content func(r *rogue, p mpp.Payload), payments int, cents uint64, text string) {
		t.Helper()
		r := newRogue(t)
		r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) {
			p, _ := cr.Payload()
			if content != nil {
				content(r, p)
			}
			r.demand(w, kind)
		}
		c := r.client(func(o *Options) { o.Limits = Limits{MaxDeposit: usd(3200), MaxCharge: usd(3)} })
		_, err := c.Explain(context.Background(), request, nil)
		if !has(err, nil, text) || len(r.payloads) > payments {
			t.Errorf("error %v, want %q; %d payments", err, text, len(r.payloads))
		}
		r.noMore(cents)
	}
	f(mpp.InsufficientBalance, mined, maxPayments, 3, "$0.03 are allowed")
	f(mpp.PaymentExpired, mined, maxPayments, 1, "402")
	f(mpp.VerificationFailed, mined, 1, 1, "402")
	f(mpp.ChannelFinalized, mined, 1, 1, "still has $16.00")
	f(mpp.ChannelNotFound, mined, 1, 1, "still has $16.00")
	f(mpp.InternalPaymentError, nil, 1, 1, "500")
}

// mined sends the payer's transactions, as an honest server would.
func mined(r *rogue, p mpp.Payload) {
	var tx []byte
	switch p := p.(type) {
	case *mpp.Open:
		tx = p.Transaction
	case *mpp.TopUp:
		tx = p.Transaction
	default:
		return
	}
	r.chain.ServeRPC(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x%x"]}`, tx))
}

// TestHostileAnswers: bodies, redirects and silence are bounded.
func TestHostileAnswers(t *testing.T) {
	patience, over := time.Minute, make(chan struct{})
	defer close(over)
	f := func(serve func(r *rogue, w http.ResponseWriter, cr *mpp.Credential), target error, text string) {
		t.Helper()
		r := newRogue(t)
		r.serve = func(w http.ResponseWriter, req *http.Request, cr *mpp.Credential) { serve(r, w, cr) }
		c := r.client(func(o *Options) { o.Timeout, o.Silence = patience, time.Second })
		_, err := c.Explain(context.Background(), request, nil)
		if !has(err, target, text) {
			t.Errorf("error %v, want %v with %q", err, target, text)
		}
		r.noMore(2)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("somebody else was asked, with credential %v", r.Header["Authorization"] != nil)
	}))
	defer elsewhere.Close()
	f(func(r *rogue, w http.ResponseWriter, cr *mpp.Credential) {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(307)
	}, nil, "307")
	f(func(r *rogue, w http.ResponseWriter, cr *mpp.Credential) {
		w.WriteHeader(400)
		for range 100 {
			w.Write(make([]byte, 1<<20))
		}
	}, nil, "400")
	f(func(r *rogue, w http.ResponseWriter, cr *mpp.Credential) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte("{}"))
	}, ErrProtocol, "not with a stream")
	f(func(r *rogue, w http.ResponseWriter, cr *mpp.Credential) { // a line without an end
		r.stream(w, cr)
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}, ErrProtocol, "larger than")
	patience = 2 * time.Second                                    // what comes now ends with it
	f(func(r *rogue, w http.ResponseWriter, cr *mpp.Credential) { // heartbeats for ever
		r.stream(w, cr)
		for {
			if _, err := w.Write([]byte("data: {\"type\":\"heartbeat\"}\n\n")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}, errTimeout, "")
	f(func(r *rogue, w http.ResponseWriter, cr *mpp.Credential) { // nothing for ever
		r.stream(w, cr)
		<-over
	}, errTimeout, "")
}
