package llmhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"txlens/engine/agent/llm"
)

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// Client sends requests and reads streams of events. It is safe for concurrent use.
type Client struct {
	http   *http.Client
	base   *url.URL
	key    string
	limits Limits
}

// New makes a client that follows no redirect: whoever redirects would have us send
// conversation and key to somebody else.
func New(c Config, vendorURL string) (*Client, error) {
	if c.BaseURL == "" {
		c.BaseURL = vendorURL
	}
	base, err := parseBase(c.BaseURL, c.Key != "")
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the key has a character that cannot be sent, such as a blank or a line break")
	}
	l := c.Limits.orDefaults()
	t := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: l.Connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    l.Connect,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // sizes are counted as they come
		ForceAttemptHTTP2:      true,
	}
	if c.ProxyFromEnv {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &Client{
		http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		base: base, key: c.Key, limits: l,
	}, nil
}

// Host is the host that is asked, without its port.
func (c *Client) Host() string { return c.base.Hostname() }

// Close drops idle connections. Turns in flight are ended by their contexts.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// What ends an exchange before its context does.
var (
	errNoHead = errors.New("no answer in time")
	errSilent = errors.New("the stream fell silent")
)

// Post sends a body of JSON to a path below the base URL, for one attempt, and returns
// the stream that answers it. The error is that of ctx, or an *llm.Fault.
func (c *Client) Post(ctx context.Context, path string, header http.Header, body []byte) (*Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.limits.FirstByte, func() { cancel(errNoHead) })
	end := func() {
		timer.Stop()
		cancel(nil)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		end()
		return nil, &llm.Fault{Err: llm.ErrRejected, Detail: "the request cannot be made"}
	}
	req.Header = header.Clone()
	req.Header.Set("User-Agent", "txlens")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		defer end()
		return nil, c.transportFault(ctx, err)
	}
	if fault := c.statusFault(resp); fault != nil {
		resp.Body.Close()
		end()
		return nil, fault
	}
	timer.Stop()
	return NewStream(newBody(resp.Body, ctx, c.limits.Silence, cancel)), nil
}

// transportFault words why there is no answer. The texts of net/http hold URLs.
func (c *Client) transportFault(ctx context.Context, err error) error {
	f := &llm.Fault{Err: llm.ErrDown, Detail: "no connection", Passing: true}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(context.Cause(ctx), errNoHead):
		f.Detail = "no answer within " + c.limits.FirstByte.String()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dns):
		f.Detail = "the host is not known"
	case errors.As(err, &op) && op.Op == "dial":
		f.Detail = "the host cannot be reached"
	case errors.Is(err, io.EOF), errors.As(err, &op):
		f.Detail = "the connection was closed without an answer"
	}
	return f
}

// statusFault is nil when the answer is a stream.
func (c *Client) statusFault(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK {
		// Some servers name no type, or an odd one; these two are surely no stream.
		if slices.Contains([]string{"text/html", "application/json"}, kind) {
			return &llm.Fault{Err: llm.ErrMalformed, Detail: "the answer is " + kind + ", not a stream"}
		}
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what came must do
	return c.Fault(resp.StatusCode, ParseWords(data), retryAfter(resp.Header, time.Now()))
}
