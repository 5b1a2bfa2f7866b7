package actors

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"txlens/engine/api"
)

// desk owns the queue and the job actors. All fields are touched in Receive only;
// closed tells others that it has ended.
type desk struct {
	j        *Jobs
	s        *shift
	queue    []JobRow
	running  map[string]*seat // by job id
	parked   int              // of them, those that wait for their payers
	resuming []resumeJob      // parked jobs that may go on; they go before the queue
	draining *drain
	closed   chan struct{}
}

// seat is a job that runs. pid is nil when its actor is gone and its last state is
// being written.
type seat struct {
	pid    *actor.PID
	row    JobRow
	parked bool
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
	// parkJob: a job waits for its payer; another may run meanwhile.
	parkJob struct {
		mayBeLate
		id string
	}
	// resumeJob: it wants to go on.
	resumeJob struct {
		mayBeLate
		id      string
		granted chan struct{} // to be closed
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
	case parkJob:
		d.park(ac, m.id)
	case resumeJob:
		d.resuming = append(d.resuming, m)
		d.next(ac)
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
	d.resume()
	if d.draining != nil {
		if len(d.running) == 0 {
			d.draining.reply <- d.queue
		}
		return
	}
	for len(d.queue) > 0 && len(d.running)-d.parked < d.j.o.Running && d.parked < maxParked*d.j.o.Running {
		row := d.queue[0]
		d.queue[0] = JobRow{} // the array behind must not keep it
		d.queue = d.queue[1:]
		if outlived(row.ID) {
			d.j.load.Add(-1)
			d.j.ended(row.ID)
			continue
		}
		d.running[row.ID] = &seat{pid: ac.Spawn(d.s.newJob(row)), row: row}
		d.j.running.Add(1)
	}
}

// maxParked bounds the jobs that wait for their payers, in multiples of those that may
// run. Beyond it no further job is started.
const maxParked = 4

// park lets another job run in the place of one that waits for its payer.
func (d *desk) park(ac actor.Context, id string) {
	if s := d.running[id]; s != nil && !s.parked {
		s.parked = true
		d.parked++
		d.next(ac)
	}
}

// resume lets parked jobs go on as far as there is room.
func (d *desk) resume() {
	for len(d.resuming) > 0 {
		m := d.resuming[0]
		s := d.running[m.id]
		if s != nil && s.parked {
			if len(d.running)-d.parked >= d.j.o.Running {
				return
			}
			s.parked = false
			d.parked--
		}
		close(m.granted) // also where its job has ended: nobody is to wait for nothing
		d.resuming = d.resuming[1:]
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
	if s.parked {
		d.parked--
	}
	delete(d.running, id)
	d.j.running.Add(-1)
	d.j.load.Add(-1)
	d.j.ended(id)
	d.next(ac)
}

// outlived reports whether nobody can ask for the job any more.
func outlived(id string) bool {
	began, ok := timeOf(id)
	return !ok || time.Since(began) >= api.JobRetention
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
