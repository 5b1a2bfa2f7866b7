package upstream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"txlens/engine/chain"
)

// ChainState is what a Client knows of the endpoints of one chain.
type ChainState struct {
	Slug string
	// Down means that every endpoint was asked, and none answered when it was last asked.
	Down bool
	// Asked means that some endpoint was asked.
	Asked bool
	// Requests counts attempts by outcome: OutcomeOK for any answer of the endpoint, negative
	// ones included, otherwise the Kind of the failure.
	Requests map[string]uint64
}

// health counts the attempts at the endpoints of one chain.
type health struct {
	answered *atomic.Bool // of the Client: an endpoint of any chain has answered

	mu       sync.Mutex
	requests map[string]uint64
}

// condition is how the last attempt at an endpoint ended.
type condition int32

const (
	notAsked condition = iota
	answering
	failing
)

// note keeps the outcome of an attempt. A trace that fails is counted, but says nothing of
// what else the endpoint answers. What says nothing about the endpoint is left out: the
// caller went away, or this process has no memory for the answer.
func (e *endpoint) note(method string, err *Error) {
	if e.health == nil {
		return
	}
	outcome, now := OutcomeOK, answering
	if err != nil && !err.Kind.definite() && err.Kind != KindTooLarge {
		outcome, now = string(err.Kind), failing
	}
	switch {
	case err != nil && (err.local || err.Kind == KindCanceled || err.Kind == KindInternal || err.Kind == KindNoMemory):
		return
	case now == answering:
		e.health.answered.Store(true)
	}
	if now == answering || !traces(method) {
		e.condition.Store(int32(now))
	}
	e.health.mu.Lock()
	defer e.health.mu.Unlock()
	e.health.requests[outcome]++
}

// newNode returns an endpoint of a chain; the caller holds c.mu, or has the only reference.
func (c *Client) newNode(id uint64, e *endpoint) *endpoint {
	h := c.chains[id]
	if h == nil {
		h = &health{answered: &c.answered, requests: map[string]uint64{}}
		c.chains[id] = h
	}
	e.health = h
	return e
}

// Chains returns the state of each chain of which an endpoint was asked, by slug.
func (c *Client) Chains() []ChainState {
	c.mu.Lock()
	nodes := maps.Clone(c.nodes)
	c.mu.Unlock()
	var out []ChainState
	for id, list := range nodes {
		ch, ok := chain.ByID(id)
		if !ok || len(list) == 0 {
			continue
		}
		if s := stateOf(ch, list); s.Asked {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b ChainState) int { return strings.Compare(a.Slug, b.Slug) })
	return out
}

func stateOf(ch *chain.Chain, list []*endpoint) ChainState {
	s := ChainState{Slug: ch.Slug, Down: true}
	for _, e := range list {
		now := condition(e.condition.Load())
		s.Asked = s.Asked || now != notAsked
		s.Down = s.Down && now == failing
	}
	h := list[0].health
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Requests = maps.Clone(h.requests)
	return s
}

// Bounds of Watch: it asks few endpoints, and rarely.
const (
	watchChains = 4                // chains asked in one round
	watchFirst  = time.Second      // wait after a first round without an answer; doubled each time
	watchMost   = 30 * time.Second // longest wait, and that between looks at chains that are down
)

// Watch asks endpoints for their chain id until one has answered, and from then on those of
// chains that are down, until the context ends. In a round it asks a few chains, the
// configured ones first. Nothing of it is metered. tell is called when a round got no answer
// and none came before, and when the first came: it gets nil.
func (c *Client) Watch(ctx context.Context, tell func(err error)) {
	all := c.watched()
	if len(all) == 0 {
		return
	}
	wait := watchFirst
	for next := 0; !c.answered.Load(); next += watchChains {
		if err := c.hello(ctx, window(all, next)); err != nil && !c.answered.Load() {
			if ctx.Err() != nil {
				return
			}
			tell(err)
			if sleep(ctx, wait) != nil {
				return
			}
			wait = min(2*wait, watchMost)
		}
	}
	tell(nil)
	for next := 0; sleep(ctx, watchMost) == nil; next += watchChains {
		if down := c.down(all); len(down) > 0 {
			c.hello(ctx, window(down, next))
		}
	}
}

// watched returns the chains with an endpoint: the configured ones, then all others by
// popularity.
func (c *Client) watched() (out []*chain.Chain) {
	given := func(ch *chain.Chain) bool { return len(c.cfg.Endpoints[ch.ID]) > 0 }
	for _, ch := range chain.All() {
		if given(ch) {
			out = append(out, ch)
		}
	}
	for _, ch := range chain.All() {
		if !given(ch) && c.Reaches(ch) {
			out = append(out, ch)
		}
	}
	return out
}

func window(list []*chain.Chain, from int) (out []*chain.Chain) {
	for i := range min(watchChains, len(list)) {
		out = append(out, list[(from+i)%len(list)])
	}
	return out
}

func (c *Client) down(list []*chain.Chain) (out []*chain.Chain) {
	for _, ch := range list {
		if stateOf(ch, c.endpoints(ch)).Down {
			out = append(out, ch)
		}
	}
	return out
}

// hello asks the endpoints of each chain, one after the other until one answers, and all
// chains at the same time. It returns the worst failure if no endpoint answered.
func (c *Client) hello(ctx context.Context, list []*chain.Chain) error {
	faults := make([]*Error, len(list))
	var wg sync.WaitGroup
	for i, ch := range list {
		wg.Go(func() {
			for _, e := range c.endpoints(ch) {
				_, _, err := c.ask(ctx, e, methodChainID, "[]")
				if faults[i] = err.at(methodChainID, e.host, ch.Slug); err == nil || err.Kind.definite() || ctx.Err() != nil {
					break
				}
			}
		})
	}
	wg.Wait()
	var all *Error
	for _, err := range faults {
		if err == nil || err.Kind.definite() {
			return nil
		}
		all = worst(all, err)
	}
	return all
}

var errNoAnswer = errors.New("no endpoint has answered yet; check the network and --rpc")

// Ready returns an error until an endpoint has answered, and nil if none is known.
func (c *Client) Ready() error {
	if c.answered.Load() || len(c.watched()) == 0 {
		return nil
	}
	return errNoAnswer
}
