package transport

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/valyala/fasthttp"

	"txlens/actors"
	"txlens/engine/explain"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

const pathExplain = "/explain"

// explainPaid answers POST /explain where it is sold: as a stream alone.
func (s *Server) explainPaid(ctx *fasthttp.RequestCtx) {
	route := s.offer(pathExplain, cent)
	cr, paid, ok := s.credential(ctx, route)
	if !ok {
		return
	}
	if len(ctx.Request.Body()) == 0 || paid && moves(ctx, cr) {
		s.manage(ctx, route, cr, paid)
		return
	}
	req, ok := s.readRequest(ctx) // what is wrong with it costs nothing
	if !ok {
		return
	}
	if err := s.cfg.Explainer.Check(req); err != nil {
		s.failWith(ctx, err)
		return
	}
	if !wantsStream(&ctx.Request.Header, "application/json") {
		if !paid {
			s.challenge(ctx, route)
		}
		fail(ctx, fasthttp.StatusPaymentRequired, explain.CodeUseSSE, "a paid analysis is answered as a stream: repeat this with Accept: text/event-stream, or use POST /explain/async")
		return
	}
	if !paid {
		s.demand(ctx, route)
		return
	}
	if p, done := s.pay(ctx, cr, route); !done {
		s.sell(ctx, route, p, req)
	}
}

// manage answers a request without a body: it can only move a channel.
func (s *Server) manage(ctx *fasthttp.RequestCtx, route *mpp.Route, cr *mpp.Credential, paid bool) {
	if !paid {
		s.demand(ctx, route)
		return
	}
	if p, done := s.pay(ctx, cr, route); !done {
		s.cfg.Payments.Till.LetGo(s.base, p)
		fail(ctx, fasthttp.StatusBadRequest, "", "the body is empty: an analysis needs {\"txHash\": \"0x...\"}")
	}
}

// sell begins the analysis that a voucher asks for, or joins the one that it began.
func (s *Server) sell(ctx *fasthttp.RequestCtx, route *mpp.Route, p *actors.Payment, req explain.Request) {
	if !s.admit() {
		s.cfg.Payments.Till.LetGo(s.base, p)
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "5")
		fail(ctx, fasthttp.StatusServiceUnavailable, explain.CodeBusy, "too many analyses are running; try again soon. Nothing was charged")
		return
	}
	t, fresh, standing, done := s.admitPaid(ctx, route, p, ticketKey(ctx, pathExplain, p), idOf(ctx))
	if done {
		s.free()
		return
	}
	giveReceipt(ctx, standing, p.ChallengeID)
	bill := actors.Bill{ID: t.Bill, Collected: t.Charged}
	if !fresh {
		var known bool
		if bill, known = s.begun(t.Bill); known {
			s.free()
			s.rejoin(ctx, p, t)
			return
		}
	}
	tab := actors.NewTab(t.Bill, bill.Collected, s.cfg.Payments.Exposure)
	v := &sale{s: s, tab: tab, channel: p.Channel, challenge: p.ChallengeID, fan: newFan(t.Bill)}
	if !s.live.open(v.fan) {
		s.free()
		s.rejoin(ctx, p, t)
		return
	}
	s.cfg.Payments.Tabs.Open(tab)
	s.stream(ctx, Job{ID: t.Bill, Request: req, Finish: s.finish, Gate: tab.Gate, OnCost: tab.OnCost}, v)
}

// begun reports whether the run of a ticket is at work or has ended. A crash may
// have come before either: then it begins again, and what was paid counts.
func (s *Server) begun(id string) (bill actors.Bill, known bool) {
	bill, err := s.cfg.Payments.Till.Bill(id)
	if err != nil || s.live.has(id) {
		return bill, true
	}
	_, err = s.recovered(id)
	return bill, !errors.Is(err, explain.ErrNoRun)
}

// sale is a run that is paid for while it streams.
type sale struct {
	s         *Server
	tab       *actors.Tab
	channel   common.Hash
	challenge string
	fan       *fan
	ended     chan struct{} // closed when the analysis has ended
	collected chan error    // what came of the collecting until then
}

// begin collects what accrues until the analysis ends.
func (v *sale) begin(work context.Context) {
	v.ended, v.collected = make(chan struct{}), make(chan error, 1)
	go func() { v.collected <- v.collect(work, v.ended) }()
}

