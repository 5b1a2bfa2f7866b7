package mpp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// Route is what a paid route would issue now.
type Route struct {
	Realm       string
	Description string
	// Opaque, if any, is from EncodeOpaque. A scope in it names the path and not the
	// HTTP method: the vouchers for a stream of GET arrive by POST.
	Opaque string
	// Header is HeaderPaymentAuthorization where the application needs the
	// Authorization header itself; older clients cannot answer it.
	Header  string
	Request SessionRequest
	// Currencies are further tokens that the route takes at the same price. Each has a
	// challenge of its own, after that of Request.Currency.
	Currencies []common.Address
	// AnyPrice accepts an amount that the route has issued before but would not
	// now, for a price that moves between the challenge and its answer. The MAC
	// proves that it was issued under the same realm and opaque; the charge must
	// then be the amount of the challenge.
	AnyPrice bool

	fixed string // the encoded Request, once Fix has made it
}

// Fix encodes the request once and for all: a challenge that echoes it is then known
// at sight, and issued without encoding it again. Request must not change any more.
func (t *Route) Fix() error {
	if t.Request.SessionSnapshot != nil {
		return errors.New("fix route: a snapshot is of one moment")
	}
	encoded, err := t.Request.Encode()
	if err != nil {
		return fmt.Errorf("fix route: %w", err)
	}
	t.fixed = encoded
	return nil
}

// Offers returns the route once for each currency that it takes, in their order. A
// snapshot stays in the one of its channel's token.
func (t *Route) Offers() []*Route {
	if len(t.Currencies) == 0 {
		return []*Route{t}
	}
	var list []*Route
	for _, currency := range slices.Concat([]common.Address{t.Request.Currency}, t.Currencies) {
		offer := *t
		if currency != t.Request.Currency {
			offer.fixed, offer.Request.Currency = "", currency
		}
		if s := offer.Request.SessionSnapshot; s != nil && s.Descriptor.Token != currency {
			offer.Request.SessionSnapshot = nil
		}
		list = append(list, &offer)
	}
	return list
}

// Informed is the route with a snapshot in its request, for one challenge.
func (t *Route) Informed(s *Snapshot) *Route {
	told := *t
	told.fixed, told.Request.SessionSnapshot = "", s
	return &told
}

// Pin refuses, as invalid-challenge, a challenge issued for another route, and
// returns its request. It leaves price and unit to PinPrice: a management request
// has no body, so where the body makes the price its route cannot know it.
func (t *Route) Pin(c *Challenge) (*SessionRequest, error) {
	switch {
	case c.Method != Method || c.Intent != Intent:
		return nil, otherRoute("method and intent")
	case c.Realm != t.Realm:
		return nil, otherRoute("realm")
	case c.Opaque != t.Opaque && withoutNonce(c.Opaque) != t.Opaque:
		return nil, otherRoute("opaque")
	}
	if c.Request == t.fixed && t.fixed != "" {
		q := t.Request
		return &q, nil
	}
	q, err := DecodeSessionRequest(c.Request)
	if err != nil {
		return nil, &Problem{Type: InvalidChallenge, Detail: "The challenge's request cannot be read.", Err: err}
	}
	switch want := &t.Request; {
	case q.Recipient != want.Recipient:
		return nil, otherRoute("recipient")
	case q.Currency != want.Currency && !slices.Contains(t.Currencies, q.Currency):
		return nil, otherRoute("currency")
	case q.ChainID != want.ChainID:
		return nil, otherRoute("chainId")
	case q.EscrowContract != want.EscrowContract:
		return nil, otherRoute("escrowContract")
	case q.Operator != want.Operator:
		return nil, otherRoute("operator")
	}
	return q, nil
}

// nonceKey is the member of opaque that makes the challenges of some issuers differ. It
// says nothing about the route. Like all of opaque it is bound by the id.
const nonceKey = "_mppx_nonce"

// withoutNonce returns an opaque without the nonce of its issuer.
func withoutNonce(opaque string) string {
	m, err := DecodeOpaque(opaque)
	if _, has := m[nonceKey]; err != nil || !has {
		return opaque
	}
	delete(m, nonceKey)
	if len(m) == 0 {
		return ""
	}
	if opaque, err = EncodeOpaque(m); err != nil {
		return ""
	}
	return opaque
}

// PinPrice refuses, as invalid-challenge, a content request whose challenge named
// another price or unit than the route asks.
func (t *Route) PinPrice(q *SessionRequest) error {
	switch {
	case !t.AnyPrice && q.Amount != t.Request.Amount:
		return otherRoute("amount")
	case q.UnitType != t.Request.UnitType:
		return otherRoute("unitType")
	}
	return nil
}

func otherRoute(what string) *Problem {
	return &Problem{Type: InvalidChallenge, Detail: fmt.Sprintf("The challenge was issued for other terms: %s.", what)}
}
