package openai

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
)

// FuzzStream reads any bytes as a stream: it ends in an answer within the bounds, or
// in a fault.
func FuzzStream(f *testing.F) {
	delta := func(d, finish string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + d + `,"finish_reason":` + finish + "}]}\n\n"
	}
	usage := `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n"
	f.Add(delta(`{"role":"assistant","content":""}`, "null") + delta(`{"content":"x"}`, "null") + delta(`{}`, `"stop"`) + usage + "data: [DONE]\n\n")
	f.Add(delta(`{"reasoning_content":"hm"}`, "null") + delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"a\""}}]}`, "null") +
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":0,"id":"a2","function":{"name":"look","arguments":"{}"}}]}`, `"tool_calls"`) + usage)
	f.Add(delta(`{"tool_calls":[{"function":{"name":"look","arguments":"{}"}},{"function":{"name":"look"}}]}`, `"stop"`))
	f.Add(delta(`{"refusal":"no"}`, `"content_filter"`))
	f.Add(`data: {"error":{"message":"x","code":"insufficient_quota"}}` + "\n\n")
	f.Add(`data: {"choices":null,"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":-4}}}` + "\n\n")

	c, err := New(llmhttp.Config{Key: "k", Limits: llmhttp.Limits{Retries: -1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		said := ""
		hear := func(d llm.Delta) { said += d.Text }
		reply, err := c.Client.Turn(context.Background(), &llm.Request{}, hear, func(ctx context.Context, a *llmhttp.Answer) error {
			stream := llmhttp.NewStream(io.NopCloser(strings.NewReader(text)))
			defer stream.Close()
			return c.read(stream, a)
		})
		if fault := (*llm.Fault)(nil); err != nil && (!errors.As(err, &fault) || fault.Err == nil || len(reply.Message.Parts) > 0) {
			t.Fatalf("%v, %+v", err, reply)
		}
		ids, written := map[string]bool{}, ""
		for _, p := range reply.Message.Parts {
			written += p.Text
			if p.Call != nil {
				if ids[p.Call.ID] || p.Call.ID == "" || p.Call.Name == "" || len(p.Call.Input) == 0 {
					t.Fatalf("%+v", p.Call)
				}
				ids[p.Call.ID] = true
			}
		}
		if err == nil && (written != said || reply.Stop == "") || reply.Usage.Input < 0 || reply.Usage.Output < 0 || reply.Usage.CacheRead < 0 {
			t.Fatalf("%q, said %q, %+v", written, said, reply)
		}
	})
}

// TestLimitHasTwoNames: the vendor has renamed it, others have not.
func TestLimitHasTwoNames(t *testing.T) {
	f := func(vendor bool, want string) {
		t.Helper()
		body, err := encode(&llm.Request{Model: "m", MaxOutput: 7}, vendor)
		if err != nil || !strings.Contains(string(body), want) || strings.Count(string(body), "_tokens") != 1 {
			t.Errorf("vendor %v: %s, %v", vendor, body, err)
		}
	}
	f(true, `"max_completion_tokens":7,`)
	f(false, `"max_tokens":7,`)
}
