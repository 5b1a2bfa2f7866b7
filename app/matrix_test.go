package app_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/service"
)

// TestMatrix has a case for each row of the matrix of problem details (5.5): what a
// session server answers to each thing that a client can send. Where this server
// means to differ from the published one the case says so.
func TestMatrix(t *testing.T) { runProtocol(t, matrix) }

var matrix = []protocolCase{
	{name: "1 no credential or another scheme", run: func(t *testing.T, s *service.Seller) {
		for _, credential := range []string{"", "Bearer x"} {
			s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), credential), mpp.PaymentRequired)
			s.Refused(s.Ask("POST", service.PathStream, service.EventStream, s.Body(0), credential), mpp.PaymentRequired)
			s.Refused(s.Ask("POST", "/session/deposit", "", "", credential), mpp.PaymentRequired)
		}
	}},
	{name: "2 garbage", run: func(t *testing.T, s *service.Seller) {
		for _, token := range []string{"%%%", "AAAA", base64.RawURLEncoding.EncodeToString([]byte(`{"payload":{}}`)), base64.RawURLEncoding.EncodeToString([]byte(`[]`)), ""} {
			for _, body := range []string{"", s.Body(0)} {
				s.Refused(s.Ask("POST", service.PathJobs, "", body, "Payment "+token), mpp.MalformedCredential)
			}
		}
	}},
	{name: "3 tampered id, amount, expires", run: func(t *testing.T, s *service.Seller) {
		ch, q := s.Terms("POST", service.PathJobs, "", s.Body(0))
		payload := s.Open(16*service.Dollar, meter.Cent)
		f := func(change func(*mpp.Challenge)) {
			t.Helper()
			forged := *ch
			change(&forged)
			s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), s.Credential(&forged, payload)), mpp.InvalidChallenge)
		}
		f(func(c *mpp.Challenge) { c.ID = strings.Repeat("A", 43) })
		f(func(c *mpp.Challenge) { c.Expires = mpp.FormatTime(time.Now().Add(time.Hour)) })
		f(func(c *mpp.Challenge) {
			cheap := *q
			cheap.Amount = tempo.AmountFrom(1)
			c.Request, _ = cheap.Encode()
		})
		s.Unsent(payload)
	}},
	{name: "4 open without its members, unknown action", run: func(t *testing.T, s *service.Seller) {
		f := func(change func(payload map[string]any)) {
			t.Helper()
			ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
			credential := s.Forge(s.Credential(ch, s.Open(16*service.Dollar, meter.Cent)), func(doc map[string]any) { change(doc["payload"].(map[string]any)) })
			s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), credential), mpp.InvalidPayload)
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
	{name: "5 open with cumulative 0", run: func(t *testing.T, s *service.Seller) {
		payload := s.Open(16*service.Dollar, 0)
		p := s.Refused(s.Order(0, payload), mpp.InsufficientBalance)
		if p.RequiredTopUp != tempo.AmountFrom(meter.Cent) {
			t.Errorf("required %s", p.RequiredTopUp)
		}
		s.Paid = meter.Cent // the channel is open: a voucher is all that lacks
		s.Order(0, s.Voucher(s.Paid)).Taken(t)
	}},
	{name: "6 open with another channel id or no descriptor", run: func(t *testing.T, s *service.Seller) {
		f := func(change func(payload map[string]any)) {
			t.Helper()
			ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
			payload := s.Open(16*service.Dollar, meter.Cent)
			credential := s.Forge(s.Credential(ch, payload), func(doc map[string]any) { change(doc["payload"].(map[string]any)) })
			s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), credential), mpp.VerificationFailed)
			s.Unsent(payload)
		}
		f(func(p map[string]any) { p["channelId"] = common.Hash{1}.Hex() })
		f(func(p map[string]any) { delete(p, "descriptor") })
		f(func(p map[string]any) { p["descriptor"].(map[string]any)["salt"] = common.Hash{2}.Hex() })
	}},
	{name: "7 open with a corrupted voucher signature", run: func(t *testing.T, s *service.Seller) {
		for _, at := range []int{3, 40, 64} {
			payload := s.Open(16*service.Dollar, meter.Cent)
			payload.Signature[at] ^= 4
			s.Refused(s.Order(0, payload), mpp.InvalidSignature)
			s.Unsent(payload)
		}
	}},
	{name: "8 open", run: func(t *testing.T, s *service.Seller) {
		job := s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
		rc := s.Receipt(job.Header)
		if rc.AcceptedCumulative != tempo.AmountFrom(meter.Cent) || rc.Spent != rc.AcceptedCumulative || rc.Units != 1 || rc.TxHash == (common.Hash{}) {
			t.Errorf("receipt %+v", rc)
		}
		// Under GET as well: somebody else pays for the job.
		other := s.Another(t)
		resp, _, _ := other.Buy("GET", job.Header.Get("Location"), "", "")
		for resp.StatusCode == http.StatusPaymentRequired { // it ended after its challenge
			service.ReadAnswer(t, resp)
			resp, _, _ = other.Buy("GET", job.Header.Get("Location"), "", "")
		}
		if rc := other.Receipt(resp.Header); resp.StatusCode != 200 || rc.Spent != rc.AcceptedCumulative || rc.Spent.IsZero() {
			t.Errorf("%d, receipt %+v", resp.StatusCode, rc)
		}
		service.ReadAnswer(t, resp)
	}},
	// Otherwise than the published server where the request is the same, too: it is
	// answered by what it began, and charged once.
	{name: "9 the same open and the same voucher again", run: func(t *testing.T, s *service.Seller) {
		open := s.Open(16*service.Dollar, meter.Cent)
		first := s.Order(0, open).Taken(t)
		if again := s.Order(0, open).Taken(t); again.Body != first.Body {
			t.Errorf("another job: %s, %s", again.Body, first.Body)
		}
		s.Refused(s.Order(1, open), mpp.InsufficientBalance)
		s.Paid += meter.Cent
		second := s.Order(1, s.Voucher(s.Paid)).Taken(t)
		if again := s.Order(1, s.Voucher(s.Paid)).Taken(t); again.Body != second.Body || second.Body == first.Body {
			t.Errorf("jobs %s, %s, %s", first.Body, second.Body, again.Body)
		}
		s.Refused(s.Order(2, s.Voucher(s.Paid)), mpp.InsufficientBalance)
		if n := s.Spent(); n != 2*meter.Cent {
			t.Errorf("spent %d", n)
		}
	}},
	{name: "10 lower voucher", run: func(t *testing.T, s *service.Seller) {
		s.Order(0, s.Open(16*service.Dollar, 5*meter.Cent)).Taken(t)
		s.Refused(s.Order(1, s.Voucher(5*meter.Cent-1)), mpp.VerificationFailed)
		s.Refused(s.Manage(s.Voucher(0)), mpp.VerificationFailed)
		if n := s.Spent(); n != meter.Cent {
			t.Errorf("spent %d", n)
		}
	}},
	{name: "11 voucher above the deposit", run: func(t *testing.T, s *service.Seller) {
		s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
		s.Refused(s.Order(1, s.Voucher(16*service.Dollar+1)), mpp.AmountExceedsDeposit)
		s.Paid = 16 * service.Dollar
		s.Order(1, s.Voucher(s.Paid)).Taken(t)
		// Not where the payer has topped up past the server.
		s.OnChain(tempo.TopUpCall{Descriptor: s.Ref.Descriptor, Additional: tempo.AmountFrom(service.Dollar)})
		s.Paid = 17 * service.Dollar
		s.Order(2, s.Voucher(s.Paid)).Taken(t)
	}},
	{name: "12 voucher by HEAD or by POST without a body", run: func(t *testing.T, s *service.Seller) {
		s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
		for i, path := range []string{service.PathJobs, service.PathStream, "/result/0199d5f0-0000-7000-8000-0000000000ff", "/explain/run/0199d5f0-0000-7000-8000-0000000000ff", "/session/deposit"} {
			for _, form := range []func(string) service.Answer{
				func(c string) service.Answer { return s.Ask("HEAD", path, "", "", c) },
				func(c string) service.Answer { return s.Ask("POST", path, "", "", c) },
				func(c string) service.Answer {
					return s.Ask("POST", path, service.EventStream, "", c, "Content-Type: application/json")
				},
				func(c string) service.Answer { return s.Chunked("POST", path, "", c) },
			} {
				ch, _ := s.Terms("POST", path, "", "")
				s.Paid += meter.Cent
				got := form(s.Credential(ch, s.Voucher(s.Paid)))
				if path == "/session/deposit" && got.Status == 200 && got.Body == `{"ok":true}` {
					got.Status, got.Body = 204, "" // its own answer, which serves nothing
				}
				rc := s.Receipt(got.Header)
				if got.Status != 204 || got.Body != "" || rc.Spent != tempo.AmountFrom(meter.Cent) || rc.Units != 0 || rc.AcceptedCumulative != tempo.AmountFrom(s.Paid) {
					t.Errorf("%d %s: %d %s, receipt %+v", i, path, got.Status, got.Body, rc)
				}
			}
		}
	}},
	{name: "13 voucher by POST with a body", run: func(t *testing.T, s *service.Seller) {
		s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
		s.Paid += meter.Cent
		if rc := s.Receipt(s.Order(1, s.Voucher(s.Paid)).Taken(t).Header); rc.Spent != tempo.AmountFrom(2*meter.Cent) || rc.Units != 1 {
			t.Errorf("receipt %+v", rc)
		}
	}},
	{name: "14 voucher by POST without a body, with a query", run: queryIsManagement},
	// Otherwise than the published server: the voucher's signature proves who pays, so a
	// credential need not say it.
	{name: "15 source missing or foreign", run: func(t *testing.T, s *service.Seller) {
		s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
		f := func(source mpp.Source) service.Answer {
			ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(1))
			return s.Ask("POST", service.PathJobs, "", s.Body(1), s.CredentialOf(ch, s.Voucher(s.Paid), source))
		}
		s.Paid += meter.Cent
		s.Refused(f(mpp.Source{ChainID: s.Chain.ChainID(), Address: common.Address{7}}), mpp.VerificationFailed)
		s.Refused(f(mpp.Source{ChainID: 4217, Address: s.Key.Address()}), mpp.VerificationFailed)
		if n := s.Receipt(f(mpp.Source{}).Taken(t).Header).Spent; n != tempo.AmountFrom(2*meter.Cent) {
			t.Errorf("spent %s", n)
		}
	}},
	{name: "16 unknown channel", run: func(t *testing.T, s *service.Seller) {
		s.Open(16*service.Dollar, meter.Cent) // never sent
		s.Refused(s.Order(0, s.Voucher(meter.Cent)), mpp.ChannelNotFound)
		s.Refused(s.Manage(s.Voucher(meter.Cent)), mpp.ChannelNotFound)
		s.Refused(s.Manage(s.TopUp(service.Dollar)), mpp.ChannelNotFound)
		s.Refused(s.Manage(s.Closing(meter.Cent)), mpp.ChannelNotFound)
	}},
	{name: "17 close requested on chain, and taken back", run: func(t *testing.T, s *service.Seller) {
		s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
		s.OnChain(tempo.RequestCloseCall{Descriptor: s.Ref.Descriptor})
		s.Refused(s.Order(1, s.Voucher(16*service.Dollar+1)), mpp.ChannelFinalized) // above the deposit: the chain is asked at once
		s.Refused(s.Order(1, s.Voucher(2*meter.Cent)), mpp.ChannelFinalized)
		s.OnChain(tempo.TopUpCall{Descriptor: s.Ref.Descriptor})
		s.Paid += meter.Cent
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			got := s.Order(1, s.Voucher(s.Paid))
			if got.Status == 202 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the channel stays dead: %s", got.Body)
			}
		}
	}},
	{name: "18 close below what was spent", run: func(t *testing.T, s *service.Seller) {
		s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
		s.Refused(s.Manage(s.Closing(meter.Cent-1)), mpp.VerificationFailed)
		s.Refused(s.Manage(s.Closing(0)), mpp.VerificationFailed)
		s.Close(meter.Cent)
	}},
	{name: "19 close by any method", run: func(t *testing.T, s *service.Seller) {
		const run = "/explain/run/0199d5f0-0000-7000-8000-0000000000ff"
		for n, f := range []struct{ method, path, accept, body string }{
			{"POST", service.PathStream, "", ""}, {"HEAD", service.PathStream, "", ""}, {"POST", service.PathStream, "", s.Body(0)}, {"POST", service.PathStream, service.EventStream, `{}`},
			{"POST", service.PathJobs, "", s.Body(0)}, {"HEAD", service.PathJobs, "", ""}, {"GET", run, "", ""}, {"HEAD", run, "", ""}, {"POST", run, "", ""}, {"POST", "/session/deposit", "", "{}"},
		} {
			s.Order(n+1, s.Open(4*service.Dollar, 3*meter.Cent)).Taken(t)
			ch, _ := s.Terms("POST", f.path, service.EventStream, "")
			got := s.Ask(f.method, f.path, f.accept, f.body, s.Credential(ch, s.Closing(s.Paid)))
			rc := s.Receipt(got.Header)
			if got.Status != 204 || got.Body != "" || rc.TxHash == (common.Hash{}) || rc.AcceptedCumulative != tempo.AmountFrom(s.Paid) {
				t.Errorf("%+v: %d %s, receipt %+v", f, got.Status, got.Body, rc)
			}
			s.Booked(meter.Cent)
		}
	}},
	{name: "20 voucher after the close", run: func(t *testing.T, s *service.Seller) {
		s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
		s.Close(meter.Cent)
		s.Refused(s.Order(1, s.Voucher(2*meter.Cent)), mpp.ChannelFinalized)
		s.Refused(s.Manage(s.Voucher(meter.Cent)), mpp.ChannelFinalized)
		s.Refused(s.Manage(s.TopUp(service.Dollar)), mpp.ChannelFinalized)
		s.Refused(s.Order(1, s.Open(16*service.Dollar, 0)), mpp.InsufficientBalance) // another one is fine
	}},
}

// queryIsManagement: whatever stands behind the question mark, a POST without a body
// only moves the channel.
func queryIsManagement(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(16*service.Dollar, meter.Cent)).Taken(t)
	for _, query := range []string{"?x=1", "?", "?a=b&c=d"} {
		ch, _ := s.Terms("POST", service.PathStream, service.EventStream, s.Body(1))
		s.Paid += meter.Cent
		got := s.Ask("POST", service.PathStream+query, "", "", s.Credential(ch, s.Voucher(s.Paid)))
		if rc := s.Receipt(got.Header); got.Status != 204 || got.Body != "" || rc.Spent != tempo.AmountFrom(meter.Cent) || rc.Units != 0 {
			t.Errorf("%q: %d %s, receipt %+v", query, got.Status, got.Body, rc)
		}
	}
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
