package tempo

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
)

// Errors of receipts.
var (
	// ErrReceipt means bytes that are no receipt, or one too large.
	ErrReceipt = errors.New("receipt is malformed")
	// ErrNoReceipt means that the transaction is in no block yet.
	ErrNoReceipt = errors.New("transaction has no receipt yet")
	// ErrReverted means that the transaction failed on chain.
	ErrReverted = errors.New("transaction reverted")
	// ErrReceiptEvent means a receipt without exactly one event as expected.
	ErrReceiptEvent = errors.New("receipt does not tell of the expected event")
)

// Limits of a receipt that is read.
const (
	maxReceiptSize = 1 << 20
	maxLogs        = 1024
)

// Log is one event of a receipt.
type Log struct {
	Address common.Address
	Topics  []common.Hash
	Data    []byte
}

// Receipt is what is needed of the outcome of a transaction.
type Receipt struct {
	Success     bool
	TxHash      common.Hash
	BlockNumber uint64
	BlockHash   common.Hash
	Logs        []Log
}

// ParseReceipt reads the result of eth_getTransactionReceipt or
// eth_sendRawTransactionSync. The error is ErrReceipt, or ErrNoReceipt for null.
func ParseReceipt(result []byte) (*Receipt, error) {
	if string(result) == "null" {
		return nil, ErrNoReceipt
	}
	if len(result) > maxReceiptSize {
		return nil, fmt.Errorf("%w: too large", ErrReceipt)
	}
	var wire struct {
		Status          *hexutil.Uint64 `json:"status"`
		TransactionHash *common.Hash    `json:"transactionHash"`
		BlockNumber     *hexutil.Uint64 `json:"blockNumber"`
		BlockHash       common.Hash     `json:"blockHash"`
		Logs            []struct {
			Address common.Address `json:"address"`
			Topics  []common.Hash  `json:"topics"`
			Data    hexutil.Bytes  `json:"data"`
		} `json:"logs"`
	}
	if err := json.Unmarshal(result, &wire); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReceipt, err)
	}
	if wire.Status == nil || wire.TransactionHash == nil || wire.BlockNumber == nil || *wire.Status > 1 || len(wire.Logs) > maxLogs {
		return nil, fmt.Errorf("%w: a member is missing or out of range", ErrReceipt)
	}
	r := &Receipt{Success: *wire.Status == 1, TxHash: *wire.TransactionHash, BlockNumber: uint64(*wire.BlockNumber), BlockHash: wire.BlockHash}
	for _, l := range wire.Logs {
		if len(l.Topics) > 4 {
			return nil, fmt.Errorf("%w: a log of %d topics", ErrReceipt, len(l.Topics))
		}
		r.Logs = append(r.Logs, Log{Address: l.Address, Topics: l.Topics, Data: l.Data})
	}
	return r, nil
}

// only finds the one event of type E that the escrow logged for the channel.
// Logs of other addresses prove nothing, whatever they say.
func only[E Event](r *Receipt, escrow common.Address, channelID common.Hash) (found E, err error) {
	if !r.Success {
		return found, ErrReverted
	}
	n := 0
	for _, l := range r.Logs {
		if l.Address != escrow {
			continue
		}
		event, err := DecodeEvent(l.Topics, l.Data)
		if err != nil {
			continue // another event; a damaged one counts as missing
		}
		if e, ok := event.(E); ok && e.Of().ChannelID == channelID {
			found, n = e, n+1
		}
	}
	if n != 1 {
		return found, fmt.Errorf("%w: found %d", ErrReceiptEvent, n)
	}
	return found, nil
}

// Opened is the event of v's transaction: the very channel and deposit.
func (r *Receipt) Opened(v *VerifiedOpen) (ChannelOpened, error) {
	e, err := only[ChannelOpened](r, v.terms.Domain.Escrow(), v.ChannelID)
	if err != nil {
		return e, err
	}
	d := Descriptor{
		Payer: e.Payer, Payee: e.Payee, Operator: e.Operator, Token: e.Token,
		Salt: e.Salt, AuthorizedSigner: e.AuthorizedSigner, ExpiringNonceHash: e.ExpiringNonceHash,
	}
	if d != v.Descriptor || e.Deposit != v.Paid {
		return e, fmt.Errorf("%w: another channel or deposit", ErrReceiptEvent)
	}
	return e, nil
}

// ToppedUp is the event of v's transaction. The new deposit may be above what is
// expected: another top-up may have come first.
func (r *Receipt) ToppedUp(v *Verified) (TopUp, error) {
	e, err := only[TopUp](r, v.terms.Domain.Escrow(), v.ChannelID)
	if err != nil {
		return e, err
	}
	if e.Additional != v.Paid || e.NewDeposit.Cmp(v.Paid) < 0 {
		return e, fmt.Errorf("%w: another amount", ErrReceiptEvent)
	}
	return e, nil
}

// Settled is the event of a settlement that paid up to cumulative.
func (r *Receipt) Settled(escrow common.Address, channelID common.Hash, cumulative Amount) (Settled, error) {
	e, err := only[Settled](r, escrow, channelID)
	if err != nil {
		return e, err
	}
	if e.NewSettled.Cmp(cumulative) < 0 {
		return e, fmt.Errorf("%w: settled less", ErrReceiptEvent)
	}
	return e, nil
}

// Closed is the event of a close that captured capture of a deposit that was at
// least deposit; the rest must have gone back.
func (r *Receipt) Closed(escrow common.Address, channelID common.Hash, capture, deposit Amount) (ChannelClosed, error) {
	e, err := only[ChannelClosed](r, escrow, channelID)
	if err != nil {
		return e, err
	}
	whole, ok := e.SettledToPayee.Add(e.RefundedToPayer)
	if !ok || e.SettledToPayee != capture || whole.Cmp(deposit) < 0 {
		return e, fmt.Errorf("%w: captured or refunded another amount", ErrReceiptEvent)
	}
	return e, nil
}
