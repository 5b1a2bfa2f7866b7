package llm_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/testkit/scripted"
)

// TestRefusedRequests: what a status means, and whether it is worth another try.
func TestRefusedRequests(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		f := func(fault scripted.Fault, want error, requests int, words string) {
			t.Helper()
			s := scripted.Answering(func(int, scripted.Request) scripted.Turn { return scripted.Turn{Fault: fault} })
			reply, h, err := turn(v.to(t, s, quick), ask())
			if !errors.Is(err, want) || len(s.Requests()) != requests {
				t.Errorf("%v (%s) after %d requests, want %v after %d", err, detail(err), len(s.Requests()), want, requests)
			}
			if !strings.Contains(detail(err), words) {
				t.Errorf("detail %q, want %q in it", detail(err), words)
			}
			for _, secret := range []string{scripted.Key, scripted.Key[3:], "127.0.0.1", "http://", "evil.example", "hunter2"} {
				if strings.Contains(err.Error()+detail(err), secret) {
					t.Errorf("%q holds %q", err.Error()+detail(err), secret)
				}
			}
			if reply.Usage != (llm.Usage{}) || h.text.Len() > 0 {
				t.Errorf("used %+v, heard %q", reply.Usage, h.text.String())
			}
		}
		f(scripted.Fault{Status: 401, Message: "invalid key " + scripted.Key + ", see https://evil.example/?k=hunter2"}, llm.ErrUnpaid, 1, "status 401")
		f(scripted.Fault{Status: 402, Message: "pay"}, llm.ErrUnpaid, 1, "pay")
		f(scripted.Fault{Status: 403, Message: "no"}, llm.ErrUnpaid, 1, "no")
		f(scripted.Fault{Status: 400, Message: "Your credit balance is too low to access the API."}, llm.ErrUnpaid, 1, "credit balance")
		f(scripted.Fault{Status: 429, Kind: "insufficient_quota", Message: "You exceeded your current quota"}, llm.ErrUnpaid, 1, "quota")
		f(scripted.Fault{Status: 400, Message: "prompt is too long: 200001 tokens > 200000 maximum"}, llm.ErrTooLong, 1, "200001")
		f(scripted.Fault{Status: 400, Kind: "context_length_exceeded"}, llm.ErrTooLong, 1, "context_length_exceeded")
		f(scripted.Fault{Status: 413, Body: "<html>too large</html>"}, llm.ErrTooLong, 1, "html")
		f(scripted.Fault{Status: 400, Message: "max_tokens: is wrong"}, llm.ErrRejected, 1, "max_tokens")
		f(scripted.Fault{Status: 404, Message: "model: claude-opus-5"}, llm.ErrRejected, 1, "claude-opus-5")
		f(scripted.Fault{Status: 418, Body: `{"detail":["teapot"]}`}, llm.ErrRejected, 1, "teapot")
		f(scripted.Fault{Status: 400, Kind: "content_filter"}, llm.ErrRefused, 1, "")
		f(scripted.Fault{Status: 500, Body: "oops"}, llm.ErrDown, 4, "oops")
		f(scripted.Fault{Status: 502, Body: `{"error":"bad gateway"}`}, llm.ErrDown, 4, "bad gateway")
		f(scripted.Fault{Status: 503}, llm.ErrDown, 4, "503")
		f(scripted.Fault{Status: 529}, llm.ErrDown, 4, "529")
		f(scripted.Fault{Status: 429}, llm.ErrDown, 4, "429")
		f(scripted.Fault{Status: 500, Body: strings.Repeat("x", 1<<20)}, llm.ErrDown, 4, "xxx")
		f(scripted.Fault{Status: 307, Location: "http://evil.example/"}, llm.ErrDown, 1, "redirects are not followed")
	})
}

// TestRedirectsGetNoKey has a provider send us elsewhere.
func TestRedirectsGetNoKey(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		other := scripted.New(scripted.Turn{Text: []string{"stolen"}})
		defer other.Close()
		s := scripted.New(scripted.Turn{Fault: scripted.Fault{Status: http.StatusTemporaryRedirect, Location: v.url(other) + "/v1/messages"}})
		if _, _, err := turn(v.to(t, s, quick), ask()); !errors.Is(err, llm.ErrDown) || len(other.Requests()) > 0 {
			t.Errorf("%v, the other server got %d requests", err, len(other.Requests()))
		}
	})
}

