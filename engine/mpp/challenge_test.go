package mpp

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// The request of the session vectors, as JSON and as it is sent.
const (
	sessionSecret = "mpp-session-vector-secret-0123456789"
	sessionJSON   = `{"amount":"100000","currency":"0x20c0000000000000000000000000000000000000","methodDetails":{"chainId":42431,"escrowContract":"0x4d50500000000000000000000000000000000000","sessionProtocol":"v2"},"recipient":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","suggestedDeposit":"500000","unitType":"request"}`
	sessionText   = "eyJhbW91bnQiOiIxMDAwMDAiLCJjdXJyZW5jeSI6IjB4MjBjMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCIsIm1ldGhvZERldGFpbHMiOnsiY2hhaW5JZCI6NDI0MzEsImVzY3Jvd0NvbnRyYWN0IjoiMHg0ZDUwNTAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwIiwic2Vzc2lvblByb3RvY29sIjoidjIifSwicmVjaXBpZW50IjoiMHg3MDk5Nzk3MEM1MTgxMmRjM0EwMTBDN2QwMWI1MGUwZDE3ZGM3OUM4Iiwic3VnZ2VzdGVkRGVwb3NpdCI6IjUwMDAwMCIsInVuaXRUeXBlIjoicmVxdWVzdCJ9"
)

