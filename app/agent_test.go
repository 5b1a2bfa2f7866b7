package app_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"txlens/app"
	"txlens/engine/agent/llm"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/testkit/gethdata"
	"txlens/testkit/golden"
	script "txlens/testkit/scripted"
	"txlens/testkit/service"
	"txlens/transport"
)

// TestAgentSwap: a plain swap, from nodes and sources, through the libraries of both
// vendors.
func TestAgentSwap(t *testing.T) {
	for _, vendor := range service.Vendors {
		t.Run(vendor, func(t *testing.T) {
			w := service.NewWorld(t)
			look := script.Turn{Think: []string{"A router."}, Text: []string{"Let me ", "look."}, Usage: llm.Usage{Input: 300, Output: 40, CacheWrite: 5000},
				Calls: []script.Call{service.ToolCall("get_frame", service.Object{"frame": "0"}), service.ToolCall("get_balances", service.Object{})}}
			s := script.New(look, service.Submission(service.With("txType", "swap"), service.With("confidence", "high")))
			w.Flags.Model = service.ScriptedModel(t, vendor, s)
			var heard service.HeardEvents
			a := w.Analyst(t)
			m := new(meter.Meter)
			res, err := a.ExplainWith(context.Background(), transport.RunSpec{Request: api.Request{TxHash: w.Tx.Hash, Model: "model-opus-4-8"}, Sink: heard.Hear}, m)
			if err != nil {
				t.Fatal(err)
			}
			if res.Partial() || res.AnalysisModel != "model-opus-4-8" || res.TxType == nil || *res.TxType != api.TypeSwap {
				t.Errorf("%s: %s", res.AnalysisModel, res.Summary)
			}
			service.CheckCosts(t, res, m, (300+200)*5000+(40+90)*25_000+5000*500+(5000+300)*6250)
			tools := heard.Of(api.EventToolCall)
			if n := len(heard.Of(api.EventIteration)); n != 2 || !slices.Contains(tools, "get_frame") || !slices.Contains(tools, "get_balances") {
				t.Errorf("%d turns, tools %q", n, tools)
			}
			if text := strings.Join(heard.Of(api.EventAgentText), ""); text != "A router.Let me look." {
				t.Errorf("told %q", text)
			}
			if got := s.Requests(); len(got) != 2 || vendor == "anthropic" && !bytes.Contains(got[0].Body, []byte(`"model":"claude-opus-4-8"`)) {
				t.Errorf("%d requests, the first %.200s", len(got), got[0].Body)
			}
		})
	}
}

// TestAgentTriage: an exploit is suspected, drilled into and simulated; what is
// claimed and not shown is not in the result.
func TestAgentTriage(t *testing.T) {
	flags, hash := service.TracerCase(t, gethdata.MultiContracts)
	claimed := service.Object{"id": "f1", "broken_invariant": "The vault must not pay out more than 1 ETH; it paid 9,999 ETH in frame 0.77.3.", "category": "reentrancy", "severity": "critical", "status": "confirmed",
		"confidence": "high", "victim": []any{"0x00000000000000000000000000000000deadbeef"}, "attacker": []any{"0x00000000000000000000000000000000deadbef0"}, "check": "value(0.77.3) > 0", "primary": true,
		"evidence": []any{service.Object{"claim": "it paid 9,999 ETH", "kind": "observed", "frame": "0.77.3", "source": "trace"}}}
	s := script.New(
		script.Turn{Calls: []script.Call{service.ToolCall("engage_playbook", service.Object{"name": "exploit-triage"}), service.ToolCall("get_subtree", service.Object{"frame": "0", "levels": 1})}, Usage: llm.Usage{Input: 10, Output: 5}},
		script.Turn{Calls: []script.Call{service.ToolCall("simulate", service.Object{"without": []any{service.Object{"frame": "0.0"}}})}, Usage: llm.Usage{Input: 10, Output: 5}},
		service.Submission(service.With("txType", "exploit"), service.With("findings", []any{claimed}), service.With("confidence", "high")),
	)
	flags.Model = service.ScriptedModel(t, "anthropic", s)
	var heard service.HeardEvents
	a, m := service.NewAnalyst(t, flags), new(meter.Meter)
	res, err := a.ExplainWith(context.Background(), transport.RunSpec{Request: api.Request{TxHash: hash, ChainID: 1, Context: "is this an exploit?"}, Sink: heard.Hear}, m)
	if err != nil || res.Partial() {
		t.Fatalf("%v %s", err, res.Summary)
	}
	if !slices.Equal(res.SkillsUsed, []string{"exploit-triage"}) || !slices.Equal(heard.Of(api.EventSkillCall), []string{"exploit-triage"}) {
		t.Errorf("skills %q", res.SkillsUsed)
	}
	if m.Nano(meter.CodeExecution) == 0 {
		t.Error("the simulation cost nothing")
	}
	service.CheckCosts(t, res, m, 220*5000+100*25_000+5000*500+300*6250)
	last := s.Requests()[2].Body
	if !bytes.Contains(last, []byte("reproduced")) || bytes.Contains(last, []byte(`"is_error":true`)) {
		t.Errorf("the simulation went wrong: %s", last[max(0, len(last)-1500):])
	}
	if *res.TxType == api.TypeExploit || len(res.Findings) != 0 {
		t.Errorf("an exploit without evidence: %s, %+v", *res.TxType, res.Findings)
	}
	service.CheckLacks(t, "the result", string(service.Marshal(t, res)), "9,999", "deadbeef", "0.77.3")
	if d := res.Provenance.Dropped; d == nil || d.Findings+d.Evidence == 0 {
		t.Errorf("what was dropped is not told: %+v", d)
	}
}

