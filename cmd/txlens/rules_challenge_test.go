package main

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
)

// Rules of challenges and credentials, and of how they travel.

// expiredChallenge: what was issued too long ago pays for nothing and moves nothing.
func expiredChallenge(t *testing.T, s *shop) {
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	old := s.reissued(ch, func(c *mpp.Challenge, _ *mpp.SessionRequest) {
		c.Expires = mpp.FormatTime(time.Now().Add(-time.Second))
	})
	open := s.open(4*dollar, meter.Cent)
	for _, body := range []string{s.body(0), ""} {
		s.refused(s.ask("POST", pathJobs, "", body, s.credential(old, open)), mpp.PaymentExpired)
	}
	s.unsent(open)
	late := s.reissued(ch, func(c *mpp.Challenge, _ *mpp.SessionRequest) {
		c.Expires = mpp.FormatTime(time.Now().Add(20 * time.Second))
	})
	s.ask("POST", pathJobs, "", s.body(0), s.credential(late, open)).taken(t)
}

// endlessChallenge: one without an end that can be read was not issued here.
func endlessChallenge(t *testing.T, s *shop) {
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	open := s.open(4*dollar, meter.Cent)
	for _, end := range []string{"", "tomorrow", "2099-13-01T00:00:00Z", "4102444800"} {
		forged := s.reissued(ch, func(c *mpp.Challenge, _ *mpp.SessionRequest) { c.Expires = end })
		s.refused(s.ask("POST", pathJobs, "", s.body(0), s.credential(forged, open)), mpp.InvalidChallenge)
	}
	s.unsent(open)
	expiredChallenge(t, s)
}

// otherRoutes: a challenge is good for the path that issued it, whatever it costs
// there.
func otherRoutes(t *testing.T, s *shop) {
	job := s.order(0, s.open(4*dollar, meter.Cent)).taken(t).header.Get("Location")
	paths := []string{pathJobs, pathStream, "/session/deposit", job, "/explain/run/0199d5f0-0000-7000-8000-0000000000ff"}
	s.paid += meter.Cent
	for _, from := range paths {
		ch, _ := s.terms("POST", from, events, "")
		for _, to := range paths {
			if from == to {
				continue
			}
			s.refused(s.ask("POST", to, events, "", s.credential(ch, s.voucher(s.paid))), mpp.InvalidChallenge)
		}
	}
	ch, _ := s.terms("POST", "/session/deposit", "", "")
	s.refused(s.ask("POST", pathJobs, "", s.body(1), s.credential(ch, s.voucher(s.paid))), mpp.InvalidChallenge)
	s.paid -= meter.Cent
	if n := s.spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
}

// forgedScope: a scope that the server has not put there, and one that it has put
// somewhere else.
func forgedScope(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, 2*meter.Cent)).taken(t)
	ch, _ := s.terms("POST", pathStream, events, s.body(1))
	own, _ := s.terms("POST", pathJobs, "", s.body(1))
	forged := *ch
	forged.Opaque = own.Opaque
	s.refused(s.ask("POST", pathJobs, "", s.body(1), s.credential(&forged, s.voucher(s.paid))), mpp.InvalidChallenge)
	for _, scope := range []map[string]string{{}, {"scope": ""}, {"scope": pathJobs + "/"}, {"scope": pathJobs, "more": "x"}, {"_mppx_scope": pathJobs}} {
		opaque, err := mpp.EncodeOpaque(scope)
		if err != nil {
			t.Fatal(err)
		}
		sealed := s.reissued(own, func(c *mpp.Challenge, _ *mpp.SessionRequest) { c.Opaque = opaque })
		s.refused(s.ask("POST", pathJobs, "", s.body(1), s.credential(sealed, s.voucher(s.paid))), mpp.InvalidChallenge)
	}
	otherRoutes(t, &shop{payer: s.another(t), w: s.w, data: s.data})
}

