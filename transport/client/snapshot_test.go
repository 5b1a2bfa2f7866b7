package client

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// snapshot is what an honest server says of the rogue's channel after it accepted so
// many cents.
func (r *rogue) snapshot(ref mpp.ChannelRef, cents uint64) *mpp.Snapshot {
	r.t.Helper()
	sig := must(tempo.NewDomain(r.chain.ChainID(), tempo.Escrow).Sign(r.key, ref.ChannelID, usd(cents)))
	return &mpp.Snapshot{
		ChannelID: ref.ChannelID, Descriptor: ref.Descriptor, ChainID: r.chain.ChainID(), Escrow: tempo.Escrow,
		AcceptedCumulative: usd(cents), Deposit: usd(1600), Spent: usd(1), RequiredCumulative: usd(2),
		HighestVoucher: &mpp.SignedVoucher{ChannelID: ref.ChannelID, CumulativeAmount: usd(cents), Signature: sig.Bytes()},
	}
}

// bought opens a channel on the chain and buys one analysis for a cent.
func (r *rogue) bought(c *Client) mpp.ChannelRef {
	r.t.Helper()
	r.serve = func(w http.ResponseWriter, _ *http.Request, cr *mpp.Credential) {
		mined(r, must(cr.Payload()))
		r.stream(w, cr, r.result())
	}
	if _, err := c.Explain(context.Background(), request, nil); err != nil {
		r.t.Fatal(err)
	}
	return r.payloads[0].Ref()
}

// TestSnapshotOfLostFile: a channel that only the server remembers is used again
// where a signature of this key proves how much was signed, and never otherwise.
func TestSnapshotOfLostFile(t *testing.T) {
	another := must(tempo.NewP256Key(append(make([]byte, 31), 8)))
	f := func(what string, taken bool, change func(r *rogue, s *mpp.Snapshot)) {
		t.Helper()
		r := newRogue(t)
		c := r.client()
		ref := r.bought(c)
		c.Close()
		if err := os.Remove(c.store.path); err != nil {
			t.Fatal(err)
		}
		s := r.snapshot(ref, 3)
		change(r, s)
		r.offer.SessionSnapshot = s
		c = r.client()
		if _, err := c.Explain(context.Background(), request, nil); err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		last := r.payloads[len(r.payloads)-1]
		if v, ok := last.(*mpp.Voucher); ok != taken || taken && (v.ChannelID != ref.ChannelID || v.CumulativeAmount != usd(3)) {
			t.Errorf("%s: %s of %s for the old channel: %v", what, last.Action(), signedAmount(last), last.Ref().ChannelID == ref.ChannelID)
		}
		for _, ch := range c.Channels() {
			if ch.ID == ref.ChannelID && !taken {
				t.Errorf("%s: the file has taken over %+v", what, ch)
			}
		}
	}
	sign := func(r *rogue, s *mpp.Snapshot, key tempo.Signer, of common.Hash, cents uint64) {
		s.HighestVoucher.Signature = must(tempo.NewDomain(r.chain.ChainID(), tempo.Escrow).Sign(key, of, usd(cents))).Bytes()
	}
	f("signed", true, func(*rogue, *mpp.Snapshot) {})
	f("no voucher", false, func(_ *rogue, s *mpp.Snapshot) { s.HighestVoucher = nil })
	f("no signature", false, func(_ *rogue, s *mpp.Snapshot) { s.HighestVoucher.Signature = make([]byte, 65) })
	f("signed by another key", false, func(r *rogue, s *mpp.Snapshot) { sign(r, s, another, s.ChannelID, 3) })
	f("signed for less", false, func(r *rogue, s *mpp.Snapshot) { sign(r, s, r.key, s.ChannelID, 2) })
	f("signed for another channel", false, func(r *rogue, s *mpp.Snapshot) { sign(r, s, r.key, common.Hash{1}, 3) })
	f("another signer", false, func(_ *rogue, s *mpp.Snapshot) { s.Descriptor.AuthorizedSigner = another.Address() })
	f("another payer", false, func(_ *rogue, s *mpp.Snapshot) { s.Descriptor.Payer = common.Address{1} })
	f("more spent than accepted", false, func(_ *rogue, s *mpp.Snapshot) { s.Spent = usd(4) })
	f("not on the chain", false, func(r *rogue, s *mpp.Snapshot) {
		s.Descriptor.Salt[0]++
		s.ChannelID = s.Descriptor.ID(s.ChainID, s.Escrow)
		s.HighestVoucher.ChannelID = s.ChannelID
		sign(r, s, r.key, s.ChannelID, 3)
	})
	f("being closed on the chain", false, func(r *rogue, s *mpp.Snapshot) { r.requestClose(s.Descriptor) })
}

