package mpp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Credential is the answer to a challenge. Its payload is read by Payload only
// after the challenge has proved to be ours: until then it is anybody's text.
type Credential struct {
	Challenge Challenge
	// Source is the payer as a did:pkh, or empty.
	Source string

	payload []byte // JSON
}

// NewCredential answers c with p. The source may be the zero Source: servers of the
// published library then refuse vouchers.
func NewCredential(c *Challenge, p Payload, source Source) *Credential {
	cr := &Credential{Challenge: *c, payload: encode(p)}
	if source != (Source{}) {
		cr.Source = source.String()
	}
	return cr
}

// HeaderValue is c as a value of HeaderName: it stays the same when called again,
// so a request that got no answer can be repeated byte for byte.
func (c *Credential) HeaderValue() (string, error) {
	var w writer
	ch := &c.Challenge
	w.begin(512 + len(ch.Request) + len(c.payload))
	w.object("challenge")
	w.text("id", ch.ID)
	w.text("realm", ch.Realm)
	w.text("method", ch.Method)
	w.text("intent", ch.Intent)
	w.text("request", ch.Request)
	w.optional("expires", ch.Expires)
	w.optional("description", ch.Description)
	w.optional("digest", ch.Digest)
	w.optional("header", ch.Header)
	w.optional("opaque", ch.Opaque)
	w.end()
	w.raw("payload", c.payload)
	w.optional("source", c.Source)
	w.end()
	if w.err != nil {
		return "", fmt.Errorf("write credential: %w", w.err)
	}
	s := scheme + " " + encode64(w.b)
	if len(s) > maxCredential {
		return "", fmt.Errorf("write credential: longer than %d characters", maxCredential)
	}
	return s, nil
}

// HeaderName is the request header that must carry the credential.
func (c *Credential) HeaderName() string {
	if c.Challenge.Header != "" {
		return c.Challenge.Header
	}
	return HeaderAuthorization
}

// Payload reads the payload: invalid-payload, or verification-failed for v1's.
func (c *Credential) Payload() (Payload, error) { return parsePayload(c.payload) }

// ParseCredential reads the one Payment credential among all values of the headers
// Authorization and Payment-Authorization, and keeps nothing of these texts.
// Credentials of other schemes do not count. Problems: payment-required without any, bad-request with several,
// malformed-credential otherwise.
func ParseCredential(values ...string) (*Credential, error) {
	c, _, err := parseCredential(values)
	return c, err
}

// ParseHeaders is ParseCredential for the headers of a request. The first values, authorization in
// number, are those of Authorization, and the rest are those of Payment-Authorization. A
// credential outside the header that its challenge selected is a malformed-credential.
func ParseHeaders(authorization int, values ...string) (*Credential, error) {
	c, at, err := parseCredential(values)
	if err != nil {
		return nil, err
	}
	name := HeaderAuthorization
	if at >= authorization {
		name = HeaderPaymentAuthorization
	}
	if c.HeaderName() != name {
		return nil, problemf(MalformedCredential, "The credential came in the header %s; its challenge selects %s.", name, c.HeaderName())
	}
	return c, nil
}

// parseCredential also returns which of the values has the credential.
func parseCredential(values []string) (c *Credential, at int, err error) {
	token, n, size := "", 0, 0
	for i, v := range values {
		if size += len(v); size > maxHeader {
			return nil, 0, malformed(fmt.Errorf("headers longer than %d bytes", maxHeader))
		}
		found, k := paymentToken(v)
		if n += k; k > 0 {
			token, at = found, i
		}
	}
	switch {
	case n == 0:
		return nil, 0, problemf(PaymentRequired, "This resource is paid for through a session.")
	case n > 1:
		return nil, 0, problemf(BadRequest, "The request carries several Payment credentials.")
	}
	c, err = decodeCredential(token)
	return c, at, err
}

// paymentToken finds the Payment entries of a comma-joined header: the last one's
// token, and how many there are.
func paymentToken(value string) (token string, n int) {
	c := cursor{s: value}
	for {
		c.separators()
		if c.end() {
			return token, n
		}
		from := c.i
		name := c.token()
		if blank := c.blanks(); strings.EqualFold(name, scheme) && (blank || c.end() || c.at(',')) {
			token, _, _ = strings.Cut(c.s[c.i:], ",")
			c.i += len(token)
			token = strings.TrimRight(token, " \t")
			n++
			continue
		}
		c.i = from
		if err := c.skipScheme(); err != nil {
			return token, n // the rest is inside a string of another scheme
		}
	}
}

func malformed(err error) *Problem {
	return &Problem{Type: MalformedCredential, Detail: "The credential cannot be read: " + err.Error() + "."}
}

var (
	credentialMembers = []string{"challenge", "payload"}
	challengeMembers  = []string{"id", "realm", "method", "intent", "request"}
)

func decodeCredential(token string) (*Credential, error) {
	if token == "" {
		return nil, malformed(errors.New("nothing follows the scheme"))
	}
	doc, err := decode64(token, maxCredential)
	if err != nil {
		return nil, malformed(err)
	}
	return readCredential(doc)
}

// readCredential keeps doc.
func readCredential(doc []byte) (*Credential, error) {
	c := new(Credential)
	if err := readObject(doc, credentialMembers, c.member); err != nil {
		return nil, malformed(err)
	}
	if err := c.Challenge.check(); err != nil {
		return nil, malformed(err)
	}
	return c, nil
}

func (c *Credential) member(r *reader, name []byte) bool {
	switch string(name) {
	case "challenge":
		r.object(challengeMembers, c.Challenge.member)
	case "payload":
		v := r.raw()
		if r.err == nil && v.Kind() != '{' {
			r.fail(errors.New("want an object"))
		}
		if c.payload = v; !r.isPlain {
			c.payload = bytes.Clone(v) // the memory of jsontext
		}
	case "source":
		c.Source = r.text()
	default:
		return false
	}
	return true
}

// member reads the echo of a challenge.
func (c *Challenge) member(r *reader, name []byte) bool {
	switch string(name) {
	case "id":
		c.ID = r.text()
	case "realm":
		c.Realm = r.text()
	case "method":
		c.Method = r.text()
	case "intent":
		c.Intent = r.text()
	case "request":
		c.Request = r.text()
	case "expires":
		c.Expires = r.text()
	case "digest":
		c.Digest = r.text()
	case "header":
		c.Header = r.text()
	case "opaque":
		c.Opaque = r.opaque()
	case "description":
		c.Description = r.text()
	default:
		return false
	}
	return true
}

// opaque reads the echo of opaque: the string, or the object that clients before
// mppx 0.6.4 sent in its place.
func (r *reader) opaque() string {
	if r.err != nil || r.kind() != '{' {
		return r.text()
	}
	m := map[string]string{}
	r.object(nil, func(r *reader, name []byte) bool {
		k := string(name)
		m[k] = r.text()
		return true
	})
	if r.err != nil {
		return ""
	}
	s, err := EncodeOpaque(m)
	r.fail(err)
	return s
}
