package actors

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/explain"
	"txlens/engine/meter"
)

// talker is a model that does what a test wants.
type talker func(ctx context.Context, hear func(llm.Delta)) (llm.Reply, error)

func (f talker) Turn(ctx context.Context, _ *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
	return f(ctx, hear)
}

// asked runs an analysis in which a model is asked.
func asked(t *testing.T, o Options, p talker, change ...func(*Job)) (*explain.Result, *meter.Meter, []AgentRun, error) {
	t.Helper()
	var runs []AgentRun
	o.Agent = &Agent{Provider: p, Models: map[string]AgentModel{}, Patience: o.Agent.patience(), OnRun: func(r AgentRun) { runs = append(runs, r) }}
	for _, name := range explain.ModelNames() {
		o.Agent.Models[name] = AgentModel{ID: "v-" + name, Price: llm.Price{Input: 10, Output: 20}}
	}
	x := New(o)
	defer x.Close()
	m := new(meter.Meter)
	j := Job{Request: explain.Request{TxHash: hash, ChainID: 1}, World: newWorld(), Meter: m}
	for _, c := range change {
		c(&j)
	}
	res, err := x.Explain(context.Background(), j)
	return res, m, runs, err
}

func (g *Agent) patience() time.Duration {
	if g == nil {
		return 0
	}
	return g.Patience
}

// TestModelPanics: a fault in the model's child costs the model, and no more.
func TestModelPanics(t *testing.T) {
	var told []Analysis
	o := Options{OnAnalysis: func(a Analysis) { told = append(told, a) }}
	res, m, runs, err := asked(t, o, func(_ context.Context, hear func(llm.Delta)) (llm.Reply, error) {
		hear(llm.Delta{Usage: &llm.Usage{Input: 7}})
		panic("the provider fell over with a secret")
	})
	if err != nil || !res.Partial() || !strings.Contains(res.Summary, "agent (internal fault)") || strings.Contains(res.Summary, "secret") || len(res.Steps) == 0 {
		t.Errorf("%v %+v", err, res.Summary)
	}
	if m.Nano(meter.LLMs) != 70 || res.Costs.LLMs.String() != explain.NanoDollars(70).String() {
		t.Errorf("costs %s", res.Costs.LLMs)
	}
	if len(runs) != 1 || runs[0].Outcome() != "failed" || len(told) != 1 || told[0].Outcome != OutcomePartial || len(told[0].Failed) != 1 || told[0].Failed[0] != phaseAgent {
		t.Errorf("%+v %+v", runs, told)
	}
}

// TestModelIsStopped: what a model has used when it is stopped is in the costs of the
// result, also where it tells only at the end.
func TestModelIsStopped(t *testing.T) {
	o := Options{Agent: &Agent{Patience: 50 * time.Millisecond}}
	res, m, runs, err := asked(t, o, func(ctx context.Context, _ func(llm.Delta)) (llm.Reply, error) {
		<-ctx.Done()
		time.Sleep(30 * time.Millisecond)
		return llm.Reply{Usage: llm.Usage{Output: 9}}, ctx.Err()
	})
	if err != nil || !strings.Contains(res.Summary, "agent (the time for the model is over (50ms))") {
		t.Errorf("%v %s", err, res.Summary)
	}
	if m.Nano(meter.LLMs) != 180 || res.Costs.TotalUSD.String() != explain.NanoDollars(180).String() {
		t.Errorf("costs %s, booked %d", res.Costs.TotalUSD, m.Nano(meter.LLMs))
	}
	if len(runs) != 1 || runs[0].Outcome() != "stopped" {
		t.Errorf("%+v", runs)
	}
}

// TestModelIsNotAsked: where the evidence has holes nobody pays for words about it, nor
// where the gate is shut, and the phase that failed is the right one.
func TestModelIsNotAsked(t *testing.T) {
	never := func(context.Context, func(llm.Delta)) (llm.Reply, error) {
		t.Error("the model was asked")
		return llm.Reply{}, llm.ErrDown
	}
	var told []Analysis
	o := Options{OnAnalysis: func(a Analysis) { told = append(told, a) }}
	res, _, runs, err := asked(t, o, never, func(j *Job) {
		w := newWorld()
		w.sign = nil // a panic in a phase
		callsAToken(w)
		w.call = func(context.Context) ([]byte, error) { return nil, errors.New("the wire was cut") }
		j.World = w
	})
	if err != nil || !res.Partial() || strings.Contains(res.Summary, "agent") || len(runs) != 0 {
		t.Errorf("%v %s %+v", err, res.Summary, runs)
	}
	res, _, runs, err = asked(t, o, never, func(j *Job) {
		j.Meter.Gate = func(context.Context) error { return explain.ErrUnpaid }
	})
	if err != nil || !strings.Contains(res.Summary, "agent ("+explain.ErrUnpaid.Error()) || len(runs) != 1 || runs[0].Outcome() != "unpaid" {
		t.Errorf("%v %s %+v", err, res.Summary, runs)
	}
	if len(told) != 2 || told[1].Failed[0] != phaseAgent {
		t.Errorf("%+v", told)
	}
}

// TestLongest: the model's patience comes on top of the deadline of the evidence.
func TestLongest(t *testing.T) {
	f := func(o Options, want time.Duration) {
		t.Helper()
		x := New(o)
		defer x.Close()
		if got := x.Longest(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(Options{}, DefaultDeadline)
	f(Options{Deadline: time.Second, Agent: &Agent{Patience: time.Minute}}, 61*time.Second)
	f(Options{Agent: new(Agent)}, DefaultDeadline+DefaultPatience)
}
