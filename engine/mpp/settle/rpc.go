package settle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// codeNoMethod is JSON-RPC's code for a method that a node does not have.
const codeNoMethod = -32601

// rpcError is what a node answers instead of a result.
type rpcError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("node error %d: %s", e.Code, clip(e.Message)) }

// clip bounds foreign text that may end in a log or an answer.
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
			return known.Name()
		}
	}
	return clip(e.Message)
}

// reverted reports whether the node ran the call and it failed, as against a node
// that could not or would not run it.
func (e *rpcError) reverted() bool {
	var data hexutil.Bytes
	return e.Code == 3 || json.Unmarshal(e.Data, &data) == nil && len(data) >= 4 || strings.Contains(e.Message, "revert")
}

// call asks the endpoints in turn until one answers the question. The error is a
// *rpcError, ErrUnreachable, or the context's.
func (c *Client) call(ctx context.Context, method string, params ...any) (jsontext.Value, error) {
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}{"2.0", 1, method, params})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	var faults []error
	for _, url := range c.o.URLs {
		result, err := c.post(ctx, url, body)
		var told *rpcError
		if err == nil || errors.As(err, &told) {
			return result, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults = append(faults, err)
	}
	return nil, fmt.Errorf("%w: %s: %w", ErrUnreachable, method, errors.Join(faults...))
}

// post makes one call of one endpoint. Its errors do not hold the URL, in which
// there may be a key.
func (c *Client) post(ctx context.Context, url string, body []byte) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL of the endpoint is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, errors.New("no connection, or it broke")
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, errors.New("the connection broke")
	case len(raw) > maxAnswer:
		return nil, errors.New("the answer is too large")
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	var answer struct {
		Result jsontext.Value `json:"result"`
		Error  *rpcError      `json:"error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Error == nil && answer.Result == nil {
		return nil, errors.New("the answer is no JSON-RPC")
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	return answer.Result, nil
}

// quantity asks for a number.
func (c *Client) quantity(ctx context.Context, method string, params ...any) (uint64, error) {
	result, err := c.call(ctx, method, params...)
	if err != nil {
		return 0, err
	}
	var n hexutil.Uint64
	if err := json.Unmarshal(result, &n); err != nil {
		return 0, fmt.Errorf("%w: %s: the answer is no number", ErrUnreachable, method)
	}
	return uint64(n), nil
}
