package llm_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/anthropic"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/engine/agent/llm/openai"
	"txlens/testkit/scripted"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vendor is one of the providers under test; all keep the same contract.
type vendor struct {
	name string
	url  func(*scripted.Server) string
	open func(llmhttp.Config) (llm.Provider, error)
}

var vendors = []vendor{
	{"anthropic", (*scripted.Server).Anthropic, func(c llmhttp.Config) (llm.Provider, error) { return anthropic.New(c) }},
	{"openai", (*scripted.Server).OpenAI, func(c llmhttp.Config) (llm.Provider, error) { return openai.New(c) }},
}

// each runs a test for all vendors.
func each(t *testing.T, test func(t *testing.T, v vendor)) {
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) { t.Parallel(); test(t, v) })
	}
}

// quick are limits for tests that wait for a repeat.
var quick = llmhttp.Limits{Backoff: time.Millisecond}

// to opens a provider that asks s.
func (v vendor) to(t *testing.T, s *scripted.Server, l llmhttp.Limits) llm.Provider {
	t.Helper()
	p, err := v.open(llmhttp.Config{BaseURL: v.url(s), Key: scripted.Key, Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	t.Cleanup(func() { _ = p.(io.Closer).Close() })
	return p
}

var look = llm.Tool{Name: "look", Description: "Looks at a <node> & more.",
	Schema: jsontext.Value(`{"type":"object","required":["path"],"properties":{"path":{"type":"string","pattern":"^[0-9.]*$"},"depth":{"type":"integer"}},"additionalProperties":false}`)}

var answer = llm.Tool{Name: "answer", Description: "Ends.", Schema: jsontext.Value(`{"type":"object","properties":{}}`)}

// ask is a first turn.
func ask() *llm.Request {
	return &llm.Request{Model: "claude-opus-5", System: "You explain transactions.", MaxOutput: 8192, Thinking: 6000,
		Tools:    []llm.Tool{look, answer},
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "The digest."}}}}}
}

// heard keeps what a turn told.
type heard struct {
	text, thought strings.Builder
	usage         []llm.Usage
	retries       []llm.Retry
	before        string // the text before the first repeat
}

func (h *heard) hear(d llm.Delta) {
	h.text.WriteString(d.Text)
	h.thought.WriteString(d.Thought)
	if d.Usage != nil {
		h.usage = append(h.usage, *d.Usage)
	}
	if d.Retry != nil {
		if len(h.retries) == 0 {
			h.before = h.text.String()
		}
		h.retries = append(h.retries, *d.Retry)
	}
}

// turn runs one turn that must end within the time of the test.
func turn(p llm.Provider, r *llm.Request) (llm.Reply, *heard, error) {
	h := new(heard)
	reply, err := p.Turn(context.Background(), r, h.hear)
	return reply, h, err
}

// detail is what the operator reads.
func detail(err error) string {
	var f *llm.Fault
	if errors.As(err, &f) {
		return f.Detail
	}
	return ""
}

// memberOf shows some members of an object of JSON.
func memberOf(body []byte, names ...string) string {
	var all map[string]jsontext.Value
	if err := json.Unmarshal(body, &all); err != nil {
		return err.Error()
	}
	var shown []string
	for _, name := range names {
		if v := all[name]; v != nil {
			shown = append(shown, name+"="+string(v))
		}
	}
	return strings.Join(shown, " ")
}
