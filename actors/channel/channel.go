package channel

import (
	"errors"
	"time"

	"txlens/actors/runtime"
	"txlens/engine/mpp/session"
)

// channel owns the row of one payment channel. What it answers is on disk first:
//
//	command ─ changes the row, waits ─▶ commit beside Receive ─▶ stored ─▶ answers
//
// While a commit is under way further commands build on the row as it will be and
// wait for the commit after it, so one write to the disk serves all that came
// meanwhile. A commit that fails ends the actor: all who built on it are told, and
// the next one reads from the disk what is true.
//
// One that is told to rest lets go of its row, which is most of what it weighs, and
// reads it again when it is next told something.
type channel struct {
	c       *Channels
	ref     *channelRef
	row     *session.Channel // with what may not be on disk yet; nil: there is none
	begun   bool             // row was read from the disk
	reading bool             // it is being read
	*inbox
}

// inbox holds what an actor works on. An actor that rests has none; Receive makes it.
type inbox struct {
	early    []command        // came before the row was read
	writing  []held           // answers that wait for the commit under way
	pending  []held           // answers that wait for the one after it
	entries  []Entry          // what pending wants written beside the row
	dirty    bool             // pending has changed the row
	written  *session.Channel // the row as the commit under way leaves it
	watchers []chan<- struct{}
}

// change works on a copy of the row; row is nil where there is none yet. It
// returns the row to keep, nil where nothing is to be written of it, and what else
// must be on disk with it.
type change func(row *session.Channel, now time.Time) (keep *session.Channel, beside Entry, result any, err error)

// command is what a channel is told to do.
type command struct {
	runtime.MayBeLate
	change change
	reply  chan answer // capacity 1
}

// answer is what came of a command.
type answer struct {
	row    *session.Channel // after it; not to be written to
	result any
	err    error
}

// held is an answer that must not leave before the disk has what it says.
type held struct {
	reply chan answer
	answer
}

// Messages to a channel, beside command.
type (
	// loaded: what the disk has. ErrNoChannel: nothing.
	loaded struct {
		runtime.MayBeLate
		row session.Channel
		err error
	}
	// stored: the commit under way has ended.
	stored struct {
		runtime.MayBeLate
		err error
	}
	// watch asks for a signal after each change that reached the disk, or ends that.
	watch struct {
		runtime.MayBeLate
		signal chan<- struct{} // capacity 1
		end    bool
	}
	// rest lets an actor that is not used become small.
	rest struct{ runtime.MayBeLate }
)

// errChannelEnded: the actor is gone; what it had not stored did not happen, or
// will be seen on disk.
var errChannelEnded = errors.New("the channel's actor ended")

// Receive is owned by the runtime.
func (a *channel) Receive(ac runtime.Context) {
	if a.inbox == nil {
		a.inbox = new(inbox)
	}
	switch m := ac.Message().(type) {
	case *channelRef:
		a.ref = m
		a.read(ac)
	case loaded:
		a.begin(ac, m)
	case command:
		a.take(ac, m)
	case stored:
		a.conclude(ac, m)
	case watch:
		a.attend(m)
	case rest:
		a.rest()
	case runtime.Stopped:
		if a.ref == nil {
			a.ref = a.c.refOf(ac.Self())
		}
		a.abandon(errChannelEnded)
		a.c.leave(a.ref)
	}
}

// run does work beside Receive that touches the disk; the ref counts it, so that
// the next actor of the channel does not read before it has ended.
func (a *channel) run(ac runtime.Context, work func() any, onPanic func(error) any) {
	a.ref.work.Add(1)
	a.c.e.Run(ac.Self(), func() any { defer a.ref.work.Done(); return work() }, onPanic)
}

// read has the row read, unless that is under way.
func (a *channel) read(ac runtime.Context) {
	if !a.reading {
		a.reading = true
		a.run(ac, a.load, func(err error) any { return loaded{err: err} })
	}
}

func (a *channel) load() any {
	if a.ref.before != nil {
		a.ref.before.work.Wait() // a crash may have left a commit under way
	}
	row, err := a.c.o.Store.Channel(a.ref.id)
	return loaded{row: row, err: err}
}

