package channel

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"txlens/actors/runtime"
	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// Options are the payee's side of payment channels.
type Options struct {
	Store  PaymentStore
	Escrow Escrow
	Issuer *mpp.Issuer
	// Terms are what every channel is held to; Terms.Amount is not used. Terms.Sponsor
	// needs a Sender that co-signs.
	Terms           tempo.Terms
	MinVoucherDelta tempo.Amount  // a higher voucher must be higher by this much
	MinDeposit      tempo.Amount  // an opening with less is not broadcast
	Limits          PayLimits     // zero: none
	StateTTL        time.Duration // how old the chain's word on a channel may be, default 5 s
	MaxStateAge     time.Duration // the same while the chain does not answer, default MaxStateAge
	// Adopt serves channels that the chain knows and the ledger does not, and takes over
	// what the chain has paid out beyond the ledger. It is for a ledger that was lost or
	// restored: where another server uses the payee's key, both would serve them.
	Adopt bool
	Log   *slog.Logger // nil: silent

	now          func() time.Time // tests set it, and the next
	readBackRest time.Duration
}

// Bounds of what strangers can make us do.
const (
	// strangersPerSecond bounds looks at the chain for channels that are not in the
	// ledger.
	strangersPerSecond = 20
	// maxSends bounds the payers' transactions under way at a time.
	maxSends = 64
)

// restAfter is how long a channel is not used before its actor is made small.
const restAfter = 10 * time.Second

// ErrClosed: the Channels take no more requests.
var ErrClosed = errors.New("channels are closed")

// Channels is the one owner of the channel actors: it makes them on first use, and
// nobody else has their PIDs. It is safe for concurrent use.
type Channels struct {
	e *runtime.System
	o Options

	mu      sync.Mutex
	refs    map[common.Hash]*channelRef
	kind    runtime.Kind // of every channel's actor
	sweeper *time.Timer
	closed  bool
	all     sync.WaitGroup // actors that have not ended

	looks        singleflight.Group // looks at the chain, by channel
	strange      *rate.Limiter      // looks at the chain for ids that nobody knows
	paid         paid
	limits       *limits
	busy         busy
	sends        chan struct{} // one per transaction under way
	watch        watchState    // what looks at the chain have shown beside the rows
	faults       *faultBoard   // of the payee
	health       atomic.Pointer[settle.Health]
	last         atomic.Pointer[lastLook] // nil: the Watcher has not looked
	failedRounds atomic.Uint64
	turns        *locks // by what is done one at a time: opens, top-ups, payouts, tickets, bills
}

// channelRef is what the owner keeps of one channel's actor.
type channelRef struct {
	id      common.Hash
	pid     runtime.Ref
	work    sync.WaitGroup // what it does beside Receive on the disk
	before  *channelRef    // that of the actor before this one, until the row was read
	resting atomic.Bool    // its actor holds nothing that the disk has not
	// row is the row as the disk has it, with what the disk does not keep; nil: ask.
	// All that was ever answered is in it. It is not to be written to.
	row atomic.Pointer[session.Channel]

	// Guarded by the owner's mutex.
	gone   bool          // the actor has ended
	askers int32         // that wait for an answer
	end    chan struct{} // closed when the actor has ended; nil while nobody waits
	used   int64         // Unix milliseconds when it was last asked for
}

// New starts no actor yet; each channel gets one on first use. Call Close.
func New(sys *runtime.System, o Options) *Channels {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.readBackRest <= 0 {
		o.readBackRest = readBackRest
	}
	if o.StateTTL <= 0 {
		o.StateTTL = 5 * time.Second
	}
	if o.MaxStateAge <= 0 {
		o.MaxStateAge = MaxStateAge
	}
	c := &Channels{
		e: sys, o: o, refs: make(map[common.Hash]*channelRef), strange: rate.NewLimiter(rate.Every(time.Second/strangersPerSecond), strangersPerSecond),
		limits: newLimits(o.Limits), sends: make(chan struct{}, maxSends), turns: newLocks(),
	}
	c.watch.missing = make(map[common.Hash]time.Time)
	c.faults = newFaultBoard(o.Log, o.now)
	c.kind = sys.NewKind(func() runtime.Actor { return &channel{c: c} })
	c.mu.Lock() // sweep waits for the field
	defer c.mu.Unlock()
	c.sweeper = time.AfterFunc(restAfter, c.sweep)
	return c
}

// sweep has actors rest that nobody has asked for lately.
func (c *Channels) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	before := c.o.now().Add(-restAfter).UnixMilli()
	for _, s := range c.refs {
		if !s.gone && s.used <= before && !s.resting.Load() {
			c.e.Send(s.pid, rest{})
		}
	}
	c.sweeper.Reset(restAfter)
}

// Close ends the actors. What they had answered is on disk; who still waits gets an
// error.
func (c *Channels) Close() {
	c.mu.Lock()
	c.closed = true
	c.sweeper.Stop()
	for _, s := range c.refs {
		c.e.Stop(s.pid)
	}
	c.mu.Unlock()
	c.all.Wait()
}

// ref returns the actor of a channel, a new one where there is none or it has
// ended. c.mu is held.
func (c *Channels) ref(id common.Hash) (*channelRef, error) {
	if c.closed {
		return nil, ErrClosed
	}
	s := c.refs[id]
	now := c.o.now().UnixMilli()
	if s != nil && !s.gone {
		s.used = now
		return s, nil
	}
	next := &channelRef{id: id, before: s, used: now}
	c.all.Add(1)
	c.refs[id] = next
	next.pid = c.kind.Spawn()
	c.e.Send(next.pid, next) // its first message: nobody else has the PID yet
	return next, nil
}

