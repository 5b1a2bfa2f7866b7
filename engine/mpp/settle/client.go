package settle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// Options of a Client.
type Options struct {
	URLs   []string // JSON-RPC endpoints, asked in turn
	Domain *tempo.Domain
	// Key signs settlements; it must be the payee's or the operator's. nil: this
	// process settles nothing.
	Key tempo.Signer
	// FeeToken pays the fees of settlements; zero leaves it to the chain.
	FeeToken common.Address
	// Now is the time on chain as far as it is known here; nil: time.Now.
	Now func() time.Time
	// Transport carries the calls; nil: connections of the Client's own.
	Transport http.RoundTripper
}

// Client asks and tells the settlement chain. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client
}

// New makes a Client; it asks nobody yet.
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
	return &Client{o: o, http: &http.Client{Transport: o.Transport, CheckRedirect: redirect}}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// CheckChain asks whether the endpoint serves the domain's chain.
func (c *Client) CheckChain(ctx context.Context) error {
	id, err := c.quantity(ctx, "eth_chainId")
	if err == nil && id != c.o.Domain.ChainID() {
		err = fmt.Errorf("the endpoint serves chain %d, not %d", id, c.o.Domain.ChainID())
	}
	return err
}

// view calls the reserve and returns what it returns.
func (c *Client) view(ctx context.Context, call tempo.ReserveCall) ([]byte, error) {
	escrow := c.o.Domain.Escrow()
	result, err := c.call(ctx, "eth_call", map[string]any{"to": escrow, "data": hexutil.Bytes(call.Calldata())}, "latest")
	if err != nil {
		return nil, unanswered(err)
	}
	var out hexutil.Bytes
	if err := json.Unmarshal(result, &out); err != nil {
		return nil, fmt.Errorf("%w: eth_call: the answer is no bytes", ErrUnreachable)
	}
	return out, nil
}

// unanswered: a node that refuses a plain question has not answered it.
func unanswered(err error) error {
	var told *rpcError
	if errors.As(err, &told) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}

// Balance is what account has of a TIP-20 token, outside of channels.
func (c *Client) Balance(ctx context.Context, token, account common.Address) (tempo.Amount, error) {
	result, err := c.call(ctx, "eth_call", map[string]any{"to": token, "data": hexutil.Bytes(tempo.BalanceOfCalldata(account))}, "latest")
	if err != nil {
		return tempo.Amount{}, unanswered(err)
	}
	var out hexutil.Bytes
	if err := json.Unmarshal(result, &out); err != nil {
		return tempo.Amount{}, fmt.Errorf("%w: eth_call: the answer is no bytes", ErrUnreachable)
	}
	word, err := tempo.DecodeUint256(out)
	if err != nil {
		return tempo.Amount{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if a, fits := tempo.AmountFromUint256(&word); fits {
		return a, nil
	}
	return tempo.MaxAmount, nil
}

// maxBatch bounds the channels of one question.
const maxBatch = 200

// States returns what the chain says of channels now, in the order of ids.
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

func (c *Client) stateOf(ctx context.Context, id common.Hash) ([]tempo.ChannelState, error) {
	out, err := c.view(ctx, tempo.GetChannelStateCall{ChannelID: id})
	if err != nil {
		return nil, err
	}
	s, err := tempo.DecodeChannelState(out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return []tempo.ChannelState{s}, nil
}

func (c *Client) statesOf(ctx context.Context, ids []common.Hash) ([]tempo.ChannelState, error) {
	out, err := c.view(ctx, tempo.GetChannelStatesCall{ChannelIDs: ids})
	if err != nil {
		return nil, err
	}
	list, err := tempo.DecodeChannelStates(out, len(ids))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return list, nil
}

// Receipt returns that of a transaction, nil where the chain has none yet, or
// *Reverted.
func (c *Client) Receipt(ctx context.Context, hash common.Hash) (*tempo.Receipt, error) {
	result, err := c.call(ctx, "eth_getTransactionReceipt", hash)
	if err != nil {
		return nil, unanswered(err)
	}
	return c.receipt(result, hash)
}

// receipt reads one; hash is what it must be of.
func (c *Client) receipt(result []byte, hash common.Hash) (*tempo.Receipt, error) {
	rc, err := tempo.ParseReceipt(result)
	switch {
	case errors.Is(err, tempo.ErrNoReceipt):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	case rc.TxHash != hash:
		return nil, fmt.Errorf("%w: the receipt is of another transaction", ErrUnreachable)
	case !rc.Success:
		return nil, &Reverted{Reason: "it failed on chain", Hash: hash}
	}
	return rc, nil
}

// How far back Closed looks, in blocks.
const (
	logWindow  = 10_000
	logWindows = 100
)

// Closed looks for the end of a channel, newest blocks first: what was paid out in
// all, and by which transaction. found is false where no end is seen.
func (c *Client) Closed(ctx context.Context, id common.Hash) (captured tempo.Amount, tx common.Hash, found bool, err error) {
	head, err := c.quantity(ctx, "eth_blockNumber")
	if err != nil {
		return captured, tx, false, unanswered(err)
	}
	topics, _ := tempo.ChannelClosed{}.Log()
	for i := 0; i < logWindows; i++ {
		from := uint64(0)
		if head >= logWindow {
			from = head - logWindow + 1
		}
		captured, tx, found, err = c.closedBetween(ctx, id, topics[0], from, head)
		if err != nil || found || from == 0 {
			return captured, tx, found, err
		}
		head = from - 1
	}
	return captured, tx, false, nil
}

func (c *Client) closedBetween(ctx context.Context, id, topic common.Hash, from, to uint64) (captured tempo.Amount, tx common.Hash, found bool, err error) {
	result, err := c.call(ctx, "eth_getLogs", map[string]any{
		"address": c.o.Domain.Escrow(), "fromBlock": hexutil.Uint64(from), "toBlock": hexutil.Uint64(to), "topics": []any{topic, id},
	})
	if err != nil {
		return captured, tx, false, unanswered(err)
	}
	var logs []struct {
		Address common.Address `json:"address"`
		Topics  []common.Hash  `json:"topics"`
		Data    hexutil.Bytes  `json:"data"`
		Hash    common.Hash    `json:"transactionHash"`
	}
	if err := json.Unmarshal(result, &logs); err != nil {
		return captured, tx, false, fmt.Errorf("%w: eth_getLogs: the answer is no list of logs", ErrUnreachable)
	}
	for _, l := range logs {
		event, err := tempo.DecodeEvent(l.Topics, l.Data)
		if closed, ok := event.(tempo.ChannelClosed); err == nil && ok && l.Address == c.o.Domain.Escrow() && closed.ChannelID == id {
			return closed.SettledToPayee, l.Hash, true, nil
		}
	}
	return captured, tx, false, nil
}
