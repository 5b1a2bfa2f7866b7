package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"txlens/engine/chain"

	"github.com/go-json-experiment/json/jsontext"
)

// rpcCall is one JSON-RPC request and the decoder of its result.
type rpcCall struct {
	method  string
	params  []byte // canonical JSON array
	decode  decodeFunc
	limit   int64
	timeout time.Duration
}

// reply is the outcome of a successful call.
type reply struct {
	value any
	raw   *packed // nil unless it is recorded
}

// rpc tries the endpoints of a chain in order.
func (c *Client) rpc(ctx context.Context, ch *chain.Chain, r rpcCall, keep bool) (out reply, err *Error) {
	list := c.endpoints(ch)
	if len(list) == 0 {
		return out, newError(KindNoEndpoint, "no endpoint is known").at(r.method, "", ch.Slug)
	}
	// However many endpoints there are, one call must not eat the whole analysis.
	budget := r.timeout * 3 / 2
	within, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	err = c.failover(within, list, func(e *endpoint) (err *Error) {
		out, err = c.post(within, e, r, keep)
		return err
	})
	if err != nil && err.local && ctx.Err() == nil && within.Err() != nil {
		err = newError(KindTimeout, "no answer within "+budget.String())
	}
	return out, err.at(r.method, "", ch.Slug)
}

// post makes one attempt at one endpoint.
func (c *Client) post(ctx context.Context, e *endpoint, r rpcCall, keep bool) (out reply, err *Error) {
	id := c.ids.Add(1)
	req := request{url: e.url, method: r.method, post: appendRequest(nil, id, r.method, r.params), limit: r.limit, timeout: r.timeout}
	err = c.exchange(ctx, e, req, func(status int, h http.Header, b *body) *Error {
		if status != http.StatusOK {
			return e.statusError(r.method, status, h, b)
		}
		var fault *Error
		out, fault = e.readReply(b, id, r, keep)
		return fault
	})
	return out, err.at(r.method, e.host, "")
}

// readReply reads an answer with status 200 to its end.
func (e *endpoint) readReply(b *body, id uint64, r rpcCall, keep bool) (out reply, fault *Error) {
	tee := &capture{r: b}
	defer tee.abandon()
	dec := newDecoder(tee)
	a, err := readAnswer(dec, func(dec *jsontext.Decoder) (err error) {
		if !keep {
			out.value, err = r.decode(dec)
			return err
		}
		tee.begin(dec)
		if out.value, err = r.decode(dec); err == nil {
			out.raw, err = tee.end(dec)
		}
		return err
	})
	if err == nil {
		err = atEnd(dec)
	}
	if err == nil {
		err = a.check(id)
	}
	switch {
	case err != nil:
		return reply{}, e.garbage(err)
	case a.fault != nil:
		return reply{}, e.refusal(r.method, a.fault)
	case a.null:
		return reply{}, newError(KindNotFound, "the node knows of none")
	}
	return out, nil
}

// maxBatch is the number of calls in one batch. Providers charge and limit per call, some
// reject large batches, and one slow call delays all.
const maxBatch = 10

// batchReply is the outcome of one call of a batch. If both value and err are nil, the
// batch did not answer it, and it is sent again alone.
type batchReply struct {
	reply
	err *Error
}

// batch sends up to maxBatch plain calls in one request, to the first endpoint that accepts
// batches. It is only an optimisation: a call without a clear answer stays unanswered, and
// nothing is retried.
func (c *Client) batch(ctx context.Context, ch *chain.Chain, calls []rpcCall, keep bool) []batchReply {
	out := make([]batchReply, len(calls))
	for _, e := range c.endpoints(ch) {
		if e.noBatch.Load() {
			continue
		}
		err := c.postBatch(ctx, e, calls, keep, out)
		if err == nil || err.Kind != KindBusy {
			break
		}
	}
	for i := range out {
		out[i].err.at(calls[i].method, "", ch.Slug)
	}
	return out
}

func (c *Client) postBatch(ctx context.Context, e *endpoint, calls []rpcCall, keep bool, out []batchReply) *Error {
	first := c.ids.Add(uint64(len(calls))) - uint64(len(calls)) + 1
	post, limit := []byte{'['}, int64(0)
	for i, r := range calls {
		if i > 0 {
			post = append(post, ',')
		}
		post = appendRequest(post, first+uint64(i), r.method, r.params)
		limit = max(limit, r.limit)
	}
	// Only few members of a batch are large; four full answers are a fair bound.
	req := request{url: e.url, post: append(post, ']'), limit: limit * int64(min(len(calls), 4)), timeout: calls[0].timeout}
	return c.exchange(ctx, e, req, func(status int, h http.Header, b *body) *Error {
		if status != http.StatusOK {
			err := e.statusError("batch", status, h, b)
			if err.Kind != KindRateLimited && err.Kind != KindServer {
				e.noBatch.Store(true)
			}
			return err
		}
		got, err := readBatch(newDecoder(b), first, len(calls))
		if err != nil {
			if errors.Is(err, errNoBatch) {
				e.noBatch.Store(true)
			}
			return e.garbage(err)
		}
		for i := range calls {
			out[i] = e.settle(calls[i], got[i], keep)
		}
		return nil
	})
}

// settle converts the answer to one call of a batch to its outcome.
func (e *endpoint) settle(r rpcCall, got *batchAnswer, keep bool) (out batchReply) {
	switch {
	case got == nil, got.null:
		return out // nothing, or a null that another endpoint may know better
	case got.fault != nil:
		if err := e.refusal(r.method, got.fault); err.Kind == KindReverted {
			out.err = err.at(r.method, e.host, "")
		}
		return out
	}
	v, err := decodeBytes(got.result, r.decode)
	if err != nil {
		return out
	}
	out.value = v
	if keep {
		out.raw = packBytes(got.result)
	}
	return out
}

// batchAnswer is one element of the answer to a batch.
type batchAnswer struct {
	answer
	result jsontext.Value
}

// errNoBatch: the answer is not an array; providers reject batches this way.
var errNoBatch = fmt.Errorf("%w: answer to a batch is not an array", errProtocol)

// readBatch reads the answers to a batch of n requests with consecutive ids from first, in
// any order. A missing id leaves nil; an unknown or duplicate id invalidates the batch,
// because no other answer can be trusted then.
func readBatch(dec *jsontext.Decoder, first uint64, n int) ([]*batchAnswer, error) {
	open, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if open.Kind() != '[' {
		return nil, errNoBatch
	}
	out := make([]*batchAnswer, n)
	for dec.PeekKind() != ']' {
		one := &batchAnswer{}
		one.answer, err = readAnswer(dec, func(dec *jsontext.Decoder) error {
			v, err := dec.ReadValue()
			one.result = v.Clone()
			return err
		})
		if err != nil {
			return nil, err
		}
		id, err := strconv.ParseUint(one.id, 10, 64)
		if err != nil || id < first || id >= first+uint64(n) {
			return nil, protocolError("a batch answer has a foreign id")
		}
		if out[id-first] != nil {
			return nil, protocolError("a batch answer has one id twice")
		}
		if err := one.check(id); err != nil {
			return nil, err
		}
		out[id-first] = one
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	return out, atEnd(dec)
}
