package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"txlens/actors/recordid"
	"txlens/actors/runtime"
	"txlens/engine/api"
	"txlens/engine/chain"
)

// Analyst does the analysis of a job.
type Analyst interface {
	// Explain returns a result, complete or partial, or the error that left none.
	// It stops soon after ctx ends.
	Explain(ctx context.Context, w Work) (*api.Result, error)
}

// Work is one job as its Analyst gets it.
type Work struct {
	ID      string
	Request api.Request
	Slot    Slot
}

// Slot is the place of a job among those that run. It is safe for concurrent use.
type Slot struct {
	id    string
	queue runtime.Ref // zero: the slot of a job that no queue runs
	e     *runtime.System
}

// Park lets another job run in the place of this one, until Resume: it waits for its
// payer. It never fails.
func (s Slot) Park() error {
	if !s.queue.IsZero() {
		s.e.Send(s.queue, parkJob{id: s.id})
	}
	return nil
}

// Resume waits until the job may run again. The error is the context's; the job stays
// parked then.
func (s Slot) Resume(ctx context.Context) error {
	if s.queue.IsZero() {
		return nil
	}
	granted := make(chan struct{})
	s.e.Send(s.queue, resumeJob{id: s.id, granted: granted})
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Options bound the jobs. Zero values mean the defaults named at each field.
type Options struct {
	Store   Store
	Analyst Analyst
	Running int // analyses at a time, default 16
	Queue   int // jobs that wait beyond them, default 256
	// OnEnd, when set, hears of each job that is neither waiting nor running any more.
	OnEnd func(id string)
	Log   *slog.Logger
	// Deadline is when an analysis is cancelled, default 10 min. Where the Analyst has a
	// deadline of its own, it needs Grace beyond that to hand over a partial result.
	Deadline time.Duration

	onQueue func(msg any) // hears the messages of the queue; tests break it
}

// Bounds of a job that are no settings.
const (
	// maxAttempts: a job is started again once; if the server crashes under it a
	// second time, the job may be why.
	maxAttempts = 2
	// defaultDeadline is that of Options.Deadline.
	defaultDeadline = 10 * time.Minute
)

// Grace is what an Analyst gets beyond its own deadline to hand over a partial result.
const Grace = 5 * time.Second

// Jobs runs analyses beside the requests that asked for them. What it tells about
// a job is on disk first. It is safe for concurrent use.
type Jobs struct {
	e *runtime.System
	o Options

	load    atomic.Int64 // jobs in hand: admission is bounded here, mailboxes are not
	running atomic.Int64 // of them, those that a queue has started

	// gate is held for reading while a job is on its way from the caller to disk and
	// queue, and for writing while the queue is replaced or given up.
	gate       sync.RWMutex
	generation *generation
	closing    chan struct{} // closed when no more jobs are taken
	supervised chan struct{} // closed when no queue is replaced any more
}

// errGivenBack is why Close cancels an analysis: the job stays for the next start.
var errGivenBack = errors.New("the service is stopping; the job is kept for its next start")

// New takes up what an earlier process left: jobs that it gave back or crashed
// under once are started again, those it crashed under twice end in an error.
// The Jobs must be closed before what their Analyst needs.
func New(sys *runtime.System, o Options) (*Jobs, error) {
	if o.Running <= 0 {
		o.Running = 16
	}
	if o.Queue <= 0 {
		o.Queue = 256
	}
	if o.Deadline <= 0 {
		o.Deadline = defaultDeadline
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	j := &Jobs{e: sys, o: o, closing: make(chan struct{}), supervised: make(chan struct{})}
	if err := j.openGeneration(); err != nil {
		return nil, err
	}
	go j.supervise()
	return j, nil
}

// takeUp counts the attempts of unfinished jobs, on disk, and returns those to run.
func takeUp(store Store) (again []Row, err error) {
	rows, err := store.UnfinishedJobs()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	for i := range rows {
		row := &rows[i]
		if row.Attempts >= maxAttempts {
			row.Status, row.ErrorCode = api.JobError, api.CodeInterrupted
			row.Error = "the server was interrupted twice while it had the job; submit it again"
			continue
		}
		row.Status = api.JobPending
		row.Attempts++
		again = append(again, *row)
	}
	return again, store.PutJobs(rows...)
}

// Submit stores a job and returns its id. The errors are *api.BadRequest,
// api.ErrUnknownChain, api.ErrBusy, api.ErrStopping, or the store's.
func (j *Jobs) Submit(req api.Request) (id string, err error) {
	id = recordid.New()
	if err := j.SubmitAs(id, req); err != nil {
		return "", err
	}
	return id, nil
}

// SubmitAs is Submit under an id that the caller has made with recordid.New: what is paid
// for has its id before it is a job.
func (j *Jobs) SubmitAs(id string, req api.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if _, ok := chain.ByID(req.ChainID); req.ChainID != 0 && !ok {
		return fmt.Errorf("%w: chainId %d", api.ErrUnknownChain, req.ChainID)
	}
	j.gate.RLock()
	defer j.gate.RUnlock()
	if j.closed() {
		return api.ErrStopping
	}
	if j.load.Add(1) > int64(j.o.Running+j.o.Queue) {
		j.load.Add(-1)
		return api.ErrBusy
	}
	row := Row{ID: id, Status: api.JobPending, Attempts: 1, Request: req}
	if err := j.o.Store.PutJobs(row); err != nil {
		j.load.Add(-1)
		return err
	}
	// A queue that has panicked does not get it; the next one finds it on disk.
	j.e.Send(j.generation.pid, accepted{row: row})
	return nil
}

func (j *Jobs) closed() bool {
	select {
	case <-j.closing:
		return true
	default:
		return false
	}
}

func (j *Jobs) ended(id string) {
	if j.o.OnEnd != nil {
		j.o.OnEnd(id)
	}
}

// Alive reports whether jobs are taken and run.
func (j *Jobs) Alive() bool {
	j.gate.RLock()
	defer j.gate.RUnlock()
	return !j.closed() && !j.generation.over()
}

// Load returns how many jobs wait and how many run.
func (j *Jobs) Load() (queued, running int) {
	r := j.running.Load()
	return int(max(0, j.load.Load()-r)), int(r)
}

// Job returns where a job stands, or api.ErrNoJob.
func (j *Jobs) Job(id string) (*api.Job, error) {
	row, err := j.o.Store.Job(id)
	if err != nil {
		return nil, err
	}
	return &api.Job{
		JobID:     row.ID,
		Status:    row.Status,
		Result:    row.Result,
		Error:     row.Error,
		ErrorCode: row.ErrorCode,
		HTML:      string(row.HTML),
		View:      row.Request.View,
	}, nil
}

// Close takes no more jobs and starts none. It waits for the running ones until
// ctx ends, then cancels them. What has not ended is given back: the next start
// takes it up, and it counts as no crash.
func (j *Jobs) Close(ctx context.Context) error {
	j.gate.Lock()
	if j.closed() {
		j.gate.Unlock()
		return nil
	}
	close(j.closing)
	s := j.generation
	j.gate.Unlock()
	<-j.supervised

	d := drain{reply: make(chan []Row, 1)}
	j.e.Send(s.pid, d)
	stop := context.AfterFunc(ctx, func() { s.cancel(errGivenBack) })
	defer stop()
	defer s.cancel(errGivenBack)
	select {
	case waiting := <-d.reply:
		j.e.Stop(s.pid)
		<-s.queue.closed
		return j.giveBack(waiting)
	case <-s.queue.closed:
		s.end() // what the next start takes up is what the disk has now
		return errors.New("internal fault: the owner of the jobs ended; the next start takes them up")
	}
}

func (j *Jobs) giveBack(rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	for i := range rows {
		rows[i].Attempts-- // who waits is pending already
	}
	if err := j.o.Store.PutJobs(rows...); err != nil {
		return fmt.Errorf("give jobs back: %w", err)
	}
	return nil
}
