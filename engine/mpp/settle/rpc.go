package settle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/tempo"
)

const (
	// maxAnswer bounds what is read of one answer.
	maxAnswer = 4 << 20
	// callTime bounds one call of one endpoint.
	callTime = 15 * time.Second
)

// rpcError is the error member of a node's answer.
type rpcError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("node error %d: %s", e.Code, clip(e.Message)) }

// clip bounds text from outside for logs and answers.
func clip(s string) string {
	const most = 200
	out := make([]rune, 0, most)
	for _, r := range s {
		if len(out) == most {
			break
		}
		if r < ' ' || r == 0x7f {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}

// reason names why the chain refused a call: the reserve's own error where the
// revert data tells it.
func (e *rpcError) reason() string {
	var data hexutil.Bytes
	if json.Unmarshal(e.Data, &data) == nil {
		if known, ok := tempo.DecodeRevert(data); ok {
			return known.String()
		}
	}
	return clip(e.Message)
}

// Codes of JSON-RPC errors.
const (
	codeReverted = 3
	codeNoMethod = -32601
	codeInternal = -32603
)

// elsewhere are codes by which a node says that it cannot do what was asked, whatever
// it was: the method is missing, or a limit is exceeded, or the node lacks the data.
// They say nothing about the call or the transaction, and nothing was done.
var elsewhere = map[int]bool{
	codeNoMethod: true, -32004: true, // no such method
	-32005: true, -32016: true, -32029: true, 429: true, // rate limits
	-32001: true, -32002: true, // resource not found, resource unavailable
}

// verdict is what an error of a node means for the request.
type verdict int

const (
	// askOn: the error is no answer; the next endpoint is tried.
	askOn verdict = iota
	// lastResort: it is the answer unless another endpoint returns a better one.
	lastResort
	// final: it is the answer.
	final
)

// reverts judges errors of a call that a node is to run. Revert code and revert data
// say that it ran and failed; a message alone is believed only where no other
// endpoint gives a result.
func reverts(e *rpcError) verdict {
	var data hexutil.Bytes
	switch {
	case e.Code == codeReverted, json.Unmarshal(e.Data, &data) == nil && len(data) >= 4:
		return final
	case strings.Contains(e.Message, "revert"):
		return lastResort
	}
	return askOn
}

// request is the body of one call.
func request(method string, params []any) ([]byte, error) {
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}{"2.0", 1, method, append([]any{}, params...)})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	return body, nil
}

// question is a request that is sent to the endpoints in turn until one answers it.
type question struct {
	method string
	params []any
	// judge says what an error of a node means; nil: it is no answer.
	judge func(*rpcError) verdict
	// read decodes the answer. Its error means that the answer is invalid.
	read func(jsontext.Value) error
}

// ask sends a question. The error is a *rpcError that judge accepts as an answer, or
// ErrUnreachable.
func (c *Client) ask(ctx context.Context, q question) error {
	body, err := request(q.method, q.params)
	if err != nil {
		return err
	}
	var faults []error
	var resort *rpcError
	list := c.inOrder()
	for i, e := range list {
		result, err := c.post(ctx, e, len(list)-i, body)
		if err == nil {
			err = q.read(result)
		}
		if err == nil {
			return nil
		}
		if told, ok := errors.AsType[*rpcError](err); ok && q.judge != nil {
			switch v := q.judge(told); {
			case v == final:
				return told
			case v == lastResort && resort == nil:
				resort = told
			}
		}
		faults = append(faults, err)
		if ctx.Err() != nil {
			break
		}
	}
	if resort != nil {
		return resort
	}
	return unreachable(ctx, q.method, faults)
}

// unreachable is the error of a question that no endpoint has answered.
func unreachable(ctx context.Context, what string, faults []error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnreachable, what, errors.Join(append(faults, ctx.Err())...))
}

// errNotSent: no connection was made, so the endpoint did not receive the call.
var errNotSent = errors.New("no connection")

// exchange makes one call to one endpoint. Its errors do not contain the URL, which may
// include a key.
func (c *Client) exchange(ctx context.Context, url string, body []byte) (jsontext.Value, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL of the endpoint is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			return nil, errNotSent
		}
		return nil, errors.New("the connection broke, or no answer came in time")
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, errors.New("the connection broke")
	case len(raw) > maxAnswer:
		return nil, errors.New("the answer is too large")
	}
	var answer struct {
		Result jsontext.Value `json:"result"`
		Error  *rpcError      `json:"error"`
	}
	err = json.Unmarshal(raw, &answer)
	switch {
	case err == nil && answer.Error != nil:
		return nil, answer.Error // some gateways send it with another status than 200
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP status %d", resp.StatusCode)
	case err != nil || answer.Result == nil:
		return nil, errors.New("the answer is no JSON-RPC")
	}
	return answer.Result, nil
}

// quantity requests a number.
func (c *Client) quantity(ctx context.Context, method string) (n uint64, err error) {
	err = c.ask(ctx, question{method: method, read: into(&n)})
	return n, err
}

// into reads a number.
func into(n *uint64) func(jsontext.Value) error {
	return func(result jsontext.Value) error {
		var v hexutil.Uint64
		if json.Unmarshal(result, &v) != nil {
			return errors.New("the answer is no number")
		}
		*n = uint64(v)
		return nil
	}
}

// ignored is the read function of a question whose answer is not used.
func ignored(jsontext.Value) error { return nil }
