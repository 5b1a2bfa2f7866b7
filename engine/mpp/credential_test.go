package mpp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"txlens/engine/mpp/tempo"
)

// realAuthorization is a header that mppx 0.11.0 sent.
const realAuthorization = "Payment eyJjaGFsbGVuZ2UiOnsiZXhwaXJlcyI6IjIwMjYtMTEtMjFUMDc6Mjk6MzcuNzkxWiIsImlkIjoidV9QcTA1VWJheVJYNFRpS0xEMUM2MXpqRllkM2JCbDUzeldLTkx6YmJUUSIsImludGVudCI6InNlc3Npb24iLCJtZXRob2QiOiJ0ZW1wbyIsInJlYWxtIjoiYXBpLmV4YW1wbGUuY29tIiwicmVxdWVzdCI6ImV5SmhiVzkxYm5RaU9pSXhNREF3TURBaUxDSmpkWEp5Wlc1amVTSTZJakI0TWpCak1EQXdNREF3TURBd01EQXdNREF3TURBd01EQXdNREF3TURBd01EQXdNREF3TURBd01DSXNJbTFsZEdodlpFUmxkR0ZwYkhNaU9uc2lZMmhoYVc1SlpDSTZOREkwTXpFc0ltVnpZM0p2ZDBOdmJuUnlZV04wSWpvaU1IZzBaRFV3TlRBd01EQXdNREF3TURBd01EQXdNREF3TURBd01EQXdNREF3TURBd01EQXdNREF3SWl3aWMyVnpjMmx2YmxCeWIzUnZZMjlzSWpvaWRqSWlmU3dpY21WamFYQnBaVzUwSWpvaU1IZzNNRGs1TnprM01FTTFNVGd4TW1Sak0wRXdNVEJETjJRd01XSTFNR1V3WkRFM1pHTTNPVU00SWl3aWMzVm5aMlZ6ZEdWa1JHVndiM05wZENJNklqVXdNREF3TUNJc0luVnVhWFJVZVhCbElqb2ljbVZ4ZFdWemRDSjkifSwicGF5bG9hZCI6eyJhY3Rpb24iOiJ2b3VjaGVyIiwiY2hhbm5lbElkIjoiMHg0NTBhMTYwNTE5M2Y3MWU3OTNmYmM4ZTg1Y2JlOGRlYjg1NjU2NDk4YTY2YjkyNTNmYTk1NWQ3N2JiYzUyMDMwIiwiZGVzY3JpcHRvciI6eyJhdXRob3JpemVkU2lnbmVyIjoiMHhmMzlGZDZlNTFhYWQ4OEY2RjRjZTZhQjg4MjcyNzljZmZGYjkyMjY2IiwiZXhwaXJpbmdOb25jZUhhc2giOiIweGNhNTUzMTdkNGJmYzU0YzVhYmU3MGZhNDFkMWM1ZWI0MjUwMzFhYjQzN2E5ZWQ3NjQ0MTg4NGE2NjEzYzVmMDciLCJvcGVyYXRvciI6IjB4MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCIsInBheWVlIjoiMHg3MDk5Nzk3MEM1MTgxMmRjM0EwMTBDN2QwMWI1MGUwZDE3ZGM3OUM4IiwicGF5ZXIiOiIweGYzOUZkNmU1MWFhZDg4RjZGNGNlNmFCODgyNzI3OWNmZkZiOTIyNjYiLCJzYWx0IjoiMHgzOTk5YTM2MjU5NmFhNzkzNjQzOWU3Y2FjNTIyYTMwZmZiMGJjNDE2ZTIwNjViZjdiMDIwYjRlOGE0ZjNiYWJmIiwidG9rZW4iOiIweDIwYzAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAifSwiY3VtdWxhdGl2ZUFtb3VudCI6IjIwMDAwMCIsInNpZ25hdHVyZSI6IjB4ZDJmMTY5ZmUxNGNkNmI5NjYyZmJhZDdiNTVhOTJhM2VkNGZiOTlmYmNhNjc4ZDk4ZmJiOWRkYjg4MmIwZTZmYTViNWEzMDExOGMxMTM4OWRhYmI2OGQ0MTAzZGI2NjRmZWU0MzMyZDlhNDE1MDQxMDQ4MTU1ZTQ0Y2RlZWUwMTYxYyJ9LCJzb3VyY2UiOiJkaWQ6cGtoOmVpcDE1NTo0MjQzMToweGYzOUZkNmU1MWFhZDg4RjZGNGNlNmFCODgyNzI3OWNmZkZiOTIyNjYifQ"

