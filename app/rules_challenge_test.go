package app_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/service"
)

// Rules of challenges and credentials, and of how they travel.

// expiredChallenge: what was issued too long ago pays for nothing and moves nothing.
func expiredChallenge(t *testing.T, s *service.Seller) {
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
	old := s.Reissued(ch, func(c *mpp.Challenge, _ *mpp.SessionRequest) {
		c.Expires = mpp.FormatTime(time.Now().Add(-time.Second))
	})
	open := s.Open(4*service.Dollar, meter.Cent)
	for _, body := range []string{s.Body(0), ""} {
		s.Refused(s.Ask("POST", service.PathJobs, "", body, s.Credential(old, open)), mpp.PaymentExpired)
	}
	s.Unsent(open)
	late := s.Reissued(ch, func(c *mpp.Challenge, _ *mpp.SessionRequest) {
		c.Expires = mpp.FormatTime(time.Now().Add(20 * time.Second))
	})
	s.Ask("POST", service.PathJobs, "", s.Body(0), s.Credential(late, open)).Taken(t)
}

// endlessChallenge: one without an end that can be read was not issued here.
func endlessChallenge(t *testing.T, s *service.Seller) {
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
	open := s.Open(4*service.Dollar, meter.Cent)
	for _, end := range []string{"", "tomorrow", "2099-13-01T00:00:00Z", "4102444800"} {
		forged := s.Reissued(ch, func(c *mpp.Challenge, _ *mpp.SessionRequest) { c.Expires = end })
		s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), s.Credential(forged, open)), mpp.InvalidChallenge)
	}
	s.Unsent(open)
	expiredChallenge(t, s)
}

// otherRoutes: a challenge is good for the path that issued it, whatever it costs
// there.
func otherRoutes(t *testing.T, s *service.Seller) {
	job := s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t).Header.Get("Location")
	paths := []string{service.PathJobs, service.PathStream, "/session/deposit", job, "/explain/run/0199d5f0-0000-7000-8000-0000000000ff"}
	s.Paid += meter.Cent
	for _, from := range paths {
		ch, _ := s.Terms("POST", from, service.EventStream, "")
		for _, to := range paths {
			if from == to {
				continue
			}
			s.Refused(s.Ask("POST", to, service.EventStream, "", s.Credential(ch, s.Voucher(s.Paid))), mpp.InvalidChallenge)
		}
	}
	ch, _ := s.Terms("POST", "/session/deposit", "", "")
	s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(1), s.Credential(ch, s.Voucher(s.Paid))), mpp.InvalidChallenge)
	s.Paid -= meter.Cent
	if n := s.Spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
}

// forgedScope: a scope that the server has not put there, and one that it has put
// somewhere else.
func forgedScope(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, 2*meter.Cent)).Taken(t)
	ch, _ := s.Terms("POST", service.PathStream, service.EventStream, s.Body(1))
	own, _ := s.Terms("POST", service.PathJobs, "", s.Body(1))
	forged := *ch
	forged.Opaque = own.Opaque
	s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(1), s.Credential(&forged, s.Voucher(s.Paid))), mpp.InvalidChallenge)
	for _, scope := range []map[string]string{{}, {"scope": ""}, {"scope": service.PathJobs + "/"}, {"scope": service.PathJobs, "more": "x"}, {"_mppx_scope": service.PathJobs}} {
		opaque, err := mpp.EncodeOpaque(scope)
		if err != nil {
			t.Fatal(err)
		}
		sealed := s.Reissued(own, func(c *mpp.Challenge, _ *mpp.SessionRequest) { c.Opaque = opaque })
		s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(1), s.Credential(sealed, s.Voucher(s.Paid))), mpp.InvalidChallenge)
	}
	otherRoutes(t, &service.Seller{Payer: s.Another(t), World: s.World, Data: s.Data})
}

