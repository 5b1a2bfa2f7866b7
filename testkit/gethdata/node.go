package gethdata

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

const maxRequest = 1 << 20

// JSON-RPC error codes.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeNoMethod = -32601
	codeParams   = -32602
	codeServer   = -32000
)

// Node is a JSON-RPC node of one chain that knows a few recorded transactions. It
// answers for the state at their parent blocks as far as the recordings tell and
// refuses the rest as an archive without that state does. It is safe for
// concurrent use; set the exported fields before it serves.
type Node struct {
	Debug   bool          // debug_traceTransaction is on
	Latency time.Duration // of every request, batch or single
	PerCall time.Duration // of every call in it, on top

	calls   atomic.Int64
	mu      sync.Mutex
	methods map[string]int

	chainID *hexutil.Big
	byHash  map[common.Hash]*known
	byBlock map[uint64]*known
}

// known is one transaction with all its answers.
type known struct {
	c        *Case
	evidence *Evidence
	state    *State
	after    map[common.Address][]byte // code at the end of the transaction
}

// NewNode serves the cases, which must be of one chain and of different blocks.
// Tracing is on.
func NewNode(cases ...*Case) (*Node, error) {
	if len(cases) == 0 {
		return nil, errors.New("open node: no case given")
	}
	n := &Node{
		Debug:   true,
		methods: make(map[string]int),
		chainID: (*hexutil.Big)(cases[0].chainID()),
		byHash:  make(map[common.Hash]*known),
		byBlock: make(map[uint64]*known),
	}
	for _, c := range cases {
		if c.chainID().Cmp(n.chainID.ToInt()) != 0 {
			return nil, fmt.Errorf("open node: %s is of chain %s", c.Name, c.chainID())
		}
		if other := n.byBlock[c.Block.Number]; other != nil {
			return nil, fmt.Errorf("open node: %s and %s are of one block", other.c.Name, c.Name)
		}
		k, err := know(c)
		if err != nil {
			return nil, err
		}
		n.byHash[c.Hash()], n.byBlock[c.Block.Number] = k, k
	}
	return n, nil
}

func know(c *Case) (*known, error) {
	r, err := c.execute()
	if err != nil {
		return nil, fmt.Errorf("open node: %s: %w", c.Name, err)
	}
	e, err := c.evidence(r)
	if err != nil {
		return nil, fmt.Errorf("open node: %s: %w", c.Name, err)
	}
	k := &known{c: c, evidence: e, state: &State{alloc: c.alloc, touched: r.touched}, after: make(map[common.Address][]byte)}
	for a := range r.touched {
		k.after[a] = r.after.GetCode(a)
	}
	for a := range c.alloc {
		k.after[a] = r.after.GetCode(a)
	}
	return k, nil
}

// Calls is the number of calls answered so far, batched ones one by one.
func (n *Node) Calls() int { return int(n.calls.Load()) }

// CallsTo counts the calls of one method.
func (n *Node) CallsTo(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.methods[method]
}