var (
	payer = common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
	payee = common.HexToAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
	token = common.HexToAddress("0x20c0000000000000000000000000000000000000")
)

func testAmount(v uint64) tempo.Amount { return tempo.AmountFrom(v) }

// testRef is the channel of the published open payload.
func testRef() ChannelRef {
	return ChannelRef{
		ChannelID: common.HexToHash("0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518"),
		Descriptor: tempo.Descriptor{
			Payer: payer, Payee: payee, Token: token, AuthorizedSigner: payer,
			Salt:              common.HexToHash("0x1c42329e65903c6e8a68783ea98ddf86a783899a714c2a44072484e13254097b"),
			ExpiringNonceHash: common.HexToHash("0x7bbe082457174f59de5bd121cdc182155ad0fff669200a0de58bcc855ba69b09"),
		},
	}
}

// testRoute sells what the session vectors ask for.
func testRoute() *Route {
	return &Route{Realm: "api.example.com", Request: SessionRequest{
		Amount: testAmount(100000), Currency: token, Recipient: payee, UnitType: "request", SuggestedDeposit: testAmount(500000),
		ChainID: 42431, EscrowContract: common.HexToAddress("0x4d50500000000000000000000000000000000000"), SessionProtocol: SessionProtocol,
	}}
}

// TestConformance_A_4_RealAuthorization reads a header of the published client and
// admits it.
func TestConformance_A_4_RealAuthorization(t *testing.T) {
	c, err := ParseCredential(realAuthorization)
	if err != nil {
		t.Fatal(err)
	}
	if c.Challenge.ID != "u_Pq05UbayRX4TiKLD1C61zjFYd3bBl53zWKNLzbbTQ" || c.Challenge.Request != sessionText ||
		c.Challenge.Expires != "2026-11-21T07:29:37.791Z" || c.Source != "did:pkh:eip155:42431:"+payer.Hex() {
		t.Errorf("%+v", c)
	}
	i := newIssuer([]byte(strings.Repeat("x", 32)))
	now := time.Date(2026, 11, 21, 7, 25, 0, 0, time.UTC)
	a, err := i.Admit(c, testRoute(), Shape{Method: "GET"}, now)
	if err != nil {
		t.Fatal(err)
	}
	v, ok := a.Payload.(*Voucher)
	if !ok || v.CumulativeAmount != testAmount(200000) || a.Class != Content || a.ChallengeID != c.Challenge.ID ||
		v.ChannelID != common.HexToHash("0x450a1605193f71e793fbc8e85cbe8deb85656498a66b9253fa955d77bbc52030") ||
		v.Descriptor.Payer != payer || len(v.Signature) != 65 || v.Signature[64] != 0x1c {
		t.Errorf("%+v", a)
	}
	// The client's side of the same.
	back := NewCredential(&c.Challenge, v, Source{42431, payer})
	h, err := back.HeaderValue()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ParseCredential(h); err != nil || again.Challenge != c.Challenge || again.Source != c.Source {
		t.Errorf("%+v, %v", again, err)
	}
}

// wantProblem is t.Errorf unless err has the type.
func wantProblem(t *testing.T, err error, want ProblemType) {
	t.Helper()
	var p *Problem
	if !errors.As(err, &p) || p.Type != want {
		t.Errorf("have %v, want %s", err, want)
	}
}

const echo = `"challenge":{"id":"x","realm":"r","method":"tempo","intent":"session","request":"e30"}`

