package mpp

import (
	"time"

	"txlens/engine/mpp/tempo"
)

// Admission is a credential that has passed all checks which need no signature, no
// store and no chain.
type Admission struct {
	// ChallengeID goes into the receipt.
	ChallengeID string
	// Request is the one of the echoed challenge. Its amount is the price.
	Request SessionRequest
	Payload Payload
	Class   Class
}

// Admit checks cr for a request of the given shape to route, in the order that the
// problem types promise: the challenge is ours, for this route, not expired; the
// payload has its form; price; channel and source belong together. The error is a
// *Problem.
func (i *Issuer) Admit(cr *Credential, route *Route, shape Shape, now time.Time) (*Admission, error) {
	c := &cr.Challenge
	if err := i.Verify(c); err != nil {
		return nil, err
	}
	q, err := route.Pin(c)
	if err != nil {
		return nil, err
	}
	if err := c.CheckExpires(now); err != nil {
		return nil, err
	}
	p, err := cr.Payload()
	if err != nil {
		return nil, err
	}
	class := Classify(p.Action(), shape)
	if class == Content {
		if err := route.PinPrice(q); err != nil {
			return nil, err
		}
	}
	if err := checkChannel(p.Ref(), q); err != nil {
		return nil, err
	}
	if err := checkSource(cr.Source, q.ChainID, p.Ref().Descriptor); err != nil {
		return nil, err
	}
	return &Admission{ChallengeID: c.ID, Request: *q, Payload: p, Class: class}, nil
}

// checkChannel refuses a channel that pays somebody else, or another one than its
// descriptor makes.
func checkChannel(ref ChannelRef, q *SessionRequest) error {
	d := &ref.Descriptor
	switch {
	case d.Payee != q.Recipient:
		return problemf(VerificationFailed, "The descriptor's payee is not the recipient.")
	case d.Token != q.Currency:
		return problemf(VerificationFailed, "The descriptor's token is not the currency.")
	case d.Operator != q.Operator:
		return problemf(VerificationFailed, "The descriptor's operator is not the one advertised.")
	case d.ID(q.ChainID, q.EscrowContract) != ref.ChannelID:
		return problemf(VerificationFailed, "The descriptor makes another channelId.")
	}
	return nil
}

// checkSource refuses a source that is neither payer nor signer. Its absence is no
// fault, since the voucher's signature proves the authority.
func checkSource(source string, chainID uint64, d tempo.Descriptor) error {
	if source == "" {
		return nil
	}
	s, err := ParseSource(source)
	switch {
	case err != nil:
		return problemf(VerificationFailed, "The source is not a did:pkh of an EIP-155 account.")
	case s.ChainID != chainID:
		return problemf(VerificationFailed, "The source is on another chain than the challenge.")
	case s.Address != d.Payer && s.Address != d.Signer():
		return problemf(VerificationFailed, "The source is neither the channel's payer nor its signer.")
	}
	return nil
}
