package analysis

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/agent/claim"
	"txlens/engine/agent/llm"
	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/engine/upstream"
)

// talker is a model that does what a test wants.
type talker func(ctx context.Context, hear func(llm.Delta)) (llm.Reply, error)

func (f talker) Turn(ctx context.Context, _ *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
	return f(ctx, hear)
}

// asked runs an analysis in which a model is asked.
func asked(t *testing.T, o Options, p talker, change ...func(*Input)) (*api.Result, *meter.Meter, []AgentRun, error) {
	t.Helper()
	var runs []AgentRun
	o.Agent = &Agent{Provider: p, Models: map[string]AgentModel{}, Patience: o.Agent.patience(), OnRun: func(r AgentRun) { runs = append(runs, r) }}
	for _, name := range api.ModelNames() {
		o.Agent.Models[name] = AgentModel{ID: "v-" + name, Price: llm.Price{Input: 10, Output: 20}}
	}
	x := New(o)
	defer x.Close()
	m := new(meter.Meter)
	j := Input{Request: api.Request{TxHash: hash, ChainID: 1}, World: newWorld(), Meter: m}
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
	var told []Summary
	o := Options{OnAnalysis: func(a Summary) { told = append(told, a) }}
	res, m, runs, err := asked(t, o, func(_ context.Context, hear func(llm.Delta)) (llm.Reply, error) {
		hear(llm.Delta{Usage: &llm.Usage{Input: 7}})
		panic("the provider fell over with a secret")
	})
	if err != nil || !res.Partial() || !strings.Contains(res.Summary, "the agent phase failed (internal fault)") || strings.Contains(res.Summary, "secret") || len(res.Steps) == 0 {
		t.Errorf("%v %+v", err, res.Summary)
	}
	if m.Nano(meter.LLMs) != 70 || res.Costs.LLMs.String() != api.NanoDollars(70).String() {
		t.Errorf("costs %s", res.Costs.LLMs)
	}
	if len(runs) != 1 || runs[0].Outcome() != "failed" || len(told) != 1 || told[0].Outcome != OutcomePartial || len(told[0].Failed) != 1 || told[0].Failed[0] != phaseAgent {
		t.Errorf("%+v %+v", runs, told)
	}
}

// TestModelIsStopped: what a model has used when it is stopped is in the costs of the
// result, also where it tells only at the end.
func TestModelIsStopped(t *testing.T) {
	virtual(t, func(t *testing.T) {
		o := Options{Agent: &Agent{Patience: 50 * time.Millisecond}}
		res, m, runs, err := asked(t, o, func(ctx context.Context, _ func(llm.Delta)) (llm.Reply, error) {
			<-ctx.Done()
			time.Sleep(30 * time.Millisecond)
			return llm.Reply{Usage: llm.Usage{Output: 9}}, ctx.Err()
		})
		if err != nil || !strings.Contains(res.Summary, "the agent phase failed (the time for the model is over (50ms))") {
			t.Errorf("%v %s", err, res.Summary)
		}
		if m.Nano(meter.LLMs) != 180 || res.Costs.TotalUSD.String() != api.NanoDollars(180).String() {
			t.Errorf("costs %s, booked %d", res.Costs.TotalUSD, m.Nano(meter.LLMs))
		}
		if len(runs) != 1 || runs[0].Outcome() != "stopped" {
			t.Errorf("%+v", runs)
		}
	})
}

// submits answers at once.
func submits(ctx context.Context, _ func(llm.Delta)) (llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return llm.Reply{}, err
	}
	const answer = `{"findings":[],"nonFindings":[],"txType":"transfer","protocol":null,"confidence":"high","figures":[],"steps":[],"summary":"{address:sender} called {call:0}.","risks":[],"contracts":[],"traceAnnotations":[{"index":0,"text":"This is the outermost call, {frame:0}."}]}`
	call := llm.Part{Call: &llm.Call{ID: "c", Name: claim.ToolName, Input: jsontext.Value(answer)}}
	return llm.Reply{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{call}}, Stop: llm.StopCalls, Usage: llm.Usage{Output: 9}}, nil
}

