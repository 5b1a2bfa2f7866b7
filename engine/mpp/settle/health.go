package settle

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"

	"txlens/engine/mpp/tempo"
)

// Head is the newest block that an endpoint reports.
type Head struct {
	Number  uint64
	Time    time.Time // to the second
	BaseFee uint256.Int
}

// Head requests the newest block. Its time is the time on chain, which decides what may be
// included and what has expired; the clock of this machine does not.
func (c *Client) Head(ctx context.Context) (h Head, err error) {
	err = c.ask(ctx, question{method: "eth_getBlockByNumber", params: []any{"latest", false}, read: func(result jsontext.Value) (err error) {
		h, err = readHead(result)
		return err
	}})
	return h, err
}

// Now is the time on chain: that of the newest block.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	h, err := c.Head(ctx)
	return h.Time, err
}

func readHead(result jsontext.Value) (h Head, err error) {
	var block struct {
		Number    *hexutil.Uint64 `json:"number"`
		Timestamp *hexutil.Uint64 `json:"timestamp"`
		BaseFee   *hexutil.Big    `json:"baseFeePerGas"`
	}
	const maxTime = 1 << 40 // far beyond any date, and within what time.Unix takes
	if err := json.Unmarshal(result, &block); err != nil || block.Number == nil || block.Timestamp == nil || *block.Timestamp > maxTime {
		return h, errors.New("the newest block has no number or time")
	}
	h.Number, h.Time = uint64(*block.Number), time.Unix(int64(*block.Timestamp), 0)
	if block.BaseFee == nil {
		return h, errors.New("the newest block has no base fee")
	}
	base, over := uint256.FromBig(block.BaseFee.ToInt())
	if over || base.BitLen() > 100 {
		return h, errors.New("the base fee is out of range")
	}
	h.BaseFee = *base
	return h, nil
}

// closeGas is the approximate gas of a transaction that closes one channel.
const closeGas = 300_000

// Health describes whether the payee is able to settle.
type Health struct {
	Head Head
	// Drift is how far the clock of this machine is ahead of the newest block.
	Drift time.Duration
	// Key settles. If it is zero, there is no key or the chain chooses the fee token; Gas
	// and Fee are then unknown.
	Key common.Address
	Gas tempo.Amount // balance of Key in the fee token
	Fee tempo.Amount // approximate fee of closing one channel now
}

// Health asks all endpoints for their newest block, and what the settling key has for
// fees. Endpoints whose block is old are asked last for a while. The error is
// ErrUnreachable where none answers, and ErrWrongChain, too, where one of them serves
// another chain.
func (c *Client) Health(ctx context.Context) (Health, error) {
	h, err := c.newestHead(ctx)
	if err != nil {
		return Health{}, err
	}
	if c.o.Key == nil || c.o.FeeToken == (common.Address{}) {
		return h, nil
	}
	h.Key = c.o.Key.Address()
	priority, err := c.quantity(ctx, "eth_maxPriorityFeePerGas")
	if err != nil {
		return Health{}, err
	}
	price := tempo.FeeCap(&h.Head.BaseFee, uint256.NewInt(priority))
	h.Fee = feeOf(closeGas, &price)
	h.Gas, err = c.Balance(ctx, c.o.FeeToken, h.Key)
	return h, err
}

// feeOf converts gas times price, in attodollars, to base units of a token, rounded up.
func feeOf(gas uint64, price *uint256.Int) tempo.Amount {
	const attodollars = 1_000_000_000_000 // of one base unit
	fee := new(uint256.Int).Mul(price, uint256.NewInt(gas))
	fee.AddUint64(fee, attodollars-1)
	fee.Div(fee, uint256.NewInt(attodollars))
	if a, ok := tempo.AmountFromUint256(fee); ok {
		return a
	}
	return tempo.MaxAmount
}

// newestHead asks every endpoint for its newest block; it sets Head and Drift.
func (c *Client) newestHead(ctx context.Context) (newest Health, err error) {
	body, err := request("eth_getBlockByNumber", []any{"latest", false})
	if err != nil {
		return newest, err
	}
	heads := make([]Head, len(c.endpoints))
	var faults []error
	for i, e := range c.endpoints {
		result, err := c.post(ctx, e, len(c.endpoints)-i, body)
		if err == nil {
			heads[i], err = readHead(result)
		}
		if err != nil {
			faults = append(faults, err)
		} else if newest.Head.Time.Before(heads[i].Time) {
			newest.Head, newest.Drift = heads[i], c.o.Now().Sub(heads[i].Time)
		}
	}
	if len(faults) == len(c.endpoints) {
		return newest, unreachable(ctx, "eth_getBlockByNumber", faults)
	}
	for i, e := range c.endpoints {
		if !heads[i].Time.IsZero() && newest.Head.Time.Sub(heads[i].Time) > maxLag {
			e.rest(restAfterLag)
		}
	}
	return newest, nil
}