// requestClose has the payer ask the chain to close a channel.
func (r *rogue) requestClose(d tempo.Descriptor) {
	r.t.Helper()
	c := r.client(func(o *Options) { o.Dir = r.t.TempDir() })
	tx := must(c.chain.sign(context.Background(), tempo.RequestCloseCall{Descriptor: d}, r.key.Address(), r.key, false))
	mined(r, &mpp.TopUp{Transaction: tx.Encode()})
	if s := must(c.chain.state(context.Background(), d.ID(r.chain.ChainID(), tempo.Escrow))); s.CloseRequestedAt == 0 {
		r.t.Fatal("the chain was not asked to close the channel")
	}
}

// TestSnapshotOfKnownChannel: a snapshot raises what is signed by no more than the
// price, whatever it says was accepted, required or settled.
func TestSnapshotOfKnownChannel(t *testing.T) {
	f := func(what string, cents uint64, target error, text string, change func(s *mpp.Snapshot)) {
		t.Helper()
		r := newRogue(t)
		c := r.client()
		ref := r.bought(c)
		s := r.snapshot(ref, 1)
		change(s)
		r.offer.SessionSnapshot = s
		before := len(r.payloads)
		_, err := c.Explain(context.Background(), request, nil)
		if target == nil && err != nil || target != nil && !has(err, target, text) {
			t.Errorf("%s: %v", what, err)
		}
		if paid := len(r.payloads) > before; paid != (target == nil) || r.highest != usd(cents) {
			t.Errorf("%s: %d payments, signed %s, want %s", what, len(r.payloads)-before, r.highest, usd(cents))
		}
	}
	accepted := func(cents uint64) func(*mpp.Snapshot) {
		return func(s *mpp.Snapshot) {
			s.AcceptedCumulative, s.HighestVoucher.CumulativeAmount = usd(cents), usd(cents)
		}
	}
	f("honest", 2, nil, "", func(*mpp.Snapshot) {})
	f("accepted more", 1, ErrProtocol, "more was accepted than signed", accepted(500))
	f("accepted a cent more", 1, ErrProtocol, "more was accepted than signed", accepted(2))
	f("accepted without a voucher", 1, ErrProtocol, "more was accepted than signed", func(s *mpp.Snapshot) { s.AcceptedCumulative, s.HighestVoucher = usd(500), nil })
	f("requires more", 2, nil, "", func(s *mpp.Snapshot) { s.RequiredCumulative = usd(500) })
	f("settled more", 2, nil, "", func(s *mpp.Snapshot) { s.Settled = usd(500) })
	f("spent more", 2, nil, "", func(s *mpp.Snapshot) { s.Spent = usd(500) })
	f("beyond any amount", 1, ErrProtocol, "out of range", func(s *mpp.Snapshot) {
		s.Spent, s.Settled, s.RequiredCumulative = tempo.MaxAmount, tempo.MaxAmount, tempo.MaxAmount
	})
}

// TestSnapshotOfOlderFile: a file that was restored from a copy learns from a
// signature of its own how far its key has signed.
func TestSnapshotOfOlderFile(t *testing.T) {
	r := newRogue(t)
	c := r.client()
	ref := r.bought(c)
	r.offer.SessionSnapshot = r.snapshot(ref, 7)
	if _, err := c.Explain(context.Background(), request, nil); err != nil {
		t.Fatal(err)
	}
	if ch := c.Channels(); r.highest != usd(7) || len(ch) != 1 || ch[0].Signed != usd(7) {
		t.Errorf("signed %s, channels %+v", r.highest, ch)
	}
}