func TestConformance_B_Header(t *testing.T) {
	doc := `{` + echo + `,"payload":{}}`
	tok := encode64([]byte(doc))
	f := func(want ProblemType, values ...string) {
		t.Helper()
		c, err := ParseCredential(values...)
		if want != "" {
			wantProblem(t, err, want)
		} else if err != nil || c.Challenge.ID != "x" {
			t.Errorf("%q: %+v, %v", values, c, err)
		}
	}
	f("", "Payment "+tok)
	f("", "payment \t  "+tok+" ")
	f("", "PAYMENT "+base64.StdEncoding.EncodeToString([]byte(doc)))
	f("", "Payment "+base64.StdEncoding.EncodeToString([]byte(`{"x":"ÿÿ>>??", `+doc[1:])))
	f("", `Bearer abc, Payment `+tok)
	f("", `Payment `+tok+`, Bearer abc`)
	f("", `Digest username="a, Payment b", uri="/", Payment `+tok+`,`)
	f("", `Bearer abc`, "", `Payment `+tok)
	f(PaymentRequired)
	f(PaymentRequired, "")
	f(PaymentRequired, "Bearer x")
	f(PaymentRequired, "Bearer Payment")
	f(PaymentRequired, "Paymentx y")
	f(PaymentRequired, `Digest username="Payment x, Payment y`)
	f(MalformedCredential, "Payment")
	f(MalformedCredential, "Payment ,Bearer x")
	f(MalformedCredential, "Payment !!!")
	f(MalformedCredential, "Payment "+tok+" "+tok)
	f(MalformedCredential, "Payment "+strings.Repeat("A", maxCredential+1))
	f(MalformedCredential, "Payment "+strings.Repeat("A", 1<<20))
	f(MalformedCredential, strings.Repeat("Bearer x,", 1<<17))
}

// TestConformance_11_1_TwoPaymentCredentials: 400, where mppx takes the first.
func TestConformance_11_1_TwoPaymentCredentials(t *testing.T) {
	for _, values := range [][]string{{"Payment a, Payment b"}, {"Payment a", "Payment b"}, {"payment a,Bearer x", "PAYMENT a"},
		{`Payment a, Digest x="not closed`, "Payment b"}} {
		_, err := ParseCredential(values...)
		wantProblem(t, err, BadRequest)
		if AsProblem(err).Status() != 400 {
			t.Error(AsProblem(err).Status())
		}
	}
}

func TestConformance_B_JSON(t *testing.T) {
	f := func(doc string, ok bool) {
		t.Helper()
		c, err := ParseCredential("Payment " + encode64([]byte(doc)))
		if !ok {
			wantProblem(t, err, MalformedCredential)
		} else if err != nil || c.Challenge.Realm != "r" {
			t.Errorf("%s: %+v, %v", clip(doc), c, err)
		}
	}
	with := func(member string) string {
		return `{"challenge":{"id":"x","realm":"r","method":"tempo","intent":"session","request":"e30",` + member + `},"payload":{}}`
	}
	f(`{`+echo+`,"payload":{}}`, true)
	f(`{"payload":{"action":[1]},"unknown":[{"a":null}],`+echo+`,"source":null}`, true)
	f(with(`"description":"d","digest":"g","header":"Payment-Authorization","meta":{"a":"b"},"__proto__":{}`), true)
	f(with(`"opaque":{"a":"b"}`), true)
	f(with(`"opaque":{"a":{"b":"c"}}`), false)
	f(with(`"opaque":["a"]`), false)
	f(with(`"header":"Cookie"`), false)
	f(with(`"id":"y"`), false)
	f(with(`"expires":5`), false)
	f(`[]`, false)
	f(`[`+echo+`]`, false)
	f(`5`, false)
	f(`"x"`, false)
	f(`null`, false)
	f(``, false)
	f(`{}`, false)
	f(`{"payload":{}}`, false)
	f(`{`+echo+`}`, false)
	f(`{`+echo+`,"payload":null}`, false)
	f(`{`+echo+`,"payload":[]}`, false)
	f(`{`+echo+`,"payload":"x"}`, false)
	f(`{"challenge":"x","payload":{}}`, false)
	f(`{`+echo+`,"payload":{},"source":1}`, false)
	f(`{`+echo+`,"payload":{}} x`, false)
	f(`{`+echo+`,"payload":{}}{}`, false)
	f(`{`+echo+`,`+echo+`,"payload":{}}`, false)
	f("{"+echo+",\"payload\":{},\"source\":\"\xff\"}", false)
	f(strings.Replace(`{`+echo+`,"payload":{}}`, `"id":"x"`, `"id":""`, 1), false)
	f(strings.Replace(`{`+echo+`,"payload":{}}`, `"realm":"r",`, ``, 1), false)
	f(`{`+echo+`,"payload":{"a":`+strings.Repeat(`[`, 6)+strings.Repeat(`]`, 6)+`}}`, true)
	f(`{`+echo+`,"payload":{"a":`+strings.Repeat(`[`, 7)+strings.Repeat(`]`, 7)+`}}`, false)
	f(`{"a":`+strings.Repeat(`[`, 20000)+strings.Repeat(`]`, 20000)+`,`+echo+`,"payload":{}}`, false)
	f(`{"a":`+strings.Repeat(`[`, 20000), false)
}

