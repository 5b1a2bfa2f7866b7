package transport

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"github.com/ethereum/go-ethereum/common"
	"github.com/valyala/fasthttp"

	"txlens/actors"
	"txlens/engine/explain"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// Till takes payments. It is safe for concurrent use.
type Till interface {
	// Pay does what a credential says: opens a channel, takes a voucher, tops up or
	// closes. It charges nothing. The error is a *mpp.Problem, but for the context's.
	Pay(ctx context.Context, cr *mpp.Credential, route *mpp.Route, shape mpp.Shape) (*actors.Payment, error)
	// AdmitHeld charges for the request of a payment, once for each key.
	AdmitHeld(ctx context.Context, p *actors.Payment, key actors.TicketKey, billID string, amount tempo.Amount) (t actors.Ticket, fresh bool, s actors.Standing, err error)
	// Void takes an admission back for which nothing was done.
	Void(ctx context.Context, channel common.Hash, key actors.TicketKey) error
	// Collect charges what is owed on a bill, at most so much.
	Collect(ctx context.Context, channel common.Hash, billID string, price, atMost tempo.Amount) (actors.Bill, actors.Standing, error)
	// CollectHeld charges what is owed on a bill for the request of a payment, at
	// most what its challenge named.
	CollectHeld(ctx context.Context, p *actors.Payment, billID string, price tempo.Amount) (actors.Bill, actors.Standing, error)
	// LetGo gives up what is held for a request that is not charged.
	LetGo(ctx context.Context, p *actors.Payment)
	// Final sets what a bill comes to in all.
	Final(billID string, price tempo.Amount) (actors.Bill, error)
	// Bill returns a bill, or actors.ErrNoBill.
	Bill(id string) (actors.Bill, error)
	// Standing returns where a channel stands.
	Standing(ctx context.Context, channel common.Hash) (actors.Standing, error)
	// Watch signals each change of a channel that is on disk.
	Watch(channel common.Hash) (signal <-chan struct{}, stop func(), err error)
}

// Payments are the terms on which the service is sold. Till nil: nothing is sold.
type Payments struct {
	Till    Till
	Issuer  *mpp.Issuer
	Realm   string
	Request mpp.SessionRequest // of a challenge, but for the amount
	// MinDeposit is the smallest deposit of a channel that is served, default $2.
	MinDeposit tempo.Amount
	// Exposure is what may be owed before the next purchase waits, in base units,
	// default $0.25.
	Exposure uint64
	Tabs     *actors.Tabs // of all analyses that run, jobs among them
	// Patience with a client whose voucher is short, default 60 s.
	Patience time.Duration
}

func (p Payments) withDefaults() Payments {
	if p.MinDeposit.IsZero() {
		p.MinDeposit = tempo.AmountFrom(200 * meter.Cent)
	}
	if p.Exposure == 0 {
		p.Exposure = 25 * meter.Cent
	}
	if p.Patience <= 0 {
		p.Patience = 60 * time.Second
	}
	if p.Tabs == nil {
		p.Tabs = actors.NewTabs()
	}
	return p
}

// cent is the price of one unit.
var cent = tempo.AmountFrom(meter.Cent)

// offer is what a path asks for now. The scope names the path alone: the vouchers
// of a stream arrive by another method. It is not to be written to.
func (s *Server) offer(path string, amount tempo.Amount) *mpp.Route {
	if known := s.offers[path]; known != nil && amount == cent {
		return known
	}
	return s.newOffer(path, amount)
}

// newOffer is offer for who changes it.
func (s *Server) newOffer(path string, amount tempo.Amount) *mpp.Route {
	opaque, err := mpp.EncodeOpaque(map[string]string{"scope": path})
	if err != nil {
		panic("transport: a map of strings is always encoded: " + err.Error())
	}
	q := s.cfg.Payments.Request
	q.Amount = amount
	return &mpp.Route{Realm: s.cfg.Payments.Realm, Opaque: opaque, Description: "Analysis of one EVM transaction", Request: q}
}

// fixOffers makes the offers of the paths that sell for a cent, where each voucher
// of a stream comes by. One that cannot be encoded is found out by who asks for it.
func (s *Server) fixOffers() {
	s.offers = make(map[string]*mpp.Route)
	for _, path := range []string{pathExplain, pathAsync, pathDeposit} {
		route := s.newOffer(path, cent)
		if err := route.Fix(); err == nil {
			s.offers[path] = route
		}
	}
}

