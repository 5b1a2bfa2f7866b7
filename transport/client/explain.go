package client

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/transport/wire"
)

const (
	pathExplain = "/explain"
	eventStream = "text/event-stream"
	// maxVouchers limits how often one stream can ask for a voucher.
	maxVouchers = 10_000
	// maxRejoins limits how often a broken stream is joined again without a new event.
	maxRejoins = 8
	// endTimeout is how long the client waits for the end of a stream after the result.
	endTimeout = 5 * time.Second
)

// maxEvents limits the number of events of a stream; tests lower it.
var maxEvents = 2_000_000

// Explain buys an analysis as a stream. sink gets the events as they arrive, and may be nil. A
// stream that breaks is joined again, or its run is fetched when it has ended; if that fails
// the error is a *LostRun, which names the run for Recover. If only the last receipt is wrong,
// Explain returns an Answer and an error.
func (c *Client) Explain(ctx context.Context, req api.Request, sink func(api.Event)) (*Answer, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	if sink == nil {
		sink = func(api.Event) {}
	}
	run := &run{purchase: c.newPurchase(), sink: sink, ask: apiCall{http.MethodPost, pathExplain, eventStream, body}}
	return run.buy(ctx)
}

var errTimeout = errors.New("the request took longer than it may")

// run is one analysis as a stream, however often the stream breaks.
type run struct {
	*purchase
	ask    apiCall
	sink   func(api.Event)
	id     string // requestId, once known
	heard  int    // events of the analysis so far
	atWork bool   // when its record was last requested
	// interrupted: the server ended while it worked on the run
	interrupted bool
	answer      *Answer
}

// buy reads streams until one ends with a result.
func (r *run) buy(ctx context.Context) (*Answer, error) {
	rejoined, begun := 0, false
	for {
		before := r.heard
		err := r.stream(ctx)
		if r.answer != nil {
			r.answer.Recovered = begun
			return r.paid(r.answer), err
		}
		if !broken(err) || ctx.Err() != nil {
			return nil, r.lost(ctx, err)
		}
		if r.heard > before {
			rejoined = 0
		}
		begun = r.id != "" || !r.signed.IsZero()
		if rejoined++; rejoined > rejoins(err, begun) {
			return nil, r.lost(ctx, err)
		}
		if serr := sleep(ctx, backoff(rejoined+1)); serr != nil {
			return nil, r.lost(ctx, serr)
		}
		// It may have ended while no stream was open.
		if ans, ferr := r.fetch(ctx); ans != nil || ferr != nil && !broken(ferr) {
			if ferr != nil {
				return nil, r.lost(ctx, ferr)
			}
			return ans, nil
		}
	}
}

// broken reports whether an error concerns the connection rather than an answer.
func broken(err error) bool {
	var b brokenStream
	return errors.As(err, &b) || errors.As(err, new(unanswered))
}

// brokenStream is the error of a stream that ended without a final event, or because the
// server stops.
type brokenStream struct{ cause error }

func (b brokenStream) Error() string { return "the stream broke off: " + b.cause.Error() }
func (b brokenStream) Unwrap() error { return b.cause }

// lost adds the id of the run to the error, so that it can be fetched later.
func (r *run) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	var failed *RunError
	if r.id == "" || errors.As(err, &failed) {
		return err
	}
	return &LostRun{RequestID: r.id, Err: err}
}

func (p *purchase) paid(a *Answer) *Answer {
	a.Signed, a.Charged = p.signed, p.charged
	return a
}