// otherTerms: what the server would not ask for now, whoever sealed it.
func otherTerms(t *testing.T, s *shop) {
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	open := s.open(4*dollar, meter.Cent)
	f := func(change func(*mpp.Challenge, *mpp.SessionRequest)) {
		t.Helper()
		for _, body := range []string{s.body(0), ""} {
			s.refused(s.ask("POST", pathJobs, "", body, s.credential(s.reissued(ch, change), open)), mpp.InvalidChallenge)
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
	s.unsent(open)
	for _, other := range []func(*mpp.SessionRequest){func(q *mpp.SessionRequest) { q.UnitType = "token" }, func(q *mpp.SessionRequest) { q.Amount = tempo.AmountFrom(1) }} {
		sealed := s.reissued(ch, func(_ *mpp.Challenge, q *mpp.SessionRequest) { other(q) })
		s.refused(s.ask("POST", pathJobs, "", s.body(0), s.credential(sealed, open)), mpp.InvalidChallenge)
	}
	s.unsent(open)
}

// realmIsConfigured: no request names the realm.
func realmIsConfigured(t *testing.T, s *shop) {
	for _, host := range []string{"evil.example", "shop.test.evil.example", "127.0.0.1"} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", s.base+pathJobs, strings.NewReader(s.body(0)))
		req.Host = host
		for name, v := range map[string]string{"Content-Type": "application/json", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example", "Origin": "https://evil.example"} {
			req.Header.Set(name, v)
		}
		resp, err := s.web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if ch, _ := s.challenge(resp.Header); ch.Realm != "shop.test" {
			t.Errorf("realm %q for Host %q", ch.Realm, host)
		}
	}
}

// freeDescription: it is for people, and not bound.
func freeDescription(t *testing.T, s *shop) {
	for i, text := range []string{"", "another", strings.Repeat("x", 500)} {
		ch, q := s.terms("POST", pathJobs, "", s.body(i))
		if ch.Description == "" {
			t.Error("a challenge without a description")
		}
		ch.Description = text
		s.ask("POST", pathJobs, "", s.body(i), s.credential(ch, s.next(q, meter.Cent))).taken(t)
	}
}

// emptyID: ids that nobody issued, and requests longer than any.
func emptyID(t *testing.T, s *shop) {
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	credential := s.credential(ch, s.open(4*dollar, meter.Cent))
	f := func(want mpp.ProblemType, name string, value any) {
		t.Helper()
		s.refused(s.ask("POST", pathJobs, "", s.body(0), s.forge(credential, func(doc map[string]any) { doc["challenge"].(map[string]any)[name] = value })), want)
	}
	f(mpp.MalformedCredential, "id", "")
	f(mpp.MalformedCredential, "id", 7)
	f(mpp.InvalidChallenge, "id", "x")
	f(mpp.InvalidChallenge, "id", ch.ID+"A")
	f(mpp.InvalidChallenge, "request", base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"amount":"1","x":%q}`, strings.Repeat("x", 6000))))
	if got := s.ask("POST", pathJobs, "", s.body(0), "Payment "+strings.Repeat("A", 17<<10)); got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d %.100s", got.status, got.body)
	}
}

// proofPaysNothing: the proof of an account, by which a client learns of its channel,
// is no payment for anything.
func proofPaysNothing(t *testing.T, s *shop) {
	ch, _ := s.terms("POST", pathJobs, "", s.body(0))
	proof := s.forge(s.credential(ch, s.open(4*dollar, meter.Cent)), func(doc map[string]any) {
		doc["payload"] = map[string]any{"type": "proof", "signature": "0x" + strings.Repeat("11", 65)}
	})
	s.refused(s.ask("POST", pathJobs, "", s.body(0), proof), mpp.InvalidPayload)
	for _, path := range []string{pathJobs, pathStream, "/session/deposit"} {
		if got := s.ask("HEAD", path, "", "", proof); got.status != 402 || got.header.Get("Payment-Receipt") != "" {
			t.Errorf("%s: %d", path, got.status)
		}
		credential := s.prove(path)
		if got := s.ask("HEAD", path, "", "", credential); got.status != 204 || got.header.Get("Payment-Receipt") != "" || got.header.Get("Payment-Session") != "" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
		body := s.body(0)
		if path == "/session/deposit" {
			body = ""
		}
		s.refused(s.ask("POST", path, events, body, credential), mpp.InvalidChallenge)
	}
}

// prove asks a path for the challenge to prove an account, and answers it.
func (p *payer) prove(path string) (credential string) {
	p.t.Helper()
	got := p.ask("HEAD", path, "", "", "", "Accept-Payment: tempo/charge;q=0.5, x/y")
	list, err := mpp.ParseChallenges(got.header.Values("WWW-Authenticate")...)
	if err != nil || len(list) != 1 || got.status != 402 || list[0].Intent != "charge" {
		p.t.Fatalf("%s: %d %v %v", path, got.status, list, err)
	}
	ch := &list[0]
	sig, err := p.key.SignDigest(tempo.ProofDigest(p.chain.ChainID(), p.key.Address(), ch.ID, ch.Realm))
	if err != nil {
		p.t.Fatal(err)
	}
	return p.forge(p.credential(ch, p.voucher(0)), func(doc map[string]any) {
		doc["payload"] = map[string]any{"type": "proof", "signature": "0x" + common.Bytes2Hex(sig.Bytes())}
	})
}

// credentialForms are all ways to write one that mean the same.
func credentialForms(t *testing.T, s *shop) {
	f := func(i int, header func(token string) string) {
		t.Helper()
		ch, q := s.terms("POST", pathJobs, "", s.body(i))
		token := strings.TrimPrefix(s.credential(ch, s.next(q, meter.Cent)), "Payment ")
		s.ask("POST", pathJobs, "", s.body(i), "", header(token)).taken(t)
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
	f(4, func(token string) string { return "Payment-Authorization: Payment " + token })
}

// schemesBeside: a credential is found beside those of other schemes, and nowhere
// else.
func schemesBeside(t *testing.T, s *shop) {
	f := func(i int, header func(credential string) string) {
		t.Helper()
		ch, q := s.terms("POST", pathJobs, "", s.body(i))
		s.ask("POST", pathJobs, "", s.body(i), "", header(s.credential(ch, s.next(q, meter.Cent)))).taken(t)
	}
	f(0, func(c string) string { return `Authorization: Digest realm="x, Payment AAAA", ` + c })
	f(1, func(c string) string { return "Authorization: Bearer x, " + c })
	f(2, func(c string) string { return "Authorization: " + c + ", Bearer x" })
	s.refused(s.ask("POST", pathJobs, "", s.body(3), `Digest realm="x, Payment AAAA"`), mpp.PaymentRequired)
}

// severalCredentials: one request pays with one; and what a receipt is on is the
// payer's alone.
func severalCredentials(t *testing.T, s *shop) {
	ch, q := s.terms("POST", pathJobs, "", s.body(0))
	c := s.credential(ch, s.next(q, meter.Cent))
	for _, more := range [][]string{{"Authorization: " + c, "Authorization: " + c}, {"Authorization: " + c + ", " + c}, {"Authorization: " + c, "Payment-Authorization: " + c}} {
		for _, body := range []string{s.body(0), ""} {
			s.refused(s.ask("POST", pathJobs, "", body, "", more...), mpp.BadRequest)
		}
	}
	got := s.ask("POST", pathJobs, "", s.body(0), c).taken(t)
	if keep := got.header.Get("Cache-Control"); !strings.Contains(keep, "private") || !strings.Contains(keep, "no-store") {
		t.Errorf("Cache-Control %q", keep)
	}
	if !strings.HasPrefix(string(mpp.BadRequest.URI()), "https://paymentauth.org/problems/") {
		t.Error(mpp.BadRequest.URI())
	}
}

// credentialBombs cost little, and are answered.
func credentialBombs(t *testing.T, s *shop) {
	token := func(doc string) string { return "Payment " + base64.RawURLEncoding.EncodeToString([]byte(doc)) }
	for _, doc := range []string{strings.Repeat("[", 8000), `{"challenge":` + strings.Repeat(`{"a":`, 2000), `{"challenge":{},"payload":` + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + `}`} {
		s.refused(s.ask("POST", pathJobs, "", s.body(0), token(doc)), mpp.MalformedCredential)
	}
	// The server reads no more of it than its bound: it answers, or has hung up.
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.base+pathJobs, strings.NewReader(s.body(0)))
	req.Header.Set("Authorization", "Payment "+strings.Repeat("A", 1<<20))
	if resp, err := s.web.Do(req); err == nil {
		if status, _ := read(t, resp); status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d", status)
		}
	}
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
}

// opaqueObject: what clients of an early version echo.
func opaqueObject(t *testing.T, s *shop) {
	ch, q := s.terms("POST", pathJobs, "", s.body(0))
	c := s.forge(s.credential(ch, s.next(q, meter.Cent)), func(doc map[string]any) {
		doc["challenge"].(map[string]any)["opaque"] = map[string]any{"scope": pathJobs}
	})
	s.ask("POST", pathJobs, "", s.body(0), c).taken(t)
}

// noDigest: none is issued, and none that is added passes.
func noDigest(t *testing.T, s *shop) {
	ch, q := s.terms("POST", pathJobs, "", s.body(0))
	if ch.Digest != "" {
		t.Errorf("digest %s", ch.Digest)
	}
	payload := s.next(q, meter.Cent)
	forged := *ch
	forged.Digest = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"
	s.refused(s.ask("POST", pathJobs, "", s.body(0), s.credential(&forged, payload)), mpp.InvalidChallenge)
	s.ask("POST", pathJobs, "", s.body(0), s.credential(ch, payload)).taken(t)
}

// bodyDecides: not what the headers say of it.
func bodyDecides(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	ch, _ := s.terms("POST", pathJobs, "", s.body(1))
	s.paid += meter.Cent
	got := s.chunked("POST", pathJobs, "", s.credential(ch, s.voucher(s.paid)))
	if rc := s.receipt(got.header); got.status != 204 || rc.Spent != tempo.AmountFrom(meter.Cent) {
		t.Errorf("chunked and empty: %d, spent %s", got.status, rc.Spent)
	}
	got = s.chunked("POST", pathJobs, s.body(1), s.credential(ch, s.voucher(s.paid))).taken(t)
	if rc := s.receipt(got.header); rc.Spent != tempo.AmountFrom(2*meter.Cent) {
		t.Errorf("chunked: spent %s", rc.Spent)
	}
}

// emptyAnswers: 204 and 304 have no body, and nothing that announces one.
func emptyAnswers(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, 2*meter.Cent)).taken(t)
	ch, _ := s.terms("POST", pathJobs, "", "")
	tag := s.ask("GET", "/openapi.json", "", "", "").header.Get("ETag")
	for _, resp := range []*http.Response{
		s.send("POST", pathJobs, "", "", s.credential(ch, s.voucher(s.paid))), s.send("HEAD", pathJobs, "", "", s.credential(ch, s.voucher(s.paid))),
		s.send("GET", "/openapi.json", "", "", "", "If-None-Match: "+tag),
	} {
		status, body := read(t, resp)
		if status != 204 && status != 304 || body != "" || len(resp.TransferEncoding) > 0 || resp.ContentLength > 0 || resp.Header.Get("Content-Type") != "" || resp.Header.Get("Content-Length") > "0" {
			t.Errorf("%d %q %v, length %d", status, body, resp.Header, resp.ContentLength)
		}
	}
}

// noRedirects: a client that follows one would sign for another address.
func noRedirects(t *testing.T, s *shop) {
	for _, path := range []string{"/explain/", "/EXPLAIN", "/explain/async/", "/result", "/session/deposit/"} {
		if got := s.ask("POST", path, events, s.body(0), ""); got.status/100 == 3 || got.header.Get("Location") != "" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
}

// corsOfPayments: a page may send what a payer sends and read what it reads.
func corsOfPayments(t *testing.T, s *shop) {
	got := s.ask("POST", pathJobs, "", s.body(0), "", "Origin: https://app.example")
	for _, name := range []string{"WWW-Authenticate", "Payment-Receipt", "Payment-Session", "Payment-Session-Snapshot"} {
		if !strings.Contains(got.header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s cannot be read", name)
		}
	}
	got = s.ask("OPTIONS", pathJobs, "", "", "", "Origin: https://app.example", "Access-Control-Request-Method: POST")
	for _, name := range []string{"Authorization", "Payment-Authorization", "Accept-Payment", "Payment-Session", "Idempotency-Key"} {
		if !slices.Contains(strings.Split(got.header.Get("Access-Control-Allow-Headers"), ", "), name) {
			t.Errorf("%s cannot be sent", name)
		}
	}
}

// otherPayeeOrToken: a channel that pays somebody else, or in something else, does
// not pay here, whatever is done with it.
func otherPayeeOrToken(t *testing.T, s *shop) {
	for _, change := range []func(*tempo.OpenCall){
		func(c *tempo.OpenCall) { c.Payee = common.HexToAddress(otherPayee) }, func(c *tempo.OpenCall) { c.Token[19] = 1 }, func(c *tempo.OpenCall) { c.Operator = common.Address{7} },
	} {
		call := s.openCall(4 * dollar)
		change(&call)
		open := s.openBy(s.tx(call), meter.Cent)
		for _, payload := range []mpp.Payload{open, s.voucher(meter.Cent), s.topUp(dollar), s.closing(meter.Cent)} {
			s.refused(s.order(0, payload), mpp.VerificationFailed)
			s.refused(s.manage(payload), mpp.VerificationFailed)
		}
		s.unsent(open)
	}
}

// otherPayee is an address that no shop is paid to, but where it says so.
const otherPayee = "0x00000000000000000000000000000000000000AA"

// foreignSignatures: only what the chain verifies counts as a signature.
func foreignSignatures(t *testing.T, s *shop) {
	s.order(0, s.open(4*dollar, meter.Cent)).taken(t)
	good := s.voucher(3 * meter.Cent)
	sig := good.Signature
	from := s.key.Address()
	other, _ := secretKey(77)
	mainnet, _ := tempo.NewDomain(4217, s.domain.Escrow()).Sign(s.key, s.ref.ChannelID, good.CumulativeAmount)
	escrow, _ := tempo.NewDomain(s.chain.ChainID(), common.Address{1}).Sign(s.key, s.ref.ChannelID, good.CumulativeAmount)
	stranger, _ := s.domain.Sign(other, s.ref.ChannelID, good.CumulativeAmount)
	f := func(signature ...[]byte) {
		t.Helper()
		v := &mpp.Voucher{ChannelRef: s.ref, CumulativeAmount: good.CumulativeAmount, Signature: slices.Concat(signature...)}
		if got := s.order(1, v); got.status != 402 || !strings.Contains(got.body, `problems/session/invalid-signature`) && !strings.Contains(got.body, "problems/invalid-payload") {
			t.Errorf("%d %s for %x", got.status, got.body, v.Signature)
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
	if n := s.spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
}