func TestConformance_2_2_OpaqueAsObject(t *testing.T) {
	c, err := ParseCredential("Payment " + encode64([]byte(`{"challenge":{"id":"x","realm":"r","method":"tempo","intent":"session",`+
		`"request":"e30","opaque":{"b":"2","a":"1"}},"payload":{}}`)))
	if err != nil || c.Challenge.Opaque != encode64([]byte(`{"a":"1","b":"2"}`)) {
		t.Errorf("%+v, %v", c, err)
	}
}

const (
	descriptorText = `"descriptor":{"authorizedSigner":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",` +
		`"expiringNonceHash":"0x7bbe082457174f59de5bd121cdc182155ad0fff669200a0de58bcc855ba69b09","operator":"0x0000000000000000000000000000000000000000",` +
		`"payee":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","payer":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",` +
		`"salt":"0x1C42329E65903C6E8A68783EA98DDF86A783899A714C2A44072484E13254097B","token":"0x20c0000000000000000000000000000000000000"}`
	channelText = `"channelId":"0xBD2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518"`
	openText    = `{"action":"open","type":"transaction",` + channelText + `,"transaction":"0x76f90179","signature":"0xb3488223",` + descriptorText +
		`,"cumulativeAmount":"100000","authorizedSigner":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"}`
	topUpText   = `{"action":"topUp","type":"transaction",` + channelText + `,"transaction":"0x76f901bc",` + descriptorText + `,"additionalDeposit":"500000"}`
	voucherText = `{"action":"voucher",` + channelText + `,` + descriptorText + `,"cumulativeAmount":"200000","signature":"0xC2dc"}`
	closeText   = `{"action":"close",` + channelText + `,` + descriptorText + `,"cumulativeAmount":"0","signature":"0x"}`
)

func TestConformance_2_3_Payloads(t *testing.T) {
	f := func(doc string, want Payload) {
		t.Helper()
		got, err := parsePayload([]byte(doc))
		if err != nil {
			t.Error(err)
			return
		}
		check := func(got Payload) {
			t.Helper()
			if got.Action() != want.Action() || got.Ref() != want.Ref() || !bytes.Equal(encode(got), encode(want)) {
				t.Errorf("have %+v, want %+v", got, want)
			}
		}
		check(got)
		cr := NewCredential(&Challenge{ID: "x"}, got, Source{})
		if got, err = cr.Payload(); err != nil {
			t.Fatal(err)
		}
		check(got)
	}
	ref := testRef()
	f(openText, &Open{ref, hexutil.MustDecode("0x76f90179"), testAmount(100000), hexutil.MustDecode("0xb3488223")})
	f(topUpText, &TopUp{ref, hexutil.MustDecode("0x76f901bc"), testAmount(500000)})
	f(voucherText, &Voucher{ref, testAmount(200000), []byte{0xc2, 0xdc}})
	f(closeText, &Close{ref, testAmount(0), []byte{}})
	// Leading zeros vanish; dead and unknown members are ignored.
	f(strings.Replace(voucherText, `"200000"`, `"000200000"`, 1), &Voucher{ref, testAmount(200000), []byte{0xc2, 0xdc}})
	f(strings.Replace(voucherText, `{`, `{"machineTokenEnabled":true,"refundSignature":"x","chainId":1,"transaction":null,`, 1), &Voucher{ref, testAmount(200000), []byte{0xc2, 0xdc}})
	longest := bytes.Repeat([]byte{2}, 2049) // of WebAuthn
	f(strings.Replace(voucherText, `0xC2dc`, hexutil.Encode(longest), 1), &Voucher{ref, testAmount(200000), longest})
	f(strings.Replace(voucherText, `"200000"`, `"79228162514264337593543950335"`, 1), &Voucher{ref, tempo.MaxAmount, []byte{0xc2, 0xdc}})
}