// encodeText is base64url of the canonical form of a JSON text.
func encodeText(t testing.TB, doc string) string {
	t.Helper()
	b, err := Canonical([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return encode64(b)
}

// TestConformance_1_3_SharedVectors: the ids that all SDKs of the protocol share.
func TestConformance_1_3_SharedVectors(t *testing.T) {
	i := newIssuer([]byte("test-vector-secret"))
	f := func(request, opaque, want string, change func(*Challenge)) {
		t.Helper()
		c := &Challenge{Realm: "api.example.com", Method: "tempo", Intent: "charge", Request: encodeText(t, request)}
		if opaque != "" {
			c.Opaque = encodeText(t, opaque)
		}
		if change != nil {
			change(c)
		}
		if i.SetID(c); c.ID != want {
			t.Errorf("id %s, want %s", c.ID, want)
		}
		if err := i.Verify(c); err != nil {
			t.Errorf("verify: %v", err)
		}
	}
	const base = `{"amount":"1000000"}`
	const pi = `{"pi":"pi_3abc123XYZ"}`
	expires := func(c *Challenge) { c.Expires = "2025-01-06T12:00:00Z" }
	digest := func(c *Challenge) { c.Digest = "sha-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE" }

	f(base, "", "X6v1eo7fJ76gAxqY0xN9Jd__4lUyDDYmriryOM-5FO4", nil)
	f(base, "", "ChPX33RkKSZoSUyZcu8ai4hhkvjZJFkZVnvWs5s0iXI", expires)
	f(base, "", "JHB7EFsPVb-xsYCo8LHcOzeX1gfXWVoUSzQsZhKAfKM", digest)
	f(base, "", "m39jbWWCIfmfJZSwCfvKFFtBl0Qwf9X4nOmDb21peLA", func(c *Challenge) { expires(c); digest(c) })
	f(base, pi, "rxzKZ2qjXvinqCH96RORTZEPs1KXsA-0AUjrCAPFOWc", nil)
	f(base, pi, "KAfoMrA4fnzS1DPWN_cUv_b3_yHxCizdp6OhH7gluMY", expires)
	f(base, "", "X6v1eo7fJ76gAxqY0xN9Jd__4lUyDDYmriryOM-5FO4", func(c *Challenge) { c.Description = "any" })
	f(`{"amount":"1000000","currency":"0x1234","recipient":"0xabcd"}`, "", "_H5TOnnlW0zduQ5OhQ3EyLVze_TqxLDPda2CGZPZxOc", nil)
	f(`{"amount":"1000000","currency":"0x1234","methodDetails":{"chainId":42431}}`, "", "TqujwpuDDg_zsWGINAd5XObO2rRe6uYufpqvtDmr6N8", nil)
	f(`{}`, "", "yLN7yChAejW9WNmb54HpJIWpdb1WWXeA3_aCx4dxmkU", nil)
	f(base, `{}`, "vb4IyH-0LdJ3s7L0QAw8jIzcZkyxksPhIvEfmHmzA9k", nil)
	f(base, `{"pi":"pi_3abc123XYZ","deposit":"dep_456"}`, "aKskU8sadR5ZuFbUCsIwhO-ENxuVpTw17FdwHEXsJDk", nil)
	f(base, "", "3F5bOo2a9RUihdwKk4hGRvBvzQmVPBMDvW0YM-8GD00", func(c *Challenge) { c.Realm = "payments.other.com" })
	f(base, "", "o0ra2sd7HcB4Ph0Vns69gRDUhSj5WNOnUopcDqKPLz4", func(c *Challenge) { c.Method = "stripe" })
	f(base, "", "aAY7_IEDzsznNYplhOSE8cERQxvjFcT4Lcn-7FHjLVE", func(c *Challenge) { c.Intent = "session" })
	f(`{"nested":{"z":1,"a":2},"items":["b","a"],"amount":"100","description":"<tag>&value"}`, "", "7sN4-SNxjcU69yFUFT39nXXwvc9SRjod6WRoO_wmfgQ", nil)
}

// TestConformance_1_3_SessionVectors are S1 to S6.
func TestConformance_1_3_SessionVectors(t *testing.T) {
	if got := encodeText(t, sessionJSON); got != sessionText {
		t.Fatalf("request %s", got)
	}
	i, err := NewIssuer([]byte(sessionSecret))
	if err != nil {
		t.Fatal(err)
	}
	f := func(row, opaque, header, description, want string) {
		t.Helper()
		c := &Challenge{Realm: "api.example.com", Method: Method, Intent: Intent, Request: sessionText,
			Expires: "2030-01-01T00:05:00.000Z", Opaque: opaque, Header: header, Description: description}
		if i.SetID(c); c.ID != want {
			t.Errorf("%s: id %s, want %s", row, c.ID, want)
		}
	}
	opaque, err := EncodeOpaque(map[string]string{"_mppx_scope": "GET /v1/chat"})
	if err != nil || opaque != "eyJfbXBweF9zY29wZSI6IkdFVCAvdjEvY2hhdCJ9" {
		t.Errorf("opaque %s, %v", opaque, err)
	}
	f("S1", "", "", "", "VOrH514wCoI9JwXxaz_ichjj8yTw2cuPr6WPLEOjhKI")
	f("S2", opaque, "", "", "UMJjV5vZ-IdD_rbdtPqm6mtGWHOST0NdHof_p-sCrus")
	f("S3", "", HeaderPaymentAuthorization, "", "JW4lAf6hz7n3uCZcWwTwA0PHgpejvtcjPhXeL7X1pCE")
	f("S4", opaque, HeaderPaymentAuthorization, "", "zwYM75OF7PNS90EsNxyqWy8--2rpvvT44S30YxeZaAs")
	nonce, err := EncodeOpaque(map[string]string{"_mppx_scope": "GET /v1/chat", "_mppx_nonce": "0x" + strings.Repeat("11", 32)})
	if want := "eyJfbXBweF9ub25jZSI6IjB4MTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMSIsIl9tcHB4X3Njb3BlIjoiR0VUIC92MS9jaGF0In0"; err != nil || nonce != want {
		t.Errorf("opaque with a nonce %s, %v", nonce, err)
	}
	f("S6", nonce, "", "", "YBeZdJYT_G1796UvDKBTtEv1wsH0TbUJWSdwnLkOiQc")
	f("S5", "", "", "One unit of work", "VOrH514wCoI9JwXxaz_ichjj8yTw2cuPr6WPLEOjhKI")
}

// sessionChallenge is S2 with every optional field, as issued by the issuer returned.
func sessionChallenge(t testing.TB) (*Issuer, *Challenge) {
	t.Helper()
	i, err := NewIssuer([]byte(sessionSecret))
	if err != nil {
		t.Fatal(err)
	}
	opaque, err := EncodeOpaque(map[string]string{"route": "/explain"})
	if err != nil {
		t.Fatal(err)
	}
	c := &Challenge{Realm: "api.example.com", Method: Method, Intent: Intent, Request: sessionText,
		Expires: "2030-01-01T00:05:00.000Z", Digest: "sha-256=:abc:", Header: HeaderPaymentAuthorization, Opaque: opaque, Description: "work"}
	i.SetID(c)
	return i, c
}

// TestConformance_A_TamperingAnySlot: a change of any bound field is noticed, a
// change of the description is not.
func TestConformance_A_TamperingAnySlot(t *testing.T) {
	f := func(what string, change func(*Challenge), ok bool) {
		t.Helper()
		i, c := sessionChallenge(t)
		change(c)
		err := i.Verify(c)
		if ok != (err == nil) {
			t.Errorf("%s: %v", what, err)
		}
		if err != nil && AsProblem(err).Type != InvalidChallenge {
			t.Errorf("%s: %v", what, AsProblem(err).Type)
		}
	}
	f("nothing", func(*Challenge) {}, true)
	f("description", func(c *Challenge) { c.Description = "gold" }, true)
	f("id", func(c *Challenge) { c.ID = "A" + c.ID[1:] }, false)
	f("id cut", func(c *Challenge) { c.ID = c.ID[:42] }, false)
	f("id empty", func(c *Challenge) { c.ID = "" }, false)
	f("realm", func(c *Challenge) { c.Realm = "api.example.org" }, false)
	f("method", func(c *Challenge) { c.Method = "stripe" }, false)
	f("intent", func(c *Challenge) { c.Intent = "charge" }, false)
	f("request", func(c *Challenge) {
		c.Request = encodeText(t, strings.Replace(sessionJSON, `"100000"`, `"1"`, 1))
	}, false)
	f("expires", func(c *Challenge) { c.Expires = "2031-01-01T00:05:00.000Z" }, false)
	f("digest", func(c *Challenge) { c.Digest = "" }, false)
	f("header", func(c *Challenge) { c.Header = "" }, false)
	f("opaque", func(c *Challenge) { c.Opaque = "" }, false)
	f("slots moved", func(c *Challenge) { c.Realm, c.Method = "api.example.com|tempo", "session" }, false)
	f("empty slots moved", func(c *Challenge) { c.Expires, c.Digest = "", c.Expires }, false)
	f("header into opaque", func(c *Challenge) { c.Header, c.Opaque = "", c.Header+"|"+c.Opaque }, false)
}

// TestConformance_A_EchoInAnotherForm: the echo need not be our bytes, only our
// meaning, and afterwards it is our bytes.
func TestConformance_A_EchoInAnotherForm(t *testing.T) {
	i, c := sessionChallenge(t)
	issued := *c
	c.Request = encode64([]byte(` {"unitType":"request", "suggestedDeposit":"500000","recipient":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8",` +
		`"methodDetails":{"sessionProtocol":"\u0076\u0032","escrowContract":"0x4d50500000000000000000000000000000000000","chainId":4.2431e4},` +
		`"currency":"0x20c0000000000000000000000000000000000000","amount":"100000"}`))
	c.Opaque += "=="
	if err := i.Verify(c); err != nil {
		t.Fatal(err)
	}
	if *c != issued {
		t.Errorf("left %+v", *c)
	}
	c.Request = encode64([]byte(`{"amount":"1","amount":"100000"}`))
	if i.Verify(c) == nil {
		t.Error("accepted a request with a member twice")
	}
}

func TestConformance_1_3_SecretOf32Bytes(t *testing.T) {
	if _, err := NewIssuer(make([]byte, 31)); err == nil {
		t.Error("accepted a secret of 31 bytes")
	}
	if _, err := NewIssuer(make([]byte, 32)); err != nil {
		t.Error(err)
	}
}

// TestConformance_A_ConstantTimeCompare reads the source: time is no subject for a
// test, but the function that compares is.
func TestConformance_A_ConstantTimeCompare(t *testing.T) {
	src, err := os.ReadFile("issuer.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), "subtle.ConstantTimeCompare("); n != 1 {
		t.Errorf("%d constant-time comparisons", n)
	}
	if strings.Contains(string(src), "ID ==") || strings.Contains(string(src), "ID !=") {
		t.Error("an id is compared with an operator")
	}
}

func TestConformance_1_2_Quoting(t *testing.T) {
	const text = "Say \"hi\" \\ café ☕"
	f := func(quoted, want string) {
		t.Helper()
		c := cursor{s: quoted}
		got, err := c.quoted()
		if err != nil || got != want || !c.end() {
			t.Errorf("%s: %q, %v", quoted, got, err)
		}
	}
	f("\"Say \\\"hi\\\" \\\\ caf\xe9 \\u2615\"", text) // as mppx writes it, in Latin-1
	f(`"Say \"hi\" \\ caf\u00e9 \u2615"`, text)
	f(`"\ud83d\ude00"`, "😀")
	f(`"\uD83D\uDE00"`, "😀")
	f(`"\ud83d"`, "�")
	f(`"\ud83dx\ude00"`, "�x�")
	f(`"\ud83d\ud83d\ude00"`, "�😀")
	f(`"\u12 \q \u"`, "u12 q u")
	f(`""`, "")

	got, err := appendParam(nil, "description", text)
	if err != nil || string(got) != `description="Say \"hi\" \\ caf\u00e9 \u2615"` {
		t.Errorf("wrote %s, %v", got, err)
	}
	if got, err = appendParam(nil, "d", "😀\t\x7f\x00"); err != nil || string(got) != `d="\ud83d\ude00\u0009\u007f\u0000"` {
		t.Errorf("wrote %s, %v", got, err)
	}
	for _, bad := range []string{"a\rb", "a\nb", "\xff"} {
		if _, err := appendParam(nil, "d", bad); err == nil {
			t.Errorf("wrote %q", bad)
		}
	}
	for _, bad := range []string{`"`, `"abc`, `"abc\"`, `"\`, "\"a\nb\"", `"\u000d"`, "\"\\\n\""} {
		c := cursor{s: bad}
		if got, err := c.quoted(); err == nil {
			t.Errorf("read %q as %q", bad, got)
		}
	}
}

func TestConformance_1_1_HeaderOrder(t *testing.T) {
	_, c := sessionChallenge(t)
	got, err := c.HeaderValue()
	want := `Payment id="` + c.ID + `", realm="api.example.com", method="tempo", intent="session", request="` + sessionText +
		`", description="work", digest="sha-256=:abc:", expires="2030-01-01T00:05:00.000Z", header="Payment-Authorization", opaque="` + c.Opaque + `"`
	if err != nil || got != want {
		t.Errorf("wrote %s, %v", got, err)
	}
	back, err := ParseChallenges(got)
	if err != nil || len(back) != 1 || back[0] != *c {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func TestConformance_1_1_ReadChallenge(t *testing.T) {
	want := Challenge{ID: "x", Realm: "r", Method: "tempo", Intent: "session", Request: "e30"}
	f := func(header string, ok bool) {
		t.Helper()
		got, err := ParseChallenges(header)
		if ok && (err != nil || len(got) != 1 || got[0] != want) || !ok && err == nil {
			t.Errorf("%s: %.300v, %v", clip(header), got, err)
		}
	}
	f(`Payment id="x", realm="r", method="tempo", intent="session", request="e30"`, true)
	f(`payment request="e30",intent="session" ,method="tempo", realm="r",id="x"`, true)
	f(`PAYMENT  ID="x", Realm="r", METHOD="tempo", Intent="session", rEQUEST="e30",`, true)
	f(`Payment id=x, realm=r, method=tempo, intent=session, request=e30`, true)
	f(`Payment id="x", realm="r", method="tempo", intent="session", request="e30", new="param", __proto__="p", constructor="c"`, true)
	f(`Payment id="x", realm="r", method="tempo", intent="session", request="e30", ID="y"`, false)
	f(`Payment id="x", realm="r", method="tempo", intent="session", request="e30", new="1", new="2"`, false)
	f(`Payment id="x", realm="r", method="tempo", intent="session", request="e30`, false)
	f(`Payment id="", realm="r", method="tempo", intent="session", request="e30"`, false)
	f(`Payment realm="r", method="tempo", intent="session", request="e30"`, false)
	f(`Payment id="x", method="tempo", intent="session", request="e30"`, false)
	f(`Payment id="x", realm="r", intent="session", request="e30"`, false)
	f(`Payment id="x", realm="r", method="tempo", request="e30"`, false)
	f(`Payment id="x", realm="r", method="tempo", intent="session"`, false)
	f(`Payment id="x", realm="r", method="Tempo", intent="session", request="e30"`, false)
	f(`Payment id="x", realm="r", method="tempo", intent="session", request="e30", header="Cookie"`, false)
	f(`Payment id="x" realm="r"`, false)
	f(`Payment abc`, false)

	long := want
	long.Request = strings.Repeat("A", maxRequest)
	if v, err := long.HeaderValue(); err != nil {
		t.Error(err)
	} else if got, err := ParseChallenges(v); err != nil || got[0].Request != long.Request {
		t.Errorf("request of 16 KiB: %v", err)
	}
	long.Request += "A"
	if _, err := long.HeaderValue(); err == nil {
		t.Error("wrote a request above 16 KiB")
	}
	f(`Payment id="x", realm="r", method="tempo", intent="session", request="`+long.Request+`"`, false)
	f(strings.Repeat(" ", maxHeader+1), false)
}

func TestConformance_1_4_SeveralChallenges(t *testing.T) {
	const one = `Payment id="1", realm="a Payment b, Payment c=\"", method="tempo", intent="charge", request="e30"`
	const two = `Payment id="2", realm="r", method="tempo", intent="session", request="e30"`
	f := func(want string, headers ...string) {
		t.Helper()
		got, err := ParseChallenges(headers...)
		ids := ""
		for _, c := range got {
			ids += c.ID
		}
		if err != nil || ids != want {
			t.Errorf("%q: %s, %v", headers, ids, err)
		}
	}
	f("12", one, two)
	f("12", one+", "+two)
	f("12", one+","+two)
	f("12", "  ,"+one+" ,, "+two+" , ")
	f("12", `Bearer realm="x, Payment id=\"9\"", error="e", `+one+`, Negotiate, Basic dXNlcg==, `+two)
	f("12", one+`, Bearer realm="x", `+two)
	f("2", `Digest qop="auth, auth-int", nonce=abc, stale=FALSE, `+two)
	f("2", `Foo/1 "quoted, Payment id=1", `+two)
	f("", `Bearer realm="x"`)
	f("", ``)
	f("", `Payment`)
	f("", `PaymentX id="1"`)
	if _, err := ParseChallenges(`Bearer realm="x, ` + two); err == nil {
		t.Error("read past an unterminated string")
	}
	if _, err := ParseChallenges(strings.Repeat(two+", ", maxChallenges+1)); err == nil {
		t.Error("read too many challenges")
	}
	if got, err := ParseChallenges(one); err != nil || got[0].Realm != `a Payment b, Payment c="` {
		t.Errorf("realm %q, %v", got[0].Realm, err)
	}
}

func TestConformance_A_Expires(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f := func(expires string, want ProblemType) {
		t.Helper()
		c := &Challenge{Expires: expires}
		err := c.CheckExpires(now)
		if want == "" && err != nil || want != "" && AsProblem(err).Type != want {
			t.Errorf("%q: %v", expires, err)
		}
	}
	f("2030-01-01T00:00:00.001Z", "")
	f("2030-01-01T01:00:01+01:00", "")
	f("2030-01-01T00:00:00.000Z", PaymentExpired)
	f("2029-12-31T23:59:59Z", PaymentExpired)
	f("", InvalidChallenge)
	f("soon", InvalidChallenge)
	f("2030-01-01 00:05:00Z", InvalidChallenge)
	f("1893456000", InvalidChallenge)
	f("2031-1-1T0:0:0Z", InvalidChallenge)
	f("2031-01-01T00:00:00", InvalidChallenge)
	f(strings.Repeat("2", 1<<16), InvalidChallenge)
	if got := FormatTime(now.Add(368 * time.Millisecond)); got != "2030-01-01T00:00:00.368Z" {
		t.Error(got)
	}
}

func TestIssueRefusesWhatNobodyCouldAnswer(t *testing.T) {
	i, _ := sessionChallenge(t)
	f := func(change func(*Route)) {
		t.Helper()
		r := testRoute()
		change(r)
		if c, err := i.Issue(r, time.Unix(0, 0)); err == nil {
			t.Errorf("issued %+v", c)
		}
	}
	f(func(r *Route) { r.Realm = "a|b" })
	f(func(r *Route) { r.Request.Amount = testAmount(0) })
	f(func(r *Route) { r.Request.SessionProtocol = "v1" })
	f(func(r *Route) { r.Request.ChainID = 0 })
	f(func(r *Route) { r.Request.UnitType = strings.Repeat("x", maxRequest) })
	f(func(r *Route) { r.Request.UnitType = "\xff" })
}

func TestSessionRequestOfOtherProtocols(t *testing.T) {
	f := func(method, intent, request string, notSession bool) {
		t.Helper()
		c := &Challenge{Method: method, Intent: intent, Request: encode64([]byte(request))}
		q, err := c.SessionRequest()
		if err == nil || errors.Is(err, ErrNotSession) != notSession {
			t.Errorf("%+v, %v", q, err)
		}
	}
	f("stripe", "session", sessionJSON, true)
	f("tempo", "charge", sessionJSON, true)
	f("tempo", "session", strings.Replace(sessionJSON, `"v2"`, `"v1"`, 1), true)
	f("tempo", "session", strings.Replace(sessionJSON, `,"sessionProtocol":"v2"`, ``, 1), true)
	f("tempo", "session", strings.Replace(sessionJSON, `"100000"`, `"0"`, 1), false)
	f("tempo", "session", strings.Replace(sessionJSON, `"100000"`, `100000`, 1), false)
	f("tempo", "session", strings.Replace(sessionJSON, `"100000"`, `"-1"`, 1), false)
	f("tempo", "session", strings.Replace(sessionJSON, `42431`, `"42431"`, 1), false)
	f("tempo", "session", strings.Replace(sessionJSON, `42431`, `9007199254740993`, 1), false)
	f("tempo", "session", strings.Replace(sessionJSON, `"escrowContract"`, `"escrow"`, 1), false)
	f("tempo", "session", strings.Replace(sessionJSON, `"currency":"0x20`, `"currency":"0X20`, 1), false)
	f("tempo", "session", `[]`, false)
}

func TestMethodName(t *testing.T) {
	for name, want := range map[string]bool{
		"": false, "t": true, "tempo": true, "a1": true, "a:b": true, "a_b": true, "a-b": true, "az": true, "za": true, "a0": true, "a9": true,
		"1a": false, ":a": false, "_a": false, "-a": false, "Tempo": false, "tempO": false, "a;b": false, "a b": false, "a/b": false, "a{": false, "a`": false, "é": false,
	} {
		if isMethodName(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}
