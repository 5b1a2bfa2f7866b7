package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"txlens/actors/recordid"
	"txlens/actors/runtime"
	"txlens/engine/api"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// shelf is a Store and RunStore in memory that remembers the states of each job.
type shelf struct {
	mu      sync.Mutex
	jobs    map[string]Row
	runs    map[string]RunRow
	history map[string][]api.JobStatus
	refuse  func(Row) error // may be nil
}

func newShelf() *shelf {
	return &shelf{jobs: map[string]Row{}, runs: map[string]RunRow{}, history: map[string][]api.JobStatus{}}
}

func (s *shelf) PutJobs(rows ...Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range rows {
		if s.refuse != nil {
			if err := s.refuse(row); err != nil {
				return err
			}
		}
	}
	for _, row := range rows {
		s.jobs[row.ID] = row
		s.history[row.ID] = append(s.history[row.ID], row.Status)
	}
	return nil
}

func (s *shelf) Job(id string) (Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.jobs[id]
	if !ok {
		return row, api.ErrNoJob
	}
	return row, nil
}

func (s *shelf) UnfinishedJobs() (rows []Row, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range s.jobs {
		if row.Status.Unfinished() {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
	return rows, nil
}

func (s *shelf) PutRun(row RunRow) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[row.ID] = row
	return nil
}

func (s *shelf) Run(id string) (RunRow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.runs[id]
	if !ok {
		return row, api.ErrNoRun
	}
	return row, nil
}

// crash copies what a killed process would leave.
func (s *shelf) crash() *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := newShelf()
	for id, row := range s.jobs {
		left.jobs[id] = row
	}
	return left
}

func (s *shelf) states(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.history[id])
}

// analyst is an Analyst made of one function.
type analyst func(ctx context.Context, req api.Request) (*api.Result, error)

func (f analyst) Explain(ctx context.Context, w Work) (*api.Result, error) {
	return f(ctx, w.Request)
}

func fine(_ context.Context, req api.Request) (*api.Result, error) {
	return &api.Result{TxHash: req.TxHash, Summary: "Sent 1 ETH to <b>."}, nil
}

func untilCancelled(ctx context.Context, _ api.Request) (*api.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

var ask = api.Request{TxHash: hash}

func startJobs(t *testing.T, o Options) *Jobs {
	t.Helper()
	sys := runtime.NewSystem(slog.New(slog.DiscardHandler))
	j, err := New(sys, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := j.Close(ctx); err != nil {
			t.Error(err)
		}
		sys.Wait()
	})
	return j
}

func submit(t *testing.T, j *Jobs, req api.Request) string {
	t.Helper()
	id, err := j.Submit(req)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// await polls until the job has the status.
func await(t *testing.T, j *Jobs, id string, want api.JobStatus) *api.Job {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		job, err := j.Job(id)
		if err != nil {
			t.Fatal(err)
		}
		if job.Status == want {
			return job
		}
		if time.Now().After(end) || !job.Status.Unfinished() {
			t.Fatalf("the job is %+v, want %s", job, want)
		}
	}
}

func TestJobCompletes(t *testing.T) {
	store := newShelf()
	j := startJobs(t, Options{Store: store, Analyst: analyst(fine)})
	for _, report := range []bool{false, true} {
		req := ask
		req.Report = report
		id := submit(t, j, req)
		if u, err := uuid.Parse(id); err != nil || u.Version() != 7 {
			t.Errorf("id %q", id)
		}
		job := await(t, j, id, api.JobComplete)
		if job.JobID != id || !strings.Contains(string(job.Result), `"txHash":"`+hash+`"`) || job.Error != "" || job.ErrorCode != "" {
			t.Errorf("%+v", job)
		}
		if strings.HasPrefix(strings.ToLower(job.HTML), "<!doctype html>") != report || report == (job.HTML == "") {
			t.Errorf("report %v: html %.100q", report, job.HTML)
		}
		if !strings.Contains(string(job.Result), fmt.Sprintf(`"htmlReport":%v`, report)) {
			t.Errorf("report %v: %s", report, job.Result)
		}
		if got := store.states(id); got != "[pending running complete]" {
			t.Errorf("states on disk: %s", got)
		}
	}
}

