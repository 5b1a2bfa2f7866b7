package job

import (
	"slices"
	"time"

	"txlens/actors/recordid"
	"txlens/actors/runtime"
	"txlens/engine/api"
)

// jobQueue owns the queue and the running jobs. Its fields are accessed in Receive only. It
// closes closed when it ends.
type jobQueue struct {
	j        *Jobs
	s        *generation
	queue    []Row
	running  map[string]*runningJob // by job id
	parked   int                    // those that wait for their payers
	resuming []resumeJob            // parked jobs that may continue, before the jobs of the queue
	draining *drain
	closed   chan struct{}
}

// runningJob is a job that was started and has not ended.
type runningJob struct {
	parked bool // the job waits for its payer
}

// Messages to the job queue.
type (
	// accepted means that a new job is stored and waits.
	accepted struct {
		runtime.MayBeLate
		row Row
	}
	// ended means that the last state of a job is stored, if that was possible.
	ended struct {
		runtime.MayBeLate
		id string
	}
	// parkJob means that a job waits for its payer and another one may run.
	parkJob struct {
		runtime.MayBeLate
		id string
	}
	// resumeJob means that a parked job wants to continue.
	resumeJob struct {
		runtime.MayBeLate
		id      string
		granted chan struct{} // closed when the job may continue
	}
	// drain tells the queue to start no more jobs, and to answer with the waiting ones when
	// none runs.
	drain struct {
		runtime.MayBeLate
		reply chan []Row // capacity 1
	}
)

// Receive is called by the runtime.
func (q *jobQueue) Receive(ac runtime.Context) {
	if q.j.o.onQueue != nil {
		q.j.o.onQueue(ac.Message())
	}
	switch m := ac.Message().(type) {
	case accepted:
		if q.has(m.row.ID) { // it would run twice, and keep a place for ever
			q.j.load.Add(-1)
			return
		}
		q.queue = append(q.queue, m.row)
		q.next(ac.Self())
	case ended:
		q.leave(ac.Self(), m.id)
	case parkJob:
		q.park(ac.Self(), m.id)
	case resumeJob:
		q.resuming = append(q.resuming, m)
		q.next(ac.Self())
	case drain:
		q.draining = &m
		q.next(ac.Self())
	case runtime.Stopped:
		close(q.closed)
	}
}

// has reports whether a job waits or runs.
func (q *jobQueue) has(id string) bool {
	return q.running[id] != nil || slices.ContainsFunc(q.queue, func(row Row) bool { return row.ID == id })
}

// next starts the jobs that may start. While the queue drains it starts none, and answers when
// none runs.
func (q *jobQueue) next(self runtime.Ref) {
	q.resume()
	if q.draining != nil {
		if len(q.running) == 0 {
			q.draining.reply <- q.queue
		}
		return
	}
	for len(q.queue) > 0 && len(q.running)-q.parked < q.j.o.Running && q.parked < maxParked*q.j.o.Running {
		row := q.queue[0]
		q.queue[0] = Row{} // so that the array does not keep the id
		q.queue = q.queue[1:]
		if retentionPassed(row.ID) {
			q.j.load.Add(-1)
			q.j.ended(row.ID)
			continue
		}
		q.start(self, row)
	}
}

// start runs a job beside the queue.
func (q *jobQueue) start(self runtime.Ref, row Row) {
	q.running[row.ID] = new(runningJob)
	q.j.running.Add(1)
	over := ended{id: row.ID}
	q.j.e.Run(self, func() any {
		q.s.runJob(row, Slot{id: row.ID, queue: self, e: q.j.e})
		return over
	}, func(error) any { return over })
}

// maxParked limits the jobs that wait for their payers, as a multiple of the running ones.
// Above it no further job is started.
const maxParked = 4

// park lets another job run in the place of one that waits for its payer.
func (q *jobQueue) park(self runtime.Ref, id string) {
	if s := q.running[id]; s != nil && !s.parked {
		s.parked = true
		q.parked++
		q.next(self)
	}
}

// resume lets parked jobs continue while there is room.
func (q *jobQueue) resume() {
	for len(q.resuming) > 0 {
		m := q.resuming[0]
		s := q.running[m.id]
		if s != nil && s.parked {
			if len(q.running)-q.parked >= q.j.o.Running {
				return
			}
			s.parked = false
			q.parked--
		}
		close(m.granted) // also if the job has ended, so that no caller waits forever
		q.resuming = q.resuming[1:]
	}
}

// leave frees the place of a job, once.
func (q *jobQueue) leave(self runtime.Ref, id string) {
	s := q.running[id]
	if s == nil {
		return
	}
	if s.parked {
		q.parked--
	}
	delete(q.running, id)
	q.j.running.Add(-1)
	q.j.load.Add(-1)
	q.j.ended(id)
	q.next(self)
}

// retentionPassed reports whether the retention of the job has passed.
func retentionPassed(id string) bool {
	began, ok := recordid.TimeOf(id)
	return !ok || time.Since(began) >= api.JobRetention
}
