package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"txlens/engine/api"
)

// maxReopens limits how often a request is sent again to an address that does not answer, before
// anything was paid: that address is probably wrong.
const maxReopens = 2

// gatewayStatuses are statuses with which a proxy says that it did not reach the service; those
// above 519 are Cloudflare's.
var gatewayStatuses = []int{http.StatusBadGateway, http.StatusGatewayTimeout, 520, 521, 522, 523, 524, 530}

// passing reports whether an answer says that the service is away or busy for the moment. A
// status of a gateway with a code of the service comes from the service, and is its answer.
func passing(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return true
	}
	if !slices.Contains(gatewayStatuses, resp.StatusCode) {
		return false
	}
	body := resp.Body
	doc, _ := io.ReadAll(io.LimitReader(body, maxRefusal+1)) // what is missing is not JSON, so it has no code
	body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(doc))
	code := readRefusal(resp).code
	resp.Body = io.NopCloser(bytes.NewReader(doc))
	return !slices.ContainsFunc(api.ErrorCodes(), func(c api.ErrorCode) bool { return c.Code == code })
}

// rejoins returns how often a request is sent again that failed with err. begun: it was paid, or
// its run has an id.
func rejoins(err error, begun bool) int {
	switch {
	case begun || errors.As(err, new(*StatusError)):
		return maxRejoins
	case errors.As(err, new(*net.DNSError)):
		return 0
	}
	return maxReopens
}

// resend calls request until it succeeds, gets an answer, or was lost too often.
func (p *purchase) resend(ctx context.Context, request func() error) error {
	for n := 1; ; n++ {
		err := request()
		if err == nil || !broken(err) || ctx.Err() != nil || n > rejoins(err, !p.signed.IsZero()) {
			return err
		}
		if err := sleep(ctx, backoff(n+1)); err != nil {
			return err
		}
	}
}

// backoff returns the wait before try n+1.
func backoff(n int) time.Duration { return min(250*time.Millisecond<<(n-1), 8*time.Second) }

// retryAfter returns the wait that an answer asks for, in seconds or as a date.
func retryAfter(resp *http.Response, usual time.Duration) time.Duration {
	value := resp.Header.Get("Retry-After")
	wait := time.Duration(-1)
	if seconds, err := strconv.Atoi(value); err == nil {
		wait = time.Duration(min(seconds, 3600)) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = time.Until(at)
	}
	if wait < 0 {
		return usual
	}
	return min(wait, maxRetryAfter)
}

// decode undoes a coding of the body. The client asks for none, but some proxies compress
// whatever passes.
func decode(resp *http.Response) error {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ",")))
	switch coding {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		resp.Body = &gzipBody{Closer: resp.Body, from: resp.Body}
		return nil
	}
	resp.Body.Close()
	return fmt.Errorf("%w: an answer is coded as %q, and nobody asked for that", ErrProtocol, api.OneLine(coding, 80))
}

// gzipBody reads a compressed body. The reader is made at the first Read, because it waits for
// the begin of the body.
type gzipBody struct {
	io.Closer
	from  io.Reader
	plain *gzip.Reader
}

func (b *gzipBody) Read(p []byte) (n int, err error) {
	if b.plain == nil {
		if b.plain, err = gzip.NewReader(b.from); err != nil {
			return 0, err // io.EOF for an empty body
		}
	}
	return b.plain.Read(p)
}
