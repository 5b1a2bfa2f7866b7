package mpp

import (
	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// Action is what a payload asks for. There are no others: a payer's own request
// to close goes to the chain directly.
type Action string

// The actions of a session.
const (
	ActionOpen    Action = "open"
	ActionTopUp   Action = "topUp"
	ActionVoucher Action = "voucher"
	ActionClose   Action = "close"
)

// Bounds on the byte strings of a payload. The longest primitive signature is one
// of WebAuthn with 2049 bytes.
const (
	maxSignature   = 2049
	maxTransaction = 16 << 10
)

// Payload is one of Open, TopUp, Voucher and Close.
type Payload interface {
	Action() Action
	// Ref is the channel that the payload is about.
	Ref() ChannelRef
}

// ChannelRef names a channel and gives what its id is made of.
type ChannelRef struct {
	ChannelID  common.Hash
	Descriptor tempo.Descriptor
}

// Ref is c itself.
func (c ChannelRef) Ref() ChannelRef { return c }

// Open opens a channel: the signed transaction that the server broadcasts, and the
// first voucher.
type Open struct {
	ChannelRef
	Transaction      []byte
	CumulativeAmount tempo.Amount
	Signature        []byte
}

// TopUp raises the deposit by the signed transaction.
type TopUp struct {
	ChannelRef
	Transaction       []byte
	AdditionalDeposit tempo.Amount
}

// Voucher authorises all that the channel has paid so far and CumulativeAmount in
// all.
type Voucher struct {
	ChannelRef
	CumulativeAmount tempo.Amount
	Signature        []byte
}

// Close asks the server to settle and refund; its voucher covers what was spent.
type Close struct {
	ChannelRef
	CumulativeAmount tempo.Amount
	Signature        []byte
}

func (*Open) Action() Action    { return ActionOpen }
func (*TopUp) Action() Action   { return ActionTopUp }
func (*Voucher) Action() Action { return ActionVoucher }
func (*Close) Action() Action   { return ActionClose }

// typeTransaction is the only form in which open and topUp are sent.
const typeTransaction = "transaction"

// encode is p as it is sent.
func encode(p Payload) []byte {
	var w writer
	ref := p.Ref()
	w.begin(1536)
	w.text("action", string(p.Action()))
	switch p := p.(type) {
	case *Open:
		w.transaction(p.Transaction)
		w.hex("authorizedSigner", ref.Descriptor.AuthorizedSigner[:])
		w.voucher(p.CumulativeAmount, p.Signature)
	case *TopUp:
		w.transaction(p.Transaction)
		w.amount("additionalDeposit", p.AdditionalDeposit)
	case *Voucher:
		w.voucher(p.CumulativeAmount, p.Signature)
	case *Close:
		w.voucher(p.CumulativeAmount, p.Signature)
	}
	w.hex("channelId", ref.ChannelID[:])
	w.descriptor(&ref.Descriptor)
	w.end()
	return w.b
}

func (w *writer) transaction(raw []byte) {
	w.text("type", typeTransaction)
	w.hex("transaction", raw)
}

func (w *writer) voucher(cumulative tempo.Amount, signature []byte) {
	w.amount("cumulativeAmount", cumulative)
	w.hex("signature", signature)
}

// fields are the members of a payload as read, whatever its action. A nil slice or
// pointer was absent.
type fields struct {
	action, kind string
	channelID    *common.Hash
	transaction  []byte
	signature    []byte
	descriptor   *tempo.Descriptor
	cumulative   *tempo.Amount
	additional   *tempo.Amount
	signer       *common.Address
}

func (f *fields) member(r *reader, name []byte) bool {
	switch string(name) {
	case "action":
		f.action = r.text()
	case "type":
		f.kind = r.text()
	case "channelId":
		f.channelID = new(r.hash())
	case "transaction":
		f.transaction = r.bytes(maxTransaction)
	case "signature":
		f.signature = r.bytes(maxSignature)
	case "descriptor":
		f.descriptor = new(readDescriptor(r))
	case "cumulativeAmount":
		f.cumulative = new(r.amount())
	case "additionalDeposit":
		f.additional = new(r.amount())
	case "authorizedSigner":
		f.signer = new(r.address())
	default:
		return false
	}
	return true
}

var descriptorMembers = []string{"payer", "payee", "operator", "token", "salt", "authorizedSigner", "expiringNonceHash"}

// readDescriptor reads exactly the seven fields: an eighth would be a promise that
// the channel id does not bind.
func readDescriptor(r *reader) (d tempo.Descriptor) {
	r.object(descriptorMembers, func(r *reader, name []byte) bool {
		switch string(name) {
		case "payer":
			d.Payer = r.address()
		case "payee":
			d.Payee = r.address()
		case "operator":
			d.Operator = r.address()
		case "token":
			d.Token = r.address()
		case "salt":
			d.Salt = r.hash()
		case "authorizedSigner":
			d.AuthorizedSigner = r.address()
		case "expiringNonceHash":
			d.ExpiringNonceHash = r.hash()
		default:
			r.fail(errUnknown)
		}
		return true
	})
	return d
}

// parsePayload reads a payload. A wrong shape is invalid-payload; a payload of v1,
// which is whole but for the descriptor, is verification-failed.
func parsePayload(doc []byte) (Payload, error) {
	var f fields
	if err := readObject(doc, payloadMembers, f.member); err != nil {
		return nil, &Problem{Type: InvalidPayload, Detail: "The payload cannot be read: " + err.Error() + "."}
	}
	missing := f.missing()
	switch {
	case missing != "":
		return nil, problemf(InvalidPayload, "The payload of this action lacks %s.", missing)
	case f.descriptor == nil:
		return nil, problemf(VerificationFailed, "The payload has no descriptor: it is for sessions of v1, which are not served.")
	case f.signer != nil && *f.signer != f.descriptor.AuthorizedSigner:
		return nil, problemf(VerificationFailed, "authorizedSigner is not the descriptor's.")
	}
	ref := ChannelRef{ChannelID: *f.channelID, Descriptor: *f.descriptor}
	switch Action(f.action) {
	case ActionOpen:
		return &Open{ref, f.transaction, *f.cumulative, f.signature}, nil
	case ActionTopUp:
		return &TopUp{ref, f.transaction, *f.additional}, nil
	case ActionVoucher:
		return &Voucher{ref, *f.cumulative, f.signature}, nil
	}
	return &Close{ref, *f.cumulative, f.signature}, nil
}

var payloadMembers = []string{"action", "channelId"}

// missing says what the action needs and the payload has not: empty if nothing.
// The descriptor is left to the caller.
func (f *fields) missing() string {
	funded, signed := false, true
	switch Action(f.action) {
	case ActionOpen:
		funded = true
	case ActionTopUp:
		funded, signed = true, false
	case ActionVoucher, ActionClose:
	default:
		return "an action of open, topUp, voucher and close"
	}
	switch {
	case funded && f.kind != typeTransaction:
		return `type "transaction"`
	case funded && len(f.transaction) == 0:
		return "transaction"
	case signed && f.signature == nil:
		return "signature"
	case signed && f.cumulative == nil:
		return "cumulativeAmount"
	case !signed && f.additional == nil:
		return "additionalDeposit"
	}
	return ""
}
