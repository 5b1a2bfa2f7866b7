package main

import (
	"encoding/base64"
	stdjson "encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// TestMatrix has a case for each row of the matrix of problem details (5.5): what a
// session server answers to each thing that a client can send. Where this server
// means to differ from the published one the case says so.
func TestMatrix(t *testing.T) { runProtocol(t, matrix) }

var matrix = []protocolCase{
	{name: "1 no credential or another scheme", run: func(t *testing.T, s *shop) {
		for _, credential := range []string{"", "Bearer x"} {
			s.refused(s.ask("POST", pathJobs, "", s.body(0), credential), mpp.PaymentRequired)
			s.refused(s.ask("POST", pathStream, events, s.body(0), credential), mpp.PaymentRequired)
			s.refused(s.ask("POST", "/session/deposit", "", "", credential), mpp.PaymentRequired)
		}
	}},
	{name: "2 garbage", run: func(t *testing.T, s *shop) {
		for _, token := range []string{"%%%", "AAAA", base64.RawURLEncoding.EncodeToString([]byte(`{"payload":{}}`)), base64.RawURLEncoding.EncodeToString([]byte(`[]`)), ""} {
			for _, body := range []string{"", s.body(0)} {
				s.refused(s.ask("POST", pathJobs, "", body, "Payment "+token), mpp.MalformedCredential)
			}
		}
	}},
	{name: "3 tampered id, amount, expires", run: func(t *testing.T, s *shop) {
		ch, q := s.terms("POST", pathJobs, "", s.body(0))
		payload := s.open(16*dollar, meter.Cent)
		f := func(change func(*mpp.Challenge)) {
			t.Helper()
			forged := *ch
			change(&forged)
			s.refused(s.ask("POST", pathJobs, "", s.body(0), s.credential(&forged, payload)), mpp.InvalidChallenge)
		}
		f(func(c *mpp.Challenge) { c.ID = strings.Repeat("A", 43) })
		f(func(c *mpp.Challenge) { c.Expires = mpp.FormatTime(time.Now().Add(time.Hour)) })
		f(func(c *mpp.Challenge) {
			cheap := *q
			cheap.Amount = tempo.AmountFrom(1)
			c.Request, _ = cheap.Encode()
		})
		s.unsent(payload)
	}},
	{name: "4 open without its members, unknown action", run: func(t *testing.T, s *shop) {
		f := func(change func(payload map[string]any)) {
			t.Helper()
			ch, _ := s.terms("POST", pathJobs, "", s.body(0))
			credential := s.forge(s.credential(ch, s.open(16*dollar, meter.Cent)), func(doc map[string]any) { change(doc["payload"].(map[string]any)) })
			s.refused(s.ask("POST", pathJobs, "", s.body(0), credential), mpp.InvalidPayload)
		}
		for _, name := range []string{"transaction", "signature", "cumulativeAmount", "type", "channelId", "action"} {
			f(func(p map[string]any) { delete(p, name) })
		}
		f(func(p map[string]any) { p["action"] = "refund" })
		f(func(p map[string]any) { p["cumulativeAmount"] = "79228162514264337593543950336" }) // 2^96
		f(func(p map[string]any) { p["cumulativeAmount"] = 10000 })
	}},
	// Otherwise than the published server: the voucher of an open may be zero; it is the
	// charge that it does not cover.
	{name: "5 open with cumulative 0", run: func(t *testing.T, s *shop) {
		payload := s.open(16*dollar, 0)
		p := s.refused(s.order(0, payload), mpp.InsufficientBalance)
		if p.RequiredTopUp != tempo.AmountFrom(meter.Cent) {
			t.Errorf("required %s", p.RequiredTopUp)
		}
		s.paid = meter.Cent // the channel is open: a voucher is all that lacks
		s.order(0, s.voucher(s.paid)).taken(t)
	}},
	{name: "6 open with another channel id or no descriptor", run: func(t *testing.T, s *shop) {
		f := func(change func(payload map[string]any)) {
			t.Helper()
			ch, _ := s.terms("POST", pathJobs, "", s.body(0))
			payload := s.open(16*dollar, meter.Cent)
			credential := s.forge(s.credential(ch, payload), func(doc map[string]any) { change(doc["payload"].(map[string]any)) })
			s.refused(s.ask("POST", pathJobs, "", s.body(0), credential), mpp.VerificationFailed)
			s.unsent(payload)
		}
		f(func(p map[string]any) { p["channelId"] = common.Hash{1}.Hex() })
		f(func(p map[string]any) { delete(p, "descriptor") })
		f(func(p map[string]any) { p["descriptor"].(map[string]any)["salt"] = common.Hash{2}.Hex() })
	}},
	{name: "7 open with a corrupted voucher signature", run: func(t *testing.T, s *shop) {
		for _, at := range []int{3, 40, 64} {
			payload := s.open(16*dollar, meter.Cent)
			payload.Signature[at] ^= 4
			s.refused(s.order(0, payload), mpp.InvalidSignature)
			s.unsent(payload)
		}
	}},
	{name: "8 open", run: func(t *testing.T, s *shop) {
		job := s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
		rc := s.receipt(job.header)
		if rc.AcceptedCumulative != tempo.AmountFrom(meter.Cent) || rc.Spent != rc.AcceptedCumulative || rc.Units != 1 || rc.TxHash == (common.Hash{}) {
			t.Errorf("receipt %+v", rc)
		}
		// Under GET as well: somebody else pays for the job.
		other := s.another(t)
		resp, _, _ := other.buy("GET", job.header.Get("Location"), "", "")
		for resp.StatusCode == http.StatusPaymentRequired { // it ended after its challenge
			read(t, resp)
			resp, _, _ = other.buy("GET", job.header.Get("Location"), "", "")
		}
		if rc := other.receipt(resp.Header); resp.StatusCode != 200 || rc.Spent != rc.AcceptedCumulative || rc.Spent.IsZero() {
			t.Errorf("%d, receipt %+v", resp.StatusCode, rc)
		}
		read(t, resp)
	}},
	// Otherwise than the published server where the request is the same, too: it is
	// answered by what it began, and charged once.
	{name: "9 the same open and the same voucher again", run: func(t *testing.T, s *shop) {
		open := s.open(16*dollar, meter.Cent)
		first := s.order(0, open).taken(t)
		if again := s.order(0, open).taken(t); again.body != first.body {
			t.Errorf("another job: %s, %s", again.body, first.body)
		}
		s.refused(s.order(1, open), mpp.InsufficientBalance)
		s.paid += meter.Cent
		second := s.order(1, s.voucher(s.paid)).taken(t)
		if again := s.order(1, s.voucher(s.paid)).taken(t); again.body != second.body || second.body == first.body {
			t.Errorf("jobs %s, %s, %s", first.body, second.body, again.body)
		}
		s.refused(s.order(2, s.voucher(s.paid)), mpp.InsufficientBalance)
		if n := s.spent(); n != 2*meter.Cent {
			t.Errorf("spent %d", n)
		}
	}},
	{name: "10 lower voucher", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(16*dollar, 5*meter.Cent)).taken(t)
		s.refused(s.order(1, s.voucher(5*meter.Cent-1)), mpp.VerificationFailed)
		s.refused(s.manage(s.voucher(0)), mpp.VerificationFailed)
		if n := s.spent(); n != meter.Cent {
			t.Errorf("spent %d", n)
		}
	}},
	{name: "11 voucher above the deposit", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
		s.refused(s.order(1, s.voucher(16*dollar+1)), mpp.AmountExceedsDeposit)
		s.paid = 16 * dollar
		s.order(1, s.voucher(s.paid)).taken(t)
		// Not where the payer has topped up past the server.
		s.onChain(tempo.TopUpCall{Descriptor: s.ref.Descriptor, Additional: tempo.AmountFrom(dollar)})
		s.paid = 17 * dollar
		s.order(2, s.voucher(s.paid)).taken(t)
	}},
	{name: "12 voucher by HEAD or by POST without a body", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
		for i, path := range []string{pathJobs, pathStream, "/result/0199d5f0-0000-7000-8000-0000000000ff", "/explain/run/0199d5f0-0000-7000-8000-0000000000ff", "/session/deposit"} {
			for _, form := range []func(string) said{
				func(c string) said { return s.ask("HEAD", path, "", "", c) },
				func(c string) said { return s.ask("POST", path, "", "", c) },
				func(c string) said { return s.ask("POST", path, events, "", c, "Content-Type: application/json") },
				func(c string) said { return s.chunked("POST", path, "", c) },
			} {
				ch, _ := s.terms("POST", path, "", "")
				s.paid += meter.Cent
				got := form(s.credential(ch, s.voucher(s.paid)))
				if path == "/session/deposit" && got.status == 200 && got.body == `{"ok":true}` {
					got.status, got.body = 204, "" // its own answer, which serves nothing
				}
				rc := s.receipt(got.header)
				if got.status != 204 || got.body != "" || rc.Spent != tempo.AmountFrom(meter.Cent) || rc.Units != 1 || rc.AcceptedCumulative != tempo.AmountFrom(s.paid) {
					t.Errorf("%d %s: %d %s, receipt %+v", i, path, got.status, got.body, rc)
				}
			}
		}
	}},
	{name: "13 voucher by POST with a body", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
		s.paid += meter.Cent
		if rc := s.receipt(s.order(1, s.voucher(s.paid)).taken(t).header); rc.Spent != tempo.AmountFrom(2*meter.Cent) || rc.Units != 2 {
			t.Errorf("receipt %+v", rc)
		}
	}},
	{name: "14 voucher by POST without a body, with a query", run: queryIsManagement},
	// Otherwise than the published server: the voucher's signature proves who pays, so a
	// credential need not say it.
	{name: "15 source missing or foreign", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
		f := func(source mpp.Source) said {
			ch, _ := s.terms("POST", pathJobs, "", s.body(1))
			return s.ask("POST", pathJobs, "", s.body(1), s.credentialOf(ch, s.voucher(s.paid), source))
		}
		s.paid += meter.Cent
		s.refused(f(mpp.Source{ChainID: s.chain.ChainID(), Address: common.Address{7}}), mpp.VerificationFailed)
		s.refused(f(mpp.Source{ChainID: 4217, Address: s.key.Address()}), mpp.VerificationFailed)
		if n := s.receipt(f(mpp.Source{}).taken(t).header).Spent; n != tempo.AmountFrom(2*meter.Cent) {
			t.Errorf("spent %s", n)
		}
	}},
	{name: "16 unknown channel", run: func(t *testing.T, s *shop) {
		s.open(16*dollar, meter.Cent) // never sent
		s.refused(s.order(0, s.voucher(meter.Cent)), mpp.ChannelNotFound)
		s.refused(s.manage(s.voucher(meter.Cent)), mpp.ChannelNotFound)
		s.refused(s.manage(s.topUp(dollar)), mpp.ChannelNotFound)
		s.refused(s.manage(s.closing(meter.Cent)), mpp.ChannelNotFound)
	}},
	{name: "17 close requested on chain, and taken back", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
		s.onChain(tempo.RequestCloseCall{Descriptor: s.ref.Descriptor})
		s.refused(s.order(1, s.voucher(16*dollar+1)), mpp.ChannelFinalized) // above the deposit: the chain is asked at once
		s.refused(s.order(1, s.voucher(2*meter.Cent)), mpp.ChannelFinalized)
		s.onChain(tempo.TopUpCall{Descriptor: s.ref.Descriptor})
		s.paid += meter.Cent
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
			got := s.order(1, s.voucher(s.paid))
			if got.status == 202 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the channel stays dead: %s", got.body)
			}
		}
	}},
	{name: "18 close below what was spent", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
		s.refused(s.manage(s.closing(meter.Cent-1)), mpp.VerificationFailed)
		s.refused(s.manage(s.closing(0)), mpp.VerificationFailed)
		s.close(meter.Cent)
	}},
	{name: "19 close by any method", run: func(t *testing.T, s *shop) {
		const run = "/explain/run/0199d5f0-0000-7000-8000-0000000000ff"
		for _, f := range []struct{ method, path, accept, body string }{
			{"POST", pathStream, "", ""}, {"HEAD", pathStream, "", ""}, {"POST", pathStream, "", s.body(0)}, {"POST", pathStream, events, `{}`},
			{"POST", pathJobs, "", s.body(0)}, {"HEAD", pathJobs, "", ""}, {"GET", run, "", ""}, {"HEAD", run, "", ""}, {"POST", run, "", ""}, {"POST", "/session/deposit", "", "{}"},
		} {
			s.order(0, s.open(4*dollar, 3*meter.Cent)).taken(t)
			ch, _ := s.terms("POST", f.path, events, "")
			got := s.ask(f.method, f.path, f.accept, f.body, s.credential(ch, s.closing(s.paid)))
			rc := s.receipt(got.header)
			if got.status != 204 || got.body != "" || rc.TxHash == (common.Hash{}) || rc.AcceptedCumulative != tempo.AmountFrom(s.paid) {
				t.Errorf("%+v: %d %s, receipt %+v", f, got.status, got.body, rc)
			}
			s.booked(meter.Cent)
		}
	}},
	{name: "20 voucher after the close", run: func(t *testing.T, s *shop) {
		s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
		s.close(meter.Cent)
		s.refused(s.order(1, s.voucher(2*meter.Cent)), mpp.ChannelFinalized)
		s.refused(s.manage(s.voucher(meter.Cent)), mpp.ChannelFinalized)
		s.refused(s.manage(s.topUp(dollar)), mpp.ChannelFinalized)
		s.refused(s.order(1, s.open(16*dollar, 0)), mpp.InsufficientBalance) // another one is fine
	}},
}

