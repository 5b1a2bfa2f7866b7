package upstream

import (
	"context"
	"net/http"
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
	exists  bool // what is asked for exists, so a node that knows of none lags behind
	// incomplete says what a value lacks, "" if nothing; nil: it is whole. Such a value counts
	// only if no endpoint has a better one.
	incomplete func(value any) string
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
	var second reply // the first answer that is incomplete
	err = c.failover(within, list, func(e *endpoint) (err *Error) {
		if out, err = c.post(within, e, r, keep); err != nil {
			return err
		}
		if lacks := r.lacks(out.value); lacks != "" {
			if second.value == nil {
				second = out
			}
			return newError(KindIncomplete, lacks)
		}
		return nil
	})
	if err != nil && second.value != nil {
		return second, nil
	}
	if err != nil && err.local && ctx.Err() == nil && within.Err() != nil {
		err = newError(KindTimeout, "no answer within "+budget.String())
	}
	return out, err.at(r.method, "", ch.Slug)
}

func (r *rpcCall) lacks(value any) string {
	if r.incomplete == nil {
		return ""
	}
	return r.incomplete(value)
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
		if err = a.check(id); err != nil {
			if f := a.passing(r.method); f != nil {
				return reply{}, e.refusal(r.method, f)
			}
		}
	}
	switch {
	case err != nil && b.page():
		return reply{}, newError(KindServer, "a page for people instead of an answer")
	case err != nil:
		return reply{}, e.garbage(err)
	case a.fault != nil:
		fault := e.refusal(r.method, a.fault)
		fault.Retryable = fault.Retryable || r.exists && fault.Kind == KindNotFound
		return reply{}, fault
	case a.null:
		fault := newError(KindNotFound, "the node does not have it")
		fault.Retryable = r.exists
		return reply{}, fault
	}
	return out, nil
}