// TestJobOfNoUTF8: text that is none costs its own bytes, not the result.
func TestJobOfNoUTF8(t *testing.T) {
	j := startJobs(t, Options{Store: newShelf(), Analyst: analyst(func(_ context.Context, req api.Request) (*api.Result, error) {
		return &api.Result{TxHash: req.TxHash, Summary: "Sent 1 \xff\xfeETH."}, nil
	})})
	req := ask
	req.Report = true
	job := await(t, j, submit(t, j, req), api.JobComplete)
	if !strings.Contains(string(job.Result), "Sent 1 \uFFFD\uFFFDETH.") || !utf8.ValidString(job.HTML) || !utf8.Valid(job.Result) {
		t.Errorf("%s", job.Result)
	}
}

type notPaid struct{ error }

func (notPaid) UpstreamPayment() bool { return true }

// TestJobFails: what the one who asked reads, and what he does not.
func TestJobFails(t *testing.T) {
	store := newShelf()
	f := func(err error, code, message string) {
		t.Helper()
		j := startJobs(t, Options{Store: store, Analyst: analyst(func(context.Context, api.Request) (*api.Result, error) {
			if err == nil {
				return nil, nil
			}
			return nil, err
		})})
		job := await(t, j, submit(t, j, ask), api.JobError)
		if job.ErrorCode != code || !strings.Contains(job.Error, message) || job.Result != nil || strings.Contains(job.Error, "SECRET") {
			t.Errorf("%+v, want %s: %s", job, code, message)
		}
	}
	f(fmt.Errorf("trace: %w", notPaid{errors.New("402 at https://SECRET")}), api.CodePayment, "could not pay one of its upstream")
	f(fmt.Errorf("SECRET: %w", &api.NotFoundError{TxHash: "0xab", Asked: 9}), api.CodeNotFound, "transaction 0xab not found on 9 chains")
	f(fmt.Errorf("SECRET: %w", &api.UnavailableError{TxHash: "0xab", Silent: []string{"base-mainnet"}}), api.CodeUnavailable, "transaction 0xab could not be looked up: 1 chain did not answer: base-mainnet")
	f(fmt.Errorf("SECRET: %w", api.ErrUnpaid), api.CodeUnpaid, "the analysis is not paid in full: the payment for more of it did not arrive in time")
	f(fmt.Errorf("SECRET: %w", api.ErrNotFound), api.CodeNotFound, "transaction not found")
	f(fmt.Errorf("SECRET: %w", &api.PendingError{TxHash: "0xab", Chain: "base-mainnet"}), api.CodePending, "pending on base-mainnet")
	f(fmt.Errorf("SECRET: %w", api.ErrPending), api.CodePending, "transaction is pending")
	f(fmt.Errorf("%w (120s)", api.ErrDeadline), api.CodeDeadline, "deadline passed")
	f(errors.New("SECRET"), api.CodeInternal, "internal error; the log has it under job ")
	f(nil, api.CodeInternal, "internal error")
}

func TestJobPanics(t *testing.T) {
	j := startJobs(t, Options{Store: newShelf(), Analyst: analyst(func(context.Context, api.Request) (*api.Result, error) { panic("a nil map, say") })})
	for range 3 {
		if job := await(t, j, submit(t, j, ask), api.JobError); job.ErrorCode != api.CodeInternal {
			t.Errorf("%+v", job)
		}
	}
}

func TestJobDeadline(t *testing.T) {
	j := startJobs(t, Options{Store: newShelf(), Analyst: analyst(untilCancelled), Deadline: 30 * time.Millisecond})
	if job := await(t, j, submit(t, j, ask), api.JobError); job.ErrorCode != api.CodeDeadline {
		t.Errorf("%+v", job)
	}
}

func TestSubmitRefuses(t *testing.T) {
	store := newShelf()
	j := startJobs(t, Options{Store: store, Analyst: analyst(fine), Running: 1, Queue: 1})
	var bad *api.BadRequest
	if _, err := j.Submit(api.Request{TxHash: "0x12"}); !errors.As(err, &bad) {
		t.Errorf("got %v, want a bad request", err)
	}
	if _, err := j.Submit(api.Request{TxHash: hash, ChainID: 987654321}); !errors.Is(err, api.ErrUnknownChain) {
		t.Errorf("got %v, want ErrUnknownChain", err)
	}
	full := errors.New("disk full")
	store.refuse = func(Row) error { return full }
	for range 5 { // more than there are places: each must be given back
		if _, err := j.Submit(ask); !errors.Is(err, full) {
			t.Errorf("got %v, want what the store says", err)
		}
	}
	store.refuse = func(Row) error { panic("a nil map, say") }
	for range 5 {
		func() {
			defer func() { recover() }()
			j.Submit(ask)
			t.Error("the store did not panic")
		}()
	}
	store.mu.Lock()
	store.refuse = nil
	store.mu.Unlock()
	await(t, j, submit(t, j, ask), api.JobComplete)
	if err := j.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := j.Submit(ask); !errors.Is(err, api.ErrStopping) {
		t.Errorf("got %v, want ErrStopping", err)
	}
}