func TestConformance_5_5_InvalidPayload(t *testing.T) {
	f := func(want ProblemType, doc, old, new string) {
		t.Helper()
		if !strings.Contains(doc, old) {
			t.Fatalf("%s is not in the payload", old)
		}
		p, err := parsePayload([]byte(strings.Replace(doc, old, new, 1)))
		if wantProblem(t, err, want); err == nil {
			t.Errorf("%s: %+v", new, p)
		}
	}
	f(InvalidPayload, openText, `"action":"open",`, ``)
	f(InvalidPayload, openText, `"open"`, `"requestClose"`)
	f(InvalidPayload, openText, `"open"`, `"Open"`)
	f(InvalidPayload, openText, `"action"`, `"Action"`)
	f(InvalidPayload, openText, `"type":"transaction",`, ``)
	f(InvalidPayload, openText, `"type":"transaction"`, `"type":"hash"`)
	f(InvalidPayload, openText, `"transaction":"0x76f90179",`, ``)
	f(InvalidPayload, openText, `"0x76f90179"`, `"0x"`)
	f(InvalidPayload, openText, `"signature":"0xb3488223",`, ``)
	f(InvalidPayload, openText, `"cumulativeAmount":"100000",`, ``)
	f(InvalidPayload, openText, channelText+`,`, ``)
	f(InvalidPayload, topUpText, `"additionalDeposit"`, `"cumulativeAmount"`)
	f(InvalidPayload, topUpText, `"type":"transaction",`, ``)
	f(InvalidPayload, voucherText, `"signature":"0xC2dc"`, `"signature":null`)
	f(InvalidPayload, voucherText, `"cumulativeAmount":"200000",`, ``)
	f(InvalidPayload, closeText, `"signature":"0x"`, `"x":1`)
	for _, amount := range []string{`200000`, `2e5`, `""`, `"-1"`, `"+1"`, `" 1"`, `"1 "`, `"1.0"`, `"1e5"`, `"0x1"`, `"١"`, `"1_0"`, `true`, `[]`, `{}`,
		`"79228162514264337593543950336"`, `"` + strings.Repeat("9", 30) + `"`, `"` + strings.Repeat("0", 100) + `"`} {
		f(InvalidPayload, voucherText, `"200000"`, amount)
	}
	for _, sig := range []string{`"C2dc"`, `"0XC2dc"`, `"0xC2d"`, `"0xC2dg"`, `""`, `"0"`, `12`, `"0x` + strings.Repeat("00", 2050) + `"`} {
		f(InvalidPayload, voucherText, `"0xC2dc"`, sig)
	}
	f(InvalidPayload, openText, `0x76f90179`, `0x`+strings.Repeat("00", 16<<10+1))
	f(InvalidPayload, voucherText, `04d518`, `04d5`)
	f(InvalidPayload, voucherText, `04d518`, `04d51800`)
	f(InvalidPayload, voucherText, `"payer":`, `"Payer":`)
	f(InvalidPayload, voucherText, `"payer":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",`, ``)
	f(InvalidPayload, voucherText, `"descriptor":{`, `"descriptor":{"extra":1,`)
	f(InvalidPayload, voucherText, `"descriptor":{`, `"descriptor":{"payer":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",`)
	f(InvalidPayload, voucherText, `cfffb92266"`, `cfffb922"`)
	f(InvalidPayload, voucherText, `"action"`, `"deep":`+strings.Repeat(`[`, 9)+strings.Repeat(`]`, 9)+`,"action"`)
	f(InvalidPayload, voucherText, `"action"`, `"action":"voucher","action"`)
	f(InvalidPayload, voucherText, `}`, `}} x`)
	f(VerificationFailed, openText, `,"authorizedSigner":"0xf39F`, `,"authorizedSigner":"0x039F`)
}

