package settle

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/tempo"
)

// logNode is a node whose head is at a block, and that refuses ranges of more blocks
// than it allows. The channel ended in block end; 0: it did not.
type logNode struct {
	*node
	head, allows, end uint64
	code              int // of the refusal
	longest           uint64
}

var channelID = common.Hash{0xcc}

func newLogNode(head, allows, end uint64) *logNode {
	n := &logNode{node: newNode(), head: head, allows: allows, end: end, code: -32602}
	n.on("eth_blockNumber", give(hexutil.Uint64(head)))
	n.do["eth_getLogs"] = n.logs
	return n
}

type blockRange struct {
	FromBlock hexutil.Uint64 `json:"fromBlock"`
	ToBlock   hexutil.Uint64 `json:"toBlock"`
}

func (n *logNode) logs(params []jsontext.Value) reply {
	var q blockRange
	if err := json.Unmarshal(params[0], &q); err != nil || q.FromBlock > q.ToBlock || uint64(q.ToBlock) > n.head {
		return refuse(-32602, fmt.Sprintf("bad range %d to %d, %v", q.FromBlock, q.ToBlock, err))
	}
	blocks := uint64(q.ToBlock-q.FromBlock) + 1
	if blocks > n.allows {
		return refuse(n.code, "range is too large")
	}
	n.longest = max(n.longest, blocks)
	list := []any{
		endLog(common.Hash{1}, domain.Escrow(), 9), // of another channel
		endLog(channelID, common.Address{7}, 9),    // of another contract
	}
	if n.end != 0 && uint64(q.FromBlock) <= n.end && n.end <= uint64(q.ToBlock) {
		list = append(list, endLog(channelID, domain.Escrow(), 40))
	}
	return give(list)
}

// endLog is the event of a channel's end.
func endLog(id common.Hash, escrow common.Address, captured uint64) map[string]any {
	topics, data := tempo.ChannelClosed{ChannelRef: tempo.ChannelRef{ChannelID: id}, SettledToPayee: tempo.AmountFrom(captured)}.Log()
	return map[string]any{"address": escrow, "topics": topics, "data": hexutil.Bytes(data), "transactionHash": common.Hash{0xee}}
}

// TestClosed: the end of a channel is found within what an endpoint allows.
func TestClosed(t *testing.T) {
	f := func(n *logNode, found bool, want error, most int) {
		t.Helper()
		captured, tx, there, err := clientOf(t, n.node).Closed(soon(t), channelID)
		if there != found || !errors.Is(err, want) || found && (captured != tempo.AmountFrom(40) || tx != common.Hash{0xee}) {
			t.Errorf("head %d, allows %d, ended %d: %s %s %t, %v", n.head, n.allows, n.end, captured, tx, there, err)
		}
		if calls := n.calls("eth_getLogs"); calls > most {
			t.Errorf("head %d, allows %d, ended %d: %d calls", n.head, n.allows, n.end, calls)
		}
	}
	f(newLogNode(5, 1<<30, 3), true, nil, 1)
	f(newLogNode(5, 1<<30, 0), false, nil, 1)
	f(newLogNode(0, 1<<30, 0), false, nil, 1)
	f(newLogNode(5, 2, 1), true, nil, 7) // not one range is asked for twice
	f(newLogNode(1_000_000, 1<<30, 995_000), true, nil, 1)
	f(newLogNode(1_000_000, 1<<30, 1), true, nil, 100)
	f(newLogNode(1_000_000, 1000, 999_999), true, nil, 5)
	f(newLogNode(1_000_000, 1000, 990_000), true, nil, 25)
	f(newLogNode(1_000_000, 1, 999_999), true, nil, 20)
	f(newLogNode(1_000_000, 1000, 1), false, nil, maxLogCalls) // further back than is looked
	f(newLogNode(1_000_000, 0, 999_999), false, ErrNoLogs, 20) // it refuses any range
	limited := newLogNode(1_000_000, 0, 999_999)
	limited.code = -32005
	f(limited, false, ErrUnreachable, 20)
	limited = newLogNode(1_000_000, 2_000, 999_999)
	limited.code = -32005 // used for too long a range, too
	f(limited, true, nil, 20)
	none := newLogNode(1_000_000, 1<<30, 999_999)
	delete(none.do, "eth_getLogs")
	f(none, false, ErrNoLogs, 1)
	away := newLogNode(1_000_000, 1<<30, 999_999)
	away.do["eth_getLogs"] = func([]jsontext.Value) reply { return reply{lost: true} }
	f(away, false, ErrUnreachable, 1)
	odd := newLogNode(1_000_000, 1<<30, 999_999)
	odd.do["eth_getLogs"] = func([]jsontext.Value) reply { return give(nil) }
	f(odd, false, ErrUnreachable, 1)
}

// TestClosedElsewhere: an endpoint that allows a longer range is found, and the range
// that was allowed is kept for the next search.
func TestClosedElsewhere(t *testing.T) {
	strict, lax := newLogNode(1_000_000, 10, 990_001), newLogNode(1_000_000, 1<<30, 990_001)
	if _, _, found, err := clientOf(t, strict.node, lax.node).Closed(soon(t), channelID); !found || err != nil || lax.calls("eth_getLogs") != 1 {
		t.Errorf("%t, %v after %d calls", found, err, lax.calls("eth_getLogs"))
	}
	strict = newLogNode(1_000_000, 1000, 0)
	c := clientOf(t, strict.node)
	for range 2 {
		if _, _, _, err := c.Closed(soon(t), channelID); err != nil {
			t.Fatal(err)
		}
	}
	refused := 0
	for _, p := range strict.params["eth_getLogs"] {
		var q []blockRange
		if err := json.Unmarshal([]byte(p), &q); err != nil {
			t.Fatal(err)
		}
		if uint64(q[0].ToBlock-q[0].FromBlock) >= 1000 {
			refused++
		}
	}
	if refused > 5 {
		t.Errorf("%d ranges were too long, in two searches", refused)
	}
}
