package stubnode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"txlens/testkit/fixture"
)

// RPCError is the error object of JSON-RPC.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return e.Message }

// The errors nodes give most.
var (
	ErrMethodNotFound = &RPCError{Code: -32601, Message: "the method does not exist/is not available"}
	ErrNoState        = &RPCError{Code: -32000, Message: "historical state is not available"}
	ErrNoTransaction  = &RPCError{Code: -32000, Message: "transaction not found"}
)

// Handler answers one method. A nil result is null; an error that is no
// *RPCError is sent with code -32000.
type Handler func(params []json.RawMessage) (json.RawMessage, error)

// Options of a Node.
type Options struct {
	ChainID       uint64             // blocks of other chains are left out; 0: that of the first block
	ClientVersion string             // default "stubnode/v1"
	NoTrace       bool               // debug_traceTransaction is not there
	NoStateDiff   bool               // prestateTracer is refused
	NoLogs        bool               // withLog is ignored, as old nodes do
	MaxBatch      int                // larger batches are refused as a whole; 0: no bound
	Handlers      map[string]Handler // answer these methods instead
	Pending       []fixture.Tx       // known, but in no block
	Observe       func(r *http.Request, body []byte)
}

// Node is the handler. Make one with New.
type Node struct {
	faults
	opt     Options
	numbers map[uint64]*block
	hashes  map[string]*block
	txs     map[string]fixture.Tx
	pending map[string]json.RawMessage
	head    uint64

	handlersMu sync.Mutex
	handlers   map[string]Handler
	streams    map[string]Streamer
}

type block struct {
	header map[string]json.RawMessage
	txs    []fixture.Tx // by index
}

// New makes a node of the recorded blocks. It panics on a recording that is no
// JSON, since only tests call it.
func New(blocks []fixture.Block, opt Options) *Node {
	if opt.ChainID == 0 && len(blocks) > 0 {
		opt.ChainID = blocks[0].ChainID
	}
	if opt.ClientVersion == "" {
		opt.ClientVersion = "stubnode/v1"
	}
	n := &Node{opt: opt, numbers: map[uint64]*block{}, hashes: map[string]*block{}, txs: map[string]fixture.Tx{},
		pending: map[string]json.RawMessage{}, handlers: map[string]Handler{}}
	for _, b := range blocks {
		if b.ChainID == opt.ChainID {
			n.add(b)
		}
	}
	for _, t := range opt.Pending {
		n.pending[strings.ToLower(t.Hash)] = unmined(t.Tx)
	}
	for method, h := range opt.Handlers {
		n.handlers[method] = h
	}
	return n
}

func (n *Node) add(b fixture.Block) {
	made := &block{txs: append([]fixture.Tx(nil), b.Txs...)}
	must(json.Unmarshal(b.Header, &made.header))
	sort.SliceStable(made.txs, func(i, j int) bool { return index(made.txs[i]) < index(made.txs[j]) })
	for _, t := range made.txs {
		n.txs[strings.ToLower(t.Hash)] = t
	}
	var hash string
	must(json.Unmarshal(made.header["hash"], &hash))
	n.hashes[strings.ToLower(hash)] = made
	n.numbers[b.Number] = made
	n.head = max(n.head, b.Number)
}

func index(t fixture.Tx) uint64 {
	var at struct{ TransactionIndex string }
	must(json.Unmarshal(t.Tx, &at))
	i, err := quantity(at.TransactionIndex)
	must(err)
	return i
}

// unmined is the transaction as a node tells it from its pool.
func unmined(tx json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	must(json.Unmarshal(tx, &m))
	for _, key := range []string{"blockHash", "blockNumber", "transactionIndex", "blockTimestamp"} {
		if m[key] != nil {
			m[key] = json.RawMessage("null")
		}
	}
	return encode(m)
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("stubnode: %v", err))
	}
}

