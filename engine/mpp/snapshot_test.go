package mpp

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

const snapshotText = `{"acceptedCumulative":"100000","chainId":42431,` + `"channelId":"0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518",` +
	`"deposit":"250000",` + descriptorText + `,"escrow":"0x4d50500000000000000000000000000000000000",` +
	`"highestVoucher":{"channelId":"0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518","cumulativeAmount":"100000","signature":"0xb348"},` +
	`"requiredCumulative":"200000","settled":"0","spent":"100000","units":1}`

func testSnapshot() *Snapshot {
	ref := testRef()
	return &Snapshot{ChannelID: ref.ChannelID, Descriptor: ref.Descriptor, ChainID: 42431, Escrow: testRoute().Request.EscrowContract,
		AcceptedCumulative: testAmount(100000), Deposit: testAmount(250000), Spent: testAmount(100000), RequiredCumulative: testAmount(200000),
		HighestVoucher: &SignedVoucher{ref.ChannelID, testAmount(100000), []byte{0xb3, 0x48}}, Units: 1}
}

// sameSnapshot compares what the snapshots say, the voucher by value.
func sameSnapshot(t *testing.T, got, want *Snapshot) {
	t.Helper()
	a, b := *got, *want
	va, vb := a.HighestVoucher, b.HighestVoucher
	a.HighestVoucher, b.HighestVoucher = nil, nil
	if a != b || (va == nil) != (vb == nil) ||
		va != nil && (va.ChannelID != vb.ChannelID || va.CumulativeAmount != vb.CumulativeAmount || string(va.Signature) != string(vb.Signature)) {
		t.Errorf("have %+v, want %+v", got, want)
	}
}

func TestConformance_1_7_SnapshotHeader(t *testing.T) {
	s := testSnapshot()
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding, base64.URLEncoding, base64.RawStdEncoding} {
		back, err := parseSnapshot(enc.EncodeToString([]byte(snapshotText)))
		if err != nil {
			t.Fatal(err)
		}
		sameSnapshot(t, back, s)
	}
	for units := range uint64(3) { // one of three lengths needs no padding
		s.Units = 10 * units * units
		s.CloseRequestedAt = units
		v, err := s.HeaderValue()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := base64.StdEncoding.DecodeString(v); err != nil {
			t.Errorf("not standard base64 with padding: %v", err)
		}
		back, err := parseSnapshot(v)
		if err != nil {
			t.Fatal(err)
		}
		sameSnapshot(t, back, s)
	}
	s.HighestVoucher = nil
	if v, err := s.HeaderValue(); err == nil {
		t.Errorf("wrote a snapshot that clients reject: %s", v)
	}
}

func TestConformance_1_7_SnapshotStrict(t *testing.T) {
	f := func(old, new string) {
		t.Helper()
		if !strings.Contains(snapshotText, old) {
			t.Fatalf("%s is not in the snapshot", old)
		}
		if s, err := parseSnapshot(encode64([]byte(strings.Replace(snapshotText, old, new, 1)))); err == nil {
			t.Errorf("%s: %+v", new, s)
		}
	}
	f(`"highestVoucher"`, `"voucher"`)
	f(`"deposit":"250000",`, ``)
	f(`"250000"`, `250000`)
	f(`42431`, `"42431"`)
	f(`"signature":"0xb348"`, `"signature":"b348"`)
	f(`"cumulativeAmount":"100000",`, ``)
	f(`"units":1`, `"closeRequestedAt":"79228162514264337593543950335"`)
	f(`"units":1`, `"closeRequestedAt":5`)
	f(`"payer"`, `"payor"`)
}

