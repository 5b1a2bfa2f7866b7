package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
	"txlens/transport/wire"
)

const (
	// maxRefusal limits the body of an answer other than the paid one.
	maxRefusal = 64 << 10
	// maxAnswer limits any other body, and a whole stream.
	maxAnswer = 512 << 20
	// maxHeader limits the header of an answer.
	maxHeader = 64 << 10
	// headerTimeout is the time limit for the header of an answer: an opening waits for the chain.
	headerTimeout = 90 * time.Second
	// maxPayments limits how often one request is answered 402 after it was paid.
	maxPayments = 4
	// maxTries limits how often a request without an answer is repeated.
	maxTries = 4
	// maxRetryAfter limits the wait that a server may ask for.
	maxRetryAfter = 15 * time.Second
)

// Sendable reports whether a key can be sent in a header: it has no blank and no line break.
func Sendable(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// baseURL checks and trims the address of a server. Vouchers and keys of callers are sent by https
// only, except to a server on this machine; secret is false for a client that has none.
func baseURL(text string, secret bool) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the server must be a URL such as https://explain.example.org")
	case u.Scheme == "https":
	case u.Scheme != "http":
		return "", errors.New("the server's URL must begin with https://")
	case secret && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		return "", errors.New("a server that is paid or asked with a key needs https://, unless it runs on this machine")
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.Path, "/"), nil
}

// newWeb returns the HTTP client. It follows no redirect, because a credential is valid for
// its server only.
func newWeb() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout, t.MaxResponseHeaderBytes, t.DisableCompression = headerTimeout, maxHeader, true
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// apiCall is a request without its payment.
type apiCall struct {
	method, path, accept string
	body                 []byte
}

// manage marks a request that only manages the channel.
func manage(path string) apiCall { return apiCall{method: http.MethodPost, path: path} }

