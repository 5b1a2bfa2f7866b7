package transport

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/ethereum/go-ethereum/common"
	"github.com/valyala/fasthttp"

	"txlens/actors/channel"
	"txlens/actors/sale"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// Payer takes the payments of credentials. It is safe for concurrent use.
type Payer interface {
	// Pay does what a credential says: opens a channel, takes a voucher, tops up or
	// closes. It charges nothing. The error is a *mpp.Problem or a
	// *channel.DepositError, or that of the context.
	Pay(ctx context.Context, q channel.PayRequest) (*channel.Payment, error)
	// CollectHeld charges what is owed on a bill for the request of a payment, at
	// most what its challenge named.
	CollectHeld(ctx context.Context, p *channel.Payment, billID string, price tempo.Amount) (channel.Bill, channel.Standing, error)
	// LetGo gives up what is held for a request that is not charged.
	LetGo(ctx context.Context, p *channel.Payment)
	// Standing returns where a channel stands.
	Standing(ctx context.Context, channelID common.Hash) (channel.Standing, error)
}

// Admissions knows the requests that were admitted. It is safe for concurrent use.
type Admissions interface {
	// Begun reports whether a request has been admitted before.
	Begun(key channel.TicketKey) bool
	// Void takes back the admission of a request for which nothing was done.
	Void(ctx context.Context, channelID common.Hash, o channel.Order) error
	// Delivered notes that the result of a run or job was sent to its end.
	Delivered(billID string)
}

// Snapshots tells payers where their channels stand. It is safe for concurrent use.
type Snapshots interface {
	// Snapshot is what a credential's payer may know of its channel, nil if the
	// credential does not prove who asks.
	Snapshot(ctx context.Context, cr *mpp.Credential, price tempo.Amount) *mpp.Snapshot
	// SnapshotOf is that of the channel with which a payer can continue, nil if there
	// is none.
	SnapshotOf(ctx context.Context, payer common.Address) *mpp.Snapshot
}

// Payments are the terms on which the service is sold. Payer nil: nothing is sold.
type Payments struct {
	Payer      Payer
	Admissions Admissions
	Snapshots  Snapshots
	Seller     *sale.Seller
	Issuer     *mpp.Issuer
	Realm      string
	Request    mpp.SessionRequest // of a challenge, but for the amount
	// MinDeposit is the smallest deposit of a channel that is served, default $2.
	MinDeposit tempo.Amount
	// QueueTime is how long a paid request waits for a free slot before it is answered
	// 503, default 10 s. Negative: it does not wait.
	QueueTime time.Duration
}

func (p Payments) withDefaults() Payments {
	if p.MinDeposit.IsZero() {
		p.MinDeposit = tempo.AmountFrom(200 * meter.Cent)
	}
	if p.QueueTime == 0 {
		p.QueueTime = 10 * time.Second
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
	s.pay(ctx, cr, s.offer(string(ctx.Path()), cent), "") // which does not look at the price
	return true
}

// refuse answers a problem. Where the client can mend it, or where its channel is
// gone, a fresh challenge goes along; where its credential proves who asks, with what
// the payer must know to go on.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, route *mpp.Route, err error) {
	if small, ok := errors.AsType[*channel.DepositError](err); ok {
		s.tooSmall(ctx, route, small.Deposit)
		return
	}
	p := mpp.AsProblem(err)
	status := p.Status()
	if status >= fasthttp.StatusInternalServerError {
		s.cfg.Log.Error("payment", "request", idOf(ctx), "problem", string(p.Type), "error", p.Unwrap())
	}
	if p.RetryAfter > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if status == fasthttp.StatusPaymentRequired || status == fasthttp.StatusGone {
		if id, ok := s.challenge(ctx, s.informed(ctx, route)); ok {
			p = p.WithChallenge(id)
		}
	}
	visitOf(ctx).failed(string(p.Type))
	ctx.Response.ResetBody()
	ctx.SetStatusCode(status)
	ctx.SetContentType(mpp.ProblemMedia)
	ctx.Response.SetBodyRaw(p.Document())
}

