package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"txlens/actors/channel"
	"txlens/actors/recordid"
	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/transport/wire"
)

const (
	pathAsync   = "/explain/async"
	pathDeposit = "/session/deposit"
)

// sold reports whether analyses are paid for.
func (s *Server) sold() bool { return s.cfg.Payments.Payer != nil }

// asyncPaid answers POST /explain/async if it is sold: one unit is charged at submission.
func (s *Server) asyncPaid(ctx *fasthttp.RequestCtx) {
	route := s.offer(pathAsync, unitPrice)
	cr, paid, ok := s.credential(ctx, route)
	if !ok {
		return
	}
	if len(ctx.Request.Body()) == 0 || paid && managesChannel(ctx, cr) {
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
		fail(ctx, fasthttp.StatusServiceUnavailable, api.CodeJobsOff, "this server takes no jobs; use POST /explain")
		return
	}
	if !paid {
		s.demand(ctx, route)
		return
	}
	// A copy of a request, which may come at the same time, waits for what becomes of it: before
	// that its voucher is held, and no job is there to be found.
	defer s.submissions.Lock("credential " + credentialKey(ctx))()
	if p, done := s.pay(ctx, cr, route, pathAsync); !done {
		s.sellJob(ctx, route, p, req)
	}
}

// credentialKey is the same for requests with the same credential, path, body and
// Idempotency-Key. It is made of what was sent, so nobody else can hold a lock of this name.
func credentialKey(ctx *fasthttp.RequestCtx) string {
	var sent []byte
	for _, name := range []string{mpp.HeaderAuthorization, mpp.HeaderPaymentAuthorization} {
		sent = append(sent, bytes.Join(ctx.Request.Header.PeekAll(name), []byte{0})...)
		sent = append(sent, 0)
	}
	key := ticketKey(ctx, pathAsync, nil, "credential", append(sent, idempotencyKey(ctx)...))
	return string(key[:])
}

// sellJob submits the job that a voucher pays for, or returns the one that it began before.
func (s *Server) sellJob(ctx *fasthttp.RequestCtx, route *mpp.Route, p *channel.Payment, req api.Request) {
	order := s.order(ctx, pathAsync, p, recordid.New(), req.Fresh)
	// The same request with another voucher waits, too: it gets the same job.
	key := order.RequestKey()
	defer s.submissions.Lock("request " + string(key[:]))()
	var place *slots.Slot
	a, done := s.admitPaid(ctx, route, p, order, func(work context.Context) (err error) {
		if err = s.room(); err != nil {
			return &noSlotError{err}
		}
		place, err = s.cfg.Payments.Seller.TakeJob(work, p)
		return slotError(err)
	})
	if done {
		if place != nil {
			place.Release()
		}
		return
	}
	if !a.Fresh {
		// A crash may have happened between the charge and the job.
		if _, err := s.cfg.Jobs.Job(a.Bill); !errors.Is(err, api.ErrNoJob) {
			giveReceipt(ctx, a.Standing, p.ChallengeID)
			s.accepted(ctx, a.Bill)
			return
		}
	}
	s.cfg.Payments.Seller.JobBegun(a.Bill, place)
	submitted := false
	defer func() {
		if !submitted { // it may have panicked, too
			s.cfg.Payments.Seller.JobEnded(a.Bill)
		}
	}()
	if err := s.cfg.Jobs.SubmitAs(a.Bill, req); err != nil {
		s.void(p.Channel, order)
		s.notSubmitted(ctx, err)
		return
	}
	submitted = true
	giveReceipt(ctx, a.Standing, p.ChallengeID)
	s.accepted(ctx, a.Bill)
}

// accepted answers 202.
func (s *Server) accepted(ctx *fasthttp.RequestCtx, id string) {
	ctx.SetStatusCode(fasthttp.StatusAccepted)
	ctx.Response.Header.Set(fasthttp.HeaderLocation, s.cfg.BaseURL.Path()+"/result/"+id)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, pollAfter)
	s.sendJSON(ctx, wire.JobAccepted{JobID: id, Status: api.JobPending})
}

// notSubmitted answers why there is no job.
func (s *Server) notSubmitted(ctx *fasthttp.RequestCtx, err error) {
	if api.FaultOf(err).Code != api.CodeInternal {
		s.failWith(ctx, err)
		return
	}
	s.failAsync(ctx, err)
}

