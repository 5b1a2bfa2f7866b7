package mpp

import (
	"reflect"
	"testing"

	"txlens/engine/mpp/tempo"
)

// TestConformance_1_6_RequestIsCanonical: what is written for every field is
// canonical already, since an echo in another form fails the MAC of other servers.
func TestConformance_1_6_RequestIsCanonical(t *testing.T) {
	f := func(q *SessionRequest, want string) {
		t.Helper()
		s, err := q.Encode()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := decode64(s, maxRequest)
		if err != nil || want != "" && string(doc) != want {
			t.Errorf("wrote %s, %v", doc, err)
		}
		if c, err := Canonical(doc); err != nil || string(c) != string(doc) {
			t.Errorf("wrote %s, canonical is %s, %v", doc, c, err)
		}
		if back, err := DecodeSessionRequest(s); err != nil || !reflect.DeepEqual(back, q) {
			t.Errorf("read back %+v, %v", back, err)
		}
	}
	q := testRoute().Request
	f(&q, `{"amount":"100000","currency":"0x20c0000000000000000000000000000000000000","methodDetails":{"chainId":42431,`+
		`"escrowContract":"0x4d50500000000000000000000000000000000000","sessionProtocol":"v2"},`+
		`"recipient":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8","suggestedDeposit":"500000","unitType":"request"}`)
	q.UnitType = "<a> & \"b\"\\ é☕😀\u2028\x00\x1f\x7f\t"
	q.FeePayer, q.FeeToken, q.MinVoucherDelta, q.Operator = true, payee, tempo.MaxAmount, payer
	q.SuggestedDeposit = tempo.Amount{}
	f(&q, "")
	s := testSnapshot()
	s.CloseRequestedAt = 1893456000
	q.SessionSnapshot = s
	f(&q, "")
	s.HighestVoucher, s.Units = nil, 0
	f(&q, "")
}

// TestCredentialDocument is what our client sends, byte for byte.
func TestCredentialDocument(t *testing.T) {
	c := &Challenge{ID: "x", Realm: "r", Method: Method, Intent: Intent, Request: "e30", Expires: "2030-01-01T00:05:00.000Z", Opaque: "e30", Description: "\"d\""}
	ref := testRef()
	const descriptor = `"channelId":"0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518",` +
		`"descriptor":{"authorizedSigner":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",` +
		`"expiringNonceHash":"0x7bbe082457174f59de5bd121cdc182155ad0fff669200a0de58bcc855ba69b09",` +
		`"operator":"0x0000000000000000000000000000000000000000","payee":"0x70997970c51812dc3a010c7d01b50e0d17dc79c8",` +
		`"payer":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","salt":"0x1c42329e65903c6e8a68783ea98ddf86a783899a714c2a44072484e13254097b",` +
		`"token":"0x20c0000000000000000000000000000000000000"}}`
	f := func(p Payload, source Source, want string) {
		t.Helper()
		v, err := NewCredential(c, p, source).HeaderValue()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := decode64(v[len("Payment "):], maxCredential)
		want = `{"challenge":{"id":"x","realm":"r","method":"tempo","intent":"session","request":"e30","expires":"2030-01-01T00:05:00.000Z",` +
			`"description":"\"d\"","opaque":"e30"},"payload":` + want
		if err != nil || string(doc) != want {
			t.Errorf("have %s\nwant %s\n%v", doc, want, err)
		}
	}
	f(&Open{ref, []byte{0x76}, testAmount(1), []byte{0xab}}, Source{42431, payer},
		`{"action":"open","type":"transaction","transaction":"0x76","authorizedSigner":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",`+
			`"cumulativeAmount":"1","signature":"0xab",`+descriptor+`,"source":"did:pkh:eip155:42431:0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"}`)
	f(&TopUp{ref, []byte{0x76}, testAmount(2)}, Source{}, `{"action":"topUp","type":"transaction","transaction":"0x76","additionalDeposit":"2",`+descriptor+`}`)
	f(&Voucher{ref, tempo.MaxAmount, []byte{0xab}}, Source{}, `{"action":"voucher","cumulativeAmount":"79228162514264337593543950335","signature":"0xab",`+descriptor+`}`)
	f(&Close{ref, testAmount(0), nil}, Source{}, `{"action":"close","cumulativeAmount":"0","signature":"0x",`+descriptor+`}`)

	cr := NewCredential(c, &Close{ChannelRef: ref}, Source{})
	if cr.HeaderName() != "Authorization" {
		t.Error(cr.HeaderName())
	}
	cr.Challenge.Header = HeaderPaymentAuthorization
	if cr.HeaderName() != "Payment-Authorization" {
		t.Error(cr.HeaderName())
	}
	cr.Challenge.Realm = "\xff"
	if v, err := cr.HeaderValue(); err == nil {
		t.Errorf("wrote %s", v)
	}
}
