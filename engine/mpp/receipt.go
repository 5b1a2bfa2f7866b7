package mpp

import (
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"

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
	// Units counts all charges on the channel.
	Units uint64
	// TxHash, where not zero, is the transaction that the request made: open, topUp,
	// close, or a settlement that fell due with it.
	TxHash common.Hash
}

const statusSuccess = "success"

// receiptJSON has its members in the order of the published receipts.
type receiptJSON struct {
	Method             string       `json:"method"`
	Intent             string       `json:"intent"`
	Status             string       `json:"status"`
	Timestamp          string       `json:"timestamp"`
	Reference          common.Hash  `json:"reference"`
	ChallengeID        string       `json:"challengeId"`
	ChannelID          common.Hash  `json:"channelId"`
	AcceptedCumulative tempo.Amount `json:"acceptedCumulative"`
	Spent              tempo.Amount `json:"spent"`
	Units              uint64       `json:"units"`
	TxHash             common.Hash  `json:"txHash,omitzero"`
}

// JSON is the receipt as the event payment-receipt carries it.
func (r *Receipt) JSON() []byte {
	b, err := json.Marshal(receiptJSON{
		Method: Method, Intent: Intent, Status: statusSuccess, Timestamp: FormatTime(r.Timestamp), Reference: r.ChannelID,
		ChallengeID: r.ChallengeID, ChannelID: r.ChannelID, AcceptedCumulative: r.AcceptedCumulative, Spent: r.Spent,
		Units: r.Units, TxHash: r.TxHash,
	})
	if err != nil {
		panic("mpp: the id of a challenge of this server is ASCII: " + err.Error())
	}
	return b
}

// HeaderValue is the receipt as a value of Payment-Receipt.
func (r *Receipt) HeaderValue() string { return encode64(r.JSON()) }

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