// collect takes what is owed as it accrues. When the voucher is short the client is
// told once, and waited for. It returns nil when the analysis has ended and all is
// paid, and gives up when the client does not sign.
func (v *sale) collect(work context.Context, ended <-chan struct{}) error {
	signal, stop, err := v.s.cfg.Payments.Till.Watch(v.channel)
	if err != nil {
		v.tab.GiveUp()
		return err
	}
	defer stop()
	var short *time.Timer  // runs while the client owes a voucher
	var asked tempo.Amount // the voucher it was asked for last
	defer func() {
		if short != nil {
			short.Stop()
		}
	}()
	for {
		due, changed := v.tab.Due()
		if due.IsZero() {
			select {
			case <-changed:
				continue
			case <-ended:
				return nil
			case <-v.tab.GivenUp():
				return explain.ErrUnpaid
			case <-work.Done():
				v.tab.GiveUp()
				return context.Cause(work)
			}
		}
		bill, _, err := v.s.cfg.Payments.Till.Collect(work, v.channel, v.tab.ID, v.tab.Owed(), due)
		if err == nil {
			v.tab.Collected(bill.Collected)
			if short != nil {
				short.Stop()
				short = nil
			}
			v.fan.demand(nil)
			continue
		}
		p, ok := errors.AsType[*mpp.Problem](err)
		if !ok || p.Type != mpp.InsufficientBalance {
			v.tab.GiveUp()
			return err
		}
		if v.collectPart(work, due, p.RequiredTopUp) {
			continue
		}
		if short == nil {
			short = time.NewTimer(v.s.cfg.Payments.Patience)
		}
		if accepted, ok := v.needVoucher(work, due, asked); ok {
			asked = accepted
			short.Reset(v.s.cfg.Payments.Patience)
		}
		select {
		case <-signal:
		case <-short.C:
			v.tab.GiveUp()
			return explain.ErrUnpaid
		case <-v.tab.GivenUp():
			return explain.ErrUnpaid
		case <-work.Done():
			v.tab.GiveUp()
			return context.Cause(work)
		}
	}
}

// collectPart takes the whole units of what is due that the channel still has.
func (v *sale) collectPart(work context.Context, due, missing tempo.Amount) bool {
	there, _ := due.Sub(missing)
	n, ok := there.Uint64()
	if !ok || n < meter.Cent {
		return false
	}
	bill, _, err := v.s.cfg.Payments.Till.Collect(work, v.channel, v.tab.ID, v.tab.Owed(), tempo.AmountFrom(n/meter.Cent*meter.Cent))
	if err == nil {
		v.tab.Collected(bill.Collected)
	}
	return err == nil
}

// needVoucher asks the client to sign for what is due, once for each shortage: not
// again while the voucher asked for before is missing.
func (v *sale) needVoucher(work context.Context, due, asked tempo.Amount) (required tempo.Amount, told bool) {
	st, err := v.s.cfg.Payments.Till.Standing(work, v.channel)
	if err != nil || st.Accepted.Cmp(asked) < 0 {
		return asked, false
	}
	held, _ := st.Accepted.Sub(st.Available) // spent, and held for other requests
	required, ok := held.Add(due)
	if !ok || required.Cmp(st.Accepted) <= 0 {
		return asked, false // it has come meanwhile
	}
	need := mpp.NeedVoucher{ChannelID: v.channel, RequiredCumulative: required, AcceptedCumulative: st.Accepted, Deposit: st.Deposit}
	v.fan.demand(named(mpp.EventNeedVoucher, need.JSON()))
	return required, true
}

// named is an event of the protocol. Its data is one line.
func named(event string, data []byte) []byte {
	b := make([]byte, 0, len(event)+len(data)+16)
	b = append(append(append(b, "event: "...), event...), "\ndata: "...)
	return append(append(b, data...), "\n\n"...)
}

// price fixes what the run comes to, before its record can be asked for.
func (v *sale) price() {
	v.tab.Fix(v.tab.Owed()) // what still arrives late is ours to bear
	if _, err := v.s.cfg.Payments.Till.Final(v.tab.ID, v.tab.Owed()); err != nil {
		v.s.cfg.Log.Error("fix the price of a run", "request", v.tab.ID, "error", err)
	}
}

// settle waits until the run is paid, and only then lets its last frame go. What
// cannot be paid is kept: the error says where.
func (v *sale) settle(work context.Context, last any, err error) (any, []byte, error) {
	close(v.ended)
	if err != nil {
		v.tab.GiveUp() // nobody is asked to sign for an error
	}
	unpaid := <-v.collected
	if err == nil && unpaid != nil {
		last, err = nil, unpaidRun{unpaid}
	}
	return last, v.receipt(), err
}

// end takes the sale off the lists.
func (v *sale) end() {
	v.s.cfg.Payments.Tabs.Close(v.tab)
	v.s.live.close(v.fan)
}

// receipt is the last event of a paid stream.
func (v *sale) receipt() []byte {
	work, cancel := context.WithTimeout(context.WithoutCancel(v.s.base), 5*time.Second)
	defer cancel()
	st, err := v.s.cfg.Payments.Till.Standing(work, v.channel)
	if err != nil {
		v.s.cfg.Log.Error("make a receipt", "request", v.tab.ID, "error", err)
		return nil
	}
	return named(mpp.EventReceipt, st.Receipt(v.challenge, time.Now()).JSON())
}

// unpaidRun: the run is done and kept, and not all of it is paid.
type unpaidRun struct{ cause error }

