package mpp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// Receipt says what a request did to its channel. Clients check every field and
// type, so nothing in it may be more than the client itself has signed.
type Receipt struct {
	Timestamp time.Time
	// ChallengeID is the id of the challenge that was answered.
	ChallengeID string
	ChannelID   common.Hash
	// AcceptedCumulative is the highest voucher, Spent the charges, both after the
	// request.
	AcceptedCumulative, Spent tempo.Amount
	// Units counts what the request consumed.
	Units uint64
	// TxHash, where not zero, is the transaction that the request made: open, topUp,
	// close, or a settlement that fell due with it.
	TxHash common.Hash
}

const statusSuccess = "success"

// JSON is the receipt as the event payment-receipt carries it, with its members in
// the order of the published receipts.
func (r *Receipt) JSON() []byte { return r.appendJSON(make([]byte, 0, 640)) }

func (r *Receipt) appendJSON(dst []byte) []byte {
	w := writer{b: append(dst, '{')}
	w.text("method", Method)
	w.text("intent", Intent)
	w.text("status", statusSuccess)
	w.text("timestamp", FormatTime(r.Timestamp))
	w.hex("reference", r.ChannelID[:])
	w.text("challengeId", r.ChallengeID)
	w.hex("channelId", r.ChannelID[:])
	w.amount("acceptedCumulative", r.AcceptedCumulative)
	w.amount("spent", r.Spent)
	w.integer("units", r.Units)
	if r.TxHash != (common.Hash{}) {
		w.hex("txHash", r.TxHash[:])
	}
	w.end()
	return w.b
}

// AppendHeaderValue appends the receipt as a value of Payment-Receipt.
func (r *Receipt) AppendHeaderValue(dst []byte) []byte {
	doc := documents.Get().(*[]byte)
	*doc = r.appendJSON((*doc)[:0])
	dst = base64.RawURLEncoding.AppendEncode(dst, *doc)
	documents.Put(doc)
	return dst
}

// documents are buffers for what is encoded at once.
var documents = sync.Pool{New: func() any { return new([]byte) }}

// HeaderValue is the receipt as a value of Payment-Receipt.
func (r *Receipt) HeaderValue() string { return string(r.AppendHeaderValue(nil)) }

// ParseReceipt reads a value of Payment-Receipt.
func ParseReceipt(value string) (*Receipt, error) {
	doc, err := decode64(value, maxRequest)
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w", err)
	}
	return DecodeReceipt(doc)
}

var receiptMembers = []string{"method", "intent", "status", "timestamp", "reference", "challengeId", "channelId",
	"acceptedCumulative", "spent"}

// DecodeReceipt reads the JSON of a receipt. Receipts of other methods and intents
// are errors, as is any status but success.
func DecodeReceipt(doc []byte) (*Receipt, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("read receipt: longer than %d bytes", maxDocument)
	}
	var out Receipt
	var reference common.Hash
	if err := readObject(doc, receiptMembers, func(r *reader, name []byte) bool {
		if string(name) == "reference" {
			reference = r.hash()
			return true
		}
		return out.member(r, name)
	}); err != nil {
		return nil, fmt.Errorf("read receipt: %w", err)
	}
	if reference != out.ChannelID {
		return nil, errors.New("read receipt: reference is not the channelId")
	}
	return &out, nil
}

func (r *Receipt) member(rd *reader, name []byte) bool {
	switch string(name) {
	case "method":
		rd.expect(Method)
	case "intent":
		rd.expect(Intent)
	case "status":
		rd.expect(statusSuccess)
	case "timestamp":
		t, err := parseTime(rd.text())
		rd.fail(err)
		r.Timestamp = t
	case "challengeId":
		r.ChallengeID = rd.text()
	case "channelId":
		r.ChannelID = rd.hash()
	case "acceptedCumulative":
		r.AcceptedCumulative = rd.amount()
	case "spent":
		r.Spent = rd.amount()
	case "units":
		r.Units = rd.integer()
	case "txHash":
		r.TxHash = rd.hash()
	default:
		return false
	}
	return true
}

// Check is the client's rule: the receipt is for its channel, and spent does not
// exceed accepted, nor accepted what the client has signed.
func (r *Receipt) Check(channelID common.Hash, signed tempo.Amount) error {
	switch {
	case r.ChannelID != channelID:
		return errors.New("check receipt: it is for another channel")
	case r.Spent.Cmp(r.AcceptedCumulative) > 0:
		return errors.New("check receipt: more was spent than accepted")
	case r.AcceptedCumulative.Cmp(signed) > 0:
		return errors.New("check receipt: more was accepted than signed")
	}
	return nil
}
