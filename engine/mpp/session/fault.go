package session

import "txlens/engine/mpp/tempo"

// Kind names a refusal by the end of its problem type,
// https://paymentauth.org/problems/<kind>.
type Kind string

const (
	VerificationFailed   Kind = "verification-failed"
	InvalidSignature     Kind = "session/invalid-signature"
	AmountExceedsDeposit Kind = "session/amount-exceeds-deposit"
	DeltaTooSmall        Kind = "session/delta-too-small"
	ChannelNotFound      Kind = "session/channel-not-found"
	ChannelFinalized     Kind = "session/channel-finalized"
	InsufficientBalance  Kind = "session/insufficient-balance"
)

// Fault says why a channel refuses something. Detail may be read by the payer.
type Fault struct {
	Kind   Kind
	Detail string
	// RequiredTopUp is, with InsufficientBalance, what is missing.
	RequiredTopUp tempo.Amount
}

func (f *Fault) Error() string { return f.Detail }

func refuse(k Kind, detail string) *Fault { return &Fault{Kind: k, Detail: detail} }
