package main

import (
	"context"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
	script "txlens/engine/agent/llm/scripted"
	"txlens/engine/explain"
	"txlens/engine/meter"
	"txlens/engine/replay/gethdata"
	"txlens/transport"
)

// TestAgentCalls: the calls of a result stand in the order of their start: first what
// was fetched, then each turn of the model with what it asked for; a simulation, whose
// work is metered, stands once, and so does what failed.
func TestAgentCalls(t *testing.T) {
	flags, hash := rerun(t, gethdata.MultiContracts)
	s := script.New(
		script.Turn{Calls: []script.Call{calls("simulate", object{"without": []any{object{"frame": "0.0"}}})}, Usage: llm.Usage{Input: 10, Output: 5}},
		script.Turn{Calls: []script.Call{calls("simulate", object{"without": 7}), calls("no_such_tool", object{}), calls("engage_playbook", object{"name": "exploit-triage"})}, Usage: llm.Usage{Input: 10, Output: 5}},
		submits(),
	)
	flags.modelFlags = asksScript(t, "anthropic", s)
	var heard heardEvents
	a, m := testAnalyst(t, flags), new(meter.Meter)
	res, err := a.runOn(context.Background(), transport.Job{Request: explain.Request{TxHash: hash, ChainID: 1}, Sink: heard.hear}, m)
	if err != nil || res.Partial() {
		t.Fatalf("%v %s", err, res.Summary)
	}
	var got []string
	world := 0
	for _, c := range res.ToolCalls {
		name := map[bool]string{true: "+", false: "-"}[c.OK] + c.Tool
		if strings.HasPrefix(c.Tool, "eth_") || strings.HasPrefix(c.Tool, "debug_") || c.Tool == "local-replay" {
			world++
			if name = "…"; len(got) > 0 && got[len(got)-1] == name {
				continue
			}
		}
		got = append(got, name)
	}
	if want := "… +model +simulate … +model -simulate -no_such_tool +engage_playbook +model +submit_explanation"; strings.Join(got, " ") != want {
		t.Errorf("calls\n%s, want\n%s", strings.Join(got, " "), want)
	}
	if c, r := len(heard.of(explain.EventToolCall)), len(heard.of(explain.EventToolResult)); c != r || c != len(res.ToolCalls)-3 {
		t.Errorf("%d calls told, %d ends, %d listed beside the turns", c, r, len(res.ToolCalls)-3)
	}
}
