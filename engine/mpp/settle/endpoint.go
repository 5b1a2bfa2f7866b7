package settle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// endpoint is one JSON-RPC server of the chain. It is safe for concurrent use.
type endpoint struct {
	url string
	// served: the endpoint has proved that it serves the domain's chain. Before that no
	// other request is sent to it, because the answers of another chain look like those of
	// an empty one.
	served atomic.Bool
	// restUntil is the time, in Unix nanoseconds, until which other endpoints are
	// preferred.
	restUntil atomic.Int64
}

// How long an endpoint is asked after the others: after a fault, and when its head is
// older than that of another by more than maxLag.
const (
	restAfterFault = 10 * time.Second
	restAfterLag   = 2 * time.Minute
	maxLag         = 30 * time.Second
)

func (e *endpoint) rest(d time.Duration) { e.restUntil.Store(time.Now().Add(d).UnixNano()) }

// inOrder returns the endpoints in configured order, resting ones last.
func (c *Client) inOrder() []*endpoint {
	now := time.Now().UnixNano()
	list := make([]*endpoint, 0, len(c.endpoints))
	for _, resting := range []bool{false, true} {
		for _, e := range c.endpoints {
			if (e.restUntil.Load() > now) == resting {
				list = append(list, e)
			}
		}
	}
	return list
}

// post makes one call to one endpoint. left is how many endpoints may still be tried, this
// one included: each gets its share of the remaining time.
func (c *Client) post(ctx context.Context, e *endpoint, left int, body []byte) (jsontext.Value, error) {
	part, cancel := share(ctx, left)
	defer cancel()
	if err := c.checkServed(part, e); err != nil {
		return nil, err
	}
	result, err := c.exchange(part, e.url, body)
	told, isTold := errors.AsType[*rpcError](err)
	switch {
	case err == nil, errors.Is(ctx.Err(), context.Canceled): // nobody waits any more
	case !isTold, elsewhere[told.Code] && told.Code != codeNoMethod:
		e.rest(restAfterFault)
	}
	return result, err
}

// share is the part of ctx's time that one of left endpoints gets, at most callTime.
func share(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	limit := callTime
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/time.Duration(max(left, 1)))
	}
	return context.WithTimeout(ctx, limit)
}

// checkServed makes sure, once, that an endpoint serves the chain. The error is
// ErrWrongChain, or says why it is not known.
func (c *Client) checkServed(ctx context.Context, e *endpoint) error {
	if e.served.Load() {
		return nil
	}
	body, err := request("eth_chainId", nil)
	if err != nil {
		return err
	}
	result, err := c.exchange(ctx, e.url, body)
	if err == nil {
		var id uint64
		if err = into(&id)(result); err == nil && id != c.o.Domain.ChainID() {
			err = &otherChain{serves: id, want: c.o.Domain.ChainID()}
		}
	}
	if err != nil {
		e.rest(restAfterFault)
		if errors.Is(err, ErrWrongChain) {
			return err
		}
		// The call itself was not made.
		return fmt.Errorf("%w: eth_chainId: %s", errNotSent, err)
	}
	e.served.Store(true)
	return nil
}

// otherChain is ErrWrongChain with both chain ids.
type otherChain struct{ serves, want uint64 }

func (e *otherChain) Error() string {
	return fmt.Sprintf("the endpoint serves chain %d, not %d", e.serves, e.want)
}

func (e *otherChain) Is(target error) bool { return target == ErrWrongChain }

// CheckChain asks every endpoint for its chain id. The error is ErrWrongChain if one serves
// another chain, and ErrUnreachable if none answers.
func (c *Client) CheckChain(ctx context.Context) error {
	var faults []error
	for i, e := range c.endpoints {
		e.served.Store(false)
		part, cancel := share(ctx, len(c.endpoints)-i)
		err := c.checkServed(part, e)
		cancel()
		if errors.Is(err, ErrWrongChain) && len(c.endpoints) > 1 {
			return fmt.Errorf("endpoint %d of %d: %w", i+1, len(c.endpoints), err)
		} else if errors.Is(err, ErrWrongChain) {
			return err
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == len(c.endpoints) {
		return unreachable(ctx, "eth_chainId", faults)
	}
	return nil
}
