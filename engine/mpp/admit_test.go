package mpp

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// now lies before the expiry of all test challenges but those that say otherwise.
var now = time.Date(2029, 12, 31, 0, 0, 0, 0, time.UTC)

// answer is a voucher that answers a fresh challenge of route.
func answer(t testing.TB, i *Issuer, route *Route) *Credential {
	t.Helper()
	c, err := i.Issue(route, now.Add(ChallengeLifetime))
	if err != nil {
		t.Fatal(err)
	}
	cr := NewCredential(c, &Voucher{testRef(), testAmount(200000), make([]byte, 65)}, Source{42431, payer})
	return cr
}

// TestConformance_2_4_CheckOrder breaks one check after the other and leaves the
// earlier breaks in: the first one in the protocol's order answers.
func TestConformance_2_4_CheckOrder(t *testing.T) {
	i, _ := sessionChallenge(t)
	route := testRoute()
	cr := answer(t, i, route)
	at := now
	admit := func(want ProblemType) {
		t.Helper()
		c := *cr
		_, err := i.Admit(&c, route, Shape{Method: "GET"}, at)
		if want == "" && err != nil {
			t.Error(err)
		} else if want != "" {
			wantProblem(t, err, want)
		}
	}
	admit("")
	cr.Source = "somebody"
	admit(VerificationFailed)
	whole := cr.payload
	cr.payload = []byte(strings.Replace(string(whole), `bd2762`, `bd2763`, 1))
	admit(VerificationFailed)
	cr.payload = []byte(`{"action":"voucher"}`)
	admit(InvalidPayload)
	at = now.Add(ChallengeLifetime)
	admit(PaymentExpired)
	route.Request.Recipient = payer
	admit(InvalidChallenge)
	route.Request.Recipient, at = payee, now
	cr.Challenge.ID = strings.Repeat("A", idLength)
	admit(InvalidChallenge)
}

// TestAdvisory_mppx_0_3_10_CredentialOfAnotherRoute and the rules after it: each
// pinned field, for content and for management.
func TestAdvisory_mppx_0_3_10_CredentialOfAnotherRoute(t *testing.T) {
	i, _ := sessionChallenge(t)
	f := func(what string, contentOnly bool, change func(*Route)) {
		t.Helper()
		cr := answer(t, i, testRoute())
		other := testRoute()
		change(other)
		_, err := i.Admit(cr, other, Shape{Method: "GET"}, now)
		wantProblem(t, err, InvalidChallenge)
		if err != nil && !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		_, err = i.Admit(cr, other, Shape{Method: "POST"}, now)
		if contentOnly && err != nil {
			t.Errorf("management: %v", err)
		} else if !contentOnly {
			wantProblem(t, err, InvalidChallenge)
		}
	}
	f("realm", false, func(r *Route) { r.Realm = "other.example.com" })
	f("opaque", false, func(r *Route) { r.Opaque = "e30" })
	f("recipient", false, func(r *Route) { r.Request.Recipient = payer })
	f("currency", false, func(r *Route) { r.Request.Currency = payer })
	f("chainId", false, func(r *Route) { r.Request.ChainID = 4217 })
	f("escrowContract", false, func(r *Route) { r.Request.EscrowContract[19] = 1 })
	f("operator", false, func(r *Route) { r.Request.Operator = payer })
	f("amount", true, func(r *Route) { r.Request.Amount = testAmount(100001) })
	f("unitType", true, func(r *Route) { r.Request.UnitType = "token" })
}

