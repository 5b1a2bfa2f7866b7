package actors

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// engine wraps the one actor system of the process.
type engine struct {
	sys  *actor.ActorSystem
	log  *slog.Logger
	work sync.WaitGroup // goroutines that work for an actor
}

func newEngine(log *slog.Logger) *engine {
	// A short throttle: its goroutine would outlive a closed Explainer by as much.
	sys := actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(10*time.Millisecond),
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return log }))
	return &engine{sys: sys, log: log}
}

// stopOnFailure ends an actor that panicked: its parent is told by Terminated.
// A restart would run on with half a state.
var stopOnFailure = actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })

func (e *engine) props(producer actor.Producer) *actor.Props {
	return actor.PropsFromProducer(producer, actor.WithSupervisor(stopOnFailure), actor.WithReceiverMiddleware(e.logPanics))
}

// spawnRoot starts an actor without parent; the runtime's guardian stands above it.
func (e *engine) spawnRoot(a actor.Actor) *actor.PID {
	return e.sys.Root.Spawn(e.props(func() actor.Actor { return a }).Configure(actor.WithGuardian(stopOnFailure)))
}

// logPanics writes the stack, which the runtime would swallow, and lets the
// supervision strategy see the panic.
func (e *engine) logPanics(next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
		defer e.logPanic(c.Self())
		next(c, env)
	}
}

// logPanic is to be deferred.
func (e *engine) logPanic(self *actor.PID) {
	if p := recover(); p != nil {
		e.log.Error("actor panicked", "actor", self.Id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		panic(p)
	}
}

// leanProps are for a kind of root actor of which there are very many. They share
// the props; their mailbox begins with nothing; and there is no middleware, for which
// the runtime would keep more of a context than an idle actor weighs otherwise: their
// Receive defers logPanic itself. producer runs within the spawning call.
func leanProps(producer actor.Producer) *actor.Props {
	return actor.PropsFromProducer(producer, actor.WithSupervisor(stopOnFailure), actor.WithGuardian(stopOnFailure), actor.WithMailbox(actor.UnboundedLockfree()))
}

// run does work beside an actor and sends it what came of it. A panic of the
// work is an outcome like an error.
func (e *engine) run(to *actor.PID, work func() any, onPanic func(error) any) {
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		e.sys.Root.Send(to, e.guard(work, onPanic))
	}()
}

func (e *engine) guard(work func() any, onPanic func(error) any) (out any) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("work panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = onPanic(fmt.Errorf("internal fault: %v", p))
		}
	}()
	return work()
}

// child is the one shape of a fetching actor: it does its work outside Receive and
// tells its parent the outcome. The parent stops it, which cancels the work: a
// child that stopped itself would let Terminated overtake the outcome.
type child struct {
	e      *engine
	phase  string
	fetch  func(context.Context) any // returns the message for the parent
	ctx    context.Context
	cancel context.CancelFunc
}

// done carries the outcome from the work to its actor.
type done struct {
	mayBeLate
	outcome any
}

// mayBeLate marks messages that may find their actor gone, because a request can
// be stopped at any time: that is no news for the log.
type mayBeLate struct{}

// IgnoreDeadLetterLogging is what the runtime looks for.
func (mayBeLate) IgnoreDeadLetterLogging() {}

func (e *engine) newChild(ctx context.Context, phase string, fetch func(context.Context) any) *actor.Props {
	return e.props(func() actor.Actor { return &child{e: e, phase: phase, fetch: fetch, ctx: ctx} })
}

// Receive is owned by the runtime.
func (c *child) Receive(ac actor.Context) {
	switch m := ac.Message().(type) {
	case *actor.Started:
		ctx, cancel := context.WithCancel(c.ctx)
		c.cancel = cancel
		c.e.run(ac.Self(), func() any { return done{outcome: c.fetch(ctx)} },
			func(err error) any { return done{outcome: failed{phase: c.phase, err: err}} })
	case done:
		ac.Send(ac.Parent(), m.outcome)
	case *actor.Stopping:
		if c.cancel != nil {
			c.cancel()
		}
	}
}
