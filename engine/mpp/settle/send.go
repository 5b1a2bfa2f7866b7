package settle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// pollInterval is how often something is requested while waiting for a receipt.
type pollInterval struct {
	// poll is between two looks for the receipt.
	poll time.Duration
	// resend is between two looks at the time on chain. A transaction that no endpoint
	// has confirmed to have is sent again then.
	resend time.Duration
}

var usualPace = pollInterval{poll: 200 * time.Millisecond, resend: 2 * time.Second}

// lateness is how long after its end a transaction may still appear: its block was produced
// in time, and a replica lags.
const lateness = 5 * time.Second

// Send simulates and sends a payer's transaction and waits for its receipt. The error is
// *Reverted, ErrUnknownOutcome if it may still be included, ErrUnreachable if it was not
// sent, or the context's.
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

// simulate runs the transaction on a node without sending it.
func (c *Client) simulate(ctx context.Context, tx *tempo.Transaction, sender common.Address) error {
	request, err := tx.EstimateRequest(sender)
	if err != nil {
		return err
	}
	return asReverted(
		c.ask(ctx, question{method: "eth_call", params: []any{jsontext.Value(request), "latest"}, judge: reverts, read: ignored}),
	)
}

// asReverted is the error of a call that a node was to run.
func asReverted(err error) error {
	if told, ok := errors.AsType[*rpcError](err); ok && !errors.Is(err, ErrUnreachable) {
		return &Reverted{Reason: told.reason()}
	}
	return err
}

// Broadcast sends a signed transaction and waits for its receipt, like Send. The error is
// Reverted only if no endpoint can have accepted it, or if it failed or expired on chain.
func (c *Client) Broadcast(ctx context.Context, s Signed) (*tempo.Receipt, error) {
	out := c.submit(ctx, s)
	switch {
	case out.receipt != nil || out.failure != nil:
		return out.receipt, out.failure
	case out.taken:
		return c.await(ctx, s, true)
	case out.refusal == nil && !out.unsure:
		return nil, unreachable(ctx, "eth_sendRawTransaction", out.faults)
	}
	// Nobody took it now; but an endpoint may have had it before.
	rc, lookErr := c.Receipt(ctx, s.Hash)
	switch {
	case rc != nil || isReverted(lookErr):
		return rc, lookErr
	case lookErr != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, lookErr)
	case out.unsure || alreadyKnown(out.refusal.Message):
		return c.await(ctx, s, false)
	}
	return nil, &Reverted{Reason: out.refusal.reason(), Hash: s.Hash}
}

// submitResult is the outcome of sending a transaction to the endpoints.
type submitResult struct {
	receipt *tempo.Receipt // it is included
	failure error          // *Reverted: it is included, and failed
	taken   bool           // an endpoint accepted it
	unsure  bool           // an endpoint may have accepted it: its answer was lost
	refusal *rpcError      // the first rejection of the transaction itself
	faults  []error
}

// submit sends a transaction to the endpoints in turn until one accepts it.
func (c *Client) submit(ctx context.Context, s Signed) (out submitResult) {
	list := c.inOrder()
	for i, e := range list {
		result, err := c.sendTo(ctx, e, len(list)-i, s.Raw)
		told, isTold := errors.AsType[*rpcError](err)
		switch {
		case err == nil:
			out.taken = true
			switch rc, _ := readReceipt(result, s.Hash); {
			case rc == nil: // what came back is of no use
			case rc.Success:
				out.receipt = rc
			default:
				out.failure = failed(s.Hash)
			}
			return out
		case isTold && elsewhere[told.Code], errors.Is(err, errNotSent), errors.Is(err, ErrWrongChain):
		case isTold && told.Code != codeInternal:
			if out.refusal == nil {
				out.refusal = told
			}
		default:
			out.unsure = true
		}
		out.faults = append(out.faults, err)
		if ctx.Err() != nil {
			break
		}
	}
	return out
}

// sendTo offers a transaction to one endpoint. The result is its receipt where the
// endpoint has the method that waits for it.
func (c *Client) sendTo(ctx context.Context, e *endpoint, left int, raw []byte) (jsontext.Value, error) {
	sync, err := request("eth_sendRawTransactionSync", []any{hexutil.Bytes(raw)})
	if err != nil {
		return nil, err
	}
	result, err := c.post(ctx, e, left, sync)
	if told, ok := errors.AsType[*rpcError](err); !ok || told.Code != codeNoMethod {
		return result, err
	}
	plain, err := request("eth_sendRawTransaction", []any{hexutil.Bytes(raw)})
	if err != nil {
		return nil, err
	}
	_, err = c.post(ctx, e, left, plain)
	return nil, err
}

