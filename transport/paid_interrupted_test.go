package transport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/actors/sale"
	"txlens/engine/api"
	"txlens/engine/mpp"

	"github.com/go-json-experiment/json/jsontext"
)

// interrupted makes of a request that was charged one whose run a crash has cut short:
// its ticket and bill are there, and no record.
func (sh *shop) interrupted(id string) {
	sh.t.Helper()
	sh.till.fail("Admit", errors.New("only to learn of the order"))
	sh.buy("/explain", goodBody, voucher(90_000))
	sh.till.fail("Admit", nil)
	sh.billed(id, 10_000, 0, false)
	sh.till.change(func() {
		sh.till.tickets[sh.till.orders[len(sh.till.orders)-1].Key] = id
		sh.till.spent = 10_000
	})
}

// TestInterruptedRun: it begins again under its id, and what was paid counts.
func TestInterruptedRun(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	sh.interrupted(unknownID)
	a := sh.buy("/explain", goodBody, voucher(90_000))
	sh.wantReceipt(a, 200, 90_000, 10_000)
	if kindsOf(a.body) != "preflight_start complete result [payment-receipt]" || lastReceiptOf(t, a.body).Spent != units(20_000) || strings.Count(a.body, `"requestId":"`+unknownID+`"`) != 3 {
		t.Errorf("%s", a.body)
	}
	if b := sh.till.bill(unknownID); !b.Final || b.Collected != units(20_000) || len(sh.till.bills) != 1 {
		t.Errorf("%+v", b)
	}
	sh.rests()
}

// TestRecoverInterrupted: the recovery of a run that a crash has cut short says what to do.
func TestRecoverInterrupted(t *testing.T) {
	f := func(final, job, atWork bool, wantStatus int, wantCode string) {
		t.Helper()
		sh := sellWith(t, spends(0), nil)
		sh.billed(unknownID, 10_000, 0, final)
		if job {
			sh.jobs.jobs[unknownID] = &api.Job{JobID: unknownID, Status: api.JobPending}
		}
		if atWork {
			defer sh.s.runsInProgress.add(unknownID)()
		}
		a := sh.ask("GET", "/explain/run/"+unknownID, "")
		if a.status != wantStatus || !strings.Contains(a.body, `"code":"`+wantCode+`"`) {
			t.Errorf("final %v, job %v, at work %v: %d %s", final, job, atWork, a.status, a.body)
		}
	}
	f(false, false, false, 409, api.CodeRunInterrupted)
	f(true, false, false, 404, api.CodeNoRun)
	f(false, true, false, 404, api.CodeNoRun)
	f(false, false, true, 409, api.CodeRunAtWork)
}

// TestInterruptedRunWaits: where there is no slot for it, it is refused without a
// receipt and not charged again.
func TestInterruptedRunWaits(t *testing.T) {
	began, free := make(chan string, 1), make(chan struct{})
	sh := sellWith(t, held(began, free), func(c *Config, _ *sale.Options) { c.Shares.PerChannel = 1 })
	sh.interrupted(unknownID)
	one := sh.stream(withContext("one"), voucher(90_000))
	<-began
	a := sh.buy("/explain", goodBody, voucher(90_000))
	sh.wantFault(a, 503, api.CodeBusy, "Nothing was charged")
	if a.header.Get("Retry-After") != "5" || sh.till.bill(unknownID).Collected != units(10_000) {
		t.Errorf("%v", a.header)
	}
	close(free)
	one.rest()
	sh.rests()

	sh.s.cancel(api.ErrStopping)
	ctx, _ := requestWith(t, "/explain", goodBody, "")
	giveReceipt(ctx, channel.Standing{}, "x")
	sh.s.notBegun(ctx, context.Canceled)
	if ctx.Response.StatusCode() != 503 || len(ctx.Response.Header.Peek(mpp.HeaderReceipt)) > 0 || !strings.Contains(string(ctx.Response.Body()), api.CodeStopping) {
		t.Errorf("%s", ctx.Response.String())
	}
}

// hookedRuns calls a function before each look at a record.
type hookedRuns struct {
	*fakeRuns
	hook func(id string)
}

func (h *hookedRuns) Recover(id string) (*api.RunRecovery, error) {
	h.hook(id)
	return h.fakeRuns.Recover(id)
}

// TestTwoBeginAtOnce: of two requests that find an interrupted run, one begins it, and
// the other one joins it and gives its slot back.
func TestTwoBeginAtOnce(t *testing.T) {
	hooked := new(hookedRuns)
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) {
		hooked.fakeRuns, hooked.hook = c.Runs.(*fakeRuns), func(string) {}
		c.Runs = hooked
	})
	sh.interrupted(unknownID)
	fan := newFan(unknownID)
	hooked.hook = func(id string) { sh.s.live.open(fan) }
	got := make(chan answer, 1)
	go func() { got <- sh.buy("/explain", goodBody, voucher(90_000)) }()
	until(t, "it has joined", func() bool { fan.mu.Lock(); defer fan.mu.Unlock(); return len(fan.streams) == 1 })
	if sh.s.analysing() {
		t.Error("it has kept its slot")
	}
	fan.end(api.Event{Type: api.EventError, RequestID: unknownID, Code: api.CodeInternal, Message: "x"}, nil)
	if a := <-got; kindsOf(a.body) != "error" {
		t.Errorf("%s", a.body)
	}
	sh.s.live.close(fan)

	// The same where the run is on the list of the seller.
	var other *sale.Run
	hooked.hook = func(id string) {
		if other == nil {
			other, _ = sh.s.cfg.Payments.Seller.Begin(sh.till.bill(id), nil)
			return
		}
		sh.billed(id, 20_000, 20_000, true)
		sh.runs.frames[id] = encoded(t, id)
	}
	a := sh.buy("/explain", goodBody, voucher(90_000))
	if kindsOf(a.body) != "complete result [payment-receipt]" {
		t.Errorf("%s", a.body)
	}
	other.End()
	sh.rests()
}