// TestH14_AmountNotPinnedForManagement: a route that the body prices cannot know
// the price of a voucher's bodyless post.
func TestH14_AmountNotPinnedForManagement(t *testing.T) {
	i, _ := sessionChallenge(t)
	cr := answer(t, i, testRoute())
	other := testRoute()
	other.Request.Amount = testAmount(1)
	a, err := i.Admit(cr, other, Shape{Method: "POST"}, now)
	if err != nil || a.Class != Management {
		t.Fatalf("%+v, %v", a, err)
	}
	_, err = i.Admit(cr, other, Shape{Method: "POST", HasBody: true}, now)
	wantProblem(t, err, InvalidChallenge)
	other.AnyPrice = true
	if a, err = i.Admit(cr, other, Shape{Method: "POST", HasBody: true}, now); err != nil || a.Request.Amount != testAmount(100000) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAdvisory_mppx_0_6_24_ForgedScope: the scope lies in opaque, and an opaque
// that is not the server's own is refused even where its MAC is right.
func TestAdvisory_mppx_0_6_24_ForgedScope(t *testing.T) {
	i, _ := sessionChallenge(t)
	scope := func(path string) *Route {
		r := testRoute()
		var err error
		if r.Opaque, err = EncodeOpaque(map[string]string{"route": path}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	cr := answer(t, i, scope("/cheap"))
	if _, err := i.Admit(cr, scope("/cheap"), Shape{Method: "GET"}, now); err != nil {
		t.Error(err)
	}
	_, err := i.Admit(cr, scope("/dear"), Shape{Method: "GET"}, now)
	wantProblem(t, err, InvalidChallenge)
	cr.Challenge.Opaque = scope("/dear").Opaque
	_, err = i.Admit(cr, scope("/dear"), Shape{Method: "GET"}, now)
	wantProblem(t, err, InvalidChallenge)
}

func TestConformance_2_2_Source(t *testing.T) {
	i, _ := sessionChallenge(t)
	signer := common.HexToAddress("0x5555555555555555555555555555555555555555")
	f := func(ok bool, source string) {
		t.Helper()
		ref := testRef()
		ref.Descriptor.AuthorizedSigner = signer
		ref.ChannelID = ref.Descriptor.ID(42431, testRoute().Request.EscrowContract)
		c, err := i.Issue(testRoute(), now.Add(ChallengeLifetime))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []Payload{&Open{ref, []byte{0x76}, testAmount(1), nil}, &TopUp{ref, []byte{0x76}, testAmount(1)},
			&Voucher{ref, testAmount(1), nil}, &Close{ref, testAmount(1), nil}} {
			cr := NewCredential(c, p, Source{})
			cr.Source = source
			_, err = i.Admit(cr, testRoute(), Shape{Method: "GET"}, now)
			if ok && err != nil {
				t.Errorf("%s: %v", p.Action(), err)
			} else if !ok {
				wantProblem(t, err, VerificationFailed)
			}
		}
	}
	f(true, "")
	f(true, Source{42431, payer}.String())
	f(true, Source{42431, signer}.String())
	f(false, Source{42431, payee}.String())
	f(false, Source{4217, payer}.String())
	f(false, Source{42431, common.Address{}}.String())
	f(false, "did:key:z6Mk")
}

// TestConformance_5_2_ChannelOfAnotherRoute: row 1, for each field.
func TestConformance_5_2_ChannelOfAnotherRoute(t *testing.T) {
	i, _ := sessionChallenge(t)
	f := func(what string, change func(*ChannelRef)) {
		t.Helper()
		ref := testRef()
		change(&ref)
		if what != "channelId" {
			ref.ChannelID = ref.Descriptor.ID(42431, testRoute().Request.EscrowContract)
		}
		c, err := i.Issue(testRoute(), now.Add(ChallengeLifetime))
		if err != nil {
			t.Fatal(err)
		}
		cr := NewCredential(c, &Voucher{ref, testAmount(1), nil}, Source{})
		_, err = i.Admit(cr, testRoute(), Shape{Method: "GET"}, now)
		wantProblem(t, err, VerificationFailed)
		if err != nil && !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("payee", func(r *ChannelRef) { r.Descriptor.Payee[0]++ })
	f("token", func(r *ChannelRef) { r.Descriptor.Token[0]++ })
	f("operator", func(r *ChannelRef) { r.Descriptor.Operator[0]++ })
	f("channelId", func(r *ChannelRef) { r.ChannelID[0]++ })
	f("channelId", func(r *ChannelRef) { r.Descriptor.Salt[0]++ })
	f("channelId", func(r *ChannelRef) { r.ChannelID = r.Descriptor.ID(4217, testRoute().Request.EscrowContract) })
}

// TestConformance_7_1_Classifier is the table of the classifier.
func TestConformance_7_1_Classifier(t *testing.T) {
	f := func(want Class, a Action, s Shape) {
		t.Helper()
		if got := Classify(a, s); got != want {
			t.Errorf("%s %+v: %v", a, s, got)
		}
	}
	for _, a := range []Action{ActionOpen, ActionVoucher} {
		f(Management, a, Shape{Method: "HEAD"})
		f(Management, a, Shape{Method: "HEAD", HasBody: true, HasAccept: true})
		f(Content, a, Shape{Method: "GET"})
		f(Content, a, Shape{Method: "GET", HasBody: true})
		f(Content, a, Shape{Method: "PUT"})
		f(Content, a, Shape{Method: "DELETE", HasAccept: true})
		f(Content, a, Shape{Method: "POST", HasBody: true})
		f(Management, a, Shape{Method: "POST"})
		f(Management, a, Shape{Method: "POST", HasAccept: true, HasSession: true})
		f(Management, a, Shape{Method: "POST", EmptyPost: true})
		f(Content, a, Shape{Method: "POST", EmptyPost: true, HasAccept: true})
		f(Content, a, Shape{Method: "POST", EmptyPost: true, HasSession: true})
	}
	for _, a := range []Action{ActionTopUp, ActionClose} {
		for _, m := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
			f(Management, a, Shape{Method: m, HasBody: true, EmptyPost: true, HasAccept: true, HasSession: true})
		}
	}
}

// TestIssuerConcurrently: one issuer and one pool of readers serve all requests.
func TestIssuerConcurrently(t *testing.T) {
	i, _ := sessionChallenge(t)
	route := testRoute()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for k := range 50 {
				r := *route
				r.Request.Amount = testAmount(uint64(n*50 + k + 1))
				if a, err := i.Admit(answer(t, i, &r), &r, Shape{Method: "GET"}, now); err != nil || a.Request.Amount != r.Request.Amount {
					t.Errorf("%+v, %v", a, err)
				}
			}
		})
	}
	wg.Wait()
}
