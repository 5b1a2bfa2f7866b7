package mpp

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

// FuzzHeaders gives one text to every parser of a header or of a part of one.
// Beside not crashing, what is accepted must survive being written and read again.
func FuzzHeaders(f *testing.F) {
	_, c := sessionChallenge(f)
	whole, err := c.HeaderValue()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{whole, whole + ", " + whole, `Bearer realm="a, Payment b", ` + whole, `Payment id="\ud83d\ude00\\\"", realm="` + "\xe9" + `"`,
		`Payment id=x, realm=r, method=tempo, intent=session, request=e30`, `Payment`, `Basic abc==, Payment id="`,
		realAuthorization, `Bearer x, Payment e30, Digest a="b, Payment c"`, receiptHeader, encode64([]byte(snapshotText)), sessionText,
		"eyJfbXBweF9zY29wZSI6IkdFVCAvdjEvY2hhdCJ9", "e30=", "tempo/session, tempo/charge;q=0.5, */*;q=0", "a/*;Q=1.000,,b/c ; q=0.001",
		"did:pkh:eip155:42431:0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "2030-01-01T00:00:01.000Z", "12.345678"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if found, err := ParseChallenges(s); err == nil {
			sameChallenges(t, found)
		}
		if c, err := ParseCredential(s); err == nil {
			sameCredential(t, c)
		} else if p := AsProblem(err); p.Status() != 402 && p.Status() != 400 {
			t.Fatalf("status %d", p.Status())
		}
		if src, err := ParseSource(s); err == nil {
			if again, err := ParseSource(src.String()); err != nil || again != src {
				t.Fatalf("%s became %+v: %v", s, again, err)
			}
		}
		if m, err := DecodeOpaque(s); err == nil {
			sameOpaque(t, m)
		}
		if r, err := ParseReceipt(s); err == nil {
			sameReceipt(t, r)
		}
		if n, err := parseSnapshot(s); err == nil {
			sameSnapshotHeader(t, n)
		}
		if q, err := DecodeSessionRequest(s); err == nil {
			sameRequest(t, q)
		}
		if a, err := ParseTokens(s); err == nil {
			if again, err := ParseTokens(FormatTokens(a)); err != nil || again != a {
				t.Fatalf("%s became %v: %v", s, again, err)
			}
		}
		if at, err := parseTime(s); err == nil && at.UTC().Year() > 0 && at.UTC().Year() < 10000 {
			if _, err := parseTime(FormatTime(at)); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	})
}

// FuzzDocuments gives one text to every parser of JSON, without the base64 around
// it, which a fuzzer seldom keeps whole.
func FuzzDocuments(f *testing.F) {
	for _, s := range []string{
		`{` + echo + `,"payload":` + voucherText + `,"source":"did:pkh:eip155:1:0x00"}`,
		`{"challenge":{"id":"x","realm":"r","method":"tempo","intent":"session","request":"e30","opaque":{"a":"b"},"expires":"e","header":"Payment-Authorization"},"payload":{}}`,
		openText, topUpText, voucherText, closeText, sessionJSON,
		`{"amount":"1","currency":null,"methodDetails":{"feePayer":true,"operator":"0x20c0000000000000000000000000000000000000"}}`,
		`{"b":[1e21,-0,5e-324,"\ud83d\ude00"],"a":{"":null}}`, `{"_mppx_scope":"GET /v1/chat"}`, receiptText, snapshotText, needVoucherText,
		string(Insufficient(testRef().ChannelID, testAmount(2), testAmount(1)).WithChallenge("x").Document()),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		samePlain(t, doc)
		if c, err := readCredential(doc); err == nil {
			sameCredential(t, c)
		} else if p := AsProblem(err); p.Type != MalformedCredential {
			t.Fatalf("type %s", p.Type)
		}
		if p, err := parsePayload(doc); err == nil {
			samePayload(t, p)
		} else if typ := AsProblem(err).Type; typ != InvalidPayload && typ != VerificationFailed {
			t.Fatalf("type %s", typ)
		}
		if q, err := readSessionRequest(doc); err == nil {
			sameRequest(t, q)
		}
		if c, err := Canonical(doc); err == nil {
			if again, err := Canonical(c); err != nil || !bytes.Equal(again, c) {
				t.Fatalf("%s became %s: %v", c, again, err)
			}
		}
		if m, err := readOpaque(doc); err == nil {
			sameOpaque(t, m)
		}
		if r, err := DecodeReceipt(doc); err == nil {
			sameReceipt(t, r)
		}
		if s, err := readSnapshot(doc); err == nil {
			sameSnapshotHeader(t, s)
		}
		if n, err := DecodeNeedVoucher(doc); err == nil {
			if again, err := DecodeNeedVoucher(n.JSON()); err != nil || *again != *n {
				t.Fatalf("%+v became %+v: %v", n, again, err)
			}
		}
		if p, err := ParseProblem(doc); err == nil {
			again, err := ParseProblem(p.Document())
			if err != nil || !bytes.Equal(again.Document(), p.Document()) {
				t.Fatalf("%s became %+v: %v", p.Document(), again, err)
			}
		}
	})
}