// TestBounds: never more analyses than allowed, never more waiting.
func TestBounds(t *testing.T) {
	const running, queue, rounds = 3, 5, 6
	var mu sync.Mutex
	now, most := 0, 0
	step := make(chan struct{})
	j := startJobs(t, Options{Store: newShelf(), Running: running, Queue: queue, Analyst: analyst(func(ctx context.Context, req api.Request) (*api.Result, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-step
		mu.Lock()
		now--
		mu.Unlock()
		return fine(ctx, req)
	})})
	var ids []string
	for round := range rounds {
		for n := 0; ; n++ {
			id, err := j.Submit(ask)
			if errors.Is(err, api.ErrBusy) {
				if n != running+queue {
					t.Errorf("round %d: busy after %d, want %d", round, n, running+queue)
				}
				break
			}
			ids = append(ids, id)
		}
		all := func() bool { mu.Lock(); defer mu.Unlock(); return now == running }
		for end := time.Now().Add(30 * time.Second); !all() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if waits, runs := j.Load(); waits != queue || runs != running {
			t.Errorf("round %d: %d wait and %d run, want %d and %d", round, waits, runs, queue, running)
		}
		for range running + queue {
			step <- struct{}{}
		}
		for end := time.Now().Add(30 * time.Second); j.load.Load() > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	for _, id := range ids {
		await(t, j, id, api.JobComplete)
	}
	if most != running {
		t.Errorf("%d ran at a time, want %d", most, running)
	}
}

// TestInOrder: who submits first is served first.
func TestInOrder(t *testing.T) {
	var mu sync.Mutex
	var order, want []string
	hold := make(chan struct{})
	j := startJobs(t, Options{Store: newShelf(), Running: 1, Analyst: analyst(func(ctx context.Context, req api.Request) (*api.Result, error) {
		<-hold
		mu.Lock()
		defer mu.Unlock()
		order = append(order, req.Context)
		return fine(ctx, req)
	})})
	var last string
	for i := range 30 {
		req := ask
		req.Context = fmt.Sprint(i)
		last, want = submit(t, j, req), append(want, req.Context)
	}
	close(hold)
	await(t, j, last, api.JobComplete)
	if !slices.Equal(order, want) {
		t.Errorf("ran in the order %v", order)
	}
}

// TestTakenUp: what a crash leaves is started again, once if it ran. What only waited has no part in
// crashes, however many there are.
func TestTakenUp(t *testing.T) {
	store := newShelf()
	never := startJobs(t, Options{Store: store, Running: 1, Analyst: analyst(untilCancelled)})
	running, waiting := submit(t, never, ask), submit(t, never, ask)
	await(t, never, running, api.JobRunning)

	left := store.crash() // while the first process still runs: it will not know
	again := startJobs(t, Options{Store: left, Running: 1, Analyst: analyst(untilCancelled)})
	await(t, again, running, api.JobRunning)
	await(t, again, waiting, api.JobPending)
	fresh := submit(t, again, ask)

	whole := startJobs(t, Options{Store: store.crash(), Analyst: analyst(fine)})
	await(t, whole, running, api.JobComplete)
	await(t, whole, waiting, api.JobComplete)

	store = left.crash()
	twice := startJobs(t, Options{Store: store, Running: 1, Analyst: analyst(untilCancelled)})
	if job := await(t, twice, running, api.JobError); job.ErrorCode != api.CodeInterrupted || !strings.Contains(job.Error, "twice") {
		t.Errorf("%+v", job)
	}
	await(t, twice, waiting, api.JobRunning) // for the first time
	store = store.crash()
	thrice := startJobs(t, Options{Store: store, Running: 1, Analyst: analyst(untilCancelled)})
	await(t, thrice, waiting, api.JobRunning)
	store = store.crash()
	last := startJobs(t, Options{Store: store, Analyst: analyst(fine)})
	await(t, last, waiting, api.JobError)
	await(t, last, fresh, api.JobComplete) // it has waited through three crashes
}

// TestAttempts: a start counts against a job if the process before was at work on it, or its queue
// panicked, and a job is given up at the second.
func TestAttempts(t *testing.T) {
	f := func(panicked bool, status api.JobStatus, attempts int, want api.JobStatus, wantAttempts int) {
		t.Helper()
		store := newShelf()
		id := recordid.New()
		if err := store.PutJobs(Row{ID: id, Status: status, Attempts: attempts}); err != nil {
			t.Fatal(err)
		}
		again, ended, err := takeUp(store, panicked)
		row, _ := store.Job(id)
		if err != nil || row.Status != want || row.Attempts != wantAttempts || len(again)+len(ended) != 1 || (len(ended) == 1) != (want == api.JobError) {
			t.Errorf("%s, %d attempts: %+v, %d and %d, %v", status, attempts, row, len(again), len(ended), err)
		}
	}
	f(false, api.JobPending, 1, api.JobPending, 1)
	f(false, api.JobPending, 2, api.JobPending, 2) // it waited for its second start
	f(false, api.JobRunning, 1, api.JobPending, 2)
	f(false, api.JobRunning, 2, api.JobError, 2)
	f(true, api.JobPending, 1, api.JobPending, 2)
	f(true, api.JobPending, 2, api.JobError, 2)
	f(true, api.JobRunning, 1, api.JobPending, 2)
}

// TestTakesUpMoreThanMayWait: who was promised a result gets it, whatever the
// bounds are now.
func TestTakesUpMoreThanMayWait(t *testing.T) {
	store := newShelf()
	var ids []string
	for range 20 {
		ids = append(ids, recordid.New())
		store.PutJobs(Row{ID: ids[len(ids)-1], Status: api.JobPending, Attempts: 1, Request: ask})
	}
	j := startJobs(t, Options{Store: store, Running: 2, Queue: 2, Analyst: analyst(fine)})
	for _, id := range ids {
		await(t, j, id, api.JobComplete)
	}
	await(t, j, submit(t, j, ask), api.JobComplete)

	left := newShelf()
	for range 20 {
		left.PutJobs(Row{ID: recordid.New(), Status: api.JobRunning, Attempts: 1, Request: ask})
	}
	full := startJobs(t, Options{Store: left, Running: 2, Queue: 2, Analyst: analyst(untilCancelled)})
	if _, err := full.Submit(ask); !errors.Is(err, api.ErrBusy) {
		t.Errorf("with twenty in hand: %v", err)
	}
}

// TestOutlivedInTheQueue: a job that nobody can ask for any more is not run, and its
// place is free again.
func TestOutlivedInTheQueue(t *testing.T) {
	store := newShelf()
	var old uuid.UUID
	ms := time.Now().Add(-api.JobRetention).UnixMilli()
	for i := range 6 {
		old[i] = byte(ms >> (40 - 8*i))
	}
	old[6], old[8] = 0x70, 0x80
	store.PutJobs(Row{ID: old.String(), Status: api.JobPending, Attempts: 1, Request: api.Request{TxHash: hash, Context: "old"}})
	j := startJobs(t, Options{Store: store, Running: 1, Queue: 1, Analyst: analyst(func(ctx context.Context, req api.Request) (*api.Result, error) {
		if req.Context == "old" {
			t.Error("it is run")
		}
		return fine(ctx, req)
	})})
	for range 3 {
		await(t, j, submit(t, j, ask), api.JobComplete)
	}
	for end := time.Now().Add(30 * time.Second); j.load.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d places are taken", j.load.Load())
		}
	}
}

