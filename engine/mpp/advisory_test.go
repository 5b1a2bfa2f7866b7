package mpp

import (
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// The tests here stand for one fault each that an implementation of the protocol
// has had, or for one kind of client that must still be served.

// admitted is the outcome for a credential of the usual route, after change.
func admitted(t *testing.T, shape Shape, change func(*Credential)) (*Admission, error) {
	t.Helper()
	i, _ := sessionChallenge(t)
	cr := answer(t, i, testRoute())
	change(cr)
	v, err := cr.HeaderValue()
	if err != nil {
		t.Fatal(err)
	}
	if cr, err = ParseCredential(v); err != nil {
		return nil, err
	}
	return i.Admit(cr, testRoute(), shape, now)
}

var get = Shape{Method: "GET"}

func TestAdvisory_mppx_0_3_10_ExpiredCredential(t *testing.T) {
	i, _ := sessionChallenge(t)
	_, err := i.Admit(answer(t, i, testRoute()), testRoute(), get, now.Add(ChallengeLifetime))
	wantProblem(t, err, PaymentExpired)
	if _, err := i.Admit(answer(t, i, testRoute()), testRoute(), get, now.Add(ChallengeLifetime-time.Millisecond)); err != nil {
		t.Error(err)
	}
}

func TestAdvisory_mppx_0_5_14_CaseVariantChannelID(t *testing.T) {
	upper := "0x" + strings.ToUpper(testRef().ChannelID.Hex()[2:])
	a, err := admitted(t, get, func(c *Credential) {
		c.payload = []byte(strings.Replace(string(c.payload), testRef().ChannelID.Hex(), upper, 1))
		if !strings.Contains(string(c.payload), upper) {
			t.Fatal("the payload kept its case")
		}
	})
	if err != nil || a.Payload.Ref() != testRef() {
		t.Errorf("%+v, %v", a, err)
	}
	if r := (&Receipt{ChannelID: testRef().ChannelID}); !strings.Contains(string(r.JSON()), `"`+strings.ToLower(upper)+`"`) {
		t.Errorf("%s", r.JSON())
	}
}

func TestAdvisory_mppx_0_5_16_HeadIsManagement(t *testing.T) {
	if a, err := admitted(t, Shape{Method: "HEAD"}, func(*Credential) {}); err != nil || a.Class != Management {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAdvisory_mppx_0_6_0_PostWithoutLength: the body decides, not its headers.
func TestAdvisory_mppx_0_6_0_PostWithoutLength(t *testing.T) {
	f := func(hasBody bool, want Class) {
		t.Helper()
		if a, err := admitted(t, Shape{Method: "POST", HasBody: hasBody}, func(*Credential) {}); err != nil || a.Class != want {
			t.Errorf("%+v, %v", a, err)
		}
	}
	f(true, Content)
	f(false, Management)
}

func TestAdvisory_mppx_0_6_29_LineEndsAndQuotesInHeaders(t *testing.T) {
	i, _ := sessionChallenge(t)
	for _, bad := range []string{"a\r\nSet-Cookie: b", "a\nb", "a\rb"} {
		r := testRoute()
		r.Description = bad
		c, err := i.Issue(r, now)
		if err != nil {
			continue
		}
		if v, err := c.HeaderValue(); err == nil {
			t.Errorf("wrote %q", v)
		}
	}
	r := testRoute()
	r.Description = `x", id="forged`
	c, err := i.Issue(r, now)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.HeaderValue()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseChallenges(v); err != nil || len(back) != 1 || back[0] != *c {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestAdvisory_mppx_0_8_0_EmptyIDShortSecretGiantRequest(t *testing.T) {
	c := Challenge{ID: "x", Realm: "r", Method: Method, Intent: Intent, Request: "e30"}
	for what, change := range map[string]func(*Challenge){
		"empty id": func(c *Challenge) { c.ID = "" }, "request of 16 KiB and one": func(c *Challenge) { c.Request = strings.Repeat("A", 16<<10+1) }} {
		bad := c
		change(&bad)
		if _, err := bad.HeaderValue(); err == nil {
			t.Errorf("wrote a challenge with %s", what)
		}
		if _, err := ParseChallenges(`Payment id="` + bad.ID + `", realm="r", method="tempo", intent="session", request="` + bad.Request + `"`); err == nil {
			t.Errorf("read a challenge with %s", what)
		}
		wantProblem(t, newIssuer([]byte("s")).Verify(&bad), InvalidChallenge)
	}
	if _, err := NewIssuer([]byte(strings.Repeat("s", 31))); err == nil {
		t.Error("took a short secret")
	}
}

func TestAdvisory_mppx_0_8_16_SchemeNameInQuotedValue(t *testing.T) {
	const v = `Bearer realm="x, Payment id=\"1\", realm=\"evil\"", Payment id="2", realm="r, Payment id=3", method="tempo", intent="session", request="e30"`
	if got, err := ParseChallenges(v); err != nil || len(got) != 1 || got[0].ID != "2" || got[0].Realm != "r, Payment id=3" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAdvisory_mppx_0_8_18_ParameterNames(t *testing.T) {
	const v = "Payment ID=\"1\", ReAlM=\"caf\xe9\", method=\"tempo\", intent=\"session\", request=\"e30\", __proto__=\"x\", toString=\"y\", description=\"\\u2615\""
	got, err := ParseChallenges(v)
	if err != nil || len(got) != 1 || got[0].ID != "1" || got[0].Realm != "café" || got[0].Description != "☕" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAdvisory_mpprs_0_8_4_EveryActionBound: payee and currency are compared for
// each action, not for open alone.
func TestAdvisory_mpprs_0_8_4_EveryActionBound(t *testing.T) {
	for _, change := range []func(*ChannelRef){func(r *ChannelRef) { r.Descriptor.Payee = payer }, func(r *ChannelRef) { r.Descriptor.Token = payer }} {
		ref := testRef()
		change(&ref)
		ref.ChannelID = ref.Descriptor.ID(42431, testRoute().Request.EscrowContract)
		for _, p := range []Payload{&Open{ref, []byte{1}, testAmount(1), nil}, &TopUp{ref, []byte{1}, testAmount(1)}, &Voucher{ref, testAmount(1), nil}, &Close{ref, testAmount(1), nil}} {
			_, err := admitted(t, get, func(c *Credential) { c.payload = encode(p) })
			wantProblem(t, err, VerificationFailed)
		}
	}
}

func TestAdvisory_mpprs_0_9_1_MissingExpires(t *testing.T) {
	i, _ := sessionChallenge(t)
	cr := answer(t, i, testRoute())
	cr.Challenge.Expires = ""
	i.SetID(&cr.Challenge) // as a server would that forgot it
	_, err := i.Admit(cr, testRoute(), get, now)
	wantProblem(t, err, InvalidChallenge)
}

func TestAdvisory_mpprs_LeadingBlanksInMergedHeaders(t *testing.T) {
	const one = `Payment id="1", realm="r", method="tempo", intent="session", request="e30"`
	if got, err := ParseChallenges(" \t " + one + " ,  \t" + one); err != nil || len(got) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	tok := encode64([]byte(`{` + echo + `,"payload":{}}`))
	if _, err := ParseCredential(" \t Payment \t" + tok); err != nil {
		t.Error(err)
	}
}

// TestAdvisory_pympp_0_4_0_EchoedFields: a field that was changed on the way back
// is noticed even where the id was left alone.
func TestAdvisory_pympp_0_4_0_EchoedFields(t *testing.T) {
	for _, change := range []func(*Challenge){
		func(c *Challenge) { c.Realm = "evil.example.com" }, func(c *Challenge) { c.Intent = "charge" },
		func(c *Challenge) { c.Expires = FormatTime(now.Add(24 * time.Hour)) }, func(c *Challenge) { c.Opaque = "e30" },
	} {
		_, err := admitted(t, get, func(c *Credential) { change(&c.Challenge) })
		wantProblem(t, err, InvalidChallenge)
	}
}

// TestConformance_11_1_MalformedPayload: 402, so that the client tries afresh.
func TestConformance_11_1_MalformedPayload(t *testing.T) {
	_, err := admitted(t, get, func(c *Credential) { c.payload = []byte(`{"action":"voucher"}`) })
	if wantProblem(t, err, InvalidPayload); err != nil && AsProblem(err).Status() != 402 {
		t.Error(AsProblem(err).Status())
	}
}

// TestConformance_11_1_CredentialHeader: either header carries a credential.
func TestConformance_11_1_CredentialHeader(t *testing.T) {
	tok := "Payment " + encode64([]byte(`{`+echo+`,"payload":{}}`))
	for _, headers := range [][]string{{tok, ""}, {"", tok}, {"Bearer application", tok}} {
		if c, err := ParseCredential(headers...); err != nil || c.Challenge.ID != "x" {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// TestConformance_11_2_EchoTolerance: an echo may lack what is not bound.
func TestConformance_11_2_EchoTolerance(t *testing.T) {
	for _, description := range []string{"", "work", "something else"} {
		if _, err := admitted(t, get, func(c *Credential) { c.Challenge.Description = description }); err != nil {
			t.Error(err)
		}
	}
	if _, err := admitted(t, get, func(c *Credential) { c.Challenge.Header = HeaderPaymentAuthorization }); err == nil {
		t.Error("a header that was not in the challenge passed its MAC")
	}
}

// TestConformance_11_2_MixedCase: checksummed here, lower case there.
func TestConformance_11_2_MixedCase(t *testing.T) {
	_, err := admitted(t, get, func(c *Credential) {
		c.payload = []byte(strings.NewReplacer(strings.ToLower(payer.Hex()), payer.Hex()).Replace(string(c.payload)))
		c.Source = strings.ToLower(c.Source)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestConformance_11_2_LegacyOpen: the payload of a client that knows v1 alone.
func TestConformance_11_2_LegacyOpen(t *testing.T) {
	_, err := admitted(t, get, func(c *Credential) {
		c.payload = []byte(`{"action":"open","type":"transaction","channelId":"` + common.Hash{1}.Hex() + `","transaction":"0x76","signature":"0x00","cumulativeAmount":"1"}`)
	})
	wantProblem(t, err, VerificationFailed)
}
