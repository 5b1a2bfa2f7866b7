package app_test

import (
	"slices"
	"strings"
	"testing"

	"txlens/engine/agent/claim"
	"txlens/engine/agent/llm"
	"txlens/engine/api"
	"txlens/engine/meter"
	script "txlens/testkit/scripted"
	"txlens/testkit/service"
	"txlens/transport"
)

// TestAgentMends: arguments that are no JSON, or are cut, go back to the model, and the
// analysis goes on.
func TestAgentMends(t *testing.T) {
	f := func(name, input string) {
		t.Helper()
		for _, vendor := range service.Vendors {
			s := script.New(script.Turn{Calls: []script.Call{{Name: name, Input: script.Split(input, 7)}}, Usage: llm.Usage{Input: 5, Output: 5}}, service.Submission())
			res, run, err := service.ReplayTracer(t, failingCase, service.ScriptedModel(t, vendor, s), transport.RunSpec{}, new(meter.Meter))
			if err != nil || run == nil || run.Outcome() != "answered" || res.Partial() || len(s.Requests()) != 2 {
				t.Errorf("%s, %s %s: %v %+v", vendor, name, input, err, run)
			}
		}
	}
	f("get_frame", `{"frame":"0.1`)
	f("get_frame", `{"frame":`)
	f("get_frame", `frame 0`)
	f("get_frame", `{"frame":"0"}}`)
	f("get_frame", `["0"]`)
	f("get_frame", `{"frame":7}`)
	f(claim.ToolName, `{"summary":"It sent`)
	f(claim.ToolName, `"an explanation"`)
	f("engage_playbook", `{"name":`)
}

// TestAgentOutlivesBrokenStreams: a stream that breaks in its midst is asked for again,
// as a refused request is, and the reader of the analysis is told.
func TestAgentOutlivesBrokenStreams(t *testing.T) {
	f := func(name string, fault script.Fault) {
		t.Helper()
		for _, vendor := range service.Vendors {
			fault.After = map[string]int{"anthropic": 4, "openai": 2}[vendor]
			broken := service.Submission()
			broken.Text, broken.Fault = []string{"Well", " then"}, fault
			s := script.New(broken, broken, service.Submission())
			var heard service.HeardEvents
			res, run, err := service.ReplayTracer(t, failingCase, service.ScriptedModel(t, vendor, s), transport.RunSpec{Sink: heard.Hear}, new(meter.Meter))
			if err != nil || run == nil || run.Outcome() != "answered" || res.Partial() || len(s.Requests()) != 3 {
				t.Errorf("%s, %s: %v %+v after %d requests", vendor, name, err, run, len(s.Requests()))
			}
			if n := len(heard.Of("agent_status")); n != 2 {
				t.Errorf("%s, %s: %d repeats told", vendor, name, n)
			}
		}
	}
	f("reset", script.Fault{Cut: true})
	f("an event that is none", script.Fault{Garbage: "event: content_block_delta\ndata: {]\n\n"})
	f("an end without a stop", script.Fault{End: true})
	f("an error in the stream", script.Fault{Error: "api_error"})
}

// TestAgentThinks: what the model thinks is streamed where its provider shows it.
func TestAgentThinks(t *testing.T) {
	for _, vendor := range service.Vendors {
		turn := service.Submission()
		turn.Think, turn.Text = []string{"A router, ", "I think."}, []string{"Done."}
		var heard service.HeardEvents
		if _, _, err := service.ReplayTracer(t, failingCase, service.ScriptedModel(t, vendor, script.New(turn)), transport.RunSpec{Sink: heard.Hear}, new(meter.Meter)); err != nil {
			t.Fatal(err)
		}
		if got := heard.Of(api.EventAgentText); !slices.Equal(got, []string{"A router, ", "I think.", "Done."}) {
			t.Errorf("%s: told %s", vendor, strings.Join(got, "|"))
		}
	}
}