func (a *channel) begin(ac runtime.Context, m loaded) {
	switch {
	case m.err == nil:
		row := m.row // not the message's, which is larger
		a.row = &row
		a.ref.row.Store(a.row)
	case !errors.Is(m.err, ErrNoChannel):
		a.fall(ac, m.err)
		return
	}
	a.begun, a.reading, a.ref.before = true, false, nil
	a.ref.resting.Store(false)
	early := a.early
	a.early = nil
	for _, cmd := range early {
		a.take(ac, cmd)
	}
}

// take does a command on the row as it will be. An answer that changes nothing
// waits, too: what it was built on may not be on disk yet.
func (a *channel) take(ac runtime.Context, cmd command) {
	if !a.begun {
		a.early = append(a.early, cmd)
		a.read(ac)
		return
	}
	var row *session.Channel
	if a.row != nil {
		work := *a.row
		row = &work
	}
	keep, beside, result, err := cmd.change(row, a.c.o.now())
	if err != nil {
		cmd.reply <- answer{row: a.row, err: err}
		return
	}
	if keep != nil {
		a.row, a.dirty = keep, a.dirty || !beside.volatile
	}
	if beside.Forget != nil {
		a.row, a.dirty = nil, false
	}
	ans := held{cmd.reply, answer{row: a.row, result: result}}
	if !beside.empty() {
		a.entries = append(a.entries, beside)
	}
	if !a.dirty && len(a.entries) == 0 && a.writing == nil {
		a.ref.row.Store(a.row)
		ans.reply <- ans.answer // all of it is on disk
		if keep != nil {
			a.signal() // money that was held may be free for a stream that waits
		}
		return
	}
	a.pending = append(a.pending, ans)
	a.write(ac)
}

// write starts a commit unless one is under way.
func (a *channel) write(ac runtime.Context) {
	if a.writing != nil || len(a.pending) == 0 {
		return
	}
	entries := a.entries
	if a.dirty {
		entries = append(entries, Entry{Channel: a.row}) // take changes a copy
	}
	a.writing, a.pending, a.entries, a.dirty, a.written = a.pending, nil, nil, false, a.row
	self := ac.Self()
	a.ref.work.Add(1)
	done := a.c.e.Begin()
	a.c.o.Store.CommitThen(func(err error) {
		defer done()
		a.ref.work.Done()
		a.c.e.Send(self, stored{err: err})
	}, entries...)
}

func (a *channel) conclude(ac runtime.Context, m stored) {
	if m.err != nil {
		a.fall(ac, m.err)
		return
	}
	a.ref.row.Store(a.written) // before anybody is told
	for _, h := range a.writing {
		h.reply <- h.answer
	}
	a.writing, a.written = nil, nil
	a.signal()
	a.write(ac)
}

// fall ends the actor with an error of the disk.
func (a *channel) fall(ac runtime.Context, err error) {
	a.abandon(err)
	ac.Stop(ac.Self())
}

// abandon tells all who wait that nothing is certain.
func (a *channel) abandon(err error) {
	a.ref.row.Store(nil)
	for _, cmd := range a.early {
		cmd.reply <- answer{err: err}
	}
	for _, h := range a.writing {
		h.reply <- answer{err: err}
	}
	for _, h := range a.pending {
		h.reply <- answer{err: err}
	}
	a.early, a.writing, a.pending, a.entries, a.begun = nil, nil, nil, nil, false
	a.signal() // whoever waits finds out by asking again
}

func (a *channel) signal() {
	for _, w := range a.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// rest lets the row go where the disk has all of it.
func (a *channel) rest() {
	if !a.begun || a.writing != nil || a.row != nil && !a.row.Reserved.IsZero() {
		return
	}
	a.row, a.begun = nil, false
	a.ref.row.Store(nil)
	if len(a.watchers) == 0 {
		a.inbox = nil
	}
	a.ref.resting.Store(true)
}

func (a *channel) attend(m watch) {
	for i, w := range a.watchers {
		if w == m.signal {
			a.watchers = append(a.watchers[:i], a.watchers[i+1:]...)
			break
		}
	}
	if !m.end {
		a.watchers = append(a.watchers, m.signal)
	}
}