// queryIsManagement: whatever stands behind the question mark, a POST without a body
// only moves the channel.
func queryIsManagement(t *testing.T, s *shop) {
	s.order(0, s.open(16*dollar, meter.Cent)).taken(t)
	for _, query := range []string{"?x=1", "?", "?a=b&c=d"} {
		ch, _ := s.terms("POST", pathStream, events, s.body(1))
		s.paid += meter.Cent
		got := s.ask("POST", pathStream+query, "", "", s.credential(ch, s.voucher(s.paid)))
		if rc := s.receipt(got.header); got.status != 204 || got.body != "" || rc.Spent != tempo.AmountFrom(meter.Cent) || rc.Units != 1 {
			t.Errorf("%q: %d %s, receipt %+v", query, got.status, got.body, rc)
		}
	}
}

// refused holds an answer to a problem: its document, the fresh challenge that goes
// with what can be mended, and no receipt.
func (p *payer) refused(s said, want mpp.ProblemType) *mpp.Problem {
	p.t.Helper()
	got, err := mpp.ParseProblem([]byte(s.body))
	if err != nil || got.Type != want || s.status != want.Status() || s.header.Get("Content-Type") != mpp.ProblemMedia {
		p.t.Errorf("%d %s %.300s (%v), want %s", s.status, s.header.Get("Content-Type"), s.body, err, want)
		return &mpp.Problem{}
	}
	if s.status == http.StatusPaymentRequired || s.status == http.StatusGone {
		if ch, _ := p.challenge(s.header); ch.ID != got.ChallengeID {
			p.t.Errorf("the document names challenge %s, the header has %s", got.ChallengeID, ch.ID)
		}
	}
	if s.header.Get("Payment-Receipt") != "" || s.header.Get("Cache-Control") != "no-store" {
		p.t.Errorf("a refusal with %v", s.header)
	}
	return got
}

