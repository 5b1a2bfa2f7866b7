package actors

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"txlens/engine/explain"
)

// desk owns the queue and the job actors. All fields are touched in Receive only;
// closed tells others that it has ended.
type desk struct {
	j        *Jobs
	s        *shift
	queue    []JobRow
	running  map[string]*seat // by job id
	draining *drain
	closed   chan struct{}
}

// seat is a job that runs. pid is nil when its actor is gone and its last state is
// being written.
type seat struct {
	pid *actor.PID
	row JobRow
}

// Messages to the desk.
type (
	// accepted: the row is on disk and waits to be run.
	accepted struct {
		mayBeLate
		row JobRow
	}
	// ended: the last state of a job is on disk, as far as that could be done.
	ended struct {
		mayBeLate
		id string
	}
	// drain: start nothing more, answer with what waits once nothing runs.
	drain struct {
		mayBeLate
		reply chan []JobRow // capacity 1
	}
)

// Receive is owned by the runtime.
func (d *desk) Receive(ac actor.Context) {
	if d.j.o.onDesk != nil {
		d.j.o.onDesk(ac.Message())
	}
	switch m := ac.Message().(type) {
	case accepted:
		d.queue = append(d.queue, m.row)
		d.next(ac)
	case ended:
		d.leave(ac, m.id)
	case drain:
		d.draining = &m
		d.next(ac)
	case *actor.Terminated:
		d.childGone(ac, m.Who)
	case *actor.Stopping:
		d.running = nil // that their actors end from here on is no fault of the jobs
	case *actor.Stopped:
		close(d.closed)
	}
}

// next starts what may start, or says that all is quiet.
func (d *desk) next(ac actor.Context) {
	if d.draining != nil {
		if len(d.running) == 0 {
			d.draining.reply <- d.queue
		}
		return
	}
	for len(d.queue) > 0 && len(d.running) < d.j.o.Running {
		row := d.queue[0]
		d.queue[0] = JobRow{} // the array behind must not keep it
		d.queue = d.queue[1:]
		if outlived(row.ID) {
			d.j.load.Add(-1)
			continue
		}
		d.running[row.ID] = &seat{pid: ac.Spawn(d.s.newJob(row)), row: row}
		d.j.running.Add(1)
	}
}

// leave frees the seat of a job, once.
func (d *desk) leave(ac actor.Context, id string) {
	s := d.running[id]
	if s == nil {
		return
	}
	if s.pid != nil {
		ac.Stop(s.pid)
	}
	delete(d.running, id)
	d.j.running.Add(-1)
	d.j.load.Add(-1)
	d.next(ac)
}

// outlived reports whether nobody can ask for the job any more.
func outlived(id string) bool {
	u, err := uuid.Parse(id)
	if err != nil {
		return true
	}
	sec, nsec := u.Time().UnixTime()
	return time.Since(time.Unix(sec, nsec)) >= explain.JobRetention
}

// childGone is a job actor that fell over: its job must not stay running.
func (d *desk) childGone(ac actor.Context, who *actor.PID) {
	for id, s := range d.running {
		if s.pid == nil || !s.pid.Equal(who) {
			continue
		}
		s.pid = nil
		row := s.row
		d.j.fail(&row, errors.New("internal fault: the job's actor ended without an answer"))
		d.s.write(ac.Self(), row, ended{id: id})
		return
	}
}
