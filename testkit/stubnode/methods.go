package stubnode

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

func (n *Node) call(req request) (json.RawMessage, error) {
	n.handlersMu.Lock()
	h := n.handlers[req.Method]
	n.handlersMu.Unlock()
	if h != nil {
		return h(req.Params)
	}
	switch req.Method {
	case "eth_chainId":
		return hexJSON(n.opt.ChainID), nil
	case "net_version":
		return encode(strconv.FormatUint(n.opt.ChainID, 10)), nil
	case "web3_clientVersion":
		return encode(n.opt.ClientVersion), nil
	case "eth_blockNumber":
		return hexJSON(n.head), nil
	case "eth_getTransactionByHash", "eth_getTransactionReceipt":
		return n.transaction(req)
	case "eth_getBlockByNumber", "eth_getBlockByHash":
		return n.block(req)
	case "debug_traceTransaction":
		return n.trace(req)
	case "eth_call", "eth_getCode", "eth_getStorageAt", "eth_getBalance", "eth_getTransactionCount", "eth_getProof":
		return nil, ErrNoState
	}
	return nil, ErrMethodNotFound
}

func hexJSON(v uint64) json.RawMessage { return encode("0x" + strconv.FormatUint(v, 16)) }

func stringAt(params []json.RawMessage, i int) (string, error) {
	var s string
	if i >= len(params) || json.Unmarshal(params[i], &s) != nil {
		return "", &RPCError{Code: -32602, Message: fmt.Sprintf("missing value for required argument %d", i)}
	}
	return strings.ToLower(s), nil
}

func (n *Node) transaction(req request) (json.RawMessage, error) {
	hash, err := stringAt(req.Params, 0)
	if err != nil {
		return nil, err
	}
	if req.Method == "eth_getTransactionReceipt" {
		return n.txs[hash].Receipt, nil
	}
	if waiting := n.pending[hash]; waiting != nil {
		return waiting, nil
	}
	return n.txs[hash].Tx, nil
}

func (n *Node) block(req request) (json.RawMessage, error) {
	id, err := stringAt(req.Params, 0)
	if err != nil {
		return nil, err
	}
	var full bool
	if len(req.Params) < 2 || json.Unmarshal(req.Params[1], &full) != nil {
		return nil, &RPCError{Code: -32602, Message: "missing value for required argument 1"}
	}
	b := n.hashes[id]
	if req.Method == "eth_getBlockByNumber" {
		number := n.head
		if id != "latest" && id != "finalized" && id != "safe" {
			if number, err = quantity(id); err != nil {
				return nil, &RPCError{Code: -32602, Message: "invalid argument 0: " + err.Error()}
			}
		}
		b = n.numbers[number]
	}
	if b == nil {
		return nil, nil
	}
	return b.json(full), nil
}

func (b *block) json(full bool) json.RawMessage {
	list := make([]json.RawMessage, len(b.txs))
	for i, t := range b.txs {
		list[i] = t.Tx
		if !full {
			list[i] = encode(t.Hash)
		}
	}
	out := make(map[string]json.RawMessage, len(b.header)+1)
	for k, v := range b.header {
		out[k] = v
	}
	out["transactions"] = encode(list)
	return encode(out)
}

func (n *Node) trace(req request) (json.RawMessage, error) {
	if n.opt.NoTrace {
		return nil, ErrMethodNotFound
	}
	hash, err := stringAt(req.Params, 0)
	if err != nil {
		return nil, err
	}
	var config struct {
		Tracer       string `json:"tracer"`
		TracerConfig struct {
			WithLog     bool `json:"withLog"`
			OnlyTopCall bool `json:"onlyTopCall"`
			DiffMode    bool `json:"diffMode"`
		} `json:"tracerConfig"`
	}
	if len(req.Params) > 1 && json.Unmarshal(req.Params[1], &config) != nil {
		return nil, &RPCError{Code: -32602, Message: "invalid argument 1"}
	}
	t, known := n.txs[hash]
	switch {
	case !known:
		return nil, ErrNoTransaction
	case config.Tracer == "callTracer" && !config.TracerConfig.OnlyTopCall:
		if config.TracerConfig.WithLog && !n.opt.NoLogs {
			return t.Trace, nil
		}
		return withoutLogs(t.Trace), nil
	case config.Tracer == "prestateTracer" && config.TracerConfig.DiffMode && !n.opt.NoStateDiff:
		return t.StateDiff, nil
	}
	return nil, &RPCError{Code: -32000, Message: "tracer not found"}
}

// withoutLogs is the trace as a node gives it that was not asked for logs.
func withoutLogs(trace json.RawMessage) json.RawMessage {
	var frame map[string]json.RawMessage
	must(json.Unmarshal(trace, &frame))
	delete(frame, "logs")
	if frame["calls"] != nil {
		var calls []json.RawMessage
		must(json.Unmarshal(frame["calls"], &calls))
		for i := range calls {
			calls[i] = withoutLogs(calls[i])
		}
		frame["calls"] = encode(calls)
	}
	return encode(frame)
}
