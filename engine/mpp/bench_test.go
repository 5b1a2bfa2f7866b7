package mpp

import (
	"strings"
	"testing"
	"time"
)

func BenchmarkParseVoucherCredential(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c, err := ParseCredential(realAuthorization)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Payload(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAdmitVoucher is all of a voucher's way before its signature.
func BenchmarkAdmitVoucher(b *testing.B) {
	i := newIssuer([]byte(strings.Repeat("x", 32)))
	route, at := testRoute(), time.Date(2026, 11, 21, 7, 25, 0, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		c, err := ParseCredential(realAuthorization)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := i.Admit(c, route, Shape{Method: "POST"}, at); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyChallenge(b *testing.B) {
	i, c := sessionChallenge(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := i.Verify(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIssueChallenge(b *testing.B) {
	i, _ := sessionChallenge(b)
	route := testRoute()
	b.ReportAllocs()
	for b.Loop() {
		c, err := i.Issue(route, now)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.HeaderValue(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReceipt(b *testing.B) {
	r := testReceipt()
	b.ReportAllocs()
	for b.Loop() {
		_ = r.HeaderValue()
	}
}