// TestRejoinFaults: why there is nothing to be had for a ticket, as the end of a stream.
func TestRejoinFaults(t *testing.T) {
	sh := sellWith(t, spends(0), nil)
	f := func(change func(), code, wantKinds string) {
		t.Helper()
		sh.runs.frames = map[string][]jsontext.Value{}
		sh.interrupted(unknownID)
		change()
		a := sh.buy("/explain", goodBody, voucher(90_000))
		sh.wantReceipt(a, 200, 90_000, 10_000)
		if kindsOf(a.body) != wantKinds || !strings.Contains(a.body, code) {
			t.Errorf("%s", a.body)
		}
		sh.till.fail("Bill", nil)
		sh.rests()
	}
	f(func() { sh.runs.frames[unknownID] = nil }, `"code":"run_errored"`, "error")
	f(func() { sh.runs.frames[unknownID] = []jsontext.Value{} }, `"code":"run_errored"`, "error")
	for _, code := range []string{api.CodeNotFound, api.CodePending, api.CodeUnavailable} {
		f(func() {
			sh.runs.Put(job.FailedRun(unknownID, job.RunPaid, api.Fault{Code: code, Message: "known"}))
		}, `"code":"`+code+`","message":"known"`, "error")
		sh.till.change(func() { sh.till.bills[unknownID] = channel.Bill{} })
		sh.billed(unknownID, 10_000, 10_000, true)
		a := sh.ask("GET", "/explain/run/"+unknownID, "")
		if a.status != 409 || !strings.Contains(a.body, `"error":"known"`) || !strings.Contains(a.body, `"code":"`+code+`"`) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if strings.Contains(sh.log.String(), "level=ERROR msg=explain") {
		t.Errorf("known causes are logged as errors:\n%s", sh.log)
	}
	sh.runs.faults = nil
	f(func() { sh.till.fail("Bill", errors.New("the disk is gone")) }, `"code":"internal_error"`, "error")
	f(func() {
		sh.till.fail("Bill", errors.New("the disk is gone"))
		sh.runs.frames[unknownID] = encoded(t, unknownID)
	}, `"code":"payment_incomplete"`, "error")
	f(func() {
		sh.till.fail("Watch", errors.New("the disk is gone"))
		sh.runs.frames[unknownID] = encoded(t, unknownID)
	},
		`"code":"payment_incomplete"`, "error [payment-receipt]")
}

// TestReplayPanics: a panic of the store ends the stream and not the process.
func TestReplayPanics(t *testing.T) {
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) {
		c.Runs = &hookedRuns{c.Runs.(*fakeRuns), func(string) { panic("the store fell over") }}
		c.Recoverable = func(string) bool { return false }
	})
	st, _ := bareStream(t, 1<<20)
	sh.s.replay(st, nil, RunSpec{ID: unknownID})
	if e, ok := st.last.(api.Event); !ok || e.Code != api.CodeInternal || !strings.Contains(sh.log.String(), "the store fell over") {
		t.Errorf("%v\n%s", st.last, sh.log)
	}
}

// TestWithoutRecords: a service that keeps no runs sells them all the same, and replays
// none.
func TestWithoutRecords(t *testing.T) {
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Runs = nil })
	if _, err := sh.s.recovered(unknownID); err != api.ErrNoRun {
		t.Errorf("%v", err)
	}
	a := sh.buy("/explain", goodBody, voucher(90_000))
	if kindsOf(a.body) != "preflight_start complete result [payment-receipt]" {
		t.Errorf("%s", a.body)
	}
	sh.rests()
}

// TestPaidClientGoes: its run goes on and is kept.
func TestPaidClientGoes(t *testing.T) {
	began, free := make(chan string, 1), make(chan struct{})
	count := new(tally)
	sh := sellWith(t, held(began, free), func(c *Config, _ *sale.Options) { c.Observer = count })
	r := sh.stream(goodBody, voucher(90_000))
	<-began
	joined := sh.stream(goodBody, voucher(90_000))
	r.resp.Body.Close()
	joined.resp.Body.Close()
	until(t, "it is gone", func() bool { return strings.Count(sh.log.String(), `stream="client gone"`) == 2 })
	if got := strings.Count(sh.log.String(), "stream cut off"); got != 1 { // who only joined takes nobody's run along
		t.Errorf("%d streams of the run were cut off", got)
	}
	close(free)
	sh.rests()
	if b := sh.till.bill(r.id()); b.Collected != units(20_000) {
		t.Errorf("%+v", b)
	}
	if count.open != 2 || count.closed != 2 {
		t.Errorf("%+v", count)
	}
	if body := sh.stream(goodBody, voucher(90_000)).rest(); kindsOf(body) != "complete result [payment-receipt]" {
		t.Errorf("%s", body)
	}
	sh.rests()
}

