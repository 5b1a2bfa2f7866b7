package llm_test

import (
	"context"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/testkit/scripted"
)

// TestMostInput: what a request can have used, by the byte.
func TestMostInput(t *testing.T) {
	r := &llm.Request{
		System: strings.Repeat("s", 600),
		Tools:  []llm.Tool{{Name: "look", Description: strings.Repeat("d", 90), Schema: []byte(`{"a":1}`)}},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Text: strings.Repeat("x", 1000)}, {Opaque: []byte(`"opaque"`)}}},
			{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.Call{Name: "look", Input: []byte(`{}`)}}}},
			{Role: llm.User, Parts: []llm.Part{{Outcome: &llm.Outcome{Content: "seen"}}}},
		},
	}
	f := func(most, guess int64) {
		t.Helper()
		if r.MostInput() != most || r.GuessInput() != guess {
			t.Errorf("at most %d, about %d; want %d, %d", r.MostInput(), r.GuessInput(), most, guess)
		}
	}
	const talk, own = 1000 + 8 + 6 + 4, 600 + 4 + 90 + 7
	f(2048+own/2+32+talk+4*32, (own+talk+3)/4)
	r.Counted, r.CountedTokens = 1, 700
	f(700+6+4+2*32, (own+talk+3)/4)
	r.Counted = 9 // more than there are
	f(700, (own+talk+3)/4)
	if got := (llm.Price{Input: 5, Output: 100, CacheRead: 1, CacheWrite: 7}).Most(&llm.Request{Counted: 1, CountedTokens: 10, MaxOutput: 3}); got != 370 {
		t.Errorf("at most %d", got)
	}
}

// TestUsageIsBounded: a provider is believed up to what the request can have used, and an
// estimate of the output up to its limit. The bound is that of each attempt.
func TestUsageIsBounded(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		f := func(name string, reported, want llm.Usage, text int, fault scripted.Fault) {
			t.Helper()
			r := ask()
			r.MaxOutput, r.Thinking = 50, 0
			turn := scripted.Turn{Text: []string{strings.Repeat("x", text)}, Usage: reported, Fault: fault}
			reply, err := v.to(t, scripted.New(turn), llmhttp.Limits{Retries: -1}).Turn(context.Background(), r, func(llm.Delta) {})
			if (err != nil) != (fault != scripted.Fault{}) || reply.Usage != want {
				t.Errorf("%s: %+v, %v, want %+v", name, reply.Usage, err, want)
			}
		}
		most := ask().MostInput()
		possible := llm.Usage{Input: most - 7, CacheRead: 4, CacheWrite: 3, Output: 50}
		f("possible", possible, possible, 4, scripted.Fault{})
		f("broken", llm.Usage{Input: 90_000_000, CacheRead: 4, Output: 90_000_000}, llm.Usage{Input: most - 4, CacheRead: 4, Output: 50}, 4, scripted.Fault{})
		f("broken cache", llm.Usage{Input: 5, CacheRead: 90_000_000}, llm.Usage{CacheRead: most}, 4, scripted.Fault{})
		guess := llm.Usage{Input: ask().GuessInput(), Output: 50}
		if v.name == "openai" { // it reports at the end
			f("cut after much text", llm.Usage{Input: 5, Output: 1}, guess, 4000, scripted.Fault{After: 2, End: true})
		}
	})
}
