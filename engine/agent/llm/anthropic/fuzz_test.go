package anthropic

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzStream reads any bytes as a stream: it ends in an answer within the bounds, or
// in a fault.
func FuzzStream(f *testing.F) {
	event := func(data string) string { return "event: e\ndata: " + data + "\n\n" }
	start := event(`{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`)
	stop := event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`) + event(`{"type":"message_stop"}`)
	thought := event(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`) +
		event(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`) +
		event(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s=="}}`) + event(`{"type":"content_block_stop","index":0}`) +
		event(`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"d"}}`) + event(`{"type":"content_block_stop","index":1}`)
	call := event(`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}`) +
		event(`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`) + event(`{"type":"content_block_stop","index":2}`)
	said := event(`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}`) +
		event(`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}`) + event(`{"type":"content_block_stop","index":3}`)
	f.Add(start + thought + call + said + stop)
	f.Add(start + said + call + said + stop)
	f.Add(start + call[:len(call)/2] + stop)
	f.Add("event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"x"}}` + "\n\n")
	f.Add("event: error\ndata: 1\n\n")
	f.Add(start + event(`{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":-9}}`))

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
			switch {
			case p.Call != nil && (!p.Call.Input.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) || ids[p.Call.ID] || p.Call.Name == ""):
				t.Fatalf("%+v", p.Call)
			case p.Call != nil:
				ids[p.Call.ID] = true
			case p.Opaque != nil && !p.Opaque.IsValid(), p.Opaque == nil && p.Text == "":
				t.Fatalf("%+v", p)
			}
		}
		if err == nil && (written != said || reply.Stop == "") || reply.Usage.Input < 0 || reply.Usage.Output < 0 {
			t.Fatalf("%q, said %q, %+v", written, said, reply)
		}
	})
}

// TestNothingIsSentForBadTools: a tool that cannot be worded is our own mistake.
func TestNothingIsSentForBadTools(t *testing.T) {
	c, err := New(llmhttp.Config{BaseURL: "http://127.0.0.1:1", Limits: llmhttp.Limits{Turn: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, schema := range []string{"", "[]", "{", `"x"`} {
		_, err := c.Turn(context.Background(), &llm.Request{Tools: []llm.Tool{{Name: "x", Schema: []byte(schema)}}}, func(llm.Delta) {})
		if err == nil || !strings.Contains(err.Error(), "word tool x: the schema is no object") {
			t.Errorf("%q: %v", schema, err)
		}
	}
}
