package mpp

import (
	"encoding/base64"
	"errors"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// Snapshot is the server's view of a channel, by which a client that lost its
// state, or fell behind, continues. It travels in a challenge, where the id binds
// it, or in the header Payment-Session-Snapshot.
type Snapshot struct {
	ChannelID  common.Hash
	Descriptor tempo.Descriptor
	ChainID    uint64
	Escrow     common.Address

	AcceptedCumulative, Deposit, Settled, Spent tempo.Amount
	// RequiredCumulative is Spent plus the price for content, Spent otherwise.
	RequiredCumulative tempo.Amount
	// HighestVoucher must be there in the header, and is not used in a challenge.
	HighestVoucher *SignedVoucher
	// Units and CloseRequestedAt (unix seconds) are optional: zero is absent.
	Units            uint64
	CloseRequestedAt uint64
}

// SignedVoucher is a voucher outside a payload.
type SignedVoucher struct {
	ChannelID        common.Hash
	CumulativeAmount tempo.Amount
	Signature        []byte
}

// write writes the members of s in canonical order.
func (s *Snapshot) write(w *writer) {
	w.amount("acceptedCumulative", s.AcceptedCumulative)
	w.integer("chainId", s.ChainID)
	w.hex("channelId", s.ChannelID[:])
	if s.CloseRequestedAt != 0 {
		w.amount("closeRequestedAt", tempo.AmountFrom(s.CloseRequestedAt))
	}
	w.amount("deposit", s.Deposit)
	w.descriptor(&s.Descriptor)
	w.hex("escrow", s.Escrow[:])
	if v := s.HighestVoucher; v != nil {
		w.object("highestVoucher")
		w.hex("channelId", v.ChannelID[:])
		w.amount("cumulativeAmount", v.CumulativeAmount)
		w.hex("signature", v.Signature)
		w.end()
	}
	w.amount("requiredCumulative", s.RequiredCumulative)
	w.amount("settled", s.Settled)
	w.amount("spent", s.Spent)
	if s.Units != 0 {
		w.integer("units", s.Units)
	}
}

// HeaderValue is s as a value of Payment-Session-Snapshot: standard base64 with
// padding, which every published reader accepts.
func (s *Snapshot) HeaderValue() (string, error) {
	if s.HighestVoucher == nil {
		return "", errors.New("write snapshot: clients reject it without the highest voucher")
	}
	var w writer
	w.begin(1024)
	s.write(&w)
	w.end()
	return base64.StdEncoding.EncodeToString(w.b), nil
}

var (
	snapshotMembers = []string{"acceptedCumulative", "chainId", "channelId", "deposit", "descriptor", "escrow",
		"requiredCumulative", "settled", "spent"}
	voucherMembers = []string{"channelId", "cumulativeAmount", "signature"}
)

func (s *Snapshot) read(r *reader) { r.object(snapshotMembers, s.member) }

func (s *Snapshot) member(r *reader, name []byte) bool {
	switch string(name) {
	case "acceptedCumulative":
		s.AcceptedCumulative = r.amount()
	case "deposit":
		s.Deposit = r.amount()
	case "settled":
		s.Settled = r.amount()
	case "spent":
		s.Spent = r.amount()
	case "requiredCumulative":
		s.RequiredCumulative = r.amount()
	case "chainId":
		s.ChainID = r.integer()
	case "channelId":
		s.ChannelID = r.hash()
	case "descriptor":
		s.Descriptor = readDescriptor(r)
	case "escrow":
		s.Escrow = r.address()
	case "units":
		s.Units = r.integer()
	case "closeRequestedAt":
		at, ok := r.amount().Uint64()
		if !ok {
			r.fail(errRange)
		}
		s.CloseRequestedAt = at
	case "highestVoucher":
		v := new(SignedVoucher)
		r.object(voucherMembers, v.member)
		s.HighestVoucher = v
	default:
		return false
	}
	return true
}

func (v *SignedVoucher) member(r *reader, name []byte) bool {
	switch string(name) {
	case "channelId":
		v.ChannelID = r.hash()
	case "cumulativeAmount":
		v.CumulativeAmount = r.amount()
	case "signature":
		v.Signature = r.bytes(maxSignature)
	default:
		return false
	}
	return true
}

// Check is the client's part that needs neither key nor chain: the snapshot agrees
// with itself and with the challenge's request, and the channel is payer's. The
// voucher's signature and the deposit on chain remain to be confirmed.
func (s *Snapshot) Check(q *SessionRequest, payer common.Address) error {
	d, v := &s.Descriptor, s.HighestVoucher
	switch {
	case d.ID(s.ChainID, s.Escrow) != s.ChannelID:
		return errors.New("check snapshot: the descriptor makes another channelId")
	case d.Payee != q.Recipient || d.Token != q.Currency || d.Operator != q.Operator:
		return errors.New("check snapshot: payee, token or operator is not the challenge's")
	case s.ChainID != q.ChainID || s.Escrow != q.EscrowContract:
		return errors.New("check snapshot: chain or escrow is not the challenge's")
	case d.Payer != payer:
		return errors.New("check snapshot: the payer is another account")
	case v != nil && (v.ChannelID != s.ChannelID || v.CumulativeAmount != s.AcceptedCumulative):
		return errors.New("check snapshot: the voucher is not for what was accepted")
	case s.Spent.Cmp(s.AcceptedCumulative) > 0:
		return errors.New("check snapshot: more was spent than accepted")
	case s.Settled.Cmp(s.Deposit) > 0:
		return errors.New("check snapshot: more was settled than deposited")
	case s.CloseRequestedAt != 0:
		return errors.New("check snapshot: the channel is closing")
	}
	return nil
}

// NextCumulative is what the client signs next for a unit of price; ok is false
// where it does not fit an amount.
func (s *Snapshot) NextCumulative(price tempo.Amount) (next tempo.Amount, ok bool) {
	if next, ok = s.Spent.Add(price); !ok {
		return next, false
	}
	for _, a := range [...]tempo.Amount{s.AcceptedCumulative, s.RequiredCumulative, s.Settled} {
		if a.Cmp(next) > 0 {
			next = a
		}
	}
	return next, true
}
