package llm_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/testkit/scripted"
)

// BenchmarkCancel measures how long a turn takes to end after its context has, while
// the provider is silent in the middle of an answer.
func BenchmarkCancel(b *testing.B) {
	for _, v := range vendors {
		b.Run(v.name, func(b *testing.B) {
			fault := scripted.Fault{Silent: true, After: map[string]int{"anthropic": 4, "openai": 2}[v.name]}
			s := scripted.Answering(func(int, scripted.Request) scripted.Turn {
				return scripted.Turn{Text: []string{"Some text."}, Fault: fault}
			})
			defer s.Close()
			p, err := v.open(llmhttp.Config{BaseURL: v.url(s), Key: scripted.Key})
			if err != nil {
				b.Fatal(err)
			}
			defer p.(io.Closer).Close()
			var longest time.Duration
			for b.Loop() {
				ctx, cancel := context.WithCancel(context.Background())
				var at time.Time
				_, err := p.Turn(ctx, ask(), func(d llm.Delta) {
					if d.Text != "" {
						time.AfterFunc(time.Millisecond, func() { at = time.Now(); cancel() })
					}
				})
				if !errors.Is(err, context.Canceled) {
					b.Fatal(err)
				}
				longest = max(longest, time.Since(at))
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "ms-max")
		})
	}
}

// BenchmarkTurn reads an answer of 2,000 pieces of text.
func BenchmarkTurn(b *testing.B) {
	for _, v := range vendors {
		b.Run(v.name, func(b *testing.B) {
			pieces := make([]string, 2000)
			for i := range pieces {
				pieces[i] = "word "
			}
			s := scripted.Answering(func(int, scripted.Request) scripted.Turn { return scripted.Turn{Text: pieces} })
			defer s.Close()
			p, err := v.open(llmhttp.Config{BaseURL: v.url(s), Key: scripted.Key})
			if err != nil {
				b.Fatal(err)
			}
			defer p.(io.Closer).Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := turn(p, ask()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