// TestConformance_11_1_V1Credential: 402 that names what is missing.
func TestConformance_11_1_V1Credential(t *testing.T) {
	for _, doc := range []string{openText, topUpText, voucherText, closeText} {
		for _, none := range []string{``, `"descriptor":null,`} {
			_, err := parsePayload([]byte(strings.Replace(doc, descriptorText+`,`, none, 1)))
			wantProblem(t, err, VerificationFailed)
			if p := AsProblem(err); p.Status() != 402 || !strings.Contains(p.Detail, "descriptor") {
				t.Errorf("%v", p)
			}
		}
	}
}

// TestConformance_11_1_ChannelIDCase and TestAdvisory_mppx_0_5_14: two spellings
// of an id are one channel, since neither outlives the parser.
func TestConformance_11_1_ChannelIDCase(t *testing.T) {
	upper, err := parsePayload([]byte(voucherText))
	if err != nil {
		t.Fatal(err)
	}
	lower, err := parsePayload([]byte(strings.ToLower(strings.NewReplacer("channelId", "CHANNEL").Replace(voucherText))))
	if err == nil {
		t.Fatalf("a member in lower case was taken for another: %+v", lower)
	}
	lower, err = parsePayload([]byte(strings.Replace(voucherText, "0xBD", "0xbd", 1)))
	if err != nil || lower.Ref() != upper.Ref() || upper.Ref() != testRef() {
		t.Errorf("%+v, %v", lower, err)
	}
}

func TestConformance_B_Source(t *testing.T) {
	f := func(s string, ok bool) {
		t.Helper()
		got, err := ParseSource(s)
		if ok != (err == nil) || ok && (got != Source{42431, payer}) {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
		if back, err := ParseSource(got.String()); ok && (err != nil || back != got) {
			t.Errorf("%q: back %+v, %v", s, back, err)
		}
	}
	f("did:pkh:eip155:42431:"+payer.Hex(), true)
	f("did:pkh:eip155:42431:"+strings.ToLower(payer.Hex()), true)
	f("did:pkh:eip155:042431:"+payer.Hex(), false)
	f("did:pkh:eip155:+42431:"+payer.Hex(), false)
	f("did:pkh:eip155:0:"+payer.Hex(), false)
	f("did:pkh:eip155::"+payer.Hex(), false)
	f("did:pkh:eip155:9007199254740993:"+payer.Hex(), false)
	f("did:pkh:eip155:"+strings.Repeat("1", 99)+":"+payer.Hex(), false)
	f("did:pkh:eip155:42431:"+payer.Hex()[2:], false)
	f("did:pkh:eip155:42431:"+payer.Hex()+"00", false)
	f("did:pkh:eip155:42431:"+payer.Hex()[:41]+"g", false)
	f("did:pkh:eip155:42431:"+payer.Hex()+":x", false)
	f("did:pkh:eip155:42431", false)
	f("did:pkh:solana:42431:"+payer.Hex(), false)
	f("DID:pkh:eip155:42431:"+payer.Hex(), false)
	f(payer.Hex(), false)
	f("", false)
}

// TestParseHeaders: a credential counts only in the header that its challenge selected.
func TestParseHeaders(t *testing.T) {
	plain, err := ParseCredential(realAuthorization)
	if err != nil {
		t.Fatal(err)
	}
	plain.Challenge.Header = HeaderPaymentAuthorization
	selecting, err := plain.HeaderValue()
	if err != nil {
		t.Fatal(err)
	}
	f := func(want ProblemType, authorization int, values ...string) {
		t.Helper()
		c, err := ParseHeaders(authorization, values...)
		if got := ProblemType(""); err != nil {
			if got = AsProblem(err).Type; got != want {
				t.Errorf("%s, want %s: %v", got, want, err)
			}
		} else if want != "" || c == nil {
			t.Errorf("parsed; want %s", want)
		}
	}
	f("", 1, realAuthorization)
	f(MalformedCredential, 0, realAuthorization)
	f("", 0, selecting)
	f(MalformedCredential, 1, selecting)
	f("", 1, "Bearer x", selecting)
	f("", 2, "Bearer x", realAuthorization, "Bearer y")
	f(MalformedCredential, 1, "Bearer x", realAuthorization)
	f(MalformedCredential, 2, "Bearer x", selecting)
	f(BadRequest, 1, realAuthorization, selecting)
	f(PaymentRequired, 1, "Bearer x", "Bearer y")
	f(PaymentRequired, 0)
}