// TestModelIsAskedAboutWhatThereIs: neither a source that a result stands without nor
// one that makes it partial keeps the model from looking at the rest; the mark of a
// partial result stays, whatever the model says.
func TestModelIsAskedAboutWhatThereIs(t *testing.T) {
	f := func(name string, partial bool, phase string, breakIt func(*world), change ...func(*Options)) {
		t.Helper()
		o := Options{}
		for _, c := range change {
			c(&o)
		}
		var res *api.Result
		var m *meter.Meter
		var runs []AgentRun
		var err error
		virtual(t, func(t *testing.T) { // the deadline passes in virtual time, whatever the machine does
			res, m, runs, err = asked(t, o, submits, func(j *Input) {
				w := newWorld()
				breakIt(w)
				j.World = w
			})
		})
		if err != nil || len(runs) != 1 || runs[0].Err != nil || m.Nano(meter.LLMs) != 180 {
			t.Fatalf("%s: %v, runs %+v", name, err, runs)
		}
		want := api.DefaultModel
		if partial {
			want = api.ModelPartial
		}
		if res.AnalysisModel != want || res.Partial() != partial || strings.HasPrefix(res.Summary, api.PartialPrefix) != partial || strings.Count(res.Summary, "artial result") > 1 {
			t.Errorf("%s: %s %q", name, res.AnalysisModel, res.Summary)
		}
		if partial && (res.Confidence != api.Low || !strings.Contains(res.Summary, "the "+phase+" phase failed")) {
			t.Errorf("%s: %s, %q", name, res.Confidence, res.Summary)
		}
	}
	f("all is well", false, "", func(*world) {})
	f("no prices", false, "", func(w *world) {
		w.prices = func(context.Context) (map[common.Address]upstream.Price, error) { return nil, down }
	})
	f("no block", false, "", func(w *world) {
		w.block = func(context.Context) (*ethrpc.Block, error) { return nil, down }
	})
	f("no labels and no sources", false, "", func(w *world) {
		callsAToken(w)
		w.sign = nil // a panic in a phase
		w.call = func(context.Context) ([]byte, error) { return nil, down }
	})
	f("prices too late", false, "", func(w *world) {
		w.prices = func(ctx context.Context) (map[common.Address]upstream.Price, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}, func(o *Options) { o.Deadline = 100 * time.Millisecond })
	f("no trace", true, phaseTrace, func(w *world) {
		w.trace = func(context.Context) (*trace.Tree, error) { return nil, down }
	})
	f("trace too late", true, phaseTrace, func(w *world) {
		w.trace = func(ctx context.Context) (*trace.Tree, error) { <-ctx.Done(); return nil, ctx.Err() }
	}, func(o *Options) { o.Deadline = 100 * time.Millisecond })
	f("no receipt", true, phaseTransaction, func(w *world) {
		w.receipt = func(context.Context) (*ethrpc.Receipt, error) { return nil, down }
	})
	f("no transaction", true, phaseTransaction, func(w *world) {
		w.tx = func(context.Context) (*ethrpc.Transaction, error) { return nil, down }
		w.receipt = func(context.Context) (*ethrpc.Receipt, error) {
			rc, number := someReceipt(), uint64(20_000_000)
			rc.BlockNumber = &number
			return rc, nil
		}
	})
}

// TestModelIsNotAsked: where the gate is shut, where the service could not pay for the
// receipt, and where the transaction is not known, nobody pays for a model; the phase
// that failed is the right one.
func TestModelIsNotAsked(t *testing.T) {
	never := func(context.Context, func(llm.Delta)) (llm.Reply, error) {
		t.Error("the model was asked")
		return llm.Reply{}, llm.ErrDown
	}
	var told []Summary
	o := Options{OnAnalysis: func(a Summary) { told = append(told, a) }}
	res, _, runs, err := asked(t, o, never, func(j *Input) {
		j.Meter.Gate = func(context.Context, int64) (meter.Hold, error) { return nil, api.ErrUnpaid }
	})
	if err != nil || !strings.Contains(res.Summary, "the agent phase failed ("+api.ErrUnpaid.Error()) || len(runs) != 1 || runs[0].Outcome() != "unpaid" {
		t.Errorf("%v %s %+v", err, res.Summary, runs)
	}
	if len(told) != 1 || told[0].Failed[0] != phaseAgent {
		t.Errorf("%+v", told)
	}
	w := newWorld()
	w.receipt = func(context.Context) (*ethrpc.Receipt, error) {
		return nil, &upstream.Error{Kind: upstream.KindPayment}
	}
	res, _, runs, err = asked(t, o, never, func(j *Input) { j.World = w })
	if api.FaultOf(err).Code != api.CodePayment || res == nil || len(runs) != 0 || told[1].Failed[0] != phaseTransaction {
		t.Errorf("%v %+v %+v", err, res, told)
	}
	w.tx = func(context.Context) (*ethrpc.Transaction, error) { return nil, down }
	w.receipt = func(context.Context) (*ethrpc.Receipt, error) { return someReceipt(), nil }
	w.trace = func(context.Context) (*trace.Tree, error) { return nil, down }
	res, _, runs, err = asked(t, o, never, func(j *Input) { j.World = w })
	if err != nil || !res.Partial() || res.Status != api.StatusSuccess || res.TxMeta.GasUsed != 21000 || len(runs) != 0 {
		t.Errorf("%v %+v", err, res)
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