// leave is called by an actor that has ended. Its ref stays until the next actor is
// made, which waits for its work.
func (c *Channels) leave(s *channelRef) {
	c.mu.Lock()
	s.gone = true
	if s.end != nil {
		close(s.end)
	}
	c.mu.Unlock()
	c.all.Done()
}

// refOf returns the ref of an actor that was stopped before it was given it.
func (c *Channels) refOf(pid runtime.Ref) *channelRef {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.refs {
		if s.pid.Equal(pid) {
			return s
		}
	}
	return nil
}

// enter is ref for one who waits for an answer, and wants to know when none will
// come. Call left when done.
func (c *Channels) enter(id common.Hash) (s *channelRef, end <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, err = c.ref(id); err != nil {
		return nil, nil, err
	}
	if s.askers++; s.end == nil {
		s.end = make(chan struct{})
	}
	return s, s.end, nil
}

func (c *Channels) left(s *channelRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.askers--; s.askers == 0 {
		s.end = nil
	}
}

// ask has a channel do a change and returns when the disk has it. An error that is
// no *mpp.Problem says that it may or may not have happened: ask again.
func (c *Channels) ask(ctx context.Context, id common.Hash, do change) (answer, error) {
	s, end, err := c.enter(id)
	if err != nil {
		return answer{}, err
	}
	defer c.left(s)
	cmd := command{change: do, reply: make(chan answer, 1)}
	c.e.Send(s.pid, cmd)
	select {
	case a := <-cmd.reply:
		return a, a.err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-end:
	}
	select {
	case a := <-cmd.reply:
		return a, a.err
	default:
		// Who asks again looks at the disk first, so nothing may still be on its way there.
		s.work.Wait()
		return answer{}, errChannelEnded
	}
}

// edit is a change of a row that must be there.
func edit(do func(row *session.Channel, now time.Time) (beside Entry, err error)) change {
	return func(row *session.Channel, now time.Time) (*session.Channel, Entry, any, error) {
		if row == nil {
			return nil, Entry{}, nil, &mpp.Problem{Type: mpp.ChannelNotFound, Detail: "the channel is not known here"}
		}
		beside, err := do(row, now)
		return row, beside, nil, err
	}
}

// orNil keeps a nil *mpp.Problem from becoming an error that is not nil.
func orNil(f *mpp.Problem) error {
	if f == nil {
		return nil
	}
	return f
}

// look returns the row as the disk has it, or ErrNoChannel. It makes no actor, and
// wakes none: anybody may ask for any id.
func (c *Channels) look(ctx context.Context, id common.Hash) (session.Channel, error) {
	c.mu.Lock()
	s := c.refs[id]
	c.mu.Unlock()
	if s == nil || s.resting.Load() {
		return c.o.Store.Channel(id)
	}
	a, err := c.ask(ctx, id, func(row *session.Channel, _ time.Time) (*session.Channel, Entry, any, error) {
		if row == nil {
			return nil, Entry{}, nil, ErrNoChannel
		}
		return nil, Entry{}, nil, nil
	})
	if err != nil {
		return session.Channel{}, err
	}
	return *a.row, nil
}

// glance is look without asking the actor: what is under way may be missing, all
// that was answered is not. For who has the actor decide in the end.
func (c *Channels) glance(ctx context.Context, id common.Hash) (session.Channel, error) {
	c.mu.Lock()
	s := c.refs[id]
	c.mu.Unlock()
	if s != nil {
		if row := s.row.Load(); row != nil {
			return *row, nil
		}
	}
	return c.look(ctx, id)
}

// Hold keeps an amount free for work that runs, Release gives it back, and Commit
// turns it into a charge. Reservations end with the process.
func (c *Channels) Hold(ctx context.Context, id common.Hash, amount tempo.Amount) error {
	_, err := c.ask(ctx, id, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		return Entry{volatile: true}, orNil(row.Reserve(amount))
	}))
	return err
}

// Release gives a reservation back.
func (c *Channels) Release(ctx context.Context, id common.Hash, amount tempo.Amount) error {
	_, err := c.ask(ctx, id, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		row.Release(amount)
		return Entry{volatile: true}, nil
	}))
	return err
}

// Commit charges what was reserved. It is held no longer, whatever comes of it.
func (c *Channels) Commit(ctx context.Context, id common.Hash, amount tempo.Amount) error {
	var refused *mpp.Problem
	_, err := c.see(ctx, id, edit(func(row *session.Channel, now time.Time) (Entry, error) {
		refused = row.Commit(amount, now)
		return Entry{volatile: refused != nil}, nil
	}))
	return errors.Join(err, orNil(refused))
}

// Watch returns a channel that gets a signal after each change of the row that
// reached the disk, and when its actor ends. Signals that nobody takes are one.
// Call stop when done.
func (c *Channels) Watch(id common.Hash) (signal <-chan struct{}, stop func(), err error) {
	c.mu.Lock()
	s, err := c.ref(id)
	c.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	ch := make(chan struct{}, 1)
	c.e.Send(s.pid, watch{signal: ch})
	return ch, func() { c.e.Send(s.pid, watch{signal: ch, end: true}) }, nil
}