// informed is a route with a snapshot of the channel of the request's credential, for
// a client that fell behind. Without proof of who asks it is the route as it was.
func (s *Server) informed(ctx *fasthttp.RequestCtx, route *mpp.Route) *mpp.Route {
	cr, err := mpp.ParseCredential(credentials(&ctx.Request.Header)...)
	if err != nil {
		return route
	}
	work, cancel := context.WithTimeout(s.base, payTime)
	defer cancel()
	price := route.Request.Amount
	if owed, ok := ctx.UserValue(owedKey).(tempo.Amount); ok {
		price, _ = price.Add(owed)
	}
	snap := s.cfg.Payments.Snapshots.Snapshot(work, cr, price)
	if snap == nil {
		return route
	}
	return route.Informed(snap)
}

// owedKey is where a request keeps what its payer owes for earlier analyses.
const owedKey = "owed"

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
	s.refuse(
		ctx,
		route,
		&mpp.Problem{Type: mpp.PaymentRequired, Detail: "This needs an MPP payment session: answer the challenge in WWW-Authenticate."},
	)
}

// managed answers a request that moved a channel and asked for nothing else.
func managed(ctx *fasthttp.RequestCtx, p *channel.Payment) {
	ctx.Response.ResetBody()
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	_, visitOf(ctx).routine = p.Payload.(*mpp.Voucher)
	giveReceipt(ctx, p.Standing, p.ChallengeID)
}

// giveReceipt puts a receipt into the answer, which is the payer's alone then.
func giveReceipt(ctx *fasthttp.RequestCtx, s channel.Standing, challengeID string) {
	text := receipts.Get().(*[]byte)
	*text = s.Receipt(challengeID, time.Now()).AppendHeaderValue((*text)[:0])
	ctx.Response.Header.SetBytesV(mpp.HeaderReceipt, *text) // which copies it
	receipts.Put(text)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store, private")
}

// receipts are buffers for one header each.
var receipts = sync.Pool{New: func() any { return new([]byte) }}

// pay has a credential done. done is true where the request is answered by that; if
// not, what is held for it is to be charged or let go. path is that of content which
// a voucher can have begun before, empty where there is none.
func (s *Server) pay(ctx *fasthttp.RequestCtx, cr *mpp.Credential, route *mpp.Route, path string) (p *channel.Payment, done bool) {
	work, cancel := context.WithTimeout(s.base, payTime)
	defer cancel()
	p, err := s.cfg.Payments.Payer.Pay(work, s.payRequest(ctx, cr, route, path))
	switch {
	case err != nil && work.Err() != nil:
		s.failWith(ctx, api.ErrStopping)
		return nil, true
	case err != nil:
		s.refuse(ctx, route, err)
		return nil, true
	case p.Class == mpp.Management:
		managed(ctx, p)
		return p, true
	case p.Deposit.Cmp(s.cfg.Payments.MinDeposit) < 0:
		s.cfg.Payments.Payer.LetGo(work, p)
		s.tooSmall(ctx, route, p.Deposit)
		return p, true
	}
	return p, false
}

func (s *Server) payRequest(ctx *fasthttp.RequestCtx, cr *mpp.Credential, route *mpp.Route, path string) channel.PayRequest {
	q := channel.PayRequest{Credential: cr, Route: route, Shape: shape(ctx), Origin: origin(ctx.RemoteAddr())}
	if path != "" {
		q.Begun = func(channelID common.Hash, cumulative tempo.Amount) bool {
			return s.cfg.Payments.Admissions.Begun(voucherTicket(ctx, path, channelID, cumulative))
		}
	}
	return q
}

// tooSmall refuses a channel whose deposit is not worth serving.
func (s *Server) tooSmall(ctx *fasthttp.RequestCtx, route *mpp.Route, deposit tempo.Amount) {
	s.challenge(ctx, route)
	fail(ctx, fasthttp.StatusPaymentRequired, api.CodeDeposit, fmt.Sprintf(
		"the channel's deposit of %s base units is below the minimum of %s; open a channel with more, or top it up",
		deposit,
		s.cfg.Payments.MinDeposit,
	))
}

// payTime bounds what a credential may take: an opening waits for the chain.
const payTime = 60 * time.Second

