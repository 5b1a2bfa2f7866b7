package settle

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/tempo"
)

// Bounds of the search of Closed.
const (
	logWindow   = 10_000 // blocks of one question, unless an endpoint wants fewer
	maxLogCalls = 150    // questions in all, those that were refused among them
)

// Closed searches for the end of a channel, newest blocks first: the total paid out, and
// the transaction. found is false if no end is found. The error is ErrNoLogs if no endpoint
// returns logs.
func (c *Client) Closed(ctx context.Context, id common.Hash) (captured tempo.Amount, tx common.Hash, found bool, err error) {
	to, err := c.quantity(ctx, "eth_blockNumber")
	if err != nil {
		return captured, tx, false, err
	}
	// The last search may have met an endpoint that is gone by now: try longer ranges again.
	span := min(2*c.logSpan.Load(), logWindow)
	if span == 0 {
		span = logWindow
	}
	for range maxLogCalls {
		from := to - min(to, span-1)
		event, hash, err := c.closedBetween(ctx, id, from, to)
		if errors.Is(err, errRange) && from < to {
			span = (to - from + 1) / 2
			continue
		}
		if err != nil {
			return captured, tx, false, err
		}
		if event != nil {
			return event.SettledToPayee, hash, true, nil
		}
		if to-from+1 == span {
			c.logSpan.Store(span)
		}
		if from == 0 {
			break
		}
		to = from - 1
	}
	return captured, tx, false, nil
}

// errRange: all endpoints reject a range of blocks. For a range of one block that becomes
// ErrNoLogs.
var errRange = fmt.Errorf("%w in so many blocks", ErrNoLogs)

// rangeRefused judges errors of eth_getLogs. Nodes bound the range, each with words and
// codes of its own, so any refusal may mean that; another endpoint may allow more.
func rangeRefused(*rpcError) verdict { return lastResort }

// logsError is the error of eth_getLogs for a range of blocks.
func logsError(err error, blocks uint64) error {
	told, ok := errors.AsType[*rpcError](err)
	switch {
	case !ok || errors.Is(err, ErrUnreachable):
		return err
	case told.Code == codeNoMethod:
		return fmt.Errorf("%w: %w", ErrNoLogs, err)
	case blocks == 1 && elsewhere[told.Code]:
		return fmt.Errorf("%w: eth_getLogs: %w", ErrUnreachable, err) // it was a rate limit after all
	}
	return fmt.Errorf("%w: %w", errRange, err)
}

// closedBetween is the end of a channel in a range of blocks, nil where there is none.
// The error is errRange, ErrNoLogs or ErrUnreachable.
func (c *Client) closedBetween(
	ctx context.Context,
	id common.Hash,
	from, to uint64,
) (event *tempo.ChannelClosed, tx common.Hash, err error) {
	topics, _ := tempo.ChannelClosed{}.Log()
	filter := map[string]any{
		"address": c.o.Domain.Escrow(), "fromBlock": hexutil.Uint64(from), "toBlock": hexutil.Uint64(to), "topics": []any{topics[0], id},
	}
	var logs []struct {
		Address common.Address `json:"address"`
		Topics  []common.Hash  `json:"topics"`
		Data    hexutil.Bytes  `json:"data"`
		Hash    common.Hash    `json:"transactionHash"`
	}
	err = c.ask(ctx, question{method: "eth_getLogs", params: []any{filter}, judge: rangeRefused, read: func(result jsontext.Value) error {
		if json.Unmarshal(result, &logs) != nil || string(result) == "null" {
			return errors.New("the answer is no list of logs")
		}
		return nil
	}})
	if err != nil {
		return nil, tx, logsError(err, to-from+1)
	}
	for _, l := range logs {
		decoded, err := tempo.DecodeEvent(l.Topics, l.Data)
		if closed, ok := decoded.(tempo.ChannelClosed); err == nil && ok && l.Address == c.o.Domain.Escrow() && closed.ChannelID == id {
			return &closed, l.Hash, nil
		}
	}
	return nil, tx, nil
}
