package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Bounds of a request.
const (
	// MaxBody is the largest request in bytes.
	MaxBody   = 1 << 20
	maxBatch  = 100
	maxParams = 16
	maxID     = 256
)

// Error is the error object of JSON-RPC.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Codes of errors.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeServer   = -32000
	codeReverted = 3
)

var errMethodNotFound = &Error{Code: codeMethod, Message: "the method does not exist/is not available"}

func badParams(format string, args ...any) error {
	return &Error{Code: codeParams, Message: "invalid params: " + fmt.Sprintf(format, args...)}
}

type rpcRequest struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// null is a result that is there and is null.
var null = json.RawMessage("null")

// ServeRPC answers one JSON-RPC request or one batch. nil means that there is no
// answer: none was asked for (a notification), or a fault lost it.
func (c *Chain) ServeRPC(ctx context.Context, body []byte) []byte {
	answer, _ := c.serve(ctx, body)
	return answer
}

// serve tells besides whether the answer was lost, so that a transport can break the
// connection.
func (c *Chain) serve(ctx context.Context, body []byte) (answer []byte, lost bool) {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) > MaxBody {
		return encode(refusal(codeRequest, "request is too large")), false
	}
	if len(body) == 0 || body[0] != '[' {
		var req rpcRequest
		if err := json.Unmarshal(body, &req); err != nil {
			return encode(refusal(codeParse, "parse error")), false
		}
		out, due, lost := c.answer(ctx, req)
		if lost || !due {
			return nil, lost
		}
		return encode(out), false
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(body, &batch); err != nil {
		return encode(refusal(codeParse, "parse error")), false
	}
	if len(batch) == 0 || len(batch) > maxBatch {
		return encode(refusal(codeRequest, fmt.Sprintf("a batch holds 1 to %d requests", maxBatch))), false
	}
	return c.serveBatch(ctx, batch)
}

// serveBatch answers in order. A lost answer loses the whole batch: it has one body.
func (c *Chain) serveBatch(ctx context.Context, batch []json.RawMessage) (answer []byte, lost bool) {
	out := []rpcResponse{}
	for _, text := range batch {
		var req rpcRequest
		if err := json.Unmarshal(text, &req); err != nil {
			out = append(out, refusal(codeRequest, "invalid request"))
			continue
		}
		one, due, gone := c.answer(ctx, req)
		lost = lost || gone
		if due {
			out = append(out, one)
		}
	}
	if lost || len(out) == 0 {
		return nil, lost
	}
	return encode(out), false
}

func refusal(code int, message string) rpcResponse {
	return rpcResponse{Version: "2.0", ID: null, Error: &Error{Code: code, Message: message}}
}

// encode writes an answer; all types in it are the package's own.
func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		out, _ = json.Marshal(refusal(codeServer, "encode the answer: "+err.Error()))
	}
	return out
}

// answer runs one request. due is false for a notification.
func (c *Chain) answer(ctx context.Context, req rpcRequest) (out rpcResponse, due, lost bool) {
	out = rpcResponse{Version: "2.0", ID: req.ID}
	due = len(req.ID) > 0
	if req.Method == "" || len(req.ID) > maxID || len(req.Params) > maxParams || due && (req.ID[0] == '{' || req.ID[0] == '[') {
		return refusal(codeRequest, "invalid request"), true, false
	}
	q := &query{chain: c, ctx: ctx, params: req.Params}
	q.readCalls(req.Method)
	q.fault = c.take(req.Method, q.functions)
	result, err := any(nil), error(nil)
	if q.fault.Refuse != nil {
		err = q.fault.Refuse
	} else {
		result, err = q.run(req.Method)
	}
	if q.fault.Delay > 0 && c.opt.Sleep(ctx, q.fault.Delay) != nil {
		return out, due, true
	}
	if out.Result = result; err != nil {
		out.Result, out.Error = nil, asError(err)
	} else if result == nil {
		out.Result = null
	}
	return out, due, q.fault.Lose
}

// asError gives every error its code.
func asError(err error) *Error {
	var own *Error
	var r *revert
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &r):
		return &Error{Code: codeReverted, Message: err.Error(), Data: hexutil.Encode(r.data)}
	}
	return &Error{Code: codeServer, Message: err.Error()}
}

// query is one request while it is answered.
type query struct {
	chain     *Chain
	ctx       context.Context
	params    []json.RawMessage
	fault     Fault
	functions []string // of the reserve, that the request would call

	tx      *Transaction // of a method that sends one
	call    *callRequest // of a method that simulates
	callErr error        // why there is neither
}

// readCalls decodes what is to be executed before a fault is chosen, since a fault
// can be about one function of the reserve.
func (q *query) readCalls(method string) {
	switch method {
	case "eth_sendRawTransaction", "eth_sendRawTransactionSync", "sandbox_inspect":
		var raw hexutil.Bytes
		if q.callErr = q.param(0, &raw); q.callErr != nil {
			return
		}
		if q.tx, q.callErr = ReadTransaction(raw); q.callErr == nil {
			q.functions = functionsOf(q.tx.Calls)
		}
	case "eth_call", "eth_estimateGas":
		q.call = &callRequest{}
		if q.callErr = q.param(0, q.call); q.callErr == nil {
			q.functions = functionsOf(q.call.list())
		}
	}
}

// param decodes a positional parameter that must be there.
func (q *query) param(at int, into any) error {
	if at >= len(q.params) {
		return badParams("missing value for argument %d", at)
	}
	if err := json.Unmarshal(q.params[at], into); err != nil {
		return badParams("argument %d: %v", at, err)
	}
	return nil
}

// has reports whether a parameter is there and not null.
func (q *query) has(at int) bool {
	return at < len(q.params) && !bytes.Equal(bytes.TrimSpace(q.params[at]), null)
}

// run finds the method and runs it with the chain locked.
func (q *query) run(method string) (any, error) {
	if method == "eth_sendRawTransactionSync" {
		return q.sendSync() // waits for a block without the lock
	}
	if f, known := controls[method]; known {
		return f(q) // these lock by themselves
	}
	f, known := methods[method]
	if !known {
		return nil, errMethodNotFound
	}
	q.chain.mu.Lock()
	defer q.chain.mu.Unlock()
	q.chain.catchUp()
	return f(q)
}

// head is the last block that this request sees: a lagging replica sees less.
func (q *query) head() *block {
	last := q.chain.head().number
	return q.chain.blocks[last-min(last, uint64(q.fault.Lag))]
}

// wait lets the chain's time pass.
func (q *query) wait(d time.Duration) error { return q.chain.opt.Sleep(q.ctx, d) }
