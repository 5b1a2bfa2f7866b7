package mpp

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"

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
	ChannelID          common.Hash
	RequiredCumulative tempo.Amount
	AcceptedCumulative tempo.Amount
	Deposit            tempo.Amount
}

// JSON is the data of the event: one line, all members strings.
func (n *NeedVoucher) JSON() []byte {
	var w writer
	w.begin(256)
	w.hex("channelId", n.ChannelID[:])
	w.amount("requiredCumulative", n.RequiredCumulative)
	w.amount("acceptedCumulative", n.AcceptedCumulative)
	w.amount("deposit", n.Deposit)
	w.end()
	return w.b
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