// credentials are all headers that may hold one. They share the memory of the
// request, which fasthttp uses again: for mpp.ParseCredential, which keeps nothing of
// them. Copies of all vouchers would be most of what there is to collect.
func credentials(h *fasthttp.RequestHeader) (values []string) {
	for _, name := range []string{mpp.HeaderAuthorization, mpp.HeaderPaymentAuthorization} {
		for _, v := range h.PeekAll(name) {
			values = append(values, unsafe.String(unsafe.SliceData(v), len(v)))
		}
	}
	return values
}

// shape is what of a request decides its class.
func shape(ctx *fasthttp.RequestCtx) mpp.Shape {
	h := &ctx.Request.Header
	return mpp.Shape{
		Method: string(h.Method()), HasBody: len(ctx.Request.Body()) > 0,
		HasAccept: len(h.Peek(mpp.HeaderAccept)) > 0, HasSession: len(h.Peek(mpp.HeaderSession)) > 0,
	}
}

// credential reads the one credential of a request. paid is false where there is
// none; an error has been answered.
func (s *Server) credential(ctx *fasthttp.RequestCtx, route *mpp.Route) (cr *mpp.Credential, paid, ok bool) {
	cr, err := mpp.ParseCredential(credentials(&ctx.Request.Header)...)
	if err == nil {
		return cr, true, true
	}
	if p := mpp.AsProblem(err); p.Type == mpp.PaymentRequired {
		return nil, false, true
	}
	s.refuse(ctx, route, err)
	return nil, true, false
}

// moves reports whether a credential moves its channel and asks for nothing, by what
// it does or by how it came. One that cannot be read is left to the checks in their
// order.
func moves(ctx *fasthttp.RequestCtx, cr *mpp.Credential) bool {
	p, err := cr.Payload()
	return err == nil && mpp.Classify(p.Action(), shape(ctx)) == mpp.Management
}

// moved answers a request to a path that is read, if it moves a channel: whatever
// is or is not there to be read, and to be paid for.
func (s *Server) moved(ctx *fasthttp.RequestCtx) bool {
	if !s.sold() {
		return false
	}
	cr, err := mpp.ParseCredential(credentials(&ctx.Request.Header)...)
	if err != nil || !moves(ctx, cr) {
		return false
	}
	route := s.offer(string(ctx.Path()), cent)
	route.AnyPrice = true
	s.pay(ctx, cr, route)
	return true
}

// refuse answers a problem. Where the client can mend it, or where its channel is
// gone, a fresh challenge goes along.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, route *mpp.Route, err error) {
	p := mpp.AsProblem(err)
	status := p.Status()
	if status >= fasthttp.StatusInternalServerError {
		s.cfg.Log.Error("payment", "request", idOf(ctx), "problem", string(p.Type), "error", p.Unwrap())
	}
	if p.RetryAfter > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if status == fasthttp.StatusPaymentRequired || status == fasthttp.StatusGone {
		if id, ok := s.challenge(ctx, route); ok {
			p = p.WithChallenge(id)
		}
	}
	visitOf(ctx).failed(string(p.Type))
	ctx.Response.ResetBody()
	ctx.SetStatusCode(status)
	ctx.SetContentType(mpp.ProblemMedia)
	ctx.Response.SetBodyRaw(p.Document())
}

// challenge puts a fresh one into the answer.
func (s *Server) challenge(ctx *fasthttp.RequestCtx, route *mpp.Route) (id string, ok bool) {
	ch, err := s.cfg.Payments.Issuer.Issue(route, time.Now().Add(mpp.ChallengeLifetime))
	if err == nil {
		var value string
		if value, err = ch.HeaderValue(); err == nil {
			ctx.Response.Header.Set(mpp.HeaderChallenge, value)
			return ch.ID, true
		}
	}
	s.cfg.Log.Error("issue challenge", "request", idOf(ctx), "error", err)
	return "", false
}

// demand answers a request without a credential.
func (s *Server) demand(ctx *fasthttp.RequestCtx, route *mpp.Route) {
	s.refuse(ctx, route, &mpp.Problem{Type: mpp.PaymentRequired, Detail: "This needs an MPP payment session: answer the challenge in WWW-Authenticate."})
}

// managed answers a request that moved a channel and asked for nothing else.
func managed(ctx *fasthttp.RequestCtx, p *actors.Payment) {
	ctx.Response.ResetBody()
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	_, visitOf(ctx).routine = p.Payload.(*mpp.Voucher)
	giveReceipt(ctx, p.Standing, p.ChallengeID)
}