// once sends a request once. A credential goes into the header that its challenge names; a
// management request has no body.
func (p *purchase) once(ctx context.Context, a apiCall, cr *mpp.Credential, content bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, a.method, p.c.server+a.path, bytes.NewReader(a.body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if len(a.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.accept != "" {
		req.Header.Set("Accept", a.accept)
	}
	if content {
		req.Header.Set(mpp.HeaderAccept, mpp.Method+"/"+mpp.Intent)
		req.Header.Set("Idempotency-Key", p.key)
		if p.channel != (common.Hash{}) {
			req.Header.Set(mpp.HeaderSession, p.channel.Hex())
		}
	}
	if p.c.o.CallerKey != "" {
		req.Header.Set("Authorization", "Bearer "+p.c.o.CallerKey) // a credential may replace it
	}
	if cr != nil {
		value, err := cr.HeaderValue()
		if err != nil {
			return nil, err
		}
		req.Header.Set(cr.HeaderName(), value)
	}
	resp, err := p.c.web.Do(req)
	if err != nil {
		return nil, unanswered{err}
	}
	if err := decode(resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// unanswered means that there was no answer of the service, an incomplete one or "retry later".
// The same request may be sent again.
type unanswered struct{ cause error }

func (u unanswered) Error() string {
	var op *url.Error
	var status *StatusError
	switch {
	case errors.As(u.cause, &status):
		return status.Error()
	case errors.As(u.cause, &op):
		return "the server does not answer: " + op.Err.Error() // without the URL
	}
	return "the server does not answer: " + u.cause.Error()
}
func (u unanswered) Unwrap() error { return u.cause }

// try repeats the same request until there is an answer other than "retry later". Of the last try
// that is an error, too.
func (p *purchase) try(ctx context.Context, a apiCall, cr *mpp.Credential, content bool) (resp *http.Response, err error) {
	for n := 1; ; n++ {
		resp, err = p.once(ctx, a, cr, content)
		rest := backoff(n)
		if err == nil {
			if !passing(resp) {
				return resp, nil
			}
			rest = retryAfter(resp, rest)
			err = unanswered{readRefusal(resp).err()}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if n == maxTries || !errors.As(err, new(unanswered)) {
			return nil, err
		}
		if err := sleep(ctx, rest); err != nil {
			return nil, err
		}
	}
}

// drain reads the rest of an unwanted body, so that the connection can be reused.
func drain(resp *http.Response) {
	io.CopyN(io.Discard, resp.Body, maxRefusal)
	resp.Body.Close()
}

// send sends a request and pays what the answer asks for. It returns an answer other than a
// demand for payment; the caller closes its body.
func (p *purchase) send(ctx context.Context, a apiCall) (*http.Response, error) {
	resp, err := p.try(ctx, a, nil, true)
	if err != nil {
		return nil, err
	}
	var short tempo.Amount
	for n := 0; resp.StatusCode == http.StatusPaymentRequired; n++ {
		refusal := readRefusal(resp)
		if n > 0 {
			if !p.mendable(refusal) || n == maxPayments {
				return nil, refusal.err()
			}
			short = refusal.short
		}
		if refusal.code == api.CodeDeposit {
			if err := p.enlarge(ctx); err != nil {
				return nil, fmt.Errorf("%s; %w", refusal.message, err)
			}
			if resp, err = p.try(ctx, a, nil, true); err != nil {
				return nil, err
			}
			continue
		}
		of, err := p.terms(ctx, resp.Header.Values(mpp.HeaderChallenge))
		if err != nil {
			return nil, err
		}
		if resp, err = p.pay(ctx, a, of, short); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// mendable reports whether another voucher can answer a refused payment.
func (p *purchase) mendable(r refusal) bool {
	switch mpp.ProblemType(r.code) {
	case mpp.PaymentRequired, mpp.PaymentExpired, mpp.InvalidChallenge, mpp.InsufficientBalance, mpp.AmountExceedsDeposit, mpp.DeltaTooSmall:
		return true
	}
	return r.code == api.CodeDeposit && !p.toppedUp
}

// pay pays an offer and sends the request with the payment.
func (p *purchase) pay(ctx context.Context, a apiCall, of *offer, short tempo.Amount) (*http.Response, error) {
	payload, err := p.use(ctx, of)
	if err != nil {
		return nil, err
	}
	if payload == nil {
		to, err := p.next(of.q, short)
		if err != nil {
			return nil, err
		}
		if more, up := to.Sub(p.row().Signed); up {
			if err := p.checkLimit(more); err != nil { // before a top-up that it would need
				return nil, err
			}
		}
		if err := p.cover(ctx, a.path, of, to); err != nil {
			return nil, err
		}
		if err := p.storeVoucher(to); err != nil {
			return nil, err
		}
		if payload, err = p.voucher(); err != nil {
			return nil, err
		}
	}
	resp, err := p.answer(ctx, a, of, payload, true)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusGone {
		return p.replace(ctx, a, resp)
	}
	return resp, nil
}

// answer sends a request with a credential, and handles the receipt.
func (p *purchase) answer(ctx context.Context, a apiCall, of *offer, payload mpp.Payload, content bool) (*http.Response, error) {
	p.answered[of.challenge.ID], p.offered = true, of
	cr := mpp.NewCredential(&of.challenge, payload, mpp.Source{ChainID: p.c.chain.ID, Address: p.c.account})
	carried := signedAmount(payload)
	resp, err := p.try(ctx, a, cr, content)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp, nil
	}
	if err := p.acknowledged(resp, carried); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// signedAmount returns the amount that a payload signs for.
func signedAmount(payload mpp.Payload) tempo.Amount {
	switch v := payload.(type) {
	case *mpp.Open:
		return v.CumulativeAmount
	case *mpp.Voucher:
		return v.CumulativeAmount
	case *mpp.Close:
		return v.CumulativeAmount
	}
	return tempo.Amount{}
}

// acknowledged handles the receipt of a successful answer.
func (p *purchase) acknowledged(resp *http.Response, carried tempo.Amount) error {
	if err := p.opened(); err != nil {
		return err
	}
	value := resp.Header.Get(mpp.HeaderReceipt)
	if value == "" {
		return nil // some servers send the receipt of a stream at its end
	}
	rc, err := mpp.ParseReceipt(value)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return p.acceptReceipt(rc, carried)
}

// replace deletes a channel that the server calls gone, if the chain confirms it, and repeats
// the request once. Without the check a server could make a payer abandon money.
func (p *purchase) replace(ctx context.Context, a apiCall, resp *http.Response) (*http.Response, error) {
	refusal := readRefusal(resp)
	r := p.row()
	s, err := p.c.chain.state(ctx, r.ID)
	switch {
	case err != nil:
		return nil, errors.Join(refusal.err(), err)
	case !s.Deposit.IsZero():
		return nil, fmt.Errorf("%w; the chain still has $%s in the channel %s: close it, or ask the chain for it",
			refusal.err(), mpp.FormatTokens(s.Deposit), r.ID)
	case p.replaced:
		return nil, refusal.err()
	}
	if err := p.c.vanished(ctx, r); err != nil {
		return nil, err
	}
	p.replaced, p.channel = true, common.Hash{}
	p.c.money(Money{Kind: MoneyNotice, Channel: p.c.store.book.public(&r), Text: "the channel was closed; a new one is opened"})
	return p.try(ctx, a, nil, true)
}

// refusal is an answer other than the paid one, read and closed.
type refusal struct {
	status  int
	code    string // code of the service, or the last part of a problem's type
	message string
	short   tempo.Amount // missing amount of a voucher
}

func (r refusal) err() error {
	return &StatusError{Status: r.status, Code: r.code, Message: r.message}
}

// maxMessage limits the text of a server in an error.
const maxMessage = 400

// readRefusal reads the body of a refusal of any content type.
func readRefusal(resp *http.Response) (r refusal) {
	defer resp.Body.Close()
	r = refusal{status: resp.StatusCode}
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal+1))
	if err != nil || len(doc) > maxRefusal {
		return r
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == mpp.ProblemMedia {
		if p, err := mpp.ParseProblem(doc); err == nil {
			r.code, r.message, r.short = string(p.Type), p.Detail, p.RequiredTopUp
			if p.Hint != "" {
				r.message += " " + p.Hint
			}
			if p.Type == mpp.InsufficientBalance && r.short.IsZero() {
				r.short = tempo.MaxAmount // none given; next limits it
			}
		}
	} else {
		var e wire.ErrorBody
		if json.Unmarshal(doc, &e) == nil {
			r.code, r.message = e.Code, e.Error
		}
	}
	r.code, r.message = api.OneLine(r.code, maxMessage), api.OneLine(r.message, maxMessage)
	return r
}

// readBody reads the body of a successful answer.
func readBody(resp *http.Response, most int64) ([]byte, error) {
	defer resp.Body.Close()
	doc, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, unanswered{err}
	}
	if int64(len(doc)) > most {
		return nil, fmt.Errorf("%w: an answer is larger than %d bytes", ErrProtocol, most)
	}
	return doc, nil
}
