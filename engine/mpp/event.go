package mpp

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"

	"txlens/engine/mpp/tempo"
)

// Names of the server-sent events of a paid stream.
const (
	EventMessage     = "message"
	EventNeedVoucher = "payment-need-voucher"
	EventReceipt     = "payment-receipt" // data: Receipt.JSON
)

// NeedVoucher asks, within a stream, for a voucher of at least RequiredCumulative.
type NeedVoucher struct {
	ChannelID          common.Hash  `json:"channelId"`
	RequiredCumulative tempo.Amount `json:"requiredCumulative"`
	AcceptedCumulative tempo.Amount `json:"acceptedCumulative"`
	Deposit            tempo.Amount `json:"deposit"`
}

// JSON is the data of the event: one line, all members strings.
func (n *NeedVoucher) JSON() []byte {
	b, err := json.Marshal(n)
	if err != nil {
		panic("mpp: hashes and amounts are always JSON: " + err.Error())
	}
	return b
}

var needVoucherMembers = []string{"channelId", "requiredCumulative", "acceptedCumulative", "deposit"}

// DecodeNeedVoucher reads the data of the event. A client drops the event on error
// and ignores one for another channel.
func DecodeNeedVoucher(doc []byte) (*NeedVoucher, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("read need-voucher: longer than %d bytes", maxDocument)
	}
	n := new(NeedVoucher)
	if err := readObject(doc, needVoucherMembers, n.member); err != nil {
		return nil, fmt.Errorf("read need-voucher: %w", err)
	}
	return n, nil
}

func (n *NeedVoucher) member(r *reader, name []byte) bool {
	switch string(name) {
	case "channelId":
		n.ChannelID = r.hash()
	case "requiredCumulative":
		n.RequiredCumulative = r.amount()
	case "acceptedCumulative":
		n.AcceptedCumulative = r.amount()
	case "deposit":
		n.Deposit = r.amount()
	default:
		return false
	}
	return true
}
