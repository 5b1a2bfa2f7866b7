package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// shift is one desk from its start to its end, and what its jobs hang on. When the
// desk falls over, tend opens the next shift with what the disk knows: a desk that
// was merely restarted would run on with half a state.
type shift struct {
	j      *Jobs
	desk   *desk
	pid    *actor.PID
	ctx    context.Context // of all analyses
	cancel context.CancelCauseFunc
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
	s.desk = &desk{j: j, s: s, running: make(map[string]*seat), closed: make(chan struct{})}
	j.shift = s
	j.running.Store(0)
	j.load.Store(int64(len(again)))
	s.pid = j.e.spawnRoot(s.desk)
	for _, row := range again {
		j.e.sys.Root.Send(s.pid, accepted{row: row})
	}
	return nil
}

// over reports whether the desk has ended.
func (s *shift) over() bool {
	select {
	case <-s.desk.closed:
		return true
	default:
		return false
	}
}

// write brings a state to disk beside the actor to, which then gets told.
func (s *shift) write(to *actor.PID, row JobRow, told any) {
	s.writes.Add(1)
	s.j.e.run(to, func() any {
		defer s.writes.Done()
		s.j.keep(s.ctx, row)
		return told
	}, func(error) any { return told })
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
		case <-s.desk.closed:
		}
		s.cancel(errDeskGone)
		s.writes.Wait() // the desk and its jobs are gone: no more are begun
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
