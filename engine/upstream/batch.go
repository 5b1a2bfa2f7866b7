package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"txlens/engine/chain"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBatch is the number of calls in one batch. Providers charge and limit per call, some
// reject large batches, and one slow call delays all.
const maxBatch = 10

// batchSize is the number of calls that an endpoint is sent in one batch at most. It is halved
// when the endpoint says that it is too much, and doubled after each batch that it answers.
// The zero value is maxBatch. It is safe for concurrent use.
type batchSize struct{ less atomic.Int32 } // maxBatch minus the size

func (s *batchSize) get() int { return maxBatch - int(s.less.Load()) }

func (s *batchSize) set(n int) { s.less.Store(int32(maxBatch - min(max(n, 2), maxBatch))) }

// batchReply is the outcome of one call of a batch. If both value and err are nil, the
// batch did not answer it, and it is sent again alone.
type batchReply struct {
	reply
	err *Error
}

func (r *batchReply) open() bool { return r.value == nil && r.err == nil }

// batch sends up to maxBatch plain calls in one request, to the first endpoint that accepts
// batches, in several smaller ones if it asks for less at a time. It is only an optimisation:
// a call without a clear answer stays unanswered.
func (c *Client) batch(ctx context.Context, ch *chain.Chain, calls []rpcCall, keep bool) []batchReply {
	out := make([]batchReply, len(calls))
	for _, e := range c.endpoints(ch) {
		if e.noBatch.Load() {
			continue
		}
		err := c.batches(ctx, e, calls, keep, out)
		if err == nil || err.Kind != KindBusy {
			break
		}
	}
	for i := range out {
		out[i].err.at(calls[i].method, "", ch.Slug)
	}
	return out
}

// batches sends calls to one endpoint until all are sent, or it refuses a batch of the
// smallest size. A single call that is left is not sent: nothing is saved.
func (c *Client) batches(ctx context.Context, e *endpoint, calls []rpcCall, keep bool, out []batchReply) *Error {
	left := make([]int, len(calls)) // indices of the calls to send
	for i := range left {
		left[i] = i
	}
	for tries := 0; len(left) > 1; {
		some := left[:min(e.batch.get(), len(left))]
		err := c.postBatch(ctx, e, calls, some, keep, out)
		switch {
		case err == nil:
			e.batch.set(2 * e.batch.get())
			left = left[len(some):]
			continue
		case err.Kind != KindRateLimited && err.Kind != KindTooLarge:
			return err
		case len(some) <= 2:
			// A provider that is too busy even for two may be so for a moment; one that
			// allows no two calls will not allow them later.
			if err.Kind == KindTooLarge {
				e.noBatch.Store(true)
			}
			return err
		}
		e.batch.set(len(some) / 2)
		left = slices.DeleteFunc(left, func(i int) bool { return !out[i].open() })
		if err.Kind == KindTooLarge {
			continue
		}
		if tries++; tries > c.cfg.Retries {
			return err
		}
		wait := time.Duration(rand.Int64N(int64(c.cfg.Backoff) + 1))
		if s := sleep(ctx, max(wait, min(err.retryAfter, c.cfg.MaxRetryAfter))); s != nil {
			return s
		}
	}
	return nil
}

// postBatch sends those of calls whose indices are in some.
func (c *Client) postBatch(ctx context.Context, e *endpoint, calls []rpcCall, some []int, keep bool, out []batchReply) *Error {
	first := c.ids.Add(uint64(len(some))) - uint64(len(some)) + 1
	post, limit := []byte{'['}, int64(0)
	for i, at := range some {
		r := &calls[at]
		if i > 0 {
			post = append(post, ',')
		}
		post = appendRequest(post, first+uint64(i), r.method, r.params)
		limit = max(limit, r.limit)
	}
	// Only few members of a batch are large; four full answers are a fair bound.
	req := request{url: e.url, post: append(post, ']'), limit: limit * int64(min(len(some), 4)), timeout: calls[0].timeout}
	return c.exchange(ctx, e, req, func(status int, h http.Header, b *body) *Error {
		if status != http.StatusOK {
			return e.batchRefused(e.statusError("batch", status, h, b))
		}
		dec := newDecoder(b)
		if dec.PeekKind() == '{' {
			return e.batchRefused(e.batchFault(dec))
		}
		got, err := readBatch(dec, first, len(some))
		switch {
		case err != nil && b.page():
			return newError(KindServer, "a page for people instead of an answer")
		case errors.Is(err, errNoBatch):
			return e.batchRefused(e.garbage(err))
		case err != nil:
			return e.garbage(err)
		}
		var limited *Error
		for i, at := range some {
			out[at] = e.settle(calls[at], got[i], keep)
			if out[at].open() && got[i] != nil && got[i].fault != nil && limited == nil {
				if err := e.refusal("batch", got[i].fault); err.Kind == KindRateLimited {
					limited = err
				}
			}
		}
		return limited
	})
}

// batchRefused notes that an endpoint takes no batches, unless the reason passes.
func (e *endpoint) batchRefused(err *Error) *Error {
	switch err.Kind {
	case KindRateLimited, KindTooLarge, KindServer, KindTimeout:
	default:
		e.noBatch.Store(true)
	}
	return err
}

// batchFault reads a single object that answers a batch.
func (e *endpoint) batchFault(dec *jsontext.Decoder) *Error {
	a, err := readAnswer(dec, func(dec *jsontext.Decoder) error { return dec.SkipValue() })
	switch {
	case err != nil:
		return e.garbage(err)
	case a.fault != nil:
		return e.refusal("batch", a.fault)
	}
	if f := a.passing("batch"); f != nil {
		return e.refusal("batch", f)
	}
	return e.garbage(errNoBatch)
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
	if err != nil || r.lacks(v) != "" {
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
