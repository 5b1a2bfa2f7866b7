package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// maxErrorBody bounds what is read of an answer with an error status.
const maxErrorBody = 64 << 10

// newHTTPClient returns a client that follows no redirect: a redirect would send the
// request, and perhaps credentials, to another host.
func newHTTPClient(c *Config) *http.Client {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	t := &http.Transport{
		DialContext:            dial,
		TLSHandshakeTimeout:    5 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    c.MaxConcurrent,
		IdleConnTimeout:        60 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ReadBufferSize:         chunk, // a decoder in a long token pays per Read
		DisableCompression:     true,  // unpacked here, where the size is counted
		ForceAttemptHTTP2:      true,
	}
	if c.ProxyFromEnv {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// request is one HTTP exchange. A nil post makes it a GET.
type request struct {
	url     *url.URL
	method  string // of JSON-RPC; empty for others and for batches
	post    []byte
	limit   int64
	timeout time.Duration
}

// exchange sends r and passes the bounded body to read, whatever the status. The timeout
// covers all of it, except waiting for a slot.
func (c *Client) exchange(ctx context.Context, e *endpoint, r request, read func(status int, h http.Header, b *body) *Error) *Error {
	return e.do(ctx, r.method, func() *Error {
		attempt, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		req, err := c.newRequest(attempt, r)
		if err != nil {
			return newError(KindRefused, "the request cannot be made")
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return e.transportError(ctx, attempt, r.timeout, err)
		}
		defer resp.Body.Close()
		limit := r.limit
		if resp.StatusCode != http.StatusOK {
			limit = maxErrorBody
		}
		b, err := openBody(resp, limit, c.maxToken)
		if err != nil {
			return e.bodyError(ctx, attempt, r, err)
		}
		b.count = countBytes(attempt)
		fault := read(resp.StatusCode, resp.Header, b)
		// What the reader makes of a body that broke off is of no interest.
		if cut := b.broken(); cut != nil && resp.StatusCode == http.StatusOK {
			return e.bodyError(ctx, attempt, r, cut)
		}
		return fault
	})
}

func (c *Client) newRequest(ctx context.Context, r request) (*http.Request, error) {
	method, payload := http.MethodGet, io.Reader(nil)
	if r.post != nil {
		method, payload = http.MethodPost, bytes.NewReader(r.post)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url.String(), payload)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	if r.post != nil {
		req.Header.Set("Content-Type", "application/json")
		// Reads may be repeated: net/http sends the request again, on a new connection, if a
		// kept one is closed before it is answered. A header without values is not sent.
		req.Header["Idempotency-Key"] = nil
	}
	return req, nil
}

// transportError describes a failed connection. The texts of net/http contain the URL and
// those of net the local port, so they are not used.
func (e *endpoint) transportError(ctx, attempt context.Context, timeout time.Duration, err error) *Error {
	if s := stopped(ctx); s != nil {
		return s
	}
	if attempt.Err() != nil {
		return newError(KindTimeout, "no answer within "+timeout.String())
	}
	var (
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		auth x509.UnknownAuthorityError
		tl   tls.RecordHeaderError
		ne   net.Error
	)
	switch {
	case errors.As(err, &dns):
		return newError(KindUnreachable, "host is not known")
	case errors.As(err, &cert), errors.As(err, &auth), errors.As(err, &tl):
		return newError(KindUnreachable, "TLS handshake refused")
	case errors.Is(err, syscall.ECONNREFUSED):
		return newError(KindUnreachable, "connection refused")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return newError(KindUnreachable, "connection closed without an answer")
	case errors.As(err, &ne) && ne.Timeout():
		return newError(KindTimeout, "no connection in time")
	}
	return newError(KindUnreachable, "no connection")
}

// bodyError describes what cut a body short.
func (e *endpoint) bodyError(ctx, attempt context.Context, r request, err error) *Error {
	if s := stopped(ctx); s != nil {
		return s
	}
	switch {
	case errors.Is(err, errAnswerTooLarge):
		return newError(KindTooLarge, "answer is larger than "+strconv.FormatInt(r.limit>>20, 10)+" MiB")
	case isNoRoom(err):
		return newError(KindNoMemory, err.Error())
	case errors.Is(err, errTokenTooLarge):
		return newError(KindTooLarge, errTokenTooLarge.Error())
	case attempt.Err() != nil:
		return newError(KindTimeout, "answer not complete within "+r.timeout.String())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return newError(KindUnreachable, "connection closed in the middle of the answer")
	}
	return newError(KindGarbage, "answer cannot be read: "+e.secrets.scrub(err.Error()))
}

// statusKind is the kind of an HTTP status if the body says nothing more specific.
func statusKind(status int) (Kind, string) {
	text := "HTTP status " + strconv.Itoa(status)
	switch {
	case status == http.StatusTooManyRequests:
		return KindRateLimited, text
	case status == http.StatusPaymentRequired, status == http.StatusUnauthorized:
		return KindPayment, text
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return KindServer, text
	case status >= 300 && status < 400:
		return KindRefused, text + ": redirects are not followed"
	case status >= 400:
		return KindRefused, text
	}
	return KindGarbage, text
}

// retryAfter parses the header of RFC 9110 section 10.2.3; 0 if absent or invalid.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