// TestOverload waits as long as the provider asks, but no longer than allowed.
func TestOverload(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		busy := scripted.Turn{Fault: scripted.Fault{Status: 429, RetryAfter: "1"}}
		s := scripted.New(busy, scripted.Turn{Text: []string{"At last."}})
		began := time.Now()
		if _, h, err := turn(v.to(t, s, quick), ask()); err != nil || h.text.String() != "At last." || time.Since(began) < time.Second {
			t.Errorf("%v, %q after %s", err, h.text.String(), time.Since(began))
		}
		busy.Fault.RetryAfter = "3600"
		s = scripted.New(busy)
		_, _, err := turn(v.to(t, s, quick), ask())
		var o *llm.OverloadedError
		if !errors.As(err, &o) || o.After != time.Hour || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(s.Requests()))
		}
		// A turn that would be over before the wait is does not begin to wait.
		busy.Fault.RetryAfter = "30"
		s = scripted.New(busy)
		if _, _, err = turn(v.to(t, s, llmhttp.Limits{Turn: 10 * time.Second}), ask()); !errors.As(err, &o) || len(s.Requests()) != 1 {
			t.Errorf("%v after %d requests", err, len(s.Requests()))
		}
	})
}

// TestBrokenStreams: what ends a stream, what was told before, and what it costs.
func TestBrokenStreams(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		usage := llm.Usage{Input: 1000, CacheRead: 50, Output: 9}
		pieces := scripted.Turn{Text: []string{"four", "five", "last"}, Usage: usage}
		// f breaks the turn after its second piece of text, each time, and wants so many
		// requests.
		f := func(fault scripted.Fault, want error, requests int, words string) {
			t.Helper()
			broken := pieces
			broken.Fault = fault
			broken.Fault.After = map[string]int{"anthropic": 5, "openai": 3}[v.name]
			s := scripted.Answering(func(int, scripted.Request) scripted.Turn { return broken })
			limits := quick
			if fault.Silent {
				limits.Silence = 300 * time.Millisecond
			}
			reply, h, err := turn(v.to(t, s, limits), ask())
			if !errors.Is(err, want) || !strings.Contains(detail(err), words) || len(s.Requests()) != requests || len(h.retries) != requests-1 {
				t.Errorf("%v (%s) after %d requests and %d repeats, want %v (%s) after %d", err, detail(err), len(s.Requests()), len(h.retries), want, words, requests)
			}
			if strings.Count(h.text.String(), "fourfive") != requests || len(reply.Message.Parts) > 0 {
				t.Errorf("heard %q, got %+v", h.text.String(), reply.Message)
			}
			if reply.Usage.Output < int64(2*requests) {
				t.Errorf("%d requests used %+v", requests, reply.Usage)
			}
			if !reply.Guessed || reply.Usage.Output < 2 || reply.Usage.Input == 0 {
				t.Errorf("used %+v, guessed %v", reply.Usage, reply.Guessed)
			}
		}
		f(scripted.Fault{Cut: true}, llm.ErrCut, 4, "broke")
		f(scripted.Fault{End: true}, llm.ErrCut, 4, "ended early")
		f(scripted.Fault{Silent: true}, llm.ErrCut, 4, "nothing came for 300ms")
		f(scripted.Fault{Error: "overloaded_error", Message: "Overloaded"}, llm.ErrDown, 4, "Overloaded")
		f(scripted.Fault{Error: "invalid_request_error", Message: "prompt is too long"}, llm.ErrTooLong, 1, "too long")
		f(scripted.Fault{Garbage: "event: content_block_delta\ndata: {\"type\":\n\n"}, llm.ErrMalformed, 4, "")
		f(scripted.Fault{Garbage: "event: content_block_delta\ndata: [1]\n\n"}, llm.ErrMalformed, 4, "")
		f(scripted.Fault{Flood: true}, llm.ErrMalformed, 1, "too large")
		f(scripted.Fault{Endless: true}, llm.ErrMalformed, 1, "too many bytes of text")
		f(scripted.Fault{Garbage: "event: x\ndata: {\"choices\":[" + strings.Repeat("{},", 20_000) + "{}]}\n\n"}, llm.ErrMalformed, 1, "too large")
		f(scripted.Fault{Garbage: strings.Repeat("data: "+strings.Repeat(" ", 1000)+"\n", 3000) + "\n"}, llm.ErrMalformed, 1, "too large")
	})
}