// taken is an order that was.
func (s said) taken(t *testing.T) said {
	t.Helper()
	if s.status != http.StatusAccepted {
		t.Fatalf("%d %s", s.status, s.body)
	}
	return s
}

// unsent: the chain has not seen the channel of a payload.
func (p *payer) unsent(payload mpp.Payload) {
	p.t.Helper()
	for _, row := range p.chain.Books().Channels {
		if row.ID == payload.Ref().ChannelID {
			p.t.Error("the transaction was sent")
		}
	}
}

// forge changes the document of a credential.
func (p *payer) forge(credential string, change func(doc map[string]any)) string {
	p.t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(credential, "Payment "))
	if err != nil {
		p.t.Fatal(err)
	}
	var doc map[string]any
	if err := stdjson.Unmarshal(raw, &doc); err != nil {
		p.t.Fatal(err)
	}
	change(doc)
	if raw, err = stdjson.Marshal(doc); err != nil {
		p.t.Fatal(err)
	}
	return "Payment " + base64.RawURLEncoding.EncodeToString(raw)
}

// chunked asks with a body of unknown length.
func (p *payer) chunked(method, path, body, credential string) said {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, struct{ *strings.Reader }{strings.NewReader(body)})
	if err != nil {
		p.t.Fatal(err)
	}
	req.ContentLength = -1
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", credential)
	resp, err := p.web.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	status, text := read(p.t, resp)
	return said{status, resp.Header, text}
}

// decoded is base64url as text.
func decoded(t *testing.T, text string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
