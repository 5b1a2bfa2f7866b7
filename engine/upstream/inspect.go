package upstream

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/chain"
)

// Support says whether an endpoint offers a method.
type Support string

const (
	Supported    Support = "yes"
	NotSupported Support = "no"
	NotKnown     Support = "unknown" // the endpoint failed otherwise
)

// Inspection is what one endpoint of a chain is and offers. It is for operators; no
// analysis uses it.
type Inspection struct {
	Host  string        // without port, user or path
	Given bool          // by the configuration, not by the chain table
	Err   error         // why it cannot be used; nil: it can
	Block uint64        // its latest block
	Age   time.Duration // of that block by the local clock
	Ahead time.Duration // of its clock before the local one, by the header Date
	Dated bool          // it sent that header
	Took  time.Duration // for its answer to eth_chainId

	Traces []TraceMethod // in the order in which analyses ask for them
}

// TraceMethod is a method that gives the call tree of a transaction.
type TraceMethod struct {
	Name    string
	Support Support
}

// callTraceMethods are the methods, in the order in which analyses ask for them, with what follows
// the hash of the transaction in their parameters.
var callTraceMethods = []struct{ name, more string }{
	{methodDebugTrace, `,{"tracer":"callTracer"}`}, {methodParityTrace, ""}, {methodReplayTrace, `,["trace"]`}, {methodOtterscan, ""},
}

// maxInspected bounds what is read of the trace that an endpoint gives.
const maxInspected = 8 << 20

// Inspect asks every endpoint of a chain for its chain, its latest block, and the trace of
// a transaction in it, each once.
func (c *Client) Inspect(ctx context.Context, ch *chain.Chain) []Inspection {
	list := c.endpoints(ch)
	out := make([]Inspection, len(list))
	var wg sync.WaitGroup
	for i, e := range list {
		wg.Go(func() {
			out[i] = c.inspect(ctx, ch, e)
			out[i].Given = i < len(c.cfg.Endpoints[ch.ID])
		})
	}
	wg.Wait()
	return out
}

func (c *Client) inspect(ctx context.Context, ch *chain.Chain, e *endpoint) (out Inspection) {
	out = Inspection{Host: e.host}
	for _, m := range callTraceMethods {
		out.Traces = append(out.Traces, TraceMethod{m.name, NotKnown})
	}
	fail := func(method string, err *Error) Inspection {
		out.Err = err.at(method, e.host, ch.Slug)
		return out
	}
	begin := time.Now()
	v, date, err := c.ask(ctx, e, methodChainID, "[]")
	out.Took = time.Since(begin)
	if err != nil {
		return fail(methodChainID, err)
	}
	if !date.IsZero() {
		out.Dated, out.Ahead = true, time.Until(date)
	}
	if id, ok := readQuantity(v); !ok || id != ch.ID {
		return fail(methodChainID, newError(KindWrongChain, "it serves another chain"))
	}
	v, _, err = c.ask(ctx, e, methodBlock, `["latest",false]`)
	if err != nil {
		return fail(methodBlock, err)
	}
	var head struct {
		Number       string        `json:"number"`
		Timestamp    string        `json:"timestamp"`
		Transactions []common.Hash `json:"transactions"`
	}
	if json.Unmarshal(v, &head) != nil {
		return fail(methodBlock, newError(KindGarbage, "its latest block cannot be read"))
	}
	number, ok := readQuantity(quoted(head.Number))
	at, also := readQuantity(quoted(head.Timestamp))
	if !ok || !also || at > 1<<40 {
		return fail(methodBlock, newError(KindGarbage, "its latest block has no number or time"))
	}
	out.Block, out.Age = number, time.Since(time.Unix(int64(at), 0))
	hash := common.Hash{}
	if len(head.Transactions) > 0 {
		hash = head.Transactions[0]
	}
	for i, m := range callTraceMethods {
		_, _, err = c.ask(ctx, e, m.name, `["`+hash.Hex()+`"`+m.more+`]`)
		out.Traces[i].Support = supportOf(err)
	}
	return out
}

// methodChainID is asked by inspections and Watch.
const methodChainID = "eth_chainId"

func quoted(s string) jsontext.Value { return jsontext.Value(strconv.Quote(s)) }

// readQuantity reads a 0x hex quantity.
func readQuantity(v jsontext.Value) (uint64, bool) {
	var text string
	if json.Unmarshal(v, &text) != nil || len(text) < 3 || text[:2] != "0x" {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:], 16, 64)
	return n, err == nil
}

// supportOf reads from the outcome of a call whether there is such a method. A trace that
// is too large, or of a transaction that the node does not know, shows that there is.
func supportOf(err *Error) Support {
	switch {
	case err == nil, err.Kind == KindNotFound, err.Kind == KindTooLarge, err.Kind == KindNoState:
		return Supported
	case err.Kind == KindUnsupported, err.Kind == KindRefused, err.Kind == KindPayment:
		return NotSupported
	}
	return NotKnown
}

// ask makes one attempt at one endpoint, and returns the time that its server gave.
func (c *Client) ask(ctx context.Context, e *endpoint, method, params string) (jsontext.Value, time.Time, *Error) {
	var date time.Time
	id := c.ids.Add(1)
	call := rpcCall{method: method, params: []byte(params), timeout: c.cfg.Timeout, limit: maxInspected}
	call.decode = func(dec *jsontext.Decoder) (any, error) {
		v, err := dec.ReadValue()
		return v.Clone(), err
	}
	req := request{url: e.url, post: appendRequest(nil, id, method, call.params), limit: call.limit, timeout: call.timeout}
	var out reply
	err := c.exchange(ctx, e, req, func(status int, h http.Header, b *body) (fault *Error) {
		if at, err := http.ParseTime(h.Get("Date")); err == nil {
			date = at
		}
		if status != http.StatusOK {
			return e.statusError(method, status, h, b)
		}
		out, fault = e.readReply(b, id, call, false)
		return fault
	})
	v, _ := out.value.(jsontext.Value)
	return v, date, err
}

// TraceExplorer returns the host of the explorer that is asked for the call tree of a transaction
// of a chain if no endpoint gives it; empty: there is none.
func (c *Client) TraceExplorer(ch *chain.Chain) string {
	if e := c.blockscoutFor(ch); e != nil && !c.cfg.SourcesOff {
		return e.host
	}
	return ""
}

// CheckEtherscanKey asks Etherscan for the source of the chain's wrapped coin. It returns
// nil where no key is configured, or the chain has no such coin.
func (c *Client) CheckEtherscanKey(ctx context.Context, ch *chain.Chain) error {
	if c.cfg.EtherscanKey == "" || ch.WrappedNative == nil {
		return nil
	}
	_, _, err := etherscanLive(ch, *ch.WrappedNative)(ctx, c, false)
	if err == nil || err.Kind == KindNotFound {
		return nil
	}
	return err
}
