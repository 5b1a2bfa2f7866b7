package mpp

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

// Each parser of foreign input has a target here. Beside not crashing, what is
// accepted must survive being written and read again.

func FuzzParseChallenges(f *testing.F) {
	_, c := sessionChallenge(f)
	whole, err := c.HeaderValue()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{whole, whole + ", " + whole, `Bearer realm="a, Payment b", ` + whole, `Payment id="\ud83d\ude00\\\"", realm="` + "\xe9" + `"`,
		`Payment id=x, realm=r, method=tempo, intent=session, request=e30`, `Payment`, `Basic abc==, Payment id="`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		found, err := ParseChallenges(s)
		if err != nil {
			return
		}
		var values []string
		for i := range found {
			v, err := found[i].HeaderValue()
			if err != nil {
				t.Fatalf("write what was read: %v", err)
			}
			values = append(values, v)
		}
		again, err := ParseChallenges(strings.Join(values, ", "))
		if err != nil || len(again) != len(found) {
			t.Fatalf("read again: %v", err)
		}
		for i := range found {
			if again[i] != found[i] {
				t.Fatalf("%+v became %+v", found[i], again[i])
			}
		}
	})
}

func FuzzParseCredential(f *testing.F) {
	f.Add(realAuthorization)
	f.Add(`Bearer x, Payment e30, Digest a="b, Payment c"`)
	f.Add("Payment")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCredential(s)
		if err != nil {
			if p := AsProblem(err); p.Status() != 402 && p.Status() != 400 {
				t.Fatalf("status %d", p.Status())
			}
			return
		}
		reread(t, c)
	})
}