type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// ServeHTTP answers one request or batch. A batch is answered back to front, for
// the order of answers is the node's own affair.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "request too large", http.StatusRequestEntityTooLarge)
		return
	}
	wait(r.Context(), n.Latency)
	var answer any
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte{'['}) {
		answer = n.batch(r.Context(), body)
	} else {
		var req request
		if err := json.Unmarshal(body, &req); err != nil {
			answer = failure(nil, &rpcError{codeParse, "parse error"})
		} else {
			answer = n.answer(r.Context(), req)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a client that went away is no fault
}

func (n *Node) batch(ctx context.Context, body []byte) any {
	var reqs []request
	if err := json.Unmarshal(body, &reqs); err != nil || len(reqs) == 0 {
		return failure(nil, &rpcError{codeInvalid, "invalid batch"})
	}
	out := make([]response, len(reqs))
	for i, req := range reqs {
		out[len(reqs)-1-i] = n.answer(ctx, req)
	}
	return out
}

func failure(id json.RawMessage, err *rpcError) response {
	if id == nil {
		id = json.RawMessage("null")
	}
	return response{Version: "2.0", ID: id, Error: err}
}

func (n *Node) answer(ctx context.Context, req request) response {
	n.calls.Add(1)
	n.mu.Lock()
	n.methods[req.Method]++
	n.mu.Unlock()
	wait(ctx, n.PerCall)
	val, err := n.call(ctx, req)
	if err == nil {
		var raw json.RawMessage
		if raw, err = json.Marshal(val); err == nil {
			return response{Version: "2.0", ID: req.ID, Result: raw}
		}
	}
	var known *rpcError
	if !errors.As(err, &known) {
		known = &rpcError{codeServer, err.Error()}
	}
	return failure(req.ID, known)
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// call dispatches. What is not here, trace_transaction for one, does not exist.
func (n *Node) call(ctx context.Context, req request) (any, error) {
	switch req.Method {
	case "eth_chainId":
		return n.chainID, nil
	case "eth_blockNumber":
		return n.head(), nil
	case "eth_getTransactionByHash":
		return n.ofHash(req, func(e *Evidence) json.RawMessage { return e.Tx })
	case "eth_getTransactionReceipt":
		return n.ofHash(req, func(e *Evidence) json.RawMessage { return e.Receipt })
	case "eth_getBlockByNumber":
		return n.block(req)
	case "eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt":
		return n.stateOf(ctx, req)
	case "eth_call":
		return nil, ErrNotRecorded // the recording holds what one transaction touched, not what any call would
	case "debug_traceTransaction":
		if n.Debug {
			return n.trace(req)
		}
	}
	return nil, &rpcError{codeNoMethod, "the method " + req.Method + " does not exist/is not available"}
}

func (n *Node) head() hexutil.Uint64 {
	var top uint64
	for number := range n.byBlock {
		top = max(top, number)
	}
	return hexutil.Uint64(top)
}

// param reads one parameter.
func param[T any](req request, i int) (T, error) {
	var v T
	if i >= len(req.Params) {
		return v, &rpcError{codeParams, "missing value for required argument " + strconv.Itoa(i)}
	}
	if err := json.Unmarshal(req.Params[i], &v); err != nil {
		return v, &rpcError{codeParams, "invalid argument " + strconv.Itoa(i) + ": " + err.Error()}
	}
	return v, nil
}

func (n *Node) ofHash(req request, pick func(*Evidence) json.RawMessage) (any, error) {
	hash, err := param[common.Hash](req, 0)
	if err != nil {
		return nil, err
	}
	if k := n.byHash[hash]; k != nil {
		return pick(k.evidence), nil
	}
	return nil, nil
}

func (n *Node) block(req request) (any, error) {
	tag, err := param[string](req, 0)
	if err != nil {
		return nil, err
	}
	full, err := param[bool](req, 1)
	if err != nil {
		return nil, err
	}
	number, err := n.number(tag)
	if err != nil {
		return nil, err
	}
	k := n.byBlock[number]
	switch {
	case k == nil:
		return nil, nil
	case full:
		return k.evidence.BlockFull, nil
	}
	return k.evidence.Block, nil
}

func (n *Node) number(tag string) (uint64, error) {
	if tag == "latest" {
		return uint64(n.head()), nil
	}
	number, err := hexutil.DecodeUint64(tag)
	if err != nil {
		return 0, &rpcError{codeParams, "invalid block number"}
	}
	return number, nil
}

func (n *Node) trace(req request) (any, error) {
	hash, err := param[common.Hash](req, 0)
	if err != nil {
		return nil, err
	}
	k := n.byHash[hash]
	if k == nil {
		return nil, &rpcError{codeServer, "transaction not found"}
	}
	config, err := param[struct {
		Tracer       string
		TracerConfig struct{ WithLog, DiffMode bool }
	}](req, 1)
	switch {
	case err != nil:
		return nil, err
	case config.Tracer == "callTracer" && config.TracerConfig.WithLog:
		return k.evidence.Trace, nil
	case config.Tracer == "prestateTracer" && config.TracerConfig.DiffMode:
		return k.evidence.StateDiff, nil
	}
	return nil, &rpcError{codeServer, "tracer not found"}
}

// stateOf answers at the parent block of a known transaction. At the block itself
// only code is answered, supposing that the unknown rest of the block deployed
// nothing over it; balances and slots there are anybody's guess.
func (n *Node) stateOf(ctx context.Context, req request) (any, error) {
	slotGiven := strings.HasSuffix(req.Method, "StorageAt")
	at := 1
	if slotGiven {
		at = 2
	}
	addr, err := param[common.Address](req, 0)
	if err != nil {
		return nil, err
	}
	tag, err := param[string](req, at)
	if err != nil {
		return nil, err
	}
	number, err := n.number(tag)
	if err != nil {
		return nil, err
	}
	if k := n.byBlock[number]; k != nil && req.Method == "eth_getCode" {
		if code, ok := k.after[addr]; ok {
			return hexutil.Bytes(code), nil
		}
	}
	k := n.byBlock[number+1]
	if k == nil {
		return nil, ErrNotRecorded
	}
	return k.read(ctx, req, addr)
}

func (k *known) read(ctx context.Context, req request, addr common.Address) (any, error) {
	switch req.Method {
	case "eth_getBalance":
		v, err := k.state.Balance(ctx, addr)
		return (*hexutil.Big)(v), err
	case "eth_getTransactionCount":
		v, err := k.state.Nonce(ctx, addr)
		return hexutil.Uint64(v), err
	case "eth_getCode":
		v, err := k.state.Code(ctx, addr)
		return hexutil.Bytes(v), err
	}
	text, err := param[string](req, 1)
	if err != nil {
		return nil, err
	}
	slot := common.HexToHash(text) // short forms of a slot are allowed
	return k.state.Storage(ctx, addr, slot)
}