// otherTerms: what the server would not ask for now, whoever sealed it.
func otherTerms(t *testing.T, s *service.Seller) {
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
	open := s.Open(4*service.Dollar, meter.Cent)
	f := func(change func(*mpp.Challenge, *mpp.SessionRequest)) {
		t.Helper()
		for _, body := range []string{s.Body(0), ""} {
			s.Refused(s.Ask("POST", service.PathJobs, "", body, s.Credential(s.Reissued(ch, change), open)), mpp.InvalidChallenge)
		}
	}
	f(func(_ *mpp.Challenge, q *mpp.SessionRequest) { q.ChainID = 4217 })
	f(func(_ *mpp.Challenge, q *mpp.SessionRequest) { q.EscrowContract[19] = 1 })
	f(func(_ *mpp.Challenge, q *mpp.SessionRequest) { q.Recipient[19] ^= 1 })
	f(func(_ *mpp.Challenge, q *mpp.SessionRequest) { q.Currency[19] ^= 1 })
	f(func(_ *mpp.Challenge, q *mpp.SessionRequest) { q.Operator[19] = 1 })
	f(func(c *mpp.Challenge, _ *mpp.SessionRequest) { c.Realm = "other.test" })
	f(func(c *mpp.Challenge, _ *mpp.SessionRequest) { c.Intent = "charge" })
	f(func(c *mpp.Challenge, _ *mpp.SessionRequest) { c.Method = "stripe" })
	s.Unsent(open)
	for _, other := range []func(*mpp.SessionRequest){func(q *mpp.SessionRequest) { q.UnitType = "token" }, func(q *mpp.SessionRequest) { q.Amount = tempo.AmountFrom(1) }} {
		sealed := s.Reissued(ch, func(_ *mpp.Challenge, q *mpp.SessionRequest) { other(q) })
		s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), s.Credential(sealed, open)), mpp.InvalidChallenge)
	}
	s.Unsent(open)
}

// realmIsConfigured: no request names the realm.
func realmIsConfigured(t *testing.T, s *service.Seller) {
	for _, host := range []string{"evil.example", "shop.test.evil.example", "127.0.0.1"} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", s.Base+service.PathJobs, strings.NewReader(s.Body(0)))
		req.Host = host
		for name, v := range map[string]string{"Content-Type": "application/json", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example", "Origin": "https://evil.example"} {
			req.Header.Set(name, v)
		}
		resp, err := s.Web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		service.ReadAnswer(t, resp)
		if ch, _ := s.Challenge(resp.Header); ch.Realm != "shop.test" {
			t.Errorf("realm %q for Host %q", ch.Realm, host)
		}
	}
}

// freeDescription: it is for people, and not bound.
func freeDescription(t *testing.T, s *service.Seller) {
	for i, text := range []string{"", "another", strings.Repeat("x", 500)} {
		ch, q := s.Terms("POST", service.PathJobs, "", s.Body(i))
		if ch.Description == "" {
			t.Error("a challenge without a description")
		}
		ch.Description = text
		s.Ask("POST", service.PathJobs, "", s.Body(i), s.Credential(ch, s.Next(q, meter.Cent))).Taken(t)
	}
}

