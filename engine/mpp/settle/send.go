package settle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// pollRest is between two looks for a receipt.
const pollRest = 200 * time.Millisecond

// lateness is how long after its end a transaction may still turn up in a block
// that was made in time.
const lateness = 5 * time.Second

// Send simulates and sends a payer's transaction and waits for its receipt. The
// error is *Reverted, ErrUnknownOutcome where it may still land, ErrUnreachable
// where it was not sent, or the context's.
func (c *Client) Send(ctx context.Context, tx *tempo.Transaction) (*tempo.Receipt, error) {
	sender, err := tx.Sender()
	if err != nil {
		return nil, fmt.Errorf("send transaction: %w", err)
	}
	if err := c.simulate(ctx, tx, sender); err != nil {
		return nil, err
	}
	// Encode is canonical: the hash is known before the chain tells it.
	return c.Broadcast(ctx, Signed{Raw: tx.Encode(), Hash: tx.Hash(), ValidBefore: tx.ValidBefore})
}

// simulate has a node run the transaction without keeping what it does.
func (c *Client) simulate(ctx context.Context, tx *tempo.Transaction, sender common.Address) error {
	request, err := tx.EstimateRequest(sender)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, "eth_call", jsontext.Value(request), "latest")
	var told *rpcError
	if errors.As(err, &told) {
		if told.reverted() {
			return &Reverted{Reason: told.reason()}
		}
		return fmt.Errorf("%w: simulate: %w", ErrUnreachable, err)
	}
	return err
}

// Broadcast sends what was signed and waits for its receipt, as Send does.
func (c *Client) Broadcast(ctx context.Context, s Signed) (*tempo.Receipt, error) {
	result, err := c.call(ctx, "eth_sendRawTransactionSync", hexutil.Bytes(s.Raw))
	if err == nil {
		if rc, err := c.receipt(result, s.Hash); rc != nil || isReverted(err) {
			return rc, err
		}
		return c.await(ctx, s) // it was taken; what came back is of no use
	}
	var told *rpcError
	if errors.As(err, &told) && told.Code == codeNoMethod {
		_, err = c.call(ctx, "eth_sendRawTransaction", hexutil.Bytes(s.Raw))
		told = nil
	}
	if err == nil || !errors.As(err, &told) {
		return c.await(ctx, s) // sent, or nobody knows: the chain will tell
	}
	// The node refused it; but it may have had it before.
	rc, lookErr := c.Receipt(ctx, s.Hash)
	switch {
	case rc != nil || isReverted(lookErr):
		return rc, lookErr
	case lookErr != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, lookErr)
	case alreadyKnown(told.Message):
		return c.await(ctx, s)
	}
	return nil, &Reverted{Reason: told.reason(), Hash: s.Hash}
}

// alreadyKnown reports whether a node's refusal says that it has the transaction, or
// has had it: nodes have no code for that.
func alreadyKnown(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{"already known", "already imported", "already in", "nonce"} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

func isReverted(err error) bool {
	var r *Reverted
	return errors.As(err, &r)
}

// await looks for the receipt until the transaction cannot land any more.
func (c *Client) await(ctx context.Context, s Signed) (*tempo.Receipt, error) {
	for {
		rc, err := c.Receipt(ctx, s.Hash)
		if rc != nil || isReverted(err) {
			return rc, err
		}
		if s.ValidBefore != 0 && c.o.Now().After(time.Unix(int64(s.ValidBefore), 0).Add(lateness)) && err == nil {
			return nil, &Reverted{Reason: "it expired before a block took it", Hash: s.Hash}
		}
		select {
		case <-time.After(pollRest):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
		}
	}
}

// SignClose makes our transaction that closes a channel in Closing: it pays out
// Capture and refunds the rest.
func (c *Client) SignClose(ctx context.Context, row session.Channel) (Signed, error) {
	call := tempo.CloseCall{
		Descriptor: row.Descriptor, Cumulative: row.Close.Cumulative, Capture: row.Capture,
	}
	if row.Close.Signature.Kind() != tempo.NoSignature {
		call.Signature = row.Close.Signature.Bytes()
	}
	return c.sign(ctx, []tempo.ReserveCall{call}, row)
}

// SignSettle makes our one transaction that pays out each channel's Settling sum;
// all or none.
func (c *Client) SignSettle(ctx context.Context, rows ...session.Channel) (Signed, error) {
	var calls []tempo.ReserveCall
	for _, row := range rows {
		calls = append(calls, tempo.SettleCall{
			Descriptor: row.Descriptor, Cumulative: row.Settleable.Cumulative, Signature: row.Settleable.Signature.Bytes(),
		})
	}
	return c.sign(ctx, calls, rows...)
}

// sign makes a transaction of ours with the expiring nonce: several processes may
// share the key, and what is not taken in time is void.
func (c *Client) sign(ctx context.Context, calls []tempo.ReserveCall, rows ...session.Channel) (Signed, error) {
	if c.o.Key == nil {
		return Signed{}, ErrNoKey
	}
	own := c.o.Key.Address()
	for _, row := range rows {
		if !row.Descriptor.MaySettle(own) {
			return Signed{}, fmt.Errorf("%w: the key is neither payee nor operator of channel %s", ErrNoKey, row.ID)
		}
	}
	var list []tempo.Call
	for _, call := range calls {
		list = append(list, tempo.CallReserve(c.o.Domain.Escrow(), call))
	}
	tx := tempo.NewTransaction(c.o.Domain.ChainID(), uint64(c.o.Now().Unix()), list...)
	tx.FeeToken = c.o.FeeToken
	if err := c.Price(ctx, tx, own); err != nil {
		return Signed{}, err
	}
	if err := tx.Sign(own, c.o.Key); err != nil {
		return Signed{}, fmt.Errorf("sign settlement: %w", err)
	}
	return Signed{Raw: tx.Encode(), Hash: tx.Hash(), ValidBefore: tx.ValidBefore}, nil
}

// Price asks for gas and fees, and sets them. That the estimate reverts is the
// chain's refusal: *Reverted.
func (c *Client) Price(ctx context.Context, tx *tempo.Transaction, sender common.Address) error {
	result, err := c.call(ctx, "eth_getBlockByNumber", "latest", false)
	if err != nil {
		return unanswered(err)
	}
	var head struct {
		BaseFee *hexutil.Big `json:"baseFeePerGas"`
	}
	if err := json.Unmarshal(result, &head); err != nil || head.BaseFee == nil {
		return fmt.Errorf("%w: the block has no base fee", ErrUnreachable)
	}
	base, over := uint256.FromBig(head.BaseFee.ToInt())
	if over || base.BitLen() > 100 {
		return fmt.Errorf("%w: the base fee is out of range", ErrUnreachable)
	}
	priority, err := c.quantity(ctx, "eth_maxPriorityFeePerGas")
	if err != nil {
		return unanswered(err)
	}
	tx.MaxPriorityFeePerGas = *uint256.NewInt(priority)
	tx.MaxFeePerGas = tempo.FeeCap(base, &tx.MaxPriorityFeePerGas)
	request, err := tx.EstimateRequest(sender)
	if err != nil {
		return err
	}
	gas, err := c.quantity(ctx, "eth_estimateGas", jsontext.Value(request))
	var told *rpcError
	switch {
	case errors.As(err, &told) && told.reverted():
		return &Reverted{Reason: told.reason()}
	case err != nil:
		return unanswered(err)
	}
	tx.Gas = gas + gas/5
	return nil
}