// stream requests the stream and reads it to its end. The same request with the same
// Idempotency-Key joins the run that it began before.
func (r *run) stream(ctx context.Context) error {
	resp, err := r.send(ctx, r.ask)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return readRefusal(resp).err()
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != eventStream {
		resp.Body.Close()
		return fmt.Errorf("%w: a paid analysis is answered with %q, not with a stream", ErrProtocol, api.OneLine(media, 80))
	}
	body, stop := watch(ctx, resp.Body, r.c.o.Silence)
	defer stop()
	in := newEvents(body)
	vouchers := 0
	for n := 0; ; n++ {
		ev, err := in.next()
		switch {
		case err != nil && r.answer != nil:
			return nil // everything that was bought has arrived
		case errors.Is(err, ErrProtocol):
			return err
		case err != nil:
			return brokenStream{err}
		case n == maxEvents:
			return fmt.Errorf("%w: the stream has more than %d events", ErrProtocol, maxEvents)
		}
		switch ev.name {
		case mpp.EventNeedVoucher:
			if vouchers++; vouchers > maxVouchers {
				return fmt.Errorf("%w: the stream asks for more than %d vouchers", ErrProtocol, maxVouchers)
			}
			err = r.needVoucher(ctx, ev.data)
		case mpp.EventReceipt:
			err = r.receipt(ev.data)
		default:
			err = r.frame(ev.data)
		}
		if err != nil {
			return err
		}
		if r.answer != nil {
			body.timer.Reset(endTimeout)
			body.patience = endTimeout
		}
	}
}

