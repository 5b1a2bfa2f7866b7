package transport

import (
	"context"
	"errors"

	"github.com/valyala/fasthttp"

	"txlens/actors"
	"txlens/engine/explain"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/transport/wire"
)

const (
	pathAsync   = "/explain/async"
	pathDeposit = "/session/deposit"
)

// sold reports whether analyses are paid for.
func (s *Server) sold() bool { return s.cfg.Payments.Till != nil }

// asyncPaid answers POST /explain/async where it is sold: one unit at the submit.
func (s *Server) asyncPaid(ctx *fasthttp.RequestCtx) {
	route := s.offer(pathAsync, cent)
	cr, paid, ok := s.credential(ctx, route)
	if !ok {
		return
	}
	if len(ctx.Request.Body()) == 0 || paid && moves(ctx, cr) {
		s.manage(ctx, route, cr, paid)
		return
	}
	req, ok := s.readRequest(ctx)
	if !ok {
		return
	}
	if err := s.cfg.Explainer.Check(req); err != nil {
		s.failWith(ctx, err)
		return
	}
	if s.cfg.Jobs == nil {
		fail(ctx, fasthttp.StatusServiceUnavailable, explain.CodeJobsOff, "this server takes no jobs; use POST /explain")
		return
	}
	if !paid {
		s.demand(ctx, route)
		return
	}
	p, done := s.pay(ctx, cr, route)
	if done {
		return
	}
	key := ticketKey(ctx, pathAsync, p)
	t, fresh, standing, done := s.admitPaid(ctx, route, p, key, actors.NewID())
	if done {
		return
	}
	if !fresh {
		// A crash may have come between the charge and the job.
		if _, err := s.cfg.Jobs.Job(t.Bill); !errors.Is(err, explain.ErrNoJob) {
			giveReceipt(ctx, standing, p.ChallengeID)
			s.accepted(ctx, t.Bill)
			return
		}
	}
	if err := s.cfg.Jobs.SubmitAs(t.Bill, req); err != nil {
		s.void(p.Channel, key)
		s.notSubmitted(ctx, err)
		return
	}
	giveReceipt(ctx, standing, p.ChallengeID)
	s.accepted(ctx, t.Bill)
}

// accepted answers 202.
func (s *Server) accepted(ctx *fasthttp.RequestCtx, id string) {
	ctx.SetStatusCode(fasthttp.StatusAccepted)
	ctx.Response.Header.Set(fasthttp.HeaderLocation, "/result/"+id)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, pollAfter)
	s.sendJSON(ctx, wire.JobAccepted{JobID: id, Status: explain.JobPending})
}

// notSubmitted says why there is no job.
func (s *Server) notSubmitted(ctx *fasthttp.RequestCtx, err error) {
	if explain.FaultOf(err).Code != explain.CodeInternal {
		s.failWith(ctx, err)
		return
	}
	s.failAsync(ctx, err)
}

// outstanding is what a run or job owes now.
func (s *Server) outstanding(id string) (bill actors.Bill, owed tempo.Amount, err error) {
	bill, err = s.cfg.Payments.Till.Bill(id)
	if err != nil {
		return bill, owed, err
	}
	if !bill.Final {
		bill.Price = tempo.AmountFrom(meter.Owed(0))
		if tab := s.cfg.Payments.Tabs.Get(id); tab != nil {
			bill.Price = tab.Owed()
		}
	}
	return bill, bill.Outstanding(), nil
}

// toll collects what a run or job owes before it is told of. passed is false where
// the request is answered by that. finished says that all must be paid, rather
// than what its challenge named.
func (s *Server) toll(ctx *fasthttp.RequestCtx, id string, finished func() bool) (passed bool) {
	if !s.sold() {
		return true
	}
	bill, owed, err := s.outstanding(id)
	if errors.Is(err, actors.ErrNoBill) {
		return true // from a time when nothing was sold
	}
	if err != nil {
		s.refuse(ctx, s.offer(string(ctx.Path()), cent), noted(err))
		return false
	}
	if owed.IsZero() {
		return true
	}
	route := s.newOffer(string(ctx.Path()), owed)
	route.AnyPrice = true // more may have accrued since the challenge
	cr, paid, ok := s.credential(ctx, route)
	if !ok {
		return false
	}
	if !paid {
		s.demand(ctx, route)
		return false
	}
	p, done := s.pay(ctx, cr, route)
	if done {
		return false
	}
	work, cancel := context.WithTimeout(s.base, payTime)
	defer cancel()
	bill, standing, err := s.cfg.Payments.Till.CollectHeld(work, p, id, bill.Price)
	if err != nil {
		s.refuse(ctx, route, noted(err))
		return false
	}
	if tab := s.cfg.Payments.Tabs.Get(id); tab != nil {
		tab.Collected(bill.Collected)
	}
	if finished() {
		if _, left, err := s.outstanding(id); err != nil || !left.IsZero() {
			s.refuse(ctx, s.offer(string(ctx.Path()), left), &mpp.Problem{
				Type: mpp.PaymentRequired, Detail: "The analysis has ended; this is the rest of its price.",
			})
			return false
		}
	}
	standing.TxHash = p.TxHash
	giveReceipt(ctx, standing, p.ChallengeID)
	return true
}

// manageAt answers a method that a paid path has for messages of a channel alone.
func (s *Server) manageAt(ctx *fasthttp.RequestCtx) {
	route := s.newOffer(string(ctx.Path()), cent)
	route.AnyPrice = true
	cr, paid, ok := s.credential(ctx, route)
	if !ok {
		return
	}
	if len(ctx.Request.Body()) > 0 {
		fail(ctx, fasthttp.StatusBadRequest, "", "this path takes no body; a POST here only manages a payment channel")
		return
	}
	s.manage(ctx, route, cr, paid)
}

// depositPaid answers POST /session/deposit where the service is sold. Its voucher
// opens the channel and buys nothing.
func (s *Server) depositPaid(ctx *fasthttp.RequestCtx) {
	route := s.offer(pathDeposit, cent)
	cr, paid, ok := s.credential(ctx, route)
	if !ok {
		return
	}
	if !paid {
		s.demand(ctx, route)
		return
	}
	work, cancel := context.WithTimeout(s.base, payTime)
	defer cancel()
	p, err := s.cfg.Payments.Till.Pay(work, cr, route, shape(ctx))
	if err != nil {
		s.refuse(ctx, route, err)
		return
	}
	s.cfg.Payments.Till.LetGo(work, p) // nothing is bought
	switch p.Payload.(type) {
	case *mpp.TopUp, *mpp.Close:
		managed(ctx, p)
		return
	}
	if p.Deposit.Cmp(s.cfg.Payments.MinDeposit) < 0 {
		s.tooSmall(ctx, p)
		return
	}
	giveReceipt(ctx, p.Standing, p.ChallengeID)
	s.sendJSON(ctx, wire.DepositOK{OK: true})
}
