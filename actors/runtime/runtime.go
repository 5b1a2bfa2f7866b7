// Package runtime wraps the actor library. No other package imports the library.
//
// An actor is a value whose Receive gets one message at a time. The rules for actors of this
// project:
//
//   - Receive does not block. Work that blocks runs beside the actor (System.Run,
//     Context.SpawnWork) and its outcome is sent to the actor as a message.
//   - A request carries its own reply channel with room for one answer. The asker
//     waits for the answer, its context and the end of the actor.
//   - The owner of an actor keeps its Ref. Nothing is sent to a name.
//   - An actor that panics is stopped, never restarted: its state may be half
//     written. The panic is logged, and the parent gets Terminated.
//   - Futures, receive timeouts, bounded mailboxes and stashes are not used.
package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// An Actor handles the messages sent to it, one at a time.
type Actor interface{ Receive(Context) }

// Messages that the runtime itself sends.
type (
	// Started is the first message of an actor that was spawned with System.Spawn
	// or Context.Spawn.
	Started struct{}
	// Stopping means that the actor handles no further messages but Terminated and Stopped.
	Stopping struct{}
	// Stopped is the last message of an actor.
	Stopped struct{}
	// Terminated tells a parent that one of its children has ended.
	Terminated struct{ Who Ref }
)

// MayBeLate is embedded in messages that may arrive after the end of their actor. Such a
// message is dropped without a log line.
type MayBeLate struct{}

// IgnoreDeadLetterLogging is the marker method that the actor library checks.
func (MayBeLate) IgnoreDeadLetterLogging() {}

// A Ref is the address of an actor. The zero Ref is the address of none.
type Ref struct{ pid *actor.PID }

// IsZero reports whether r is the address of no actor.
func (r Ref) IsZero() bool { return r.pid == nil }

// Equal reports whether both are the address of the same actor.
func (r Ref) Equal(other Ref) bool {
	if r.pid == nil || other.pid == nil {
		return r.pid == other.pid
	}
	return r.pid.Equal(other.pid)
}

// System runs the actors of a process. It is safe for concurrent use.
type System struct {
	sys  *actor.ActorSystem
	log  *slog.Logger
	work sync.WaitGroup // running work beside actors
}

// NewSystem starts a system without actors.
func NewSystem(log *slog.Logger) *System {
	// The goroutine of this throttle may run for one interval after the last actor.
	return &System{log: log, sys: actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(10*time.Millisecond),
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return log }))}
}

// stopOnFailure ends an actor that panicked.
var stopOnFailure = actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })

// Spawn starts an actor without parent.
func (s *System) Spawn(a Actor) Ref {
	return Ref{s.sys.Root.Spawn(s.props(a).Configure(actor.WithGuardian(stopOnFailure)))}
}

func (s *System) props(a Actor) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &adapter{s, a} }, actor.WithSupervisor(stopOnFailure))
}

// A Kind spawns large numbers of actors of one sort: they share their properties, and a
// mailbox takes memory only once a message has arrived.
type Kind struct {
	s     *System
	props *actor.Props
}

// NewKind returns a Kind whose actors are created by produce, within the call of Spawn.
func (s *System) NewKind(produce func() Actor) Kind {
	return Kind{s, actor.PropsFromProducer(func() actor.Actor { return &adapter{s, produce()} },
		actor.WithSupervisor(stopOnFailure), actor.WithGuardian(stopOnFailure), actor.WithMailbox(actor.UnboundedLockfree()))}
}

// Spawn starts an actor without parent.
func (k Kind) Spawn() Ref { return Ref{k.s.sys.Root.Spawn(k.props)} }

// Send puts a message into the mailbox of an actor. It does not block. A message to an actor
// that has ended is dropped.
func (s *System) Send(to Ref, msg any) { s.sys.Root.Send(to.pid, msg) }

// Stop ends an actor after its current message. It does not wait.
func (s *System) Stop(r Ref) { s.sys.Root.Stop(r.pid) }

// Run does work beside an actor and sends the actor the result of work, or of onPanic if work
// panics.
func (s *System) Run(to Ref, work func() any, onPanic func(error) any) {
	s.work.Go(func() { s.Send(to, s.Guard(work, onPanic)) })
}

// Guard returns the result of work, or of onPanic if work panics. The panic is logged with its
// stack.
func (s *System) Guard(work func() any, onPanic func(error) any) (out any) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("work panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = onPanic(fmt.Errorf("internal fault: %v", p))
		}
	}()
	return work()
}

// Begin counts work that Wait waits for. Call done when the work has ended.
func (s *System) Begin() (done func()) {
	s.work.Add(1)
	return s.work.Done
}

// Wait waits for all work beside actors.
func (s *System) Wait() { s.work.Wait() }

// adapter implements the library's interface for an Actor.
type adapter struct {
	s *System
	a Actor
}

// Receive logs the stack of a panic, which the library does not do, and then panics again to
// end the actor.
func (d *adapter) Receive(ac actor.Context) {
	defer func() {
		if p := recover(); p != nil {
			d.s.log.Error("actor panicked", "actor", ac.Self().Id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			panic(p)
		}
	}()
	d.a.Receive(Context{d.s, ac})
}

// Context has the operations of an actor while it handles a message.
type Context struct {
	s  *System
	ac actor.Context
}

// Message returns the message to handle.
func (c Context) Message() any {
	switch m := c.ac.Message().(type) {
	case *actor.Started:
		return Started{}
	case *actor.Stopping:
		return Stopping{}
	case *actor.Stopped:
		return Stopped{}
	case *actor.Terminated:
		return Terminated{Who: Ref{m.Who}}
	default:
		return m
	}
}

// Self returns the address of the actor.
func (c Context) Self() Ref { return Ref{c.ac.Self()} }

// Stop ends this actor or one of its children.
func (c Context) Stop(r Ref) { c.ac.Stop(r.pid) }

// Spawn starts a child.
func (c Context) Spawn(a Actor) Ref { return Ref{c.ac.Spawn(c.s.props(a))} }

// SpawnWork starts a child that does work outside Receive and sends its parent the result of
// work, or of onPanic if work panics. The parent stops the child, which ends the context of
// the work. If the child stopped itself, its Terminated could arrive before the result.
func (c Context) SpawnWork(ctx context.Context, work func(context.Context) any, onPanic func(error) any) Ref {
	return c.Spawn(&worker{s: c.s, ctx: ctx, work: work, onPanic: onPanic})
}

// worker is the child of SpawnWork.
type worker struct {
	s       *System
	ctx     context.Context
	work    func(context.Context) any
	onPanic func(error) any
	cancel  context.CancelFunc
}

// done carries the result from the work to its worker.
type done struct {
	MayBeLate
	outcome any
}

// Receive implements Actor.
func (w *worker) Receive(c Context) {
	switch m := c.Message().(type) {
	case Started:
		ctx, cancel := context.WithCancel(w.ctx)
		w.cancel = cancel
		w.s.Run(c.Self(), func() any { return done{outcome: w.work(ctx)} },
			func(err error) any { return done{outcome: w.onPanic(err)} })
	case done:
		c.ac.Send(c.ac.Parent(), m.outcome)
	case Stopping:
		if w.cancel != nil {
			w.cancel()
		}
	}
}
