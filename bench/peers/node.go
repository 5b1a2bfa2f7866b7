package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"txlens/testkit/stubnode"

	"github.com/ethereum/go-ethereum/common"
)

// completed answers what cast and viem want of a node beyond what the node below has:
// the fields of a block that the recording lacks, as zeros, the parent of a known
// block, and a call trace without logs.
type completed struct{ http.Handler }

type call struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

func (c completed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	if err != nil {
		return
	}
	var answer any
	if trimmed := bytes.TrimSpace(body); bytes.HasPrefix(trimmed, []byte("[")) {
		var calls []call
		err = json.Unmarshal(trimmed, &calls)
		replies := make([]reply, len(calls))
		for i, q := range calls {
			replies[i] = c.answer(q)
		}
		answer = replies
	} else {
		var q call
		err = json.Unmarshal(trimmed, &q)
		answer = c.answer(q)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a client that went away gets no answer
}

func (c completed) answer(q call) reply {
	if q.Method == "debug_traceTransaction" && len(q.Params) == 2 && bytes.Contains(q.Params[1], []byte(`"callTracer"`)) {
		q.Params[1] = json.RawMessage(`{"tracer":"callTracer","tracerConfig":{"withLog":true}}`)
	}
	if q.Method == "eth_gasPrice" { // today's; cast asks for it and does not use it
		return reply{Version: "2.0", ID: q.ID, Result: json.RawMessage(`"0x1"`)}
	}
	out := c.forward(q)
	if !strings.HasPrefix(q.Method, "eth_getBlockBy") || out.Error != nil {
		return out
	}
	if string(out.Result) == "null" {
		out.Result = c.parent(q)
	}
	out.Result = fill(out.Result)
	return out
}

func (c completed) forward(q call) reply {
	q.Version = "2.0"
	body, err := json.Marshal(q)
	if err != nil {
		return failed(q.ID, err)
	}
	rec := httptest.NewRecorder()
	c.Handler.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
	var out reply
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		return failed(q.ID, err)
	}
	if out.Result == nil && out.Error == nil {
		out.Result = json.RawMessage("null")
	}
	return out
}

func failed(id json.RawMessage, err error) reply {
	text, _ := json.Marshal(map[string]any{"code": -32603, "message": err.Error()})
	return reply{Version: "2.0", ID: id, Error: text}
}

// parent makes the block before a known one, as far as its child tells.
func (c completed) parent(q call) json.RawMessage {
	none := json.RawMessage("null")
	var tag string
	if q.Method != "eth_getBlockByNumber" || len(q.Params) == 0 || json.Unmarshal(q.Params[0], &tag) != nil {
		return none
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(tag, "0x"), 16, 64)
	if err != nil {
		return none
	}
	q.Params[0] = json.RawMessage(fmt.Sprintf(`"0x%x"`, number+1))
	var child map[string]json.RawMessage
	if json.Unmarshal(c.forward(q).Result, &child) != nil || child == nil {
		return none
	}
	child["number"] = json.RawMessage(fmt.Sprintf(`"0x%x"`, number))
	child["hash"], child["transactions"] = child["parentHash"], json.RawMessage("[]")
	delete(child, "parentHash")
	out, _ := json.Marshal(child)
	return out
}

// fill adds the fields of a block that strict readers need.
func fill(block json.RawMessage) json.RawMessage {
	var b map[string]json.RawMessage
	if json.Unmarshal(block, &b) != nil || b == nil {
		return block
	}
	word := func(bytes int) json.RawMessage { return json.RawMessage(`"0x` + strings.Repeat("00", bytes) + `"`) }
	for key, size := range map[string]int{"parentHash": 32, "sha3Uncles": 32, "stateRoot": 32, "transactionsRoot": 32, "receiptsRoot": 32,
		"mixHash": 32, "nonce": 8, "logsBloom": 256} {
		if b[key] == nil {
			b[key] = word(size)
		}
	}
	for key, value := range map[string]string{"uncles": "[]", "size": `"0x0"`, "totalDifficulty": `"0x0"`} {
		if b[key] == nil {
			b[key] = json.RawMessage(value)
		}
	}
	out, err := json.Marshal(b)
	if err != nil {
		return block
	}
	return out
}

// account is one of a recorded state difference, as it was before.
type account struct {
	Balance string
	Nonce   uint64
	Code    string
	Storage map[string]string
}

// setState makes the node answer for the state before one transaction, as far as its
// recorded difference tells; the rest is refused, as by a node without history.
func setState(n *stubnode.Node, diff json.RawMessage) error {
	var d struct{ Pre map[string]account }
	if err := json.Unmarshal(diff, &d); err != nil {
		return fmt.Errorf("read state difference: %w", err)
	}
	pre := map[string]account{}
	for a, v := range d.Pre {
		pre[strings.ToLower(a)] = v
	}
	of := func(read func(a account, params []json.RawMessage) (string, bool)) stubnode.Handler {
		return func(params []json.RawMessage) (json.RawMessage, error) {
			var addr string
			if len(params) == 0 || json.Unmarshal(params[0], &addr) != nil {
				return nil, &stubnode.RPCError{Code: -32602, Message: "invalid argument 0"}
			}
			acc, ok := pre[strings.ToLower(addr)]
			if !ok {
				return nil, stubnode.ErrNoState
			}
			text, ok := read(acc, params)
			if !ok {
				return nil, stubnode.ErrNoState
			}
			return json.Marshal(text)
		}
	}
	n.Handle("eth_getBalance", of(func(a account, _ []json.RawMessage) (string, bool) { return or(a.Balance, "0x0"), true }))
	n.Handle("eth_getTransactionCount", of(func(a account, _ []json.RawMessage) (string, bool) { return fmt.Sprintf("0x%x", a.Nonce), true }))
	n.Handle("eth_getCode", of(func(a account, _ []json.RawMessage) (string, bool) { return or(a.Code, "0x"), true }))
	n.Handle("eth_getStorageAt", of(func(a account, params []json.RawMessage) (string, bool) {
		var slot string
		if len(params) < 2 || json.Unmarshal(params[1], &slot) != nil {
			return "", false
		}
		v, ok := a.Storage[common.HexToHash(slot).Hex()]
		return v, ok
	}))
	return nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