// TestCloseGivesBack: stopping in order is no crash, however often.
func TestCloseGivesBack(t *testing.T) {
	store := newShelf()
	var ids []string
	for range 5 {
		sys := runtime.NewSystem(slog.New(slog.DiscardHandler))
		j, err := New(sys, Options{Store: store, Running: 1, Analyst: analyst(untilCancelled)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, submit(t, j, ask))
		await(t, j, ids[0], api.JobRunning)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		if err := errors.Join(j.Close(ctx), j.Close(ctx)); err != nil {
			t.Error(err)
		}
		cancel()
		sys.Wait()
		for _, id := range ids {
			if row, _ := store.Job(id); row.Status != api.JobPending || row.Attempts != 1 {
				t.Errorf("%+v", row)
			}
		}
	}
	j := startJobs(t, Options{Store: store, Analyst: analyst(fine)})
	for _, id := range ids {
		await(t, j, id, api.JobComplete)
	}
}

// TestCloseWaits: a job that ends within the grace period ends as if nothing were.
func TestJobsCloseWaits(t *testing.T) {
	store := newShelf()
	sys := runtime.NewSystem(slog.New(slog.DiscardHandler))
	defer sys.Wait()
	started, release := make(chan struct{}), make(chan struct{})
	j, err := New(sys, Options{Store: store, Analyst: analyst(func(ctx context.Context, req api.Request) (*api.Result, error) {
		close(started)
		<-release
		return fine(ctx, req)
	})})
	if err != nil {
		t.Fatal(err)
	}
	id := submit(t, j, ask)
	<-started
	closed := make(chan error, 1)
	go func() { closed <- j.Close(context.Background()) }()
	select {
	case <-closed:
		t.Error("it did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if row, _ := store.Job(id); row.Status != api.JobComplete {
		t.Errorf("%+v", row)
	}
}

// TestStoreRefuses: a state that cannot be written now is written later; a result
// that never can be ends the job.
func TestStoreRefuses(t *testing.T) {
	patience = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	store := newShelf()
	times := 0
	never := false
	store.refuse = func(row Row) error {
		if row.Status != api.JobComplete || times == 0 && !never {
			return nil
		}
		times--
		return errors.New("disk full")
	}
	j := startJobs(t, Options{Store: store, Analyst: analyst(fine)})
	store.mu.Lock()
	times = 3
	store.mu.Unlock()
	await(t, j, submit(t, j, ask), api.JobComplete)
	store.mu.Lock()
	never = true
	store.mu.Unlock()
	if job := await(t, j, submit(t, j, ask), api.JobError); job.ErrorCode != api.CodeInternal || strings.Contains(job.Error, "disk") {
		t.Errorf("%+v", job)
	}
}

// TestStoreAway: the state of a job is stored when the store is back, however long that takes; a
// job that the store has ended has a code of its own.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, times := newShelf(), 100
		store.refuse = func(Row) error {
			if times--; times >= 0 {
				return fmt.Errorf("store: %w", api.ErrStoreAway)
			}
			return nil
		}
		j := &Jobs{o: Options{Store: store, Log: slog.New(slog.DiscardHandler)}}
		row := Row{ID: "a", Status: api.JobComplete}
		j.keep(t.Context(), row)
		if got, err := store.Job("a"); err != nil || got.Status != api.JobComplete {
			t.Errorf("%+v, %v", got, err)
		}
		j.fail(&row, fmt.Errorf("read: %w", api.ErrStoreAway))
		if row.Status != api.JobError || row.ErrorCode != api.CodeInternal {
			t.Errorf("%+v", row)
		}
	})
}