// TestStopWhilePaid: a stop ends all streams of a run with an error.
func TestStopWhilePaid(t *testing.T) {
	began, free := make(chan string, 1), make(chan struct{})
	defer close(free)
	sh := sellWith(t, held(began, free), nil)
	first := sh.stream(goodBody, voucher(90_000))
	<-began
	second := sh.stream(goodBody, voucher(90_000))
	sh.s.cancel(api.ErrStopping)
	for _, r := range []*reading{first, second} {
		body := r.rest()
		if got := kindsOf(body); !strings.HasPrefix(got, "error") || !strings.Contains(body, `"code":"stopping"`) {
			t.Errorf("%s", body)
		}
	}
	sh.rests()
}

// TestShutdownWhileUnpaid: a stop waits for no voucher.
func TestShutdownWhileUnpaid(t *testing.T) {
	free := make(chan struct{})
	close(free)
	sh := sellWith(t, held(make(chan string, 1), free), nil)
	r := sh.stream(goodBody, voucher(10_000))
	r.wantNeed(20_000, 10_000)
	until(t, "it waits", func() bool { return sh.s.slots.Counts().Parked == 1 })
	ended := make(chan error, 1)
	go func() { ended <- sh.s.Shutdown(t.Context()) }()
	if body := r.rest(); kindsOf(body) != "error [payment-receipt]" {
		t.Errorf("%s", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFan: streams that come at any time have the same end, and are asked for a voucher
// while one is missing.
func TestFan(t *testing.T) {
	f := newFan("id")
	bare := func() *stream { st, _ := bareStream(t, 1<<20); return st }
	want := func(st *stream, queued string, last any, trailer string) {
		t.Helper()
		if string(st.queue) != queued || st.last != last || string(st.trailer) != trailer {
			t.Errorf("%q, %v, %q", st.queue, st.last, st.trailer)
		}
	}
	first := bare()
	f.add(first)
	f.push([]byte("a"))
	f.demand([]byte("b"))
	second := bare()
	f.add(second)
	want(first, "ab", nil, "")
	want(second, "b", nil, "")
	f.demand(nil)
	third := bare()
	f.add(third)
	f.send(api.Event{Type: api.EventComplete})
	want(third, "data: {\"type\":\"complete\",\"requestId\":\"id\"}\n\n", nil, "")
	f.push([]byte("late"))
	f.end("the end", []byte("receipt"))
	fourth := bare()
	f.add(fourth)
	want(fourth, "", "the end", "receipt")
	for _, st := range []*stream{first, second, third} {
		if st.last != "the end" || string(st.trailer) != "receipt" || !st.complete || strings.Contains(string(st.queue), "late") {
			t.Errorf("%+v", st)
		}
	}
	if len(f.streams) != 3 {
		t.Errorf("%d streams", len(f.streams))
	}
}

func TestLive(t *testing.T) {
	var l live
	a, b := newFan("id"), newFan("id")
	if l.has("id") || l.join("id", nil) || !l.open(a) || l.open(b) || !l.has("id") || l.has("other") {
		t.Error("open")
	}
	l.close(b)
	if !l.has("id") {
		t.Error("closed by another one")
	}
	st, _ := bareStream(t, 1)
	if !l.join("id", st) || len(a.streams) != 1 {
		t.Error("join")
	}
	l.close(a)
	if l.has("id") || !l.open(b) {
		t.Error("close")
	}
}

// TestClientGoesAtTheEnd: a client that leaves when it has read the result has got it.
func TestClientGoesAtTheEnd(t *testing.T) {
	st, there := bareStream(t, 1<<20)
	st.stopping, st.head = make(chan struct{}), []byte("head")
	ended := make(chan error, 1)
	st.onEnd = func(cut error) { ended <- cut }
	st.end(json.RawMessage(`{}`))
	go st.serve(true)
	want := "heada\r\ndata: {}\n\n"
	if _, err := io.ReadFull(there, make([]byte, len(want))); err != nil {
		t.Fatal(err)
	}
	there.Close() // with the end of the chunk and of the body still to come
	if cut := <-ended; cut == nil {
		t.Error("a chunk that broke off is whole")
	}

	st, there = bareStream(t, 1<<20)
	st.stopping, st.head = make(chan struct{}), []byte("head")
	st.onEnd = func(cut error) { ended <- cut }
	st.end(json.RawMessage(`{}`))
	go st.serve(true)
	if _, err := io.ReadFull(there, make([]byte, len(want)+2)); err != nil {
		t.Fatal(err)
	}
	there.Close()
	if cut := <-ended; cut != nil {
		t.Errorf("cut off: %v", cut)
	}
}