// emptyID: ids that nobody issued, and requests longer than any.
func emptyID(t *testing.T, s *service.Seller) {
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
	credential := s.Credential(ch, s.Open(4*service.Dollar, meter.Cent))
	f := func(want mpp.ProblemType, name string, value any) {
		t.Helper()
		s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), s.Forge(credential, func(doc map[string]any) { doc["challenge"].(map[string]any)[name] = value })), want)
	}
	f(mpp.MalformedCredential, "id", "")
	f(mpp.MalformedCredential, "id", 7)
	f(mpp.InvalidChallenge, "id", "x")
	f(mpp.InvalidChallenge, "id", ch.ID+"A")
	f(mpp.InvalidChallenge, "request", base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"amount":"1","x":%q}`, strings.Repeat("x", 6000))))
	if got := s.Ask("POST", service.PathJobs, "", s.Body(0), "Payment "+strings.Repeat("A", 17<<10)); got.Status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d %.100s", got.Status, got.Body)
	}
}

// proofPaysNothing: the proof of an account, by which a client learns of its channel,
// is no payment for anything.
func proofPaysNothing(t *testing.T, s *service.Seller) {
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(0))
	proof := s.Forge(s.Credential(ch, s.Open(4*service.Dollar, meter.Cent)), func(doc map[string]any) {
		doc["payload"] = map[string]any{"type": "proof", "signature": "0x" + strings.Repeat("11", 65)}
	})
	s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), proof), mpp.InvalidPayload)
	for _, path := range []string{service.PathJobs, service.PathStream, "/session/deposit"} {
		if got := s.Ask("HEAD", path, "", "", proof); got.Status != 402 || got.Header.Get("Payment-Receipt") != "" {
			t.Errorf("%s: %d", path, got.Status)
		}
		credential := s.Prove(path)
		if got := s.Ask("HEAD", path, "", "", credential); got.Status != 204 || got.Header.Get("Payment-Receipt") != "" || got.Header.Get("Payment-Session") != "" {
			t.Errorf("%s: %d %v", path, got.Status, got.Header)
		}
		body := s.Body(0)
		if path == "/session/deposit" {
			body = ""
		}
		s.Refused(s.Ask("POST", path, service.EventStream, body, credential), mpp.InvalidChallenge)
	}
}

// credentialForms are all ways to write one that mean the same.
func credentialForms(t *testing.T, s *service.Seller) {
	f := func(i int, header func(token string) string) {
		t.Helper()
		ch, q := s.Terms("POST", service.PathJobs, "", s.Body(i))
		token := strings.TrimPrefix(s.Credential(ch, s.Next(q, meter.Cent)), "Payment ")
		s.Ask("POST", service.PathJobs, "", s.Body(i), "", header(token)).Taken(t)
	}
	raw := func(token string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	f(0, func(token string) string { return "Authorization: payment " + token })
	f(1, func(token string) string { return "Authorization: PAYMENT    " + token })
	f(2, func(token string) string {
		return "Authorization: Payment " + base64.StdEncoding.EncodeToString(raw(token))
	})
	f(3, func(token string) string {
		return "Authorization: Payment " + base64.URLEncoding.EncodeToString(append(raw(token), ' '))
	})
	// The challenge selects Authorization.
	ch, q := s.Terms("POST", service.PathJobs, "", s.Body(4))
	s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(4), "", "Payment-Authorization: "+s.Credential(ch, s.Next(q, meter.Cent))), mpp.MalformedCredential)
}

// schemesBeside: a credential is found beside those of other schemes, and nowhere
// else.
func schemesBeside(t *testing.T, s *service.Seller) {
	f := func(i int, header func(credential string) string) {
		t.Helper()
		ch, q := s.Terms("POST", service.PathJobs, "", s.Body(i))
		s.Ask("POST", service.PathJobs, "", s.Body(i), "", header(s.Credential(ch, s.Next(q, meter.Cent)))).Taken(t)
	}
	f(0, func(c string) string { return `Authorization: Digest realm="x, Payment AAAA", ` + c })
	f(1, func(c string) string { return "Authorization: Bearer x, " + c })
	f(2, func(c string) string { return "Authorization: " + c + ", Bearer x" })
	s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(3), `Digest realm="x, Payment AAAA"`), mpp.PaymentRequired)
}

// severalCredentials: one request pays with one; and what a receipt is on is the
// payer's alone.
func severalCredentials(t *testing.T, s *service.Seller) {
	ch, q := s.Terms("POST", service.PathJobs, "", s.Body(0))
	c := s.Credential(ch, s.Next(q, meter.Cent))
	for _, more := range [][]string{{"Authorization: " + c, "Authorization: " + c}, {"Authorization: " + c + ", " + c}, {"Authorization: " + c, "Payment-Authorization: " + c}} {
		for _, body := range []string{s.Body(0), ""} {
			s.Refused(s.Ask("POST", service.PathJobs, "", body, "", more...), mpp.BadRequest)
		}
	}
	got := s.Ask("POST", service.PathJobs, "", s.Body(0), c).Taken(t)
	if keep := got.Header.Get("Cache-Control"); !strings.Contains(keep, "private") || !strings.Contains(keep, "no-store") {
		t.Errorf("Cache-Control %q", keep)
	}
	if !strings.HasPrefix(string(mpp.BadRequest.URI()), "https://paymentauth.org/problems/") {
		t.Error(mpp.BadRequest.URI())
	}
}

// credentialBombs cost little, and are answered.
func credentialBombs(t *testing.T, s *service.Seller) {
	token := func(doc string) string { return "Payment " + base64.RawURLEncoding.EncodeToString([]byte(doc)) }
	for _, doc := range []string{strings.Repeat("[", 8000), `{"challenge":` + strings.Repeat(`{"a":`, 2000), `{"challenge":{},"payload":` + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + `}`} {
		s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), token(doc)), mpp.MalformedCredential)
	}
	// The server reads no more of it than its bound: it answers, or has hung up.
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.Base+service.PathJobs, strings.NewReader(s.Body(0)))
	req.Header.Set("Authorization", "Payment "+strings.Repeat("A", 1<<20))
	if resp, err := s.Web.Do(req); err == nil {
		if status, _ := service.ReadAnswer(t, resp); status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d", status)
		}
	}
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
}

// opaqueObject: what clients of an early version echo.
func opaqueObject(t *testing.T, s *service.Seller) {
	ch, q := s.Terms("POST", service.PathJobs, "", s.Body(0))
	c := s.Forge(s.Credential(ch, s.Next(q, meter.Cent)), func(doc map[string]any) {
		doc["challenge"].(map[string]any)["opaque"] = map[string]any{"scope": service.PathJobs}
	})
	s.Ask("POST", service.PathJobs, "", s.Body(0), c).Taken(t)
}

// noDigest: none is issued, and none that is added passes.
func noDigest(t *testing.T, s *service.Seller) {
	ch, q := s.Terms("POST", service.PathJobs, "", s.Body(0))
	if ch.Digest != "" {
		t.Errorf("digest %s", ch.Digest)
	}
	payload := s.Next(q, meter.Cent)
	forged := *ch
	forged.Digest = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"
	s.Refused(s.Ask("POST", service.PathJobs, "", s.Body(0), s.Credential(&forged, payload)), mpp.InvalidChallenge)
	s.Ask("POST", service.PathJobs, "", s.Body(0), s.Credential(ch, payload)).Taken(t)
}

// bodyDecides: not what the headers say of it.
func bodyDecides(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	ch, _ := s.Terms("POST", service.PathJobs, "", s.Body(1))
	s.Paid += meter.Cent
	got := s.Chunked("POST", service.PathJobs, "", s.Credential(ch, s.Voucher(s.Paid)))
	if rc := s.Receipt(got.Header); got.Status != 204 || rc.Spent != tempo.AmountFrom(meter.Cent) {
		t.Errorf("chunked and empty: %d, spent %s", got.Status, rc.Spent)
	}
	got = s.Chunked("POST", service.PathJobs, s.Body(1), s.Credential(ch, s.Voucher(s.Paid))).Taken(t)
	if rc := s.Receipt(got.Header); rc.Spent != tempo.AmountFrom(2*meter.Cent) {
		t.Errorf("chunked: spent %s", rc.Spent)
	}
}

// emptyAnswers: 204 and 304 have no body, and nothing that announces one.
func emptyAnswers(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, 2*meter.Cent)).Taken(t)
	ch, _ := s.Terms("POST", service.PathJobs, "", "")
	tag := s.Ask("GET", "/openapi.json", "", "", "").Header.Get("ETag")
	for _, resp := range []*http.Response{
		s.Send("POST", service.PathJobs, "", "", s.Credential(ch, s.Voucher(s.Paid))), s.Send("HEAD", service.PathJobs, "", "", s.Credential(ch, s.Voucher(s.Paid))),
		s.Send("GET", "/openapi.json", "", "", "", "If-None-Match: "+tag),
	} {
		status, body := service.ReadAnswer(t, resp)
		if status != 204 && status != 304 || body != "" || len(resp.TransferEncoding) > 0 || resp.ContentLength > 0 || resp.Header.Get("Content-Type") != "" || resp.Header.Get("Content-Length") > "0" {
			t.Errorf("%d %q %v, length %d", status, body, resp.Header, resp.ContentLength)
		}
	}
}

// noRedirects: a client that follows one would sign for another address.
func noRedirects(t *testing.T, s *service.Seller) {
	for _, path := range []string{"/explain/", "/EXPLAIN", "/explain/async/", "/result", "/session/deposit/"} {
		if got := s.Ask("POST", path, service.EventStream, s.Body(0), ""); got.Status/100 == 3 || got.Header.Get("Location") != "" {
			t.Errorf("%s: %d %v", path, got.Status, got.Header)
		}
	}
}

// corsOfPayments: a page may send what a payer sends and read what it reads.
func corsOfPayments(t *testing.T, s *service.Seller) {
	got := s.Ask("POST", service.PathJobs, "", s.Body(0), "", "Origin: https://app.example")
	for _, name := range []string{"WWW-Authenticate", "Payment-Receipt", "Payment-Session", "Payment-Session-Snapshot"} {
		if !strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s cannot be read", name)
		}
	}
	got = s.Ask("OPTIONS", service.PathJobs, "", "", "", "Origin: https://app.example", "Access-Control-Request-Method: POST")
	for _, name := range []string{"Authorization", "Payment-Authorization", "Accept-Payment", "Payment-Session", "Idempotency-Key"} {
		if !slices.Contains(strings.Split(got.Header.Get("Access-Control-Allow-Headers"), ", "), name) {
			t.Errorf("%s cannot be sent", name)
		}
	}
}

// otherPayeeOrToken: a channel that pays somebody else, or in something else, does
// not pay here, whatever is done with it.
func otherPayeeOrToken(t *testing.T, s *service.Seller) {
	for _, change := range []func(*tempo.OpenCall){
		func(c *tempo.OpenCall) { c.Payee = common.HexToAddress(otherPayee) }, func(c *tempo.OpenCall) { c.Token[19] = 1 }, func(c *tempo.OpenCall) { c.Operator = common.Address{7} },
	} {
		call := s.OpenCall(4 * service.Dollar)
		change(&call)
		open := s.OpenBy(s.Transaction(call), meter.Cent)
		for _, payload := range []mpp.Payload{open, s.Voucher(meter.Cent), s.TopUp(service.Dollar), s.Closing(meter.Cent)} {
			s.Refused(s.Order(0, payload), mpp.VerificationFailed)
			s.Refused(s.Manage(payload), mpp.VerificationFailed)
		}
		s.Unsent(open)
	}
}

// otherPayee is an address that no seller is paid to, but where it says so.
const otherPayee = "0x00000000000000000000000000000000000000AA"

// foreignSignatures: only what the chain verifies counts as a signature.
func foreignSignatures(t *testing.T, s *service.Seller) {
	s.Order(0, s.Open(4*service.Dollar, meter.Cent)).Taken(t)
	good := s.Voucher(3 * meter.Cent)
	sig := good.Signature
	from := s.Key.Address()
	other, _ := service.SecretKey(77)
	mainnet, _ := tempo.NewDomain(4217, s.Domain.Escrow()).Sign(s.Key, s.Ref.ChannelID, good.CumulativeAmount)
	escrow, _ := tempo.NewDomain(s.Chain.ChainID(), common.Address{1}).Sign(s.Key, s.Ref.ChannelID, good.CumulativeAmount)
	stranger, _ := s.Domain.Sign(other, s.Ref.ChannelID, good.CumulativeAmount)
	f := func(signature ...[]byte) {
		t.Helper()
		v := &mpp.Voucher{ChannelRef: s.Ref, CumulativeAmount: good.CumulativeAmount, Signature: slices.Concat(signature...)}
		if got := s.Order(1, v); got.Status != 402 || !strings.Contains(got.Body, `problems/session/invalid-signature`) && !strings.Contains(got.Body, "problems/invalid-payload") {
			t.Errorf("%d %s for %x", got.Status, got.Body, v.Signature)
		}
	}
	changed := func(at int, v byte) []byte { out := bytes.Clone(sig); out[at] = v; return out }
	f([]byte{0x03}, from[:], sig)
	f([]byte{0x04}, from[:], sig)
	f([]byte{0x05}, sig)
	f(sig, bytes.Repeat([]byte{0x77}, 32))
	f(sig, []byte{0})
	f(sig[:64])
	f(nil)
	f(changed(64, 26))
	f(changed(64, 29))
	f(make([]byte, 32), sig[32:])
	f(sig[:32], make([]byte, 32), sig[64:])
	f(bytes.Repeat([]byte{0xff}, 32), sig[32:])
	f(mainnet.Bytes())
	f(escrow.Bytes())
	f(stranger.Bytes())
	if n := s.Spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
}