// needVoucher signs the voucher that a stream asks for, within the payer's limits.
func (r *run) needVoucher(ctx context.Context, data []byte) error {
	need, err := mpp.DecodeNeedVoucher(data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	ch := r.row()
	switch {
	case need.ChannelID != ch.ID:
		return fmt.Errorf("%w: it asks for a voucher of another channel", ErrProtocol)
	case need.AcceptedCumulative.Cmp(ch.Signed) > 0:
		return fmt.Errorf("%w: it says that more was accepted than signed", ErrProtocol)
	}
	if more, up := need.RequiredCumulative.Sub(ch.Signed); up {
		if err := r.checkLimit(more); err != nil {
			return err
		}
	}
	of := r.offered
	if err := r.cover(ctx, r.ask.path, of, need.RequiredCumulative); err != nil {
		return err
	}
	if err := r.storeVoucher(need.RequiredCumulative); err != nil {
		return err
	}
	v, err := r.voucher()
	if err != nil {
		return err
	}
	return r.move(ctx, r.ask.path, of, v)
}

// receipt handles the final receipt.
func (r *run) receipt(data []byte) error {
	rc, err := mpp.DecodeReceipt(data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return r.acceptReceipt(rc, r.row().Spent)
}

// frame handles an event of the analysis.
func (r *run) frame(data []byte) error {
	var head struct {
		Type      api.EventType `json:"type"`
		RequestID string        `json:"requestId"`
	}
	if err := json.Unmarshal(data, &head, allowInvalidUTF8); err != nil {
		return fmt.Errorf("%w: an event is no JSON object: %w", ErrProtocol, err)
	}
	if id, err := uuid.Parse(head.RequestID); err == nil && len(head.RequestID) == 36 {
		r.id = id.String()
	}
	if r.answer != nil {
		return nil // nothing follows the result
	}
	switch head.Type {
	case api.EventResult, api.EventReport:
		a, err := answerOf(head.Type, data)
		if err != nil {
			return err
		}
		a.RequestID, r.answer = r.id, a
		return nil
	}
	var e api.Event
	if err := json.Unmarshal(data, &e, allowInvalidUTF8); err != nil {
		return fmt.Errorf("%w: read event: %w", ErrProtocol, err)
	}
	if e.Type == api.EventError {
		return r.failed(e)
	}
	if e.Type != api.EventHeartbeat {
		r.heard++
	}
	r.sink(e)
	return nil
}

// failed converts an error event to an error. If the server is stopping, the run may continue.
func (r *run) failed(e api.Event) error {
	err := &RunError{RequestID: r.id, Code: api.OneLine(e.Code, 80), Message: api.OneLine(e.Message, maxMessage)}
	if e.Code == api.CodeStopping || e.Code == api.CodeUnpaid {
		return brokenStream{err}
	}
	return err
}

// foreign: text of a chain may be invalid UTF-8.
var allowInvalidUTF8 = jsontext.AllowInvalidUTF8(true)

// answerOf decodes the frame that ends a run.
func answerOf(kind api.EventType, data []byte) (*Answer, error) {
	if kind == api.EventReport {
		var report wire.ReportFrame
		if err := json.Unmarshal(data, &report, allowInvalidUTF8); err != nil {
			return nil, fmt.Errorf("%w: read report: %w", ErrProtocol, err)
		}
		return &Answer{HTML: report.HTML}, nil
	}
	res, err := api.DecodeResult(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return &Answer{Result: res}, nil
}

// Recover fetches a run whose stream was lost, and pays its outstanding price.
func (c *Client) Recover(ctx context.Context, requestID string) (*Answer, error) {
	id, err := uuid.Parse(requestID)
	if err != nil {
		return nil, errors.New("the id of a run is a UUID")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	r := &run{purchase: c.newPurchase(), id: id.String(), sink: func(api.Event) {}}
	var a *Answer
	err = r.resend(ctx, func() (err error) {
		a, err = r.fetch(ctx)
		return err
	})
	switch {
	case a != nil || err != nil:
	case r.atWork:
		err = &StatusError{Status: http.StatusConflict, Code: api.CodeRunAtWork, Message: "the run is still at work; ask again in a moment"}
	case r.interrupted:
		err = &StatusError{
			Status: http.StatusConflict, Code: api.CodeRunInterrupted,
			Message: "the server was interrupted while it worked on the run; ask for the analysis again: what was paid counts",
		}
	default:
		err = &StatusError{Status: http.StatusNotFound, Code: api.CodeNoRun, Message: "no run under this id: it is unknown or too old"}
	}
	return a, err
}

// fetch requests the record of the run. It returns neither answer nor error if there is no
// record yet.
func (r *run) fetch(ctx context.Context) (*Answer, error) {
	if r.id == "" {
		return nil, nil
	}
	r.atWork, r.interrupted = false, false
	key := r.key
	r.key = uuid.NewString() // another request than the stream's
	defer func() { r.key = key }()
	resp, err := r.send(ctx, apiCall{method: http.MethodGet, path: "/explain/run/" + r.id})
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		drain(resp)
		return nil, nil
	default:
		why := readRefusal(resp)
		r.atWork, r.interrupted = why.code == api.CodeRunAtWork, why.code == api.CodeRunInterrupted
		if r.atWork || r.interrupted {
			return nil, nil // the same request again waits for the run, or begins it again
		}
		return nil, why.err()
	}
	doc, err := readBody(resp, maxAnswer)
	if err != nil {
		return nil, err
	}
	var record api.RunRecovery
	if err := json.Unmarshal(doc, &record, allowInvalidUTF8); err != nil || len(record.Frames) == 0 || record.RequestID != r.id {
		return nil, fmt.Errorf("%w: the record of the run cannot be read", ErrProtocol)
	}
	if err := r.frame(record.Frames[len(record.Frames)-1]); err != nil {
		return nil, err
	}
	if r.answer == nil {
		return nil, fmt.Errorf("%w: the record of the run does not end with a result", ErrProtocol)
	}
	r.answer.Recovered = true
	r.recount(ctx)
	return r.paid(r.answer), nil
}

// recount reads the charges that no stream reported: it sends the highest voucher again, and
// the receipt has them. If that fails nothing is lost.
func (p *purchase) recount(ctx context.Context) {
	if p.channel == (common.Hash{}) {
		return
	}
	of, err := p.demand(ctx, pathDeposit)
	if err != nil {
		return
	}
	if r := p.row(); p.c.matches(&r, of.q) {
		if v, err := p.voucher(); err == nil {
			p.move(ctx, pathDeposit, of, v)
		}
	}
}