// collectDebt collects the debt of a run or job before its result is shown. passed is false if the
// request was answered instead. state is the state in the 402. finished means that the whole
// debt must be paid, not only the amount of the challenge.
func (s *Server) collectDebt(ctx *fasthttp.RequestCtx, id, state string, finished bool) (passed bool) {
	if !s.sold() {
		return true
	}
	bill, owed, err := s.cfg.Payments.Seller.Outstanding(id)
	if errors.Is(err, channel.ErrNoBill) {
		return true // from a time when nothing was sold
	}
	if err != nil {
		s.refuse(ctx, s.offer(string(ctx.Path()), unitPrice), ledgerProblem(err))
		return false
	}
	secure := s.cfg.Payments.Seller.ToSecure(id, bill.Channel)
	asked, ok := owed.Add(secure)
	if !ok || asked.IsZero() {
		return true
	}
	route := s.newOffer(string(ctx.Path()), asked)
	route.AnyPrice = true // more may have accrued since the challenge
	cr, paid, ok := s.credential(ctx, route)
	if !ok {
		return false
	}
	if !paid {
		s.refuse(ctx, route, debtOf(owed, secure, state))
		return false
	}
	p, done := s.pay(ctx, cr, route, "")
	if done {
		return false
	}
	work, cancel := context.WithTimeout(s.base, payTimeout)
	defer cancel()
	bill, standing, err := s.cfg.Payments.Payer.CollectHeld(work, p, id, bill.Price)
	if err != nil {
		s.refuse(ctx, route, ledgerProblem(err))
		return false
	}
	s.cfg.Payments.Seller.Collected(bill)
	if run := s.cfg.Payments.Seller.Run(id); run != nil {
		if err := run.Secure(work, p.Channel); err != nil { // the next poll asks for the rest
			s.cfg.Log.Debug("secure the next purchase of a job", "job", id, "error", err)
		}
	}
	if finished {
		_, left, err := s.cfg.Payments.Seller.Outstanding(id)
		if err != nil { // nothing is known of a debt
			s.refuse(ctx, route, ledgerProblem(err))
			return false
		}
		if !left.IsZero() {
			s.refuse(ctx, s.newOffer(string(ctx.Path()), left), debtOf(left, tempo.Amount{}, state))
			return false
		}
	}
	standing.TxHash = p.TxHash
	giveReceipt(ctx, standing, p.ChallengeID)
	return true
}

// debtOf returns the debt of a run or job before its result is shown. secure is what a voucher
// must cover beyond that before the analysis buys more; it is not charged unless it is spent.
func debtOf(owed, secure tempo.Amount, state string) *mpp.Problem {
	p := &mpp.Problem{
		Type:    mpp.PaymentRequired,
		Detail:  fmt.Sprintf("The analysis is %s and owes %s base units: answer the challenge in WWW-Authenticate.", state, owed),
		Details: map[string]string{"owed": owed.String(), "status": state},
	}
	if !secure.IsZero() {
		p.Detail = fmt.Sprintf(
			"The analysis is %s, owes %s base units, and waits for a voucher over %s more for its next purchase, which are charged as far as they are spent: answer the challenge in WWW-Authenticate.",
			state, owed, secure,
		)
		p.Details["secure"] = secure.String()
	}
	return p
}

// manageAt answers a method that a paid path accepts only for messages of a channel.
func (s *Server) manageAt(ctx *fasthttp.RequestCtx) {
	route := s.offer(string(ctx.Path()), unitPrice)
	cr, paid, ok := s.credential(ctx, route)
	if !ok || s.bootstrap(ctx, route, cr) {
		return
	}
	if len(ctx.Request.Body()) > 0 {
		fail(ctx, fasthttp.StatusBadRequest, "", "this path takes no body; a POST here only manages a payment channel")
		return
	}
	s.manage(ctx, route, cr, paid)
}

// depositPaid answers POST /session/deposit if the service is sold. Its voucher opens the
// channel and buys nothing.
func (s *Server) depositPaid(ctx *fasthttp.RequestCtx) {
	route := s.offer(pathDeposit, unitPrice)
	cr, paid, ok := s.credential(ctx, route)
	if !ok {
		return
	}
	if !paid {
		s.demand(ctx, route)
		return
	}
	work, cancel := context.WithTimeout(s.base, payTimeout)
	defer cancel()
	p, err := s.cfg.Payments.Payer.Pay(work, s.payRequest(ctx, cr, route, ""))
	if err != nil {
		s.refuse(ctx, route, err)
		return
	}
	s.cfg.Payments.Payer.ReleaseHeld(work, p) // nothing is bought
	switch p.Payload.(type) {
	case *mpp.TopUp, *mpp.Close:
		managed(ctx, p)
		return
	}
	if p.Deposit.Cmp(s.cfg.Payments.MinDeposit) < 0 {
		s.refuseDeposit(ctx, route, p.Deposit)
		return
	}
	giveReceipt(ctx, p.Standing, p.ChallengeID)
	s.sendJSON(ctx, wire.DepositOK{OK: true})
}
