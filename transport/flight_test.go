package transport

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"txlens/actors/job"
	"txlens/actors/sale"
	"txlens/engine/api"
)

// noneKept finds nothing.
type noneKept struct{}

func (noneKept) Key(req api.Request) job.KeptKey { return sha256.Sum256([]byte(req.TxHash)) }
func (noneKept) Find(context.Context, api.Request, api.EventType) (job.Answer, error) {
	return job.Answer{}, api.ErrNoRun
}
func (noneKept) Keep(api.Request, api.EventType, job.Kept) {}

// sharers ask for one transaction. Its analyses end when the test says so.
type sharers struct {
	*testing.T
	s    *Server
	runs int // analyses that began
	cut  int // of them, those that were cancelled
	end  chan func() (*api.Result, error)
	slow chan struct{} // not nil: those that are cancelled end when it is closed
}

// sharer is one request.
type sharer struct {
	cancel context.CancelCauseFunc
	res    *api.Result
	err    error
	events int
	ended  bool
}

func inFlight(t *testing.T, f func(*sharers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &sharers{T: t, end: make(chan func() (*api.Result, error))}
		h.s = New(Config{Kept: noneKept{}, Explainer: script(func(ctx context.Context, spec RunSpec) (*api.Result, error) {
			h.runs++
			spec.Sink(api.Event{})
			select {
			case end := <-h.end:
				return end()
			case <-ctx.Done():
				h.cut++
				if h.slow != nil {
					<-h.slow
				}
				return nil, ctx.Err()
			}
		})})
		f(h)
	})
}

// ask begins a request and returns when everything waits.
func (h *sharers) ask(streams, fresh bool) *sharer {
	work, cancel := context.WithCancelCause(h.Context())
	r := &sharer{cancel: cancel}
	spec := RunSpec{Request: api.Request{TxHash: "0x1", Fresh: fresh}, streams: streams, Sink: func(api.Event) { r.events++ }}
	go func() {
		res, _, landed, err := h.s.shared(work, spec)
		landed()
		r.res, r.err, r.ended = res, err, true
	}()
	synctest.Wait()
	return r
}

func (h *sharers) land(end func() (*api.Result, error)) {
	h.end <- end
	synctest.Wait()
}

var errPartly = errors.New("something is missing")

// TestSharedRun: requests share one analysis, its events and its end, whoever of them leaves.
func TestSharedRun(t *testing.T) {
	want := &api.Result{}
	whole := func() (*api.Result, error) { return want, nil }
	inFlight(t, func(h *sharers) {
		first, second := h.ask(false, false), h.ask(true, false)
		other := h.ask(false, true) // asks anew
		first.cancel(errClientGone)
		synctest.Wait()
		if h.runs != 2 || h.cut != 0 || second.ended || first.events != 1 {
			t.Errorf("%d runs, %d cut", h.runs, h.cut)
		}
		h.land(whole)
		h.land(whole)
		if second.res != want || second.err != nil || other.res != want || !first.ended {
			t.Errorf("%+v, %+v, %+v", first, second, other)
		}
		if len(h.s.flights.all) != 0 {
			t.Error("the analysis has not ended")
		}
	})
	inFlight(t, func(h *sharers) {
		first, second := h.ask(false, false), h.ask(false, false)
		second.cancel(errClientGone)
		synctest.Wait()
		if !second.ended || !errors.Is(second.err, errClientGone) || h.cut != 0 {
			t.Errorf("one who left waits: %+v", second)
		}
		first.cancel(errClientGone)
		synctest.Wait()
		if h.cut != 1 || !first.ended || !errors.Is(first.err, errClientGone) {
			t.Errorf("all have left, %d cut, %+v", h.cut, first)
		}
		third := h.ask(false, false)
		h.land(whole)
		if h.runs != 2 || third.res != want {
			t.Errorf("%d runs, %+v", h.runs, third)
		}
	})
	inFlight(t, func(h *sharers) { // nobody joins what was cancelled and has not ended
		h.slow = make(chan struct{})
		first := h.ask(false, false)
		first.cancel(errClientGone)
		synctest.Wait()
		second := h.ask(false, false)
		close(h.slow)
		h.land(whole)
		if h.runs != 2 || h.cut != 1 || !errors.Is(first.err, errClientGone) || second.res != want || second.err != nil {
			t.Errorf("%d runs, %d cut, %+v, %+v", h.runs, h.cut, first, second)
		}
	})
	inFlight(t, func(h *sharers) { // a stream takes a result beside an error, the blocking form the error
		first, second := h.ask(true, false), h.ask(false, false)
		h.land(func() (*api.Result, error) { return want, errPartly })
		if first.err != nil || first.res != want || !errors.Is(second.err, errPartly) {
			t.Errorf("%+v, %+v", first, second)
		}
	})
	inFlight(t, func(h *sharers) {
		first, second := h.ask(false, false), h.ask(false, false)
		h.land(func() (*api.Result, error) { panic("a bug") })
		if !errors.Is(first.err, errPanic) || !errors.Is(second.err, errPanic) {
			t.Errorf("%+v, %+v", first, second)
		}
	})
}

// foundAlways says that it has found what it is asked for.
type foundAlways struct {
	noneKept
	asked atomic.Int32
}

func (k *foundAlways) Find(context.Context, api.Request, api.EventType) (job.Answer, error) {
	k.asked.Add(1)
	return job.Answer{Kept: job.Kept{Run: "0199a000-0000-7000-8000-000000000000"}, Frame: []byte(`{"type":"result"}`)}, nil
}

// TestSoldIsNotKept: where analyses are sold, each is made for its price.
func TestSoldIsNotKept(t *testing.T) {
	kept := new(foundAlways)
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Kept = kept })
	for _, body := range []string{goodBody, withContext("another")} {
		if a := sh.buy("/explain", body, voucher(90_000)); a.status != 200 || a.header.Get("Age") != "" || kept.asked.Load() != 0 {
			t.Errorf("%d, looked up %d times: %.300s", a.status, kept.asked.Load(), a.body)
		}
	}
}