func TestRuns(t *testing.T) {
	store := newShelf()
	r := NewRuns(store, KeepAll)
	f := func(id string, want error, frames ...string) {
		t.Helper()
		got, err := r.Recover(id)
		if !errors.Is(err, want) || err == nil && (got.RequestID != id || got.FinishedAt == 0 || fmt.Sprint(got.Frames) != fmt.Sprint(frames)) {
			t.Errorf("%+v, %v; want %s, %v", got, err, frames, want)
		}
	}
	whole, failed, large, nowhere := recordid.New(), recordid.New(), recordid.New(), recordid.New()
	frames := []string{`{"type":"complete"}`, `{"type":"result","summary":"a \u2028 b"}`}
	finished, err := FinishedRun(whole, RunUnmeteredStream, jsontext.Value(frames[0]), jsontext.Value(frames[1]))
	if err := errors.Join(err, r.Put(finished), r.Put(FailedRun(failed, RunUnmeteredBlocking, api.Fault{Code: api.CodeInternal, Message: "internal error"})),
		r.Put(FailedRun(nowhere, RunPaid, api.Fault{Code: api.CodeNotFound, Message: "not there"})),
		store.PutRun(RunRow{ID: large, State: RunTooLarge})); err != nil {
		t.Fatal(err)
	}
	f(whole, nil, frames[0], "{\"type\":\"result\",\"summary\":\"a \u2028 b\"}") // the same value, written shorter
	f(failed, api.ErrRunErrored)
	f(nowhere, api.ErrRunErrored)
	_, err = r.Recover(nowhere)
	if got := api.FaultOf(err); got != (api.Fault{Code: api.CodeNotFound, Message: "not there"}) {
		t.Errorf("%+v", got)
	}
	_, err = r.Recover(failed)
	if got := api.FaultOf(err); got.Code != api.CodeRunErrored {
		t.Errorf("%+v", got)
	}
	f(large, api.ErrRunTooLarge)
	f(recordid.New(), api.ErrNoRun)
	if _, err := FinishedRun(recordid.New(), RunPaid, jsontext.Value("{")); err == nil {
		t.Error("a frame that is no JSON is taken")
	}
}