func (u unpaidRun) Error() string { return "not all of the run is paid: " + u.cause.Error() }
func (u unpaidRun) Unwrap() error { return u.cause }
func (u unpaidRun) Is(target error) bool {
	return target == explain.ErrUnpaid
}

// rejoin answers a request whose voucher has begun a run before: what still comes
// of it, or its record. It charges nothing but what is outstanding.
func (s *Server) rejoin(ctx *fasthttp.RequestCtx, p *actors.Payment, t actors.Ticket) {
	st := s.newStream(ctx, t.Bill)
	visit := visitOf(ctx)
	visit.streams, visit.heard = true, true
	st.onEnd = func(cut error) { s.tellStream(visit, cut) }
	st.onGone = func(error) {}
	st.onStop = func() { st.end(s.errorEvent(t.Bill, explain.ErrStopping)) }
	st.watch = watch(ctx.Conn(), true, func() { st.cutOff(errClientGone) })
	if !s.live.join(t.Bill, st) {
		go s.replay(st, p, t)
	}
	s.cfg.Observer.StreamOpened()
	s.open(ctx, st)
}

// replay streams the record of a run, once it is paid.
func (s *Server) replay(st *stream, p *actors.Payment, t actors.Ticket) {
	defer s.caught(t.Bill, func() { st.end(s.errorEvent(t.Bill, errPanic)) })
	run, err := s.recovered(t.Bill)
	if err != nil {
		st.end(s.errorEvent(t.Bill, err))
		return
	}
	bill, err := s.cfg.Payments.Till.Bill(t.Bill)
	if err == nil {
		tab := actors.NewTab(t.Bill, bill.Collected, s.cfg.Payments.Exposure)
		v := &sale{s: s, tab: tab, channel: p.Channel, challenge: p.ChallengeID, fan: newFan(t.Bill)}
		v.fan.add(st)
		err = v.collectBill(bill)
		st.trail(v.receipt())
	}
	if err != nil {
		st.end(s.errorEvent(t.Bill, unpaidRun{err}))
		return
	}
	for _, frame := range run.Frames[:max(len(run.Frames)-1, 0)] {
		st.push(named("", frame)[len("event: \n"):], false)
	}
	if len(run.Frames) > 0 {
		st.end(run.Frames[len(run.Frames)-1])
	}
}

// collectBill takes what is outstanding on a bill whose price is known.
func (v *sale) collectBill(bill actors.Bill) error {
	work, cancel := context.WithTimeout(v.s.base, v.s.cfg.Payments.Patience+grace)
	defer cancel()
	ended := make(chan struct{})
	close(ended)
	v.tab.Fix(bill.Price)
	return v.collect(work, ended)
}

// recovered is the record of a run, or why there is none.
func (s *Server) recovered(id string) (*explain.RunRecovery, error) {
	if s.cfg.Runs == nil {
		return nil, explain.ErrNoRun
	}
	return s.cfg.Runs.Recover(id)
}

// fan gives the frames of one run to all streams that want them.
type fan struct {
	id string

	mu      sync.Mutex
	streams []*stream
	wanted  []byte // the event that asks for a voucher, until there is one
	ended   bool
	last    any
	trailer []byte
}

func newFan(id string) *fan { return &fan{id: id} }

// add has a stream get what comes from now on; after the end, that.
func (f *fan) add(st *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		st.trail(f.trailer)
		st.end(f.last)
		return
	}
	f.streams = append(f.streams, st)
	if f.wanted != nil {
		st.push(f.wanted, false)
	}
}

// demand asks all streams for a voucher, and those that come until there is one: the
// stream that was told may have broken before its client read it. nil: it has come.
func (f *fan) demand(event []byte) {
	f.mu.Lock()
	f.wanted = event
	f.mu.Unlock()
	if event != nil {
		f.push(event)
	}
}

func (f *fan) each(do func(*stream)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, st := range f.streams {
		do(st)
	}
}

func (f *fan) send(e explain.Event) { f.each(func(st *stream) { st.send(e) }) }
func (f *fan) push(frame []byte)    { f.each(func(st *stream) { st.push(frame, false) }) }
func (f *fan) end(last any, t []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.last, f.trailer = true, last, t
	for _, st := range f.streams {
		st.trail(t)
		st.end(last)
	}
}

// live are the runs that stream, by id.
type live struct {
	mu   sync.Mutex
	fans map[string]*fan
}

// open reports whether the run is on the list by this call.
func (l *live) open(f *fan) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fans == nil {
		l.fans = make(map[string]*fan)
	}
	if l.fans[f.id] != nil {
		return false
	}
	l.fans[f.id] = f
	return true
}

func (l *live) has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fans[id] != nil
}

func (l *live) close(f *fan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fans[f.id] == f {
		delete(l.fans, f.id)
	}
}

// join adds a stream to a run, if it streams.
func (l *live) join(id string, st *stream) bool {
	l.mu.Lock()
	f := l.fans[id]
	l.mu.Unlock()
	if f == nil {
		return false
	}
	f.add(st)
	return true
}