func encode(v any) json.RawMessage {
	out, err := json.Marshal(v)
	must(err)
	return out
}

func quantity(s string) (uint64, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok {
		return 0, fmt.Errorf("quantity %q has no 0x", s)
	}
	return strconv.ParseUint(digits, 16, 64)
}

// Handle answers a method from now on; nil restores the method's own answer.
func (n *Node) Handle(method string, h Handler) {
	n.handlersMu.Lock()
	defer n.handlersMu.Unlock()
	if h == nil {
		delete(n.handlers, method)
		return
	}
	n.handlers[method] = h
}

// Start serves the node until the test ends, and says where.
func (n *Node) Start(tb testing.TB) (url string) {
	tb.Helper()
	s := httptest.NewServer(n)
	tb.Cleanup(s.Close)
	return s.URL
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
	Error   *RPCError       `json:"error,omitempty"`
}

// ServeHTTP answers one request or one batch.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.enter()
	defer n.leave()
	body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	if err != nil {
		return
	}
	if n.opt.Observe != nil {
		n.opt.Observe(r, body)
	}
	if r.Method != http.MethodPost {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		n.batch(w, r, trimmed)
		return
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		sendJSON(w, r, Fault{}, response{Version: "2.0", ID: json.RawMessage("null"), Error: &RPCError{Code: -32700, Message: "parse error"}})
		return
	}
	n.count(req.Method)
	fault := n.take(req.Method)
	if fault.Huge > 0 && fault.Prefix == "" && req.Method == "debug_traceTransaction" {
		fault.Prefix = `{"jsonrpc":"2.0","id":` + string(
			req.ID,
		) + `,"result":{"type":"CALL","from":"0x0000000000000000000000000000000000000001","to":"0x0000000000000000000000000000000000000002","gas":"0x1","gasUsed":"0x1","input":"0x`
		fault.Suffix = `"}}`
	}
	if fault == (Fault{}) && n.stream(w, req) {
		return
	}
	sendJSON(w, r, fault, n.answer(req, fault))
}

func sendJSON(w http.ResponseWriter, r *http.Request, fault Fault, v any) {
	fault.send(w, r, "application/json", encode(v))
}

// batch answers in an order of its own that depends on the length alone: clients
// must match by id. The first fault of a member hits the whole HTTP answer.
func (n *Node) batch(w http.ResponseWriter, r *http.Request, body []byte) {
	var reqs []request
	if err := json.Unmarshal(body, &reqs); err != nil || len(reqs) == 0 {
		sendJSON(w, r, Fault{}, response{Version: "2.0", ID: json.RawMessage("null"), Error: &RPCError{Code: -32600, Message: "invalid request"}})
		return
	}
	if n.opt.MaxBatch > 0 && len(reqs) > n.opt.MaxBatch {
		sendJSON(w, r, Fault{}, response{Version: "2.0", ID: json.RawMessage("null"), Error: &RPCError{Code: -32600, Message: "batch too large"}})
		return
	}
	var whole Fault
	out := make([]response, len(reqs))
	for i, req := range reqs {
		n.count(req.Method)
		fault := n.take(req.Method)
		if whole == (Fault{}) {
			whole = fault
		}
		out[i] = n.answer(req, fault)
	}
	rand.New(rand.NewPCG(1, uint64(len(out)))).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	sendJSON(w, r, whole, out)
}

func (n *Node) answer(req request, fault Fault) response {
	out := response{Version: "2.0", ID: req.ID}
	if fault.WrongID {
		out.ID = json.RawMessage("987654321")
	}
	if fault.Error != nil {
		out.Error = fault.Error
		return out
	}
	result, err := n.call(req)
	switch e := err.(type) {
	case nil:
		if out.Result = result; result == nil {
			out.Result = json.RawMessage("null")
		}
	case *RPCError:
		out.Error = e
	default:
		out.Error = &RPCError{Code: -32000, Message: err.Error()}
	}
	return out
}
