package settle

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// Options of a Client.
type Options struct {
	URLs   []string // JSON-RPC endpoints, tried in turn until one answers
	Domain *tempo.Domain
	// Key signs settlements; it must be the payee's or the operator's. nil: this
	// process settles nothing.
	Key tempo.Signer
	// FeeToken pays the fees of settlements; zero leaves it to the chain.
	FeeToken common.Address
	// Now is the time at which channels are read; nil: time.Now. The time on chain comes
	// from the newest block instead.
	Now func() time.Time
	// Transport carries the calls; nil: connections of the Client's own.
	Transport http.RoundTripper
}

// Client reads from and sends to the settlement chain. It is safe for concurrent use.
type Client struct {
	o         Options
	http      *http.Client
	endpoints []*endpoint
	logSpan   atomic.Uint64 // block range of one eth_getLogs that an endpoint accepted; 0: unknown
	pace      pollInterval
}

// New creates a Client without any request.
func New(o Options) (*Client, error) {
	if len(o.URLs) == 0 {
		return nil, errors.New("no endpoint of the settlement chain is given")
	}
	for _, u := range o.URLs {
		if p, err := url.Parse(u); err != nil || p.Host == "" || p.Scheme != "http" && p.Scheme != "https" {
			return nil, errors.New("an endpoint of the settlement chain is no http or https URL")
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxConnsPerHost, t.MaxIdleConnsPerHost = 64, 16
		o.Transport = t
	}
	redirect := func(*http.Request, []*http.Request) error { return errors.New("redirects are not followed") }
	c := &Client{o: o, http: &http.Client{Transport: o.Transport, CheckRedirect: redirect}, pace: usualPace}
	for _, u := range o.URLs {
		c.endpoints = append(c.endpoints, &endpoint{url: u})
	}
	return c, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// view calls a contract; read decodes the result.
func (c *Client) view(ctx context.Context, to common.Address, calldata []byte, read func([]byte) error) error {
	call := map[string]any{"to": to, "data": hexutil.Bytes(calldata)}
	return c.ask(ctx, question{method: "eth_call", params: []any{call, "latest"}, read: func(result jsontext.Value) error {
		var out hexutil.Bytes
		if json.Unmarshal(result, &out) != nil {
			return errors.New("the answer is no bytes")
		}
		return read(out)
	}})
}

// Balance returns the balance of account in a TIP-20 token, without channels.
func (c *Client) Balance(ctx context.Context, token, account common.Address) (a tempo.Amount, err error) {
	err = c.view(ctx, token, tempo.BalanceOfCalldata(account), func(out []byte) error {
		word, err := tempo.DecodeUint256(out)
		if err != nil {
			return err
		}
		var fits bool
		if a, fits = tempo.AmountFromUint256(&word); !fits {
			a = tempo.MaxAmount
		}
		return nil
	})
	return a, err
}

// Decimals returns the decimals of a TIP-20 token.
func (c *Client) Decimals(ctx context.Context, token common.Address) (decimals uint64, err error) {
	err = c.view(ctx, token, tempo.DecimalsCalldata(), func(out []byte) error {
		word, err := tempo.DecodeUint256(out)
		decimals = word.Uint64()
		if err == nil && !word.IsUint64() {
			decimals = math.MaxUint64
		}
		return err
	})
	return decimals, err
}

// maxBatch bounds the channels of one request.
const maxBatch = 200

// States returns the present state of channels, in the order of ids.
func (c *Client) States(ctx context.Context, ids ...common.Hash) (states []session.State, err error) {
	for len(ids) > 0 {
		part := ids[:min(len(ids), maxBatch)]
		ids = ids[len(part):]
		seen := c.o.Now().UnixMilli() // before the answer: it may be older, never newer
		var read []tempo.ChannelState
		if len(part) == 1 {
			read, err = c.stateOf(ctx, part[0])
		} else {
			read, err = c.statesOf(ctx, part)
		}
		if err != nil {
			return nil, err
		}
		for _, s := range read {
			states = append(states, session.State{Settled: s.Settled, Deposit: s.Deposit, CloseRequestedAt: int64(s.CloseRequestedAt), Seen: seen})
		}
	}
	return states, nil
}

func (c *Client) stateOf(ctx context.Context, id common.Hash) (list []tempo.ChannelState, err error) {
	err = c.view(ctx, c.o.Domain.Escrow(), tempo.GetChannelStateCall{ChannelID: id}.Calldata(), func(out []byte) error {
		s, err := tempo.DecodeChannelState(out)
		list = []tempo.ChannelState{s}
		return err
	})
	return list, err
}

func (c *Client) statesOf(ctx context.Context, ids []common.Hash) (list []tempo.ChannelState, err error) {
	err = c.view(ctx, c.o.Domain.Escrow(), tempo.GetChannelStatesCall{ChannelIDs: ids}.Calldata(), func(out []byte) (err error) {
		list, err = tempo.DecodeChannelStates(out, len(ids))
		return err
	})
	return list, err
}

// Receipt returns the receipt of a transaction, nil if it is in no block yet, or *Reverted.
func (c *Client) Receipt(ctx context.Context, hash common.Hash) (rc *tempo.Receipt, err error) {
	err = c.ask(ctx, question{method: "eth_getTransactionReceipt", params: []any{hash}, read: func(result jsontext.Value) (err error) {
		rc, err = readReceipt(result, hash)
		return err
	}})
	if err == nil && rc != nil && !rc.Success {
		return nil, failed(hash)
	}
	return rc, err
}

// readReceipt reads that of the transaction with this hash; nil: there is none yet.
func readReceipt(result jsontext.Value, hash common.Hash) (*tempo.Receipt, error) {
	rc, err := tempo.ParseReceipt(result)
	switch {
	case errors.Is(err, tempo.ErrNoReceipt):
		return nil, nil
	case err != nil:
		return nil, err
	case rc.TxHash != hash:
		return nil, errors.New("the receipt is of another transaction")
	}
	return rc, nil
}

// failed returns the error of a transaction that failed by its receipt.
func failed(hash common.Hash) error { return &Reverted{Reason: "it failed on chain", Hash: hash} }
