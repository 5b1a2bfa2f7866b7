package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"txlens/actors/runtime"
)

// shift is one desk from its start to its end, and what its jobs hang on. When the
// desk falls over, tend opens the next shift with what the disk knows: a desk that
// was merely restarted would run on with half a state.
type shift struct {
	j      *Jobs
	queue  *jobQueue
	pid    runtime.Ref
	ctx    context.Context // of all analyses
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	ended  bool           // no write is begun any more
	writes sync.WaitGroup // states of jobs on their way to disk
}

// errDeskGone is why the analyses of a shift are cancelled whose desk fell over.
var errDeskGone = errors.New("internal fault: the owner of the jobs ended")

// openShift takes up what the store has unfinished. j.gate is held for writing, or
// nobody else knows j yet.
func (j *Jobs) openShift() error {
	again, err := takeUp(j.o.Store)
	if err != nil {
		return err
	}
	s := &shift{j: j}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.queue = &jobQueue{j: j, s: s, running: make(map[string]*runningJob), closed: make(chan struct{})}
	j.shift = s
	j.running.Store(0)
	j.load.Store(int64(len(again)))
	s.pid = j.e.Spawn(s.queue)
	for _, row := range again {
		j.e.Send(s.pid, accepted{row: row})
	}
	return nil
}

// over reports whether the desk has ended.
func (s *shift) over() bool {
	select {
	case <-s.queue.closed:
		return true
	default:
		return false
	}
}

// write brings the state of a job to disk, unless the shift is over: the next shift
// may have read the row already.
func (s *shift) write(row Row) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.writes.Add(1)
	s.mu.Unlock()
	defer s.writes.Done()
	s.j.e.Guard(func() any { s.j.keep(s.ctx, row); return nil }, func(error) any { return nil })
}

// end begins no more writes and waits for those under way.
func (s *shift) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.writes.Wait()
}

// Pauses before a desk is replaced: they grow while one after the other falls over
// soon, so that a fault which stays does not keep a processor busy.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 10 * time.Second
	quietAfter = time.Minute
)

// tend replaces the desk whenever it falls over, until Close. A crash of the desk
// counts as one of the process: a job that brings it down twice is started no more.
func (j *Jobs) tend() {
	defer close(j.tended)
	pause := firstPause
	for opened := time.Now(); ; {
		s := j.shift // nobody else replaces it
		select {
		case <-j.closing:
			return
		case <-s.queue.closed:
		}
		s.cancel(errDeskGone)
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
		if err := j.replaceShift(); err != nil {
			j.o.Log.Error("replace the owner of the jobs", "error", err)
			continue
		}
		opened = time.Now()
	}
}

func (j *Jobs) replaceShift() error {
	j.gate.Lock()
	defer j.gate.Unlock()
	if j.closed() {
		return nil
	}
	if err := j.openShift(); err != nil {
		return fmt.Errorf("take up jobs: %w", err)
	}
	queued, _ := j.Load()
	j.o.Log.Warn("owner of the jobs replaced", "jobs", queued)
	return nil
}
