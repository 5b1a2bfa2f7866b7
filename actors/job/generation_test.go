package job

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"txlens/actors/recordid"
	"txlens/actors/runtime"
	"txlens/engine/api"
)

// poison makes the queue panic.
type poison struct{ runtime.MayBeLate }

func panicsOnPoison(msg any) {
	if _, ok := msg.(poison); ok {
		panic("a message that the queue cannot take")
	}
}

// current is the generation that the next panic will end.
func current(j *Jobs) *generation {
	j.gate.RLock()
	defer j.gate.RUnlock()
	return j.generation
}

func awaitAlive(t *testing.T, j *Jobs) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !j.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the queue is not replaced")
		}
	}
}

// TestQueueReplaced: when the queue panics, what ran and what waited is run by
// the next one, and jobs are taken as before.
func TestQueueReplaced(t *testing.T) {
	store := newShelf()
	var calls atomic.Int64
	cancelled := make(chan error, 1)
	j := startJobs(t, Options{Store: store, Running: 1, Queue: 2, onQueue: panicsOnPoison,
		Analyst: analyst(func(ctx context.Context, req api.Request) (*api.Result, error) {
			if calls.Add(1) > 1 {
				return fine(ctx, req)
			}
			<-ctx.Done()
			cancelled <- context.Cause(ctx)
			return nil, ctx.Err()
		})})
	running, waiting := submit(t, j, ask), submit(t, j, ask)
	await(t, j, running, api.JobRunning)
	s := current(j)
	j.e.Send(s.pid, poison{})
	<-s.queue.closed
	late := submit(t, j, ask) // taken whether or not there is a queue at this moment
	for _, id := range []string{running, waiting, late} {
		await(t, j, id, api.JobComplete)
	}
	if row, _ := store.Job(running); row.Attempts != 2 {
		t.Errorf("attempts %d, want 2", row.Attempts)
	}
	<-cancelled
	awaitAlive(t, j)
	for range 3 { // the places of all jobs are free again
		await(t, j, submit(t, j, ask), api.JobComplete)
	}
	for end := time.Now().Add(30 * time.Second); j.load.Load() != 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if queued, running := j.Load(); queued != 0 || running != 0 {
		t.Errorf("load %d, %d, want none", queued, running)
	}
}

// TestQueueBroughtDownTwice: a job that brings the queue down again is given up, and
// the others are not.
func TestQueueBroughtDownTwice(t *testing.T) {
	store := newShelf()
	bad := api.Request{TxHash: hash, Context: "poison"}
	j := startJobs(t, Options{Store: store, Analyst: analyst(fine), onQueue: func(msg any) {
		if m, ok := msg.(accepted); ok && m.row.Request.Context == "poison" {
			panic("a row that the queue cannot take")
		}
	}})
	id := submit(t, j, bad)
	if job := await(t, j, id, api.JobError); job.ErrorCode != api.CodeInterrupted {
		t.Errorf("%+v", job)
	}
	await(t, j, submit(t, j, ask), api.JobComplete)
}

// TestQueueReplacedLater: while the store does not answer there is no queue, and a
// Submit says what the store says.
func TestQueueReplacedLater(t *testing.T) {
	store := newShelf()
	j := startJobs(t, Options{Store: store, Analyst: analyst(fine), onQueue: panicsOnPoison})
	full := errors.New("disk full")
	var refuse atomic.Bool
	refuse.Store(true)
	store.mu.Lock()
	left := Row{ID: recordid.New(), Status: api.JobPending, Request: ask}
	store.jobs[left.ID] = left
	store.refuse = func(Row) error {
		if refuse.Load() {
			return full
		}
		return nil
	}
	store.mu.Unlock()
	s := current(j)
	j.e.Send(s.pid, poison{})
	<-s.queue.closed
	if _, err := j.Submit(ask); !errors.Is(err, full) {
		t.Errorf("got %v, want what the store says", err)
	}
	if j.Alive() {
		t.Error("alive without a queue")
	}
	refuse.Store(false)
	await(t, j, left.ID, api.JobComplete)
	awaitAlive(t, j)
}

// TestCloseWithoutQueue: a crash that Close meets is told, and nothing is replaced.
func TestCloseWithoutQueue(t *testing.T) {
	sys := runtime.NewSystem(slog.New(slog.DiscardHandler))
	defer sys.Wait()
	store := newShelf()
	j, err := New(sys, Options{Store: store, Analyst: analyst(untilCancelled), onQueue: panicsOnPoison})
	if err != nil {
		t.Fatal(err)
	}
	id := submit(t, j, ask)
	await(t, j, id, api.JobRunning)
	s := current(j)
	j.e.Send(s.pid, poison{})
	<-s.queue.closed
	if err := j.Close(t.Context()); err == nil {
		t.Error("a crash is not told")
	}
	if row, _ := store.Job(id); !row.Status.Unfinished() {
		t.Errorf("%+v: the next start must take it up", row)
	}
	if _, err := j.Submit(ask); !errors.Is(err, api.ErrStopping) {
		t.Errorf("got %v, want ErrStopping", err)
	}
}