// maxIdempotencyKey bounds the header that takes a voucher's place in a ticket.
const maxIdempotencyKey = 256

// order is a paid request as the books know it: what makes it one with an earlier
// request, and the id of what it begins. Equal requests have the same channel, the same
// voucher or Idempotency-Key, the same path and body.
func (s *Server) order(ctx *fasthttp.RequestCtx, path string, p *channel.Payment, id string) channel.Order {
	o := channel.Order{Key: voucherTicket(ctx, path, p.Channel, cumulative(p.Payload)), Bill: id, Price: cent}
	if idempotencyKey(ctx) == nil {
		o.Request = ticketKey(ctx, path, p.Channel, "request", nil)
	}
	return o
}

// voucherTicket is the ticket of a request with a voucher, or with the
// Idempotency-Key that takes its place.
func voucherTicket(ctx *fasthttp.RequestCtx, path string, channelID common.Hash, cumulative tempo.Amount) channel.TicketKey {
	if key := idempotencyKey(ctx); key != nil {
		return ticketKey(ctx, path, channelID, "key", key)
	}
	return ticketKey(ctx, path, channelID, "voucher", []byte(cumulative.String()))
}

// idempotencyKey is nil where there is none, or one that is too long.
func idempotencyKey(ctx *fasthttp.RequestCtx) []byte {
	key := ctx.Request.Header.Peek("Idempotency-Key")
	if len(key) == 0 || len(key) > maxIdempotencyKey {
		return nil
	}
	return key
}

// ticketKey hashes its arguments and the body of the request.
func ticketKey(ctx *fasthttp.RequestCtx, path string, channelID common.Hash, kind string, value []byte) channel.TicketKey {
	h := sha256.New()
	put := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	put(channelID[:])
	put([]byte(kind))
	put(value)
	put([]byte(path))
	put(ctx.Request.Body())
	return channel.TicketKey(h.Sum(nil))
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

// admitPaid charges the first unit of a request, once; mayBegin is asked before a new
// one is charged. done is true where the request is answered.
func (s *Server) admitPaid(
	ctx *fasthttp.RequestCtx,
	route *mpp.Route,
	p *channel.Payment,
	o channel.Order,
	mayBegin func(context.Context) error,
) (a channel.Admitted, done bool) {
	work, cancel := context.WithTimeout(s.base, payTime)
	defer cancel()
	o.MayBegin = func() error { return mayBegin(work) }
	a, err := s.cfg.Payments.Seller.Admit(work, p, o)
	switch owing, crowded := (*sale.DebtError)(nil), (*crowdedError)(nil); {
	case err == nil:
	case errors.As(err, &crowded):
		s.tooMany(ctx, crowded)
		return a, true
	case errors.As(err, &owing):
		s.demandDebt(ctx, route, owing)
		return a, true
	default:
		s.refuse(ctx, route, noted(err))
		return a, true
	}
	a.TxHash = p.TxHash // that of the open which paid for it
	return a, false
}

// demandDebt refuses a new analysis until earlier ones are paid.
func (s *Server) demandDebt(ctx *fasthttp.RequestCtx, route *mpp.Route, owing *sale.DebtError) {
	ctx.SetUserValue(owedKey, owing.Owed)
	s.refuse(ctx, route, &mpp.Problem{
		Type: mpp.InsufficientBalance, RequiredTopUp: owing.Owed,
		Detail: fmt.Sprintf(
			"Earlier analyses of this payer are not paid: %s base units are owed. Sign for them, or fetch them by their ids.",
			owing.Owed,
		),
		Hint:    "GET /explain/run/{requestId} or GET /result/{jobId} pays for one and delivers it.",
		Details: map[string]string{"owed": owing.Owed.String(), "runs": strings.Join(owing.Runs, ",")},
	})
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
func (s *Server) void(channelID common.Hash, o channel.Order) {
	work, cancel := context.WithTimeout(context.WithoutCancel(s.base), payTime)
	defer cancel()
	if err := s.cfg.Payments.Admissions.Void(work, channelID, o); err != nil {
		s.cfg.Log.Error("give a charge back", "channel", channelID, "error", err)
	}
}