// FuzzCredentialJSON is FuzzParseCredential behind the base64, which a fuzzer
// seldom keeps whole.
func FuzzCredentialJSON(f *testing.F) {
	f.Add([]byte(`{` + echo + `,"payload":` + voucherText + `,"source":"did:pkh:eip155:1:0x00"}`))
	f.Add([]byte(`{"challenge":{"id":"x","realm":"r","method":"tempo","intent":"session","request":"e30","opaque":{"a":"b"},"expires":"e","header":"Payment-Authorization"},"payload":{}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := decodeCredential(encode64(doc))
		if err != nil {
			if p := AsProblem(err); p.Type != MalformedCredential {
				t.Fatalf("type %s", p.Type)
			}
			return
		}
		reread(t, c)
	})
}

func reread(t *testing.T, c *Credential) {
	v, err := c.HeaderValue()
	if err != nil {
		return // longer than the bound once written anew
	}
	again, err := ParseCredential(v)
	if err != nil {
		t.Fatalf("read again: %v", err)
	}
	if again.Challenge != c.Challenge || again.Source != c.Source {
		t.Fatalf("%+v became %+v", c, again)
	}
}

func FuzzPayload(f *testing.F) {
	for _, s := range []string{openText, topUpText, voucherText, closeText} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := parsePayload(doc)
		if err != nil {
			if typ := AsProblem(err).Type; typ != InvalidPayload && typ != VerificationFailed {
				t.Fatalf("type %s", typ)
			}
			return
		}
		c, err := NewCredential(&Challenge{}, p, Source{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := c.Payload()
		if err != nil || q.Action() != p.Action() || q.Ref() != p.Ref() {
			t.Fatalf("%+v became %+v: %v", p, q, err)
		}
		d, err := NewCredential(&Challenge{}, q, Source{})
		if err != nil || !bytes.Equal(c.payload, d.payload) {
			t.Fatalf("%s became %s: %v", c.payload, d.payload, err)
		}
	})
}

func FuzzSessionRequest(f *testing.F) {
	f.Add([]byte(sessionJSON))
	f.Add([]byte(`{"amount":"1","currency":null,"methodDetails":{"feePayer":true,"operator":"0x20c0000000000000000000000000000000000000"}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		q, err := DecodeSessionRequest(encode64(doc))
		if err != nil {
			return
		}
		s, err := q.Encode()
		if err != nil {
			return // longer in canonical form
		}
		again, err := DecodeSessionRequest(s)
		if err != nil {
			t.Fatalf("read again: %v", err)
		}
		if twice, err := again.Encode(); err != nil || twice != s {
			t.Fatalf("%s became %s: %v", s, twice, err)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(sessionJSON))
	f.Add([]byte(`{"b":[1e21,-0,5e-324,"\ud83d\ude00"],"a":{"":null}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := Canonical(doc)
		if err != nil {
			return
		}
		again, err := Canonical(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%s became %s: %v", got, again, err)
		}
		if len(got) < maxRequest/2 {
			if s, err := recode(encode64(doc)); len(doc) < maxRequest/2 && (err != nil || s != encode64(got)) {
				t.Fatalf("recoded as %s: %v", s, err)
			}
		}
	})
}

func FuzzOpaque(f *testing.F) {
	f.Add("eyJfbXBweF9zY29wZSI6IkdFVCAvdjEvY2hhdCJ9")
	f.Add("e30=")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := DecodeOpaque(s)
		if err != nil {
			return
		}
		again, err := EncodeOpaque(m)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := DecodeOpaque(again); err != nil || !maps.Equal(n, m) {
			t.Fatalf("%v became %v: %v", m, n, err)
		}
	})
}

func FuzzReceipt(f *testing.F) {
	f.Add([]byte(receiptText))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := DecodeReceipt(doc)
		if err != nil {
			return
		}
		again, err := ParseReceipt(r.HeaderValue())
		if err != nil {
			// A year that RFC 3339 cannot write, once in UTC.
			if y := r.Timestamp.UTC().Year(); y > 0 && y < 10000 {
				t.Fatalf("read again: %v", err)
			}
			return
		}
		if !bytes.Equal(again.JSON(), r.JSON()) {
			t.Fatalf("%s became %s", r.JSON(), again.JSON())
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(snapshotText))
	f.Fuzz(func(t *testing.T, doc []byte) {
		s, err := ParseSnapshot(encode64(doc))
		if err != nil {
			return
		}
		v, err := s.HeaderValue()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseSnapshot(v)
		if err != nil {
			t.Fatalf("read again: %v", err)
		}
		if w, err := again.HeaderValue(); err != nil || w != v {
			t.Fatalf("%s became %s: %v", v, w, err)
		}
	})
}

func FuzzNeedVoucher(f *testing.F) {
	f.Add([]byte(needVoucherText))
	f.Fuzz(func(t *testing.T, doc []byte) {
		n, err := DecodeNeedVoucher(doc)
		if err != nil {
			return
		}
		if again, err := DecodeNeedVoucher(n.JSON()); err != nil || *again != *n {
			t.Fatalf("%+v became %+v: %v", n, again, err)
		}
	})
}

func FuzzProblem(f *testing.F) {
	f.Add(Insufficient(testRef().ChannelID, testAmount(2), testAmount(1)).WithChallenge("x").Document())
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := ParseProblem(doc)
		if err != nil {
			return
		}
		again, err := ParseProblem(p.Document())
		if err != nil {
			t.Fatalf("read again: %v", err)
		}
		if !bytes.Equal(again.Document(), p.Document()) {
			t.Fatalf("%s became %s", p.Document(), again.Document())
		}
	})
}

func FuzzAcceptPayment(f *testing.F) {
	f.Add("tempo/session, tempo/charge;q=0.5, */*;q=0")
	f.Add("a/*;Q=1.000,,b/c ; q=0.001")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAcceptPayment(s)
		if err != nil {
			return
		}
		again, err := ParseAcceptPayment(a.String())
		if err != nil || again.String() != a.String() {
			t.Fatalf("%s became %s: %v", a, again, err)
		}
		if q := a.Quality("tempo", "session"); q < 0 || q > 1000 {
			t.Fatalf("quality %d", q)
		}
	})
}

func FuzzSource(f *testing.F) {
	f.Add("did:pkh:eip155:42431:0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
	f.Fuzz(func(t *testing.T, s string) {
		src, err := ParseSource(s)
		if err != nil {
			return
		}
		if again, err := ParseSource(src.String()); err != nil || again != src {
			t.Fatalf("%s became %+v: %v", s, again, err)
		}
	})
}
