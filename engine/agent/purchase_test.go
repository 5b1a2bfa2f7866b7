package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/meter"

	"github.com/go-json-experiment/json/jsontext"
)

// wasteful is a provider that uses all that a request allows, and asks for a tool each time.
// It fails so many attempts of each turn before that.
type wasteful struct {
	fails  int
	asked  []llm.Request
	failed int
}

func (p *wasteful) Turn(ctx context.Context, r *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
	p.asked = append(p.asked, *r)
	most := llm.Usage{CacheWrite: r.MostInput(), Output: r.MaxOutput}
	used := most
	for range p.fails {
		hear(llm.Delta{Usage: &used})
		if err := r.Repeat(ctx); err != nil {
			p.failed++
			return llm.Reply{Usage: used}, err
		}
		used = used.Plus(most)
	}
	reply, err := says("look {}")(r, hear)
	reply.Usage = used
	return reply, err
}

// TestBudgetHolds: a run never costs more than its budget, whatever the provider uses, and uses
// most of it.
func TestBudgetHolds(t *testing.T) {
	look := aTool("look", func(context.Context, jsontext.Value) (any, error) { return 1, nil })
	f := func(nano int64, fails, wantTurns int) {
		t.Helper()
		p := &wasteful{fails: fails}
		w := newWorld(t, nil, look)
		w.Options.Provider, w.Limits.Nano = p, nano
		_, err := Run(context.Background(), w.Options)
		cost := w.Meter.TotalNano()
		if !errors.Is(err, ErrBudget) || cost > nano || len(p.asked) != wantTurns {
			t.Errorf("budget of %d: %v after %d turns that cost %d, want %d turns", nano, err, len(p.asked), cost, wantTurns)
		}
		for i, r := range p.asked {
			if cut := r.MaxOutput < 16_384; cut && r.MustCall == "" || r.Thinking > r.MaxOutput/2 || r.MaxOutput < leastOutput {
				t.Errorf("turn %d of %d: %d tokens of output, %d to think, must call %q", i+1, len(p.asked), r.MaxOutput, r.Thinking, r.MustCall)
			}
		}
	}
	f(1_000_000, 0, 0)
	f(150_000_000, 0, 1)
	f(3_000_000_000, 0, 6)
	f(3_000_000_000, 1, 3)
	f(3_000_000_000, 9, 1)
}

// TestTurnsAreReserved: the gate is told the highest price of each attempt before it is made, and
// the hold ends with the attempt, reduced by what it used.
func TestTurnsAreReserved(t *testing.T) {
	look := aTool("look", func(context.Context, jsontext.Value) (any, error) { return 1, nil })
	p := &wasteful{fails: 1}
	w := newWorld(t, nil, look)
	w.Options.Provider, w.Limits.Turns = p, 2
	var holds []*hold
	w.Meter.Gate = func(_ context.Context, most int64) (meter.Hold, error) {
		for _, h := range holds {
			if h.ended != 1 {
				t.Errorf("a hold ended %d times before the next attempt", h.ended)
			}
		}
		h := &hold{most: most}
		if most > 0 { // tools are asked with no price of their own
			holds = append(holds, h)
		}
		return h, nil
	}
	if _, err := Run(context.Background(), w.Options); !errors.Is(err, ErrTurns) {
		t.Fatal(err)
	}
	if len(holds) != 4 {
		t.Fatalf("%d attempts reserved", len(holds))
	}
	for i, h := range holds {
		want := w.Price.Most(&p.asked[i/2])
		if h.most != want || h.used != want || h.ended != 1 {
			t.Errorf("attempt %d: reserved %d, used %d, ended %d times, want %d", i+1, h.most, h.used, h.ended, want)
		}
	}
}

type hold struct {
	most, used int64
	ended      int
}

func (h *hold) Use(nano int64) { h.used += nano }
func (h *hold) Break()         {}
func (h *hold) End()           { h.ended++ }

// TestGateStopsARepeat: where nobody pays for another attempt, no answer is kept.
func TestGateStopsARepeat(t *testing.T) {
	p := &wasteful{fails: 1}
	w := newWorld(t, nil, aTool("look", func(context.Context, jsontext.Value) (any, error) { return 1, nil }))
	w.Options.Provider = p
	unpaid, asked := errors.New("nobody pays"), 0
	w.Meter.Gate = func(context.Context, int64) (meter.Hold, error) {
		if asked++; asked > 1 {
			return nil, unpaid
		}
		return new(hold), nil
	}
	if out, err := Run(context.Background(), w.Options); !errors.Is(err, unpaid) || out.Answer != nil || p.failed != 1 {
		t.Errorf("%v after %d", err, p.failed)
	}
}

// TestBudget: all runs together stay below what is left of an hour and in all, with what is
// reserved, and an hour later there is room again.
func TestBudget(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	b := NewBudget(100, 250)
	b.now = func() time.Time { return now }
	f := func(most int64, want bool) (end func(int64)) {
		t.Helper()
		end, err := b.reserve(most)
		if (err == nil) != want || err != nil && !errors.Is(err, ErrBudget) {
			t.Fatalf("%d: %v, want %t", most, err, want)
		}
		return end
	}
	f(101, false)
	first := f(60, true)
	f(41, false)
	second := f(40, true)
	first(10)
	f(51, false)
	second(40)
	f(50, true)(50) // the hour is full
	f(1, false)
	now = now.Add(59 * time.Minute)
	f(1, false)
	now = now.Add(time.Minute)
	f(100, true)(100)
	now = now.Add(3 * time.Hour)
	f(51, false) // 200 of 250 are spent
	f(50, true)(50)
	now = now.Add(100 * time.Hour)
	f(1, false)
	if end, err := (*Budget)(nil).reserve(1 << 60); err != nil {
		t.Error(err)
	} else {
		end(5)
	}
	unlimited := NewBudget(0, 0)
	if _, err := unlimited.reserve(1 << 60); err != nil {
		t.Error(err)
	}
}

// TestRunsShareABudget: a run that does not fit into the budget of all runs is not begun.
func TestRunsShareABudget(t *testing.T) {
	p := &wasteful{}
	w := newWorld(t, nil, aTool("look", func(context.Context, jsontext.Value) (any, error) { return 1, nil }))
	w.Options.Provider, w.Budget = p, NewBudget(0, 1_200_000_000)
	for range 3 {
		if _, err := Run(context.Background(), w.Options); !errors.Is(err, ErrBudget) {
			t.Error(err)
		}
	}
	if cost := w.Meter.TotalNano(); cost > 1_200_000_000 || cost < 900_000_000 || len(p.asked) != 2 {
		t.Errorf("%d turns cost %d", len(p.asked), cost)
	}
}
