package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/runtime"
	"txlens/actors/slots"
)

// generation is one job queue from its start to its end, and the state that its jobs need.
// When the queue panics, supervise starts the next generation from the stored rows. The actor
// is not restarted, because its state may be half written.
type generation struct {
	j      *Jobs
	queue  *jobQueue
	pid    runtime.Ref
	ctx    context.Context // context of all analyses
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	ended  bool           // no more writes may begin
	writes sync.WaitGroup // writes of job states in progress
}

// errQueueGone is the cause of cancellation of the analyses whose queue panicked.
var errQueueGone = errors.New("internal fault: the owner of the jobs ended")

// openGeneration loads the unfinished jobs of the store, see takeUp. j.gate must be held for writing,
// unless j is not shared yet.
func (j *Jobs) openGeneration(panicked bool) error {
	again, ended, err := takeUp(j.o.Store, panicked)
	if err != nil {
		return err
	}
	for _, row := range ended {
		j.stored(row)
	}
	s := &generation{j: j}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.queue = &jobQueue{
		j: j, s: s, parties: parties{all: make(map[common.Address]*party)}, running: make(map[string]*runningJob),
		places: slots.NewPlaces(j.o.Running, j.o.Strangers), closed: make(chan struct{}),
	}
	j.generation = s
	j.running.Store(0)
	j.load.Store(int64(len(again)))
	s.pid = j.e.Spawn(s.queue)
	for _, row := range again {
		j.e.Send(s.pid, accepted{row: row, who: j.party(row.ID)})
	}
	return nil
}

// over reports whether the queue has ended.
func (s *generation) over() bool {
	select {
	case <-s.queue.closed:
		return true
	default:
		return false
	}
}

// write stores the state of a job, unless the generation is over: the next one may have read
// the row already. mine is false if the job belongs to another server.
func (s *generation) write(row Row) (mine bool) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return true
	}
	s.writes.Add(1)
	s.mu.Unlock()
	defer s.writes.Done()
	mine = true
	s.j.e.Guard(func() any { mine = s.j.keep(s.ctx, row); return nil }, func(error) any { return nil })
	return mine
}

// end allows no more writes and waits for those in progress.
func (s *generation) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.writes.Wait()
}

// Pauses before a queue is replaced. They grow if queues panic in quick succession, so that a
// permanent fault does not use up a processor.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 10 * time.Second
	quietAfter = time.Minute
)

// supervise replaces the queue after each panic, until Close. A panic of the queue counts like
// a crash of the process: a job that causes it twice is not started again.
func (j *Jobs) supervise() {
	defer close(j.supervised)
	pause := firstPause
	var look <-chan time.Time
	if j.o.TakeEvery > 0 {
		tick := time.NewTicker(j.o.TakeEvery)
		defer tick.Stop()
		look = tick.C
	}
	for opened := time.Now(); ; {
		s := j.generation // only this goroutine replaces it
		select {
		case <-j.closing:
			return
		case <-look:
			j.takeJobs()
			continue
		case <-s.queue.closed:
		}
		s.cancel(errQueueGone)
		s.end()
		if time.Since(opened) > quietAfter {
			pause = firstPause
		}
		select {
		case <-j.closing:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
		if err := j.replaceGeneration(); err != nil {
			j.o.Log.Error("replace the owner of the jobs", "error", err)
			continue
		}
		opened = time.Now()
	}
}

func (j *Jobs) replaceGeneration() error {
	j.gate.Lock()
	defer j.gate.Unlock()
	if j.closed() {
		return nil
	}
	if err := j.openGeneration(true); err != nil {
		return fmt.Errorf("take up jobs: %w", err)
	}
	queued, _ := j.Load()
	j.o.Log.Warn("owner of the jobs replaced", "jobs", queued)
	return nil
}