// TestRepeats: a stream that breaks is asked for again, before the model spoke and
// after, and the usage of both is counted.
func TestRepeats(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		usage := llm.Usage{Input: 10, Output: 2}
		// f breaks the first stream after so many events, the second one is whole.
		f := func(fault scripted.Fault, spoken string) {
			t.Helper()
			fault.After = map[string]int{"anthropic": 2, "openai": 1}[v.name]
			if spoken != "" {
				fault.After = map[string]int{"anthropic": 4, "openai": 2}[v.name]
			}
			s := scripted.New(scripted.Turn{Text: []string{"x", "y"}, Usage: usage, Fault: fault}, scripted.Turn{Text: []string{"Well."}, Usage: usage})
			limits := quick
			if fault.Silent {
				limits.Silence = 300 * time.Millisecond
			}
			reply, h, err := turn(v.to(t, s, limits), ask())
			if err != nil || h.text.String() != spoken+"Well." || len(s.Requests()) != 2 {
				t.Errorf("%v (%s), %q after %d requests", err, detail(err), h.text.String(), len(s.Requests()))
			}
			if len(reply.Message.Parts) != 1 || reply.Message.Parts[0].Text != "Well." {
				t.Errorf("the answer is %+v", reply.Message)
			}
			if len(h.retries) != 1 || h.retries[0].Attempt != 1 || h.retries[0].Err == nil || h.before != spoken {
				t.Errorf("told %+v after %q", h.retries, h.before)
			}
			want := usage
			if v.name == "anthropic" || spoken != "" { // the first attempt's input: told, or reckoned
				want.Input += usage.Input
			}
			if spoken == "" && reply.Usage != want || spoken != "" && (reply.Usage.Input < want.Input || reply.Usage.Output <= usage.Output || !reply.Guessed) {
				t.Errorf("used %+v, want %+v", reply.Usage, want)
			}
		}
		for _, spoken := range []string{"", "x"} {
			f(scripted.Fault{Cut: true}, spoken)
			f(scripted.Fault{End: true}, spoken)
			f(scripted.Fault{Silent: true}, spoken)
			f(scripted.Fault{Garbage: "event: content_block_delta\ndata: {\"type\":\n\n"}, spoken)
			f(scripted.Fault{Error: "overloaded_error"}, spoken)
			f(scripted.Fault{Error: "api_error"}, spoken)
		}
	})
}

func TestBadAnswers(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		f := func(answer scripted.Turn, want error, words string) {
			t.Helper()
			answer.Usage = llm.Usage{Input: 10, Output: 20}
			reply, _, err := turn(v.to(t, scripted.New(answer), quick), ask())
			if !errors.Is(err, want) || !strings.Contains(detail(err), words) {
				t.Errorf("%v (%s), want %v (%s)", err, detail(err), want, words)
			}
			if reply.Usage.Input != 10 || reply.Usage.Output == 0 {
				t.Errorf("used %+v", reply.Usage)
			}
		}
		call := func(input ...string) scripted.Turn {
			return scripted.Turn{Calls: []scripted.Call{{Name: "look", Input: input}}}
		}
		f(scripted.Turn{Stop: map[string]string{"anthropic": "refusal", "openai": "content_filter"}[v.name], Text: []string{"I"}}, llm.ErrRefused, "")
		many := scripted.Turn{}
		for range llm.MaxCalls + 1 {
			many.Calls = append(many.Calls, scripted.Call{Name: "look", Input: []string{"{}"}})
		}
		answerTooMuch := func(big scripted.Turn, words string) {
			t.Helper()
			_, _, err := turn(v.to(t, scripted.New(big), quick), ask())
			if !errors.Is(err, llm.ErrMalformed) || !strings.Contains(detail(err), words) {
				t.Errorf("%v (%s), want %s", err, detail(err), words)
			}
		}
		answerTooMuch(many, "too many calls")
		answerTooMuch(call(`{"path":"`, strings.Repeat("x", llm.MaxInput), `"}`), "input of a call")
		answerTooMuch(scripted.Turn{Think: []string{strings.Repeat("x", 1<<20), "y"}}, "thinking")
		answerTooMuch(scripted.Turn{Calls: []scripted.Call{{Name: strings.Repeat("n", 200)}}}, "name or id")
		for _, u := range []llm.Usage{{Input: -1}, {Output: 1 << 62}, {CacheRead: 1 << 40}} {
			answerTooMuch(scripted.Turn{Text: []string{"x"}, Usage: u}, "usage is impossible")
		}
	})
}

// TestBrokenArguments: arguments that are no JSON are a call all the same, which says
// what is wrong, and the conversation that answers it is one that the vendors take.
func TestBrokenArguments(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		f := func(stop, want string, input ...string) {
			t.Helper()
			if stop != "" {
				stop = map[string]string{"anthropic": "max_tokens", "openai": "length"}[v.name]
			}
			s := scripted.New(scripted.Turn{Calls: []scripted.Call{{Name: "look", Input: input}}, Stop: stop}, scripted.Turn{Text: []string{"x"}})
			replies, _ := talk(t, v.to(t, s, quick), ask(), 2)
			calls := callsOf(replies[0])
			if len(calls) != 1 || calls[0].Name != "look" || calls[0].Broken != want || want != "" && string(calls[0].Input) != "{}" {
				t.Errorf("%q: %+v, want %q", input, calls, want)
			}
		}
		f("", "they end after 12 bytes, before the JSON value does", `{"path":`, `"0.1`)
		f("", "they end after 11 bytes, before the JSON value does", `{"path":`, `"0"`)
		f("", "something follows the JSON value at byte 2 of 5", `{} {}`)
		f("", "they are not valid JSON at byte 1 of 11", `{frame: "0"}`[:11])
		f("", "they are not valid JSON at byte 0 of 9", `look at 0`)
		f("", "", `{"path":"0"}`)
		f("limit", "they were cut off at the limit of tokens of a turn: be shorter", `{"path":`, `"0.`)
		f("limit", "they were cut off at the limit of tokens of a turn: be shorter")
	})
}

