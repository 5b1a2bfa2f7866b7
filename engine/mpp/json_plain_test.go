package mpp

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// target is something that is read from an object.
type target struct {
	value   any
	members []string
	member  func(r *reader, name []byte) bool
}

// targets are made anew for each reading.
func targets() []target {
	c, q, f, rc := new(Credential), new(SessionRequest), new(fields), new(Receipt)
	return []target{
		{c, credentialMembers, c.member}, {q, requestMembers, q.member}, {f, payloadMembers, f.member}, {rc, nil, rc.member},
	}
}

// samePlain: what is read as plain, jsontext accepts, and makes the same of it.
// Returns for how many targets it was plain.
func samePlain(t *testing.T, doc []byte) (n int) {
	t.Helper()
	r, strict := new(reader), targets()
	for i, plain := range targets() {
		if !r.readPlain(doc, plain.members, plain.member) {
			continue
		}
		n++
		if err := r.readStrict(doc, strict[i].members, strict[i].member); err != nil || !reflect.DeepEqual(plain.value, strict[i].value) {
			t.Fatalf("%q is plain to be %+v, and strictly %+v: %v", doc, plain.value, strict[i].value, err)
		}
	}
	return n
}

// TestPlainDocuments: what clients send is read the fast way, and nothing is that
// jsontext would refuse or read otherwise.
func TestPlainDocuments(t *testing.T) {
	f := func(doc string, plain bool) {
		t.Helper()
		if n := samePlain(t, []byte(doc)); n > 0 != plain {
			t.Errorf("%s: plain %v", doc, n > 0)
		}
	}
	f(`{`+echo+`,"payload":`+voucherText+`,"source":"did:pkh:eip155:1:0x00"}`, true)
	f(sessionJSON, true)
	f(voucherText, true)
	f(" {\t\"timestamp\" : \"2030-01-01T00:00:01.000Z\"\r, \"units\":0\n} \n", true)
	f(`{}`, true)
	f(`{"x":{"y":{"units":1,"z":{}}},"w":true,"v":false,"u":12}`, true)
	for _, doc := range []string{
		``, `[]`, `{`, `{}x`, `{} {}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a" "b"}`,
		`{"units":01}`, `{"units":1.0}`, `{"units":1e2}`, `{"units":-1}`, `{"units":1x}`, `{"units":9007199254740992}`, `{"units":"1"}`,
		`{"a":1,"a":2}`, `{"x":{"a":1,"b":2,"a":3}}`, `{"a":null}`, `{"a":[1]}`, `{"a":tru}`, `{"a":truex}`, `{"a":falsey}`,
		`{"a":"\n"}`, "{\"a\":\"\n\"}", "{\"a\":\"\x7f\"}", "{\"a\":\"\xff\"}", `{"a":"é"}`, `{"a":"b}`, `{"\u0061":1}`, `{"a":"\"}`,
		strings.Repeat(`{"a":`, 9) + `1` + strings.Repeat(`}`, 9),
		`{"a1":1,"a2":1,"a3":1,"a4":1,"a5":1,"a6":1,"a7":1,"a8":1,"a9":1,"b1":1,"b2":1,"b3":1,"b4":1,"b5":1,"b6":1,"b7":1,"b8":1}`,
	} {
		f(doc, false)
	}
}

// TestParseCredentialKeepsNothing: the header's memory may be used again.
func TestParseCredentialKeepsNothing(t *testing.T) {
	header := []byte(realAuthorization)
	c, err := ParseCredential(unsafe.String(unsafe.SliceData(header), len(header)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range header {
		header[i] = 'x'
	}
	want, err := ParseCredential(realAuthorization)
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v became %+v: %v", want, c, err)
	}
}

// TestFixedRoute: what is known at sight is what would be read.
func TestFixedRoute(t *testing.T) {
	route, fixed := testRoute(), testRoute()
	if err := fixed.Fix(); err != nil {
		t.Fatal(err)
	}
	i := newIssuer([]byte(strings.Repeat("x", minSecret)))
	c, err := i.Issue(route, now)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := i.Issue(fixed, now); err != nil || *again != *c {
		t.Errorf("issued %+v, %v, want %+v", again, err, c)
	}
	want, err := route.Pin(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fixed.Pin(c)
	if err != nil || *got != *want {
		t.Errorf("pinned %+v, %v, want %+v", got, err, want)
	}
	if got.Amount = testAmount(7); fixed.Request.Amount == got.Amount {
		t.Error("a pinned request is the route's own")
	}
	c.Request = "e30"
	if _, err := fixed.Pin(c); AsProblem(err).Type != InvalidChallenge {
		t.Errorf("another request: %v", err)
	}
}

// TestPinNamesTheTerm: a challenge of other terms is refused, and the problem names the
// first term that differs.
func TestPinNamesTheTerm(t *testing.T) {
	f := func(term string, change func(q *SessionRequest)) {
		t.Helper()
		other := testRoute()
		change(&other.Request)
		c, err := newIssuer([]byte(strings.Repeat("x", minSecret))).Issue(other, now)
		if err != nil {
			t.Fatal(err)
		}
		_, err = testRoute().Pin(c)
		if p := AsProblem(err); p.Type != InvalidChallenge || !strings.HasSuffix(p.Detail, ": "+term+".") {
			t.Errorf("%s: %v", term, err)
		}
	}
	f("recipient", func(q *SessionRequest) { q.Recipient[0]++ })
	f("currency", func(q *SessionRequest) { q.Currency[0]++ })
	f("chainId", func(q *SessionRequest) { q.ChainID++ })
	f("escrowContract", func(q *SessionRequest) { q.EscrowContract[0]++ })
	f("operator", func(q *SessionRequest) { q.Operator[0]++ })
}

// TestTokenBytes: the characters of a token are those of RFC 9110, section 5.6.2.
func TestTokenBytes(t *testing.T) {
	const want = "!#$%&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz|~"
	got := ""
	for b := range 256 {
		if isTokenByte(byte(b)) {
			got += string(rune(b))
		}
	}
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestRecode: what cannot be read has no other encoding.
func TestRecode(t *testing.T) {
	for _, bad := range []string{"e3", "!", encode64([]byte("{")), encode64([]byte(`{"a":1,"a":2}`))} {
		if got, err := recode(bad); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}
