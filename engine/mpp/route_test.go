package mpp

import (
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// dollarRoute takes three currencies.
func dollarRoute(t *testing.T) *Route {
	t.Helper()
	opaque, err := EncodeOpaque(map[string]string{"scope": "/explain"})
	if err != nil {
		t.Fatal(err)
	}
	return &Route{Realm: "shop", Opaque: opaque, Currencies: []common.Address{{2}, {3}}, Request: SessionRequest{
		Amount: tempo.AmountFrom(10_000), Currency: common.Address{1}, Recipient: common.Address{9}, UnitType: "request", ChainID: 42431,
		EscrowContract: tempo.Escrow, SessionProtocol: SessionProtocol,
	}}
}

// TestRouteInSeveralCurrencies: each currency has a challenge, in the order of the
// configuration, and the answer to any of them is accepted; no other currency is.
func TestRouteInSeveralCurrencies(t *testing.T) {
	issuer, err := NewIssuer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	f := func(route *Route) {
		t.Helper()
		offers := route.Offers()
		if len(offers) != 3 {
			t.Fatalf("%d offers", len(offers))
		}
		for i, offer := range offers {
			ch, err := issuer.Issue(offer, time.Now().Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			want := common.Address{byte(i + 1)}
			if q, err := route.Pin(ch); err != nil || q.Currency != want || q.Amount != route.Request.Amount {
				t.Errorf("%d: %+v, %v", i, q, err)
			}
		}
	}
	route := dollarRoute(t)
	f(route)
	if err := route.Fix(); err != nil {
		t.Fatal(err)
	}
	f(route)
	other := *dollarRoute(t)
	other.Request.Currency = common.Address{4}
	ch, err := issuer.Issue(&other, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := route.Pin(ch); AsProblem(err).Type != InvalidChallenge {
		t.Errorf("another currency: %v", err)
	}
	one := *route
	one.Currencies = nil
	if offers := one.Offers(); len(offers) != 1 || offers[0] != &one {
		t.Errorf("%v", offers)
	}
	// A snapshot is in the challenge of its channel's token alone.
	snap := &Snapshot{Descriptor: tempo.Descriptor{Token: common.Address{2}}}
	for i, offer := range route.Informed(snap).Offers() {
		if got := offer.Request.SessionSnapshot; (got == snap) != (i == 1) || i != 1 && got != nil {
			t.Errorf("challenge %d has the snapshot %v", i, got)
		}
	}
}

// TestNonceOfAChallenge: a challenge is of its route with and without a nonce.
func TestNonceOfAChallenge(t *testing.T) {
	f := func(scope map[string]string, opaque map[string]string, want bool) {
		t.Helper()
		encode := func(m map[string]string) string {
			if m == nil {
				return ""
			}
			text, err := EncodeOpaque(m)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		route := dollarRoute(t)
		route.Opaque = encode(scope)
		issued := *route
		issued.Opaque = encode(opaque)
		issuer, err := NewIssuer(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		ch, err := issuer.Issue(&issued, time.Now().Add(time.Minute))
		if err != nil || issuer.Verify(ch) != nil {
			t.Fatal(err)
		}
		if _, err := route.Pin(ch); (err == nil) != want {
			t.Errorf("%v for %v: %v", opaque, scope, err)
		}
		ch.Opaque = encode(map[string]string{nonceKey: "0x00", "scope": "/explain"})
		if issuer.Verify(ch) == nil {
			t.Error("a nonce that was not issued is accepted")
		}
	}
	nonce := "0x" + strings.Repeat("11", 32)
	scope := map[string]string{"scope": "/explain"}
	f(scope, scope, true)
	f(scope, map[string]string{"scope": "/explain", nonceKey: nonce}, true)
	f(nil, map[string]string{nonceKey: nonce}, true)
	f(scope, map[string]string{"scope": "/result", nonceKey: nonce}, false)
	f(scope, map[string]string{nonceKey: nonce}, false)
	f(scope, map[string]string{"scope": "/explain", "nonce": nonce}, false)
}
