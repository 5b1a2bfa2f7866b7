package analysis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/engine/upstream"
)

// TestFinish: what is known when the service stops makes a partial result that
// says so, and without a chain there is none.
func TestFinish(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	w := newWorld()
	finish, asked := make(chan struct{}), make(chan struct{})
	w.prices = func(ctx context.Context) (map[common.Address]upstream.Price, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	go func() { <-asked; close(finish) }()
	var cut []string
	job := Input{
		Request: api.Request{TxHash: hash, ChainID: 1}, World: w, Meter: new(meter.Meter), Finish: finish,
		OnExpired: func(phases []string, finished bool) { cut = append(phases, fmt.Sprint(finished)) },
	}
	res, err := x.Explain(t.Context(), job)
	if err != nil || !res.Partial() || !strings.Contains(res.Summary, "price phase") || !strings.Contains(res.Summary, " failed (the service is stopping)") || res.Status != api.StatusSuccess {
		t.Fatalf("%+v, %v", res, err)
	}
	if !slices.Contains(cut, phasePrice) || cut[len(cut)-1] != "true" {
		t.Errorf("cut off %q", cut)
	}
	// A replay leaves out the same and says the same.
	again, err := x.Explain(t.Context(), Input{Request: job.Request, World: newWorld(), Meter: new(meter.Meter), CutOff: cut[:len(cut)-1], Finished: true})
	if err != nil || again.Summary != res.Summary {
		t.Errorf("%q, want %q; %v", again.Summary, res.Summary, err)
	}
	w.probe = func(ctx context.Context) (*upstream.ProbeResult, error) { <-ctx.Done(); return nil, ctx.Err() }
	job.Request.ChainID = 0
	if _, err := x.Explain(t.Context(), job); !errors.Is(err, api.ErrStopping) {
		t.Errorf("got %v, want ErrStopping", err)
	}
}

// TestAnalysisTold: each analysis ends in one call of OnAnalysis and one line of
// the log.
func TestAnalysisTold(t *testing.T) {
	judge := func(t *testing.T, change func(*world), req api.Request, want Outcome, wantChain string, wantFailed ...string) {
		t.Helper()
		var told []Summary
		var log bytes.Buffer
		x := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), OnAnalysis: func(a Summary) { told = append(told, a) }, Deadline: 300 * time.Millisecond})
		defer x.Close()
		w := newWorld()
		change(w)
		req.TxHash = hash
		x.Explain(t.Context(), Input{ID: "some-id", Request: req, World: w, Meter: new(meter.Meter)})
		if len(told) != 1 || told[0].ID != "some-id" || told[0].Outcome != want || told[0].Chain != wantChain || !slices.Equal(told[0].Failed, wantFailed) {
			t.Fatalf("told %+v", told)
		}
		for _, part := range []string{"msg=analysis", "request=some-id chain=", "outcome=" + string(want), "took="} {
			if strings.Count(log.String(), part) != 1 {
				t.Errorf("%s stands not once in %s", part, log.String())
			}
		}
		if x.Running() != 0 {
			t.Errorf("%d run", x.Running())
		}
	}
	f := func(change func(*world), req api.Request, want Outcome, wantChain string, wantFailed ...string) {
		t.Helper()
		virtual(t, func(t *testing.T) { judge(t, change, req, want, wantChain, wantFailed...) })
	}
	silent := func(w *world) {
		w.probe = func(ctx context.Context) (*upstream.ProbeResult, error) { <-ctx.Done(); return nil, ctx.Err() }
	}
	const mainnet = "ethereum-mainnet"
	f(func(*world) {}, api.Request{}, OutcomeComplete, mainnet)
	f(func(w *world) {
		w.trace = func(context.Context) (*trace.Tree, error) { panic("a decoder fell over") }
	}, api.Request{ChainID: 1}, OutcomePartial, mainnet, phaseTrace)
	f(silent, api.Request{}, OutcomeDeadline, "")
	f(func(w *world) {
		w.probe = func(context.Context) (*upstream.ProbeResult, error) { return nil, api.ErrNotFound }
	}, api.Request{}, OutcomeNotFound, "")
	f(func(w *world) {
		w.probe = func(context.Context) (*upstream.ProbeResult, error) {
			return nil, &api.UnavailableError{TxHash: hash, Silent: []string{"x"}}
		}
	}, api.Request{}, OutcomeUnavailable, "")
	f(func(w *world) {
		w.probe = func(context.Context) (*upstream.ProbeResult, error) { return nil, upstream.ErrUnpaid }
	}, api.Request{}, OutcomeUnpaid, "")
	f(func(w *world) {
		w.prices = func(context.Context) (map[common.Address]upstream.Price, error) { return nil, down }
	}, api.Request{ChainID: 1}, OutcomeComplete, mainnet)
	f(func(w *world) {
		w.probe = func(context.Context) (*upstream.ProbeResult, error) { return nil, errors.New("all are silent") }
	}, api.Request{}, OutcomeFailed, "")
}

// TestJournal: a phase takes as long as it was waited for.
func TestJournal(t *testing.T) {
	now := time.Unix(0, 0)
	j := newJournal("id", func() time.Time { now = now.Add(time.Second); return now })
	hear := func(phase string, s api.State) {
		j.hear(api.Event{Type: api.EventPreflightStatus, Phase: phase, State: s})
	}
	hear(phaseProbe, api.StateStarted)                                                                    // 2
	hear(phaseProbe, api.StateDone)                                                                       // 3
	hear(phaseTransaction, api.StateDone)                                                                 // never began
	hear(phaseTrace, api.StateStarted)                                                                    // 4
	hear(phaseLabel, api.StateStarted)                                                                    // 5
	hear(phaseTrace, api.StateFailed)                                                                     // 6
	j.hear(api.Event{Type: api.EventPreflightDone, Chain: "x", Failed: []string{phaseTrace, phaseLabel}}) // label ends at 7, assemble begins at 8
	j.fail([]assemble.Failure{{Phase: phaseTrace}})
	j.hear(api.Event{Type: api.EventComplete}) // 9
	a := j.close(&api.Result{AnalysisModel: api.ModelPartial}, nil)
	want := "[{probe 1s} {trace 2s} {label 2s} {assemble 1s}]"
	if got := fmt.Sprint(a.Phases); got != want || a.Took != 9*time.Second || a.Outcome != OutcomePartial || a.Chain != "x" || !slices.Equal(a.Failed, []string{phaseTrace}) {
		t.Errorf("%s %+v", got, a)
	}
}

// TestOutcomeOf: each kind of end has a name of its own.
func TestOutcomeOf(t *testing.T) {
	f := func(err error, want Outcome) {
		t.Helper()
		if got := outcomeOf(new(api.Result), fmt.Errorf("explain: %w", err)); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	f(api.ErrNotFound, OutcomeNotFound)
	f(api.ErrUnavailable, OutcomeUnavailable)
	f(api.ErrUnpaid, OutcomeUnpaid)
	f(api.ErrPending, OutcomePending)
	f(api.ErrDeadline, OutcomeDeadline)
	f(api.ErrStopping, OutcomeStopped)
	f(context.Canceled, OutcomeCancelled)
	f(context.DeadlineExceeded, OutcomeCancelled)
	f(errors.New("all are silent"), OutcomeFailed)
}
