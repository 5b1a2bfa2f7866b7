package sale

import (
	"math"
	"net/netip"
	"testing"

	"txlens/actors/channel"
	"txlens/actors/slots"
	"txlens/engine/mpp/tempo"
)

// TestHolder: the party of a payment, for the pools.
func TestHolder(t *testing.T) {
	f := func(proxied bool, origin string, spent, deposit tempo.Amount, want slots.Holder) {
		t.Helper()
		book := newShelf(0)
		s := New(Options{Bills: book, Collector: book, Proxied: proxied})
		p := &channel.Payment{
			Standing: channel.Standing{Channel: channelID, Payer: payer, Spent: spent, Deposit: deposit}, Origin: netip.MustParsePrefix(origin),
		}
		want.Channel, want.Payer, want.Origin = channelID, payer, p.Origin
		if got := s.Holder(p); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	network := netip.MustParsePrefix("203.0.113.0/24")
	f(false, "203.0.113.7/32", units(10_000), units(2_000_000), slots.Holder{Network: network, Paid: 10_000, Deposit: 2_000_000})
	f(false, "203.0.113.7/32", units(250_000), tempo.MaxAmount, slots.Holder{Network: network, Known: true, Paid: 250_000, Deposit: math.MaxUint64})
	f(false, "127.0.0.1/32", units(0), units(0), slots.Holder{})
	f(true, "203.0.113.7/32", units(0), units(0), slots.Holder{})
}

// TestJobHolder: for whom a job runs, also after a restart.
func TestJobHolder(t *testing.T) {
	book := newShelf(0, channel.Bill{ID: "taken up", Payer: payer, Channel: channelID}, channel.Bill{ID: "old"})
	book.spent = 250_000
	s := New(Options{Bills: book, Collector: book})
	f := func(id string, want slots.Holder) {
		t.Helper()
		if got := s.JobHolder(id); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	f("taken up", slots.Holder{Channel: channelID, Payer: payer, Known: true, Paid: 250_000, Deposit: 9_000_000})
	f("old", slots.Holder{})
	f("unknown", slots.Holder{})
	p := &channel.Payment{Standing: channel.Standing{Channel: channelID, Payer: payer}, Origin: netip.MustParsePrefix("203.0.113.7/32")}
	place, err := s.TakeJob(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	s.JobBegun("new", place)
	f("new", s.Holder(p))
}