// TestCancel: whatever the provider does, the end of the context ends the turn. What
// the model said until then is paid for.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		long := llmhttp.Limits{FirstByte: time.Hour, Silence: time.Hour, Turn: 9 * time.Hour, Backoff: time.Hour, MaxRetryAfter: time.Hour}
		f := func(s *scripted.Server, speaks bool) {
			t.Helper()
			p := v.to(t, s, long)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			h := new(heard)
			spoke := make(chan struct{})
			go func() {
				if speaks {
					<-spoke
				}
				for len(s.Requests()) == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			reply, err := p.Turn(ctx, ask(), func(d llm.Delta) {
				if h.hear(d); d.Text != "" && h.text.Len() == len(d.Text) {
					close(spoke)
				}
			})
			if !errors.Is(err, context.Canceled) || speaks != (reply.Usage.Output > 0) {
				t.Errorf("%v, %+v", err, reply)
			}
		}
		silent := scripted.Fault{Silent: true}
		f(scripted.New(scripted.Turn{Fault: silent}), false)
		silent.After = map[string]int{"anthropic": 4, "openai": 2}[v.name]
		f(scripted.New(scripted.Turn{Text: []string{"Some text."}, Fault: silent}), true)
		f(scripted.New(scripted.Turn{Text: []string{"a", "b", "c"}, Fault: scripted.Fault{Pause: 30 * time.Millisecond}}), true)
		f(scripted.New(scripted.Turn{Fault: scripted.Fault{Status: 529}}), false)
		f(scripted.New(scripted.Turn{Fault: scripted.Fault{Status: 429, RetryAfter: "600"}}), false)
		f(scripted.New(scripted.Turn{Fault: scripted.Fault{Mute: true}}), false)
	})
}

// TestLimits: each limit ends what it is for.
func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		mute := scripted.Turn{Fault: scripted.Fault{Mute: true}}
		s := scripted.New(mute, mute)
		p := v.to(t, s, llmhttp.Limits{FirstByte: 500 * time.Millisecond, Backoff: time.Millisecond, Retries: 1})
		if _, _, err := turn(p, ask()); !errors.Is(err, llm.ErrDown) || detail(err) != "no answer within 500ms" || len(s.Requests()) != 2 {
			t.Errorf("%v (%s) after %d requests", err, detail(err), len(s.Requests()))
		}
		slow := scripted.New(scripted.Turn{Text: strings.Split(strings.Repeat("x", 1000), ""), Fault: scripted.Fault{Pause: 20 * time.Millisecond}})
		reply, _, err := turn(v.to(t, slow, llmhttp.Limits{Turn: 2 * time.Second}), ask())
		if !errors.Is(err, llm.ErrCut) || detail(err) != "the turn took longer than 2s" || reply.Usage.Output == 0 {
			t.Errorf("%v (%s), %+v", err, detail(err), reply.Usage)
		}
		down := scripted.New()
		gone := v.to(t, down, quick)
		down.Close()
		if _, _, err := turn(gone, ask()); !errors.Is(err, llm.ErrDown) || detail(err) != "the host cannot be reached" {
			t.Errorf("%v (%s)", err, detail(err))
		}
	})
}

// TestHostileStreamsCostLittleMemory counts what endless streams make us allocate.
func TestHostileStreamsCostLittleMemory(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		opening := `{"type":"content_block_delta","choices":[` + strings.Repeat(`{},`, 16_000) + `{}]}`
		for name, fault := range map[string]scripted.Fault{
			"one line":  {Flood: true},
			"many":      {Garbage: "event: content_block_delta\ndata: " + opening + "\n\n"},
			"deep":      {Garbage: "event: content_block_delta\ndata: {\"type\":" + strings.Repeat("[", 15_000) + "\n\n"},
			"error 1MB": {Status: 500, Body: strings.Repeat("{", 1<<20)},
		} {
			p := v.to(t, scripted.New(scripted.Turn{Fault: fault}), llmhttp.Limits{Retries: -1})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := turn(p, ask())
			runtime.ReadMemStats(&after)
			// The scripted server allocates in the same process.
			if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 64 {
				t.Errorf("%s: %d MiB allocated, %v", name, got, err)
			} else {
				t.Logf("%s: %d MiB allocated, %v", name, got, err)
			}
		}
	})
}