func sameChallenges(t *testing.T, found []Challenge) {
	var values []string
	for i := range found {
		v, err := found[i].HeaderValue()
		if err != nil {
			t.Fatalf("write what was read: %v", err)
		}
		values = append(values, v)
	}
	joined := strings.Join(values, ", ")
	if len(joined) > maxHeader {
		return // escapes have made it longer
	}
	again, err := ParseChallenges(joined)
	if err != nil || len(again) != len(found) {
		t.Fatalf("read again: %v", err)
	}
	for i := range found {
		if again[i] != found[i] {
			t.Fatalf("%+v became %+v", found[i], again[i])
		}
	}
}

func sameCredential(t *testing.T, c *Credential) {
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

func samePayload(t *testing.T, p Payload) {
	c := NewCredential(&Challenge{}, p, Source{})
	q, err := c.Payload()
	if err != nil || q.Action() != p.Action() || q.Ref() != p.Ref() {
		t.Fatalf("%+v became %+v: %v", p, q, err)
	}
	if d := NewCredential(&Challenge{}, q, Source{}); !bytes.Equal(c.payload, d.payload) {
		t.Fatalf("%s became %s", c.payload, d.payload)
	}
}

func sameRequest(t *testing.T, q *SessionRequest) {
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
	if same, err := recode(s); err != nil || same != s {
		t.Fatalf("%s is not canonical: %v", s, err)
	}
}

func sameOpaque(t *testing.T, m map[string]string) {
	s, err := EncodeOpaque(m)
	if err != nil || len(s) > maxRequest {
		return // longer in canonical form
	}
	if again, err := DecodeOpaque(s); err != nil || !maps.Equal(again, m) {
		t.Fatalf("%v became %v: %v", m, again, err)
	}
}

func sameReceipt(t *testing.T, r *Receipt) {
	if y := r.Timestamp.UTC().Year(); y < 1 || y > 9999 {
		return // RFC 3339 cannot write it in UTC
	}
	again, err := DecodeReceipt(r.JSON())
	if err != nil || !bytes.Equal(again.JSON(), r.JSON()) {
		t.Fatalf("%s became %+v: %v", r.JSON(), again, err)
	}
}

func sameSnapshotHeader(t *testing.T, s *Snapshot) {
	v, err := s.HeaderValue()
	if err != nil {
		t.Fatal(err)
	}
	again, err := parseSnapshot(v)
	if err != nil {
		t.Fatalf("read again: %v", err)
	}
	if w, err := again.HeaderValue(); err != nil || w != v {
		t.Fatalf("%s became %s: %v", v, w, err)
	}
}