func TestConformance_1_7_SnapshotInChallenge(t *testing.T) {
	i, _ := sessionChallenge(t)
	route := testRoute()
	route.Request.SessionSnapshot = testSnapshot()
	c, err := i.Issue(route, now)
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.SessionRequest()
	if err != nil {
		t.Fatal(err)
	}
	sameSnapshot(t, q.SessionSnapshot, testSnapshot())
	doc, _ := decode64(c.Request, maxRequest)
	if !strings.Contains(string(doc), `"sessionSnapshot":{"acceptedCumulative":"100000","chainId":42431,"channelId":`) {
		t.Errorf("%s", doc)
	}
	route.Request.SessionSnapshot.HighestVoucher = nil // not used in a challenge
	if c, err = i.Issue(route, now); err != nil {
		t.Fatal(err)
	}
	if q, err = c.SessionRequest(); err != nil || q.SessionSnapshot.HighestVoucher != nil {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestConformance_1_7_ClientChecks(t *testing.T) {
	q := &testRoute().Request
	f := func(ok bool, account common.Address, change func(*Snapshot)) {
		t.Helper()
		s := testSnapshot()
		change(s)
		if err := s.Check(q, account); ok != (err == nil) {
			t.Error(err)
		}
	}
	f(true, payer, func(*Snapshot) {})
	f(true, payer, func(s *Snapshot) { s.HighestVoucher = nil })
	f(false, payee, func(*Snapshot) {})
	f(false, payer, func(s *Snapshot) { s.Descriptor.Salt[0]++ })
	f(false, payer, func(s *Snapshot) { s.ChannelID[0]++ })
	f(false, payer, func(s *Snapshot) { s.HighestVoucher.ChannelID[0]++ })
	f(false, payer, func(s *Snapshot) { s.AcceptedCumulative = testAmount(100001) })
	f(false, payer, func(s *Snapshot) { s.Spent = testAmount(100001) })
	f(false, payer, func(s *Snapshot) { s.Settled = testAmount(250001) })
	f(false, payer, func(s *Snapshot) { s.CloseRequestedAt = 1 })
	again := func(change func(*Snapshot)) func(*Snapshot) {
		return func(s *Snapshot) {
			change(s)
			s.ChannelID = s.Descriptor.ID(s.ChainID, s.Escrow)
			s.HighestVoucher = nil
		}
	}
	f(true, payer, again(func(*Snapshot) {}))
	f(false, payer, again(func(s *Snapshot) { s.ChainID = 4217 }))
	f(false, payer, again(func(s *Snapshot) { s.Escrow[0]++ }))
	f(false, payer, again(func(s *Snapshot) { s.Descriptor.Payee[0]++ }))
	f(false, payer, again(func(s *Snapshot) { s.Descriptor.Token[0]++ }))
	f(false, payer, again(func(s *Snapshot) { s.Descriptor.Operator[0]++ }))
}

func TestConformance_1_7_NextCumulative(t *testing.T) {
	f := func(accepted, required, spent, settled, price, want uint64) {
		t.Helper()
		s := &Snapshot{AcceptedCumulative: testAmount(accepted), RequiredCumulative: testAmount(required), Spent: testAmount(spent), Settled: testAmount(settled)}
		if got, ok := s.NextCumulative(testAmount(price)); !ok || got != testAmount(want) {
			t.Errorf("%v %v", got, ok)
		}
	}
	f(100, 200, 100, 0, 100, 200)
	f(500, 200, 100, 0, 100, 500)
	f(100, 600, 100, 0, 100, 600)
	f(100, 100, 100, 700, 100, 700)
	f(100, 100, 100, 0, 800, 900)
	if _, ok := (&Snapshot{Spent: tempo.MaxAmount}).NextCumulative(testAmount(1)); ok {
		t.Error("an amount wrapped around")
	}
}

// parseSnapshot reads a value of Payment-Session-Snapshot, in either alphabet of base64.
func parseSnapshot(value string) (*Snapshot, error) {
	doc, err := decode64(value, maxRequest)
	if err != nil {
		return nil, err
	}
	return readSnapshot(doc)
}

func readSnapshot(doc []byte) (*Snapshot, error) {
	s := new(Snapshot)
	if err := readObject(doc, snapshotMembers, s.member); err != nil {
		return nil, err
	}
	if s.HighestVoucher == nil {
		return nil, errors.New("highestVoucher is missing")
	}
	return s, nil
}
