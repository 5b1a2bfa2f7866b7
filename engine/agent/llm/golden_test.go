package llm_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/testkit/golden"
	"txlens/testkit/scripted"
)

// compareGolden compares text with a file of testdata.
func compareGolden(t *testing.T, name, text string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", name), []byte(text))
}

// asText words requests byte for byte. Only the length of the body and what the
// transport adds by itself are left out.
func asText(requests []scripted.Request) string {
	var b strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&b, "%s %s\n", r.Method, r.Path)
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			if name != "Content-Length" {
				fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
			}
		}
		fmt.Fprintf(&b, "\n%s\n\n", r.Body)
	}
	return b.String()
}

// TestRequestsAreAsRecorded: what goes over the wire in a conversation of three turns.
func TestRequestsAreAsRecorded(t *testing.T) {
	each(t, func(t *testing.T, v vendor) {
		s := conversation()
		talk(t, v.to(t, s, llmhttp.Limits{}), ask(), 3)
		compareGolden(t, v.name+"_conversation.txt", asText(s.Requests()))
	})
}

// TestThinkingIsAskedForByModel: each model of the interface, thinking, not thinking,
// and made to call a tool.
func TestThinkingIsAskedForByModel(t *testing.T) {
	var b strings.Builder
	for _, model := range []string{"claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-sonnet-4-6", "claude-haiku-4-5-20251001",
		"claude-opus-5-5", "claude-fable-5", "anthropic/claude-opus-4.8", "local"} {
		for _, ask := range []llm.Request{{Thinking: 2000}, {Thinking: 20_000}, {}, {Thinking: 2000, MustCall: "answer"}} {
			ask.Model, ask.MaxOutput, ask.Tools = model, 10_000, []llm.Tool{answer}
			ask.Messages = []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "x"}}}}
			s := scripted.New(scripted.Turn{Text: []string{"x"}})
			if _, _, err := turn(vendors[0].to(t, s, llmhttp.Limits{}), &ask); err != nil {
				t.Fatal(model, ask.Thinking, ask.MustCall, detail(err))
			}
			fmt.Fprintf(&b, "%s thinking %d must %q: %s\n", model, ask.Thinking, ask.MustCall, memberOf(s.Requests()[0].Body, "thinking", "output_config", "tool_choice"))
		}
	}
	compareGolden(t, "anthropic_thinking.txt", b.String())
}
