package settle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

var domain = tempo.NewDomain(42431, common.HexToAddress("0x4d50500000000000000000000000000000000000"))

// reply is what a scripted node does with one call.
type reply struct {
	result any
	err    *rpcError
	status int    // of HTTP, where it is not 200
	body   string // sent in place of JSON-RPC
	dial   bool   // no connection is made
	lost   bool   // the node does what is asked, and the connection breaks
	hangs  bool   // no answer comes until the caller gives up
	broken bool   // the connection breaks in the middle of the answer
}

func refuse(code int, message string) reply {
	return reply{err: &rpcError{Code: code, Message: message}}
}
func give(result any) reply { return reply{result: result} }

// node is a scripted JSON-RPC server: for each method a list of replies, of which the
// last is repeated. It is safe for concurrent use.
type node struct {
	mu     sync.Mutex
	script map[string][]reply
	asked  []string            // methods, in order, but for eth_chainId
	chains int                 // how often eth_chainId was asked
	params map[string][]string // of the calls of a method, as JSON
	do     map[string]func(params []jsontext.Value) reply
}

func newNode() *node {
	return &node{
		script: map[string][]reply{"eth_chainId": {give("0xa5bf")}},
		params: map[string][]string{}, do: map[string]func([]jsontext.Value) reply{},
	}
}

// on scripts a method.
func (n *node) on(method string, replies ...reply) *node {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.script[method] = replies
	return n
}

// all scripts every method.
func (n *node) all(r reply) *node { return n.on("*", r) }

func (n *node) calls(method string) (sum int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.asked {
		if m == method || method == "*" {
			sum++
		}
	}
	return sum
}

// next is the reply to a call.
func (n *node) next(method string, params []jsontext.Value) reply {
	n.mu.Lock()
	defer n.mu.Unlock()
	if method == "eth_chainId" {
		n.chains++
	} else {
		n.asked = append(n.asked, method)
		raw, _ := json.Marshal(params)
		n.params[method] = append(n.params[method], string(raw))
	}
	if all, ok := n.script["*"]; ok && method != "eth_chainId" {
		return all[0]
	}
	if do := n.do[method]; do != nil {
		return do(params)
	}
	list := n.script[method]
	switch len(list) {
	case 0:
		return refuse(codeNoMethod, "the method does not exist")
	case 1:
		return list[0]
	}
	n.script[method] = list[1:]
	return list[0]
}

// network carries calls to nodes by the host of their URL.
type network map[string]*node

func (w network) RoundTrip(r *http.Request) (*http.Response, error) {
	var call struct {
		Method string           `json:"method"`
		Params []jsontext.Value `json:"params"`
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		return &http.Response{StatusCode: http.StatusUnsupportedMediaType, Body: http.NoBody, Request: r}, nil
	}
	if err := json.Unmarshal(raw, &call); err != nil {
		return nil, err
	}
	re := w[r.URL.Host].next(call.Method, call.Params)
	switch {
	case re.dial:
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	case re.hangs:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case re.lost:
		return nil, io.ErrUnexpectedEOF
	}
	if re.status == 0 {
		re.status = http.StatusOK
	}
	if re.body == "" {
		out := map[string]any{"jsonrpc": "2.0", "id": 1, "result": re.result}
		if re.err != nil {
			out = map[string]any{"jsonrpc": "2.0", "id": 1, "error": map[string]any{"code": re.err.Code, "message": re.err.Message, "data": re.err.Data}}
		}
		raw, err := json.Marshal(out)
		if err != nil {
			return nil, err
		}
		re.body = string(raw)
	}
	var from io.Reader = strings.NewReader(re.body)
	if re.broken {
		from = io.MultiReader(from, iotest.ErrReader(io.ErrUnexpectedEOF))
	}
	return &http.Response{StatusCode: re.status, Body: io.NopCloser(from), Header: http.Header{}, Request: r}, nil
}

// payee signs settlements.
func payee() *tempo.Secp256k1Key {
	k, err := tempo.NewSecp256k1Key(bytes.Repeat([]byte{9}, 32))
	if err != nil {
		panic(err)
	}
	return k
}

// clientOf asks nodes in their order. It polls without rest.
func clientOf(t *testing.T, nodes ...*node) *Client {
	t.Helper()
	w, urls := network{}, []string{}
	for i, n := range nodes {
		host := string(rune('a'+i)) + ".test"
		w[host] = n
		urls = append(urls, "http://"+host)
	}
	c, err := New(Options{URLs: urls, Domain: domain, Key: payee(), FeeToken: common.HexToAddress("0x20c0000000000000000000000000000000000000"), Transport: w})
	if err != nil {
		t.Fatal(err)
	}
	c.pace = pollInterval{poll: time.Microsecond, resend: time.Microsecond}
	return c
}

// soon bounds a test of what must end by itself.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Values of JSON-RPC.

func blockOf(number, at uint64) map[string]any {
	return map[string]any{"number": hexutil.Uint64(number), "timestamp": hexutil.Uint64(at), "baseFeePerGas": "0x4a817c800"}
}

func receiptOf(hash common.Hash, status uint64) map[string]any {
	return map[string]any{"status": hexutil.Uint64(status), "transactionHash": hash, "blockNumber": "0x5", "blockHash": common.Hash{5}, "logs": []any{}}
}

func stateOf(settled, deposit uint64) reply {
	return give(hexutil.Bytes(tempo.ChannelState{Settled: tempo.AmountFrom(settled), Deposit: tempo.AmountFrom(deposit)}.Encode()))
}

// closable is a channel in Closing that the payee may close.
func closable() session.Channel {
	d := tempo.Descriptor{Payer: common.Address{1}, Payee: payee().Address(), Token: common.Address{3}}
	c := session.Opened(domain, d, session.State{Deposit: tempo.AmountFrom(500), Seen: 1}, session.Voucher{Cumulative: tempo.AmountFrom(50), Signature: someSignature()}, common.Hash{2}, time.Unix(1_900_000_000, 0))
	c.Charge(tempo.AmountFrom(50), time.Unix(1_900_000_001, 0))
	c.BeginClose(session.Voucher{})
	return c
}

func someSignature() tempo.Signature {
	sig, err := domain.Sign(payee(), common.Hash{1}, tempo.AmountFrom(50))
	if err != nil {
		panic(err)
	}
	return sig
}