// TestAgentFailedTransaction: the model confirms what failed.
func TestAgentFailedTransaction(t *testing.T) {
	s := script.New(
		script.Turn{Calls: []script.Call{service.ToolCall("engage_playbook", service.Object{"name": "failed-transaction"}), service.ToolCall("get_frame", service.Object{"frame": "0"})}},
		service.Submission(service.With("txType", "other"), service.With("confidence", "low")),
	)
	m := new(meter.Meter)
	res, run, err := service.ReplayTracer(t, gethdata.FailedTx, service.ScriptedModel(t, "openai", s), transport.RunSpec{}, m)
	if err != nil || run == nil || run.Outcome() != "answered" || run.Turns != 2 {
		t.Fatalf("%v %+v", err, run)
	}
	if res.Status != api.StatusReverted || !res.Attempted || res.AnalysisModel != api.DefaultModel || len(res.Findings) != 0 || res.Confidence != api.Low {
		t.Errorf("%s, %s: %s", res.Status, res.AnalysisModel, res.Summary)
	}
	service.CheckCosts(t, res, m, 200*5000+90*25_000+5000*500+300*6250)
}

// TestAgentRequests: the first requests are these bytes, with no word of the chain in
// the system message; twice the same, so that the vendor's cache can hit.
func TestAgentRequests(t *testing.T) {
	f := func(name, vendor, recorded string) {
		t.Helper()
		var bodies [][]byte
		for range 2 {
			s := script.New(service.Submission())
			if _, _, err := service.ReplayTracer(t, recorded, service.ScriptedModel(t, vendor, s), transport.RunSpec{}, new(meter.Meter)); err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, s.Requests()[0].Body)
		}
		if !bytes.Equal(bodies[0], bodies[1]) {
			t.Errorf("%s: two first requests differ: %s", name, service.FirstDifference(bodies[0], bodies[1]))
		}
		golden.Compare(t, filepath.Join("testdata", "requests", name+".json"), bodies[0])
	}
	f("anthropic-transfer", "anthropic", gethdata.TokenTransfer)
	f("openai-transfer", "openai", gethdata.TokenTransfer)
	f("anthropic-failed", "anthropic", gethdata.FailedTx)
}

// TestAgentOff: without a provider the models are checked all the same, and the rules
// say that they were alone.
func TestAgentOff(t *testing.T) {
	w := service.NewWorld(t)
	a := w.Analyst(t)
	res, err := app.Local{a}.Explain(context.Background(), api.Request{TxHash: w.Tx.Hash, Model: "model-sonnet-4-6"}, nil)
	if err != nil || res.AnalysisModel != api.ModelRules {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := (app.Local{a}).Explain(context.Background(), api.Request{TxHash: w.Tx.Hash, Model: "claude-opus-5"}, nil); !isBadRequest(err) {
		t.Errorf("an unknown model: %v", err)
	}
}

func isBadRequest(err error) bool {
	_, is := errors.AsType[*api.BadRequest](err)
	return is
}