// giveReceipt puts a receipt into the answer, which is the payer's alone then.
func giveReceipt(ctx *fasthttp.RequestCtx, s actors.Standing, challengeID string) {
	text := receipts.Get().(*[]byte)
	*text = s.Receipt(challengeID, time.Now()).AppendHeaderValue((*text)[:0])
	ctx.Response.Header.SetBytesV(mpp.HeaderReceipt, *text) // which copies it
	receipts.Put(text)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store, private")
}

// receipts are buffers for one header each.
var receipts = sync.Pool{New: func() any { return new([]byte) }}

// pay has a credential done. done is true where the request is answered by that; if
// not, what is held for it is to be charged or let go.
func (s *Server) pay(ctx *fasthttp.RequestCtx, cr *mpp.Credential, route *mpp.Route) (p *actors.Payment, done bool) {
	work, cancel := context.WithTimeout(s.base, payTime)
	defer cancel()
	p, err := s.cfg.Payments.Till.Pay(work, cr, route, shape(ctx))
	switch {
	case err != nil && work.Err() != nil:
		s.failWith(ctx, explain.ErrStopping)
		return nil, true
	case err != nil:
		s.refuse(ctx, route, err)
		return nil, true
	case p.Class == mpp.Management:
		managed(ctx, p)
		return p, true
	case p.Deposit.Cmp(s.cfg.Payments.MinDeposit) < 0:
		s.cfg.Payments.Till.LetGo(work, p)
		s.tooSmall(ctx, p)
		return p, true
	}
	return p, false
}

// tooSmall refuses a channel whose deposit is not worth serving.
func (s *Server) tooSmall(ctx *fasthttp.RequestCtx, p *actors.Payment) {
	fail(ctx, fasthttp.StatusPaymentRequired, explain.CodeDeposit, fmt.Sprintf("the channel's deposit of %s base units is below the %s that are served; top it up", p.Deposit, s.cfg.Payments.MinDeposit))
}

// payTime bounds what a credential may take: an opening waits for the chain.
const payTime = 60 * time.Second

// maxIdempotencyKey bounds the header that takes a voucher's place in a ticket.
const maxIdempotencyKey = 256

// ticketKey makes equal requests one: the same channel, the same voucher or the
// same Idempotency-Key, the same route and body.
func ticketKey(ctx *fasthttp.RequestCtx, path string, p *actors.Payment) actors.TicketKey {
	h := sha256.New()
	put := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	put(p.Channel[:])
	if key := ctx.Request.Header.Peek("Idempotency-Key"); len(key) > 0 && len(key) <= maxIdempotencyKey {
		put([]byte("key"))
		put(key)
	} else {
		put([]byte("voucher"))
		put([]byte(cumulative(p.Payload).String()))
	}
	put([]byte(path))
	put(ctx.Request.Body())
	return actors.TicketKey(h.Sum(nil))
}

// cumulative is what a payload signs for in all.
func cumulative(p mpp.Payload) tempo.Amount {
	switch p := p.(type) {
	case *mpp.Open:
		return p.CumulativeAmount
	case *mpp.Voucher:
		return p.CumulativeAmount
	}
	return tempo.Amount{}
}

// admitPaid charges the first unit of a request. done is true where it is answered.
func (s *Server) admitPaid(ctx *fasthttp.RequestCtx, route *mpp.Route, p *actors.Payment, key actors.TicketKey, id string) (t actors.Ticket, fresh bool, st actors.Standing, done bool) {
	work, cancel := context.WithTimeout(s.base, payTime)
	defer cancel()
	t, fresh, st, err := s.cfg.Payments.Till.AdmitHeld(work, p, key, id, cent)
	if err != nil {
		s.refuse(ctx, route, noted(err))
		return t, false, st, true
	}
	st.TxHash = p.TxHash // that of the open which paid for it
	return t, fresh, st, false
}

// noted: an error of the ledger is nothing that the payer can mend, and may have
// been booked; the same request asks for it again.
func noted(err error) error {
	var p *mpp.Problem
	if errors.As(err, &p) {
		return p
	}
	return mpp.Unreachable(5*time.Second, err)
}

// void gives back what was charged for a request that is not served after all.
func (s *Server) void(channel common.Hash, key actors.TicketKey) {
	work, cancel := context.WithTimeout(context.WithoutCancel(s.base), payTime)
	defer cancel()
	if err := s.cfg.Payments.Till.Void(work, channel, key); err != nil {
		s.cfg.Log.Error("give a charge back", "channel", channel, "error", err)
	}
}