// alreadyKnown reports whether a node's refusal says that it has the transaction, or
// has had it: nodes have no code for that.
func alreadyKnown(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{"already", "nonce too low", "replay"} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

func isReverted(err error) bool {
	_, ok := errors.AsType[*Reverted](err)
	return ok
}

// await waits for the receipt until the transaction can no longer be included. taken says
// that an endpoint accepted it; otherwise it is sent again from time to time.
func (c *Client) await(ctx context.Context, s Signed, taken bool) (*tempo.Receipt, error) {
	looked := time.Now() // at the time on chain
	for {
		rc, err := c.Receipt(ctx, s.Hash)
		if rc != nil || isReverted(err) {
			return rc, err
		}
		if time.Since(looked) >= c.pace.resend {
			looked = time.Now()
			if c.expired(ctx, s) {
				return c.afterExpiry(ctx, s)
			}
			if !taken {
				out := c.submit(ctx, s)
				if taken = out.taken; out.receipt != nil || out.failure != nil {
					return out.receipt, out.failure
				}
			}
		}
		select {
		case <-time.After(c.pace.poll):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
		}
	}
}

// expired reports whether the chain's time has passed the end of a transaction, so that
// no block can take it.
func (c *Client) expired(ctx context.Context, s Signed) bool {
	if s.ValidBefore == 0 {
		return false
	}
	now, err := c.Now(ctx)
	return err == nil && now.After(time.Unix(int64(s.ValidBefore), 0).Add(lateness))
}

// afterExpiry requests the receipt once more, because the last request came before the time
// on chain was read.
func (c *Client) afterExpiry(ctx context.Context, s Signed) (*tempo.Receipt, error) {
	rc, err := c.Receipt(ctx, s.Hash)
	switch {
	case rc != nil || isReverted(err):
		return rc, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return nil, &Reverted{Reason: "it expired before a block took it", Hash: s.Hash}
}

// SignClose signs the transaction that closes a channel in Closing: it pays out Capture and
// refunds the rest.
func (c *Client) SignClose(ctx context.Context, row session.Channel) (Signed, error) {
	call := tempo.CloseCall{
		Descriptor: row.Descriptor, Cumulative: row.Close.Cumulative, Capture: row.Capture,
	}
	if row.Close.Signature.Kind() != tempo.NoSignature {
		call.Signature = row.Close.Signature.Bytes()
	}
	return c.sign(ctx, []tempo.ReserveCall{call}, row)
}

// SignSettle signs one transaction that pays out each channel's Settling sum; all or none.
func (c *Client) SignSettle(ctx context.Context, rows ...session.Channel) (Signed, error) {
	var calls []tempo.ReserveCall
	for _, row := range rows {
		calls = append(calls, tempo.SettleCall{
			Descriptor: row.Descriptor, Cumulative: row.Settleable.Cumulative, Signature: row.Settleable.Signature.Bytes(),
		})
	}
	return c.sign(ctx, calls, rows...)
}

// sign signs a transaction with the expiring nonce: several processes may share the key,
// and a transaction that is not included in time is void.
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
	tx, err := c.NewTransaction(ctx, own, Unsigned{Calls: list, FeeToken: c.o.FeeToken})
	if err != nil {
		return Signed{}, err
	}
	if err := tx.Sign(own, c.o.Key); err != nil {
		return Signed{}, fmt.Errorf("sign settlement: %w", err)
	}
	return Signed{Raw: tx.Encode(), Hash: tx.Hash(), ValidBefore: tx.ValidBefore}, nil
}

// maxGas bounds the gas estimate of a node. The limit of a block is lower.
const maxGas = 1 << 32

// Unsigned describes a new transaction.
type Unsigned struct {
	Calls       []tempo.Call
	FeeToken    common.Address
	Sponsorship tempo.Sponsorship
}

// NewTransaction creates a transaction with the expiring nonce for sender to sign. Its
// validity is relative to the newest block; gas and fees are what the chain requires now. A
// reverted estimate is returned as *Reverted.
func (c *Client) NewTransaction(ctx context.Context, sender common.Address, u Unsigned) (*tempo.Transaction, error) {
	head, err := c.Head(ctx)
	if err != nil {
		return nil, err
	}
	now := uint64(head.Time.Unix())
	tx := tempo.NewTransaction(c.o.Domain.ChainID(), now, u.Calls...)
	// Two transactions that are equal in all members are one, and the second is refused:
	// a close that has failed could not be repeated within the same second. A start that
	// is long past restricts nothing and tells them apart.
	tx.ValidAfter = 1 + rand.Uint64N(now/2+1)
	tx.FeeToken, tx.Sponsorship = u.FeeToken, u.Sponsorship
	priority, err := c.quantity(ctx, "eth_maxPriorityFeePerGas")
	if err != nil {
		return nil, err
	}
	tx.MaxPriorityFeePerGas = *uint256.NewInt(priority)
	tx.MaxFeePerGas = tempo.FeeCap(&head.BaseFee, &tx.MaxPriorityFeePerGas)
	request, err := tx.EstimateRequest(sender)
	if err != nil {
		return nil, err
	}
	var gas uint64
	estimate := question{method: "eth_estimateGas", params: []any{jsontext.Value(request)}, judge: reverts, read: into(&gas)}
	if err := c.ask(ctx, estimate); err != nil {
		return nil, asReverted(err)
	}
	if gas > maxGas {
		return nil, fmt.Errorf("%w: eth_estimateGas: %d is more than a block holds", ErrUnreachable, gas)
	}
	tx.Gas = gas + gas/5
	return tx, nil
}
