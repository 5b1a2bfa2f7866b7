package explain

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestLayouts: every member that a layout names exists, and every member of Event
// belongs to a layout.
func TestLayouts(t *testing.T) {
	one, yes := int64(1), true
	full, err := json.Marshal(Event{
		Type: "t", RequestID: "r", TxHash: "h", Phase: "p", State: "s", Chain: "c", Failed: []string{"f"}, Iteration: &one, Text: "t", Skill: "s",
		Tool: "t", OK: &yes, DurationMs: &one, CostUSD: &Decimal{}, Model: "m", InputTokens: &one, OutputTokens: &one, CacheReadTokens: &one,
		CacheWriteTokens: &one, Code: "c", Message: "m", Recover: "r",
	})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(full, &members); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"type": true, "requestId": true}
	for kind, layout := range Layouts {
		for _, m := range layout {
			m = strings.TrimSuffix(m, "?")
			named[m] = true
			if _, ok := members[m]; !ok && kind != EventReport {
				t.Errorf("%s: no member %q", kind, m)
			}
		}
	}
	for m := range members {
		if !named[m] {
			t.Errorf("member %q belongs to no type", m)
		}
	}
}

func TestToolEvents(t *testing.T) {
	f := func(e Event, want string) {
		t.Helper()
		got, err := json.Marshal(e)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
	}
	f(ToolStarted("rpc"), `{"type":"tool_call","tool":"rpc"}`)
	f(ToolEnded(ToolCall{Tool: "rpc"}), `{"type":"tool_result","tool":"rpc","ok":false,"durationMs":0,"costUsd":0}`)
	f(ToolEnded(ToolCall{Tool: "rpc", OK: true, DurationMs: 7, CostUSD: NanoDollars(1500)}), `{"type":"tool_result","tool":"rpc","ok":true,"durationMs":7,"costUsd":0.0000015}`)
	f(Event{Type: EventComplete}, `{"type":"complete"}`)
}
