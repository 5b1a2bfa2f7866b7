package upstream

import (
	"context"
	"time"

	"txlens/engine/chain"

	"golang.org/x/sync/errgroup"
)

// Warm sends many plain calls in batches of at most 10, and keeps their answers for the
// typed methods. Calls that a batch does not answer, because the provider rejects batches
// or an answer is invalid, are sent alone when they are needed; so are those of a batch that
// the meter's gate rejects. It returns an error only if ctx ends.
func (s *Session) Warm(ctx context.Context, ch *chain.Chain, asks ...Ask) error {
	calls := s.unknown(ch, asks)
	if s.bundle != nil {
		return s.warmFromBundle(ctx, calls)
	}
	var g errgroup.Group
	g.SetLimit(4)
	for len(calls) > 0 {
		some := calls[:min(maxBatch, len(calls))]
		calls = calls[len(some):]
		g.Go(func() error {
			// What a batch cannot read is asked again alone, where the fault is told.
			defer func() { _ = recover() }()
			s.warmBatch(ctx, ch, some)
			return nil
		})
	}
	g.Wait()
	if err := stopped(ctx); err != nil {
		return err.at("batch", "", ch.Slug)
	}
	return nil
}

// pending is an unanswered Ask with its logical call.
type pending struct {
	ask  Ask
	call call
}

// unknown returns the asks that this session has not made yet, each once.
func (s *Session) unknown(ch *chain.Chain, asks []Ask) []pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []pending
	seen := map[string]bool{}
	for _, a := range asks {
		c := a.call(ch)
		if _, known := s.flights[c.key]; !known && !seen[c.key] {
			seen[c.key] = true
			out = append(out, pending{a, c})
		}
	}
	return out
}

// warmFromBundle meters the calls that are in the recording.
func (s *Session) warmFromBundle(ctx context.Context, calls []pending) error {
	for _, p := range calls {
		if _, ok := s.bundle.entries[p.call.key]; ok {
			if _, err := s.ask(ctx, p.call); err != nil && stopped(ctx) != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) warmBatch(ctx context.Context, ch *chain.Chain, some []pending) {
	if len(some) < 2 { // nothing is saved
		return
	}
	var most int64
	for _, p := range some {
		most += s.mostOf(p.call)
	}
	hold, err := s.reserve(ctx, "batch", ch.Slug, most)
	if err != nil {
		return
	}
	defer hold.End()
	list, starts := make([]rpcCall, len(some)), make([]startedCall, len(some))
	for i, p := range some {
		list[i] = s.client.plain(p.ask, p.call.decode)
		starts[i].seq = s.number()
	}
	start := time.Now()
	got := s.client.batch(ctx, ch, list, s.rec != nil)
	took := time.Since(start).Truncate(time.Millisecond)
	for i, p := range some {
		if got[i].value == nil && got[i].err == nil {
			continue
		}
		if s.keep(p.call, got[i].value, got[i].err) {
			s.tellStart(&starts[i], p.call.tool, p.call.args())
			e := entry{tool: p.call.tool, took: took, raw: got[i].raw, err: got[i].err}
			e.nano = s.client.cfg.charge(e.tool, 1, e.err)
			hold.Use(e.nano)
			s.book(p.call, outcome{entry: e, value: got[i].value}, starts[i])
		}
	}
	if ctx.Err() != nil {
		hold.Break()
	}
}
