package transport

import (
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/transport/mcp"
	"txlens/transport/wire"
)

// inner is the answer to a request that a tool made for its caller.
type inner struct {
	body    jsontext.Value
	receipt jsontext.Value
}

// demandVoucher sends an HTTP request for a tool, inside the server. So a tool is paid by the same rules
// and with the same tickets as the request. A demanded or refused payment is a
// *mcp.PaymentError, another refusal a *mcp.RefusedError.
func (m mcpService) ask(call mcp.Call, method, path string, body []byte) (inner, error) {
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(path)
	if body != nil {
		req.Header.SetContentType("application/json")
		req.SetBody(body)
	}
	if call.Credential != nil {
		value, err := credentialHeader(call.Credential)
		if err != nil {
			return inner{}, &api.BadRequest{Field: mcp.CredentialKey, Reason: "cannot be read: " + err.Error()}
		}
		req.Header.Set(mpp.HeaderAuthorization, value)
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, remoteOf(call), nil)
	m.s.guarded(&ctx)
	return innerOf(&ctx.Response, call.Credential != nil)
}

func innerOf(r *fasthttp.Response, paid bool) (a inner, err error) {
	a.body = jsontext.Value(r.Body())
	if value := string(r.Header.Peek(mpp.HeaderReceipt)); value != "" {
		receipt, err := mpp.ParseReceipt(value)
		if err != nil {
			return a, err
		}
		a.receipt = receipt.JSON()
	}
	if r.StatusCode() < 300 {
		return a, nil
	}
	var challenges []string
	for _, value := range r.Header.PeekAll(mpp.HeaderChallenge) {
		challenges = append(challenges, string(value))
	}
	problem := string(r.Header.ContentType()) == mpp.ProblemMedia
	if len(challenges) == 0 && !problem {
		return a, refusalOf(a.body)
	}
	return a, paymentError(r.StatusCode(), challenges, a.body, problem, paid)
}

func refusalOf(body jsontext.Value) error {
	var e wire.ErrorBody
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("read an error: %w", err)
	}
	return &mcp.RefusedError{Code: e.Code, Message: e.Error}
}

// paymentError converts a 402 or a refused payment to its form in MCP.
func paymentError(status int, challenges []string, body jsontext.Value, isProblem, paid bool) error {
	e := &mcp.PaymentError{Refused: paid, Status: status, Detail: "answer the challenge in data with a credential in _meta"}
	var told struct {
		Detail string `json:"detail"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return fmt.Errorf("read a problem: %w", err)
	}
	if isProblem {
		e.Problem = body.Clone()
	}
	if text := told.Detail + told.Error; text != "" {
		e.Detail = text
	}
	if len(challenges) == 0 {
		return e
	}
	list, err := mpp.ParseChallenges(challenges...)
	if err != nil {
		return err
	}
	for i := range list {
		doc, err := challengeJSON(&list[i])
		if err != nil {
			return err
		}
		e.Challenges = append(e.Challenges, doc)
	}
	return e
}

// challengeJSON converts a challenge to its form in MCP, where its request is an object.
func challengeJSON(c *mpp.Challenge) (jsontext.Value, error) {
	request, err := base64.RawURLEncoding.DecodeString(c.Request)
	if err != nil {
		return nil, fmt.Errorf("read a challenge: %w", err)
	}
	return json.Marshal(struct {
		ID          string         `json:"id"`
		Realm       string         `json:"realm"`
		Method      string         `json:"method"`
		Intent      string         `json:"intent"`
		Request     jsontext.Value `json:"request"`
		Expires     string         `json:"expires,omitempty"`
		Description string         `json:"description,omitempty"`
		Opaque      string         `json:"opaque,omitempty"`
	}{c.ID, c.Realm, c.Method, c.Intent, request, c.Expires, c.Description, c.Opaque})
}

// credentialHeader returns the value of Authorization for a credential in its form in MCP. The
// request of its challenge is encoded as before: canonical JSON in base64url.
func credentialHeader(doc jsontext.Value) (string, error) {
	var c struct {
		Challenge map[string]jsontext.Value `json:"challenge"`
		Payload   jsontext.Value            `json:"payload"`
		Source    string                    `json:"source,omitempty"`
	}
	if err := json.Unmarshal(doc, &c); err != nil {
		return "", fmt.Errorf("read the object: %w", err)
	}
	if request := c.Challenge["request"]; request.Kind() == '{' {
		if err := request.Canonicalize(); err != nil {
			return "", fmt.Errorf("read the request: %w", err)
		}
		text, err := json.Marshal(base64.RawURLEncoding.EncodeToString(request))
		if err != nil {
			return "", err
		}
		c.Challenge["request"] = text
	}
	delete(c.Challenge, "meta") // content of opaque, decoded
	text, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	return "Payment " + base64.RawURLEncoding.EncodeToString(text), nil
}
