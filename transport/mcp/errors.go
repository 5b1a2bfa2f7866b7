package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/api"
)

// Error codes of the payment protocol.
const (
	codePaymentRequired = -32042
	codePaymentRefused  = -32043
)

// PaymentError asks for a payment, or refuses one.
type PaymentError struct {
	Refused    bool             // a payment was given and refused
	Status     int              // HTTP status
	Challenges []jsontext.Value // challenges that the caller can answer
	Problem    jsontext.Value   // problem details; may be nil
	Detail     string           // what a person or model can do
}

func (e *PaymentError) Error() string { return e.Detail }

// rpc converts the error to a JSON-RPC error. Its message alone must be sufficient for a model
// that does not see the data.
func (e *PaymentError) rpc() error {
	data, err := json.Marshal(struct {
		Status     int              `json:"httpStatus"`
		Challenges []jsontext.Value `json:"challenges"`
		Problem    jsontext.Value   `json:"problem,omitempty"`
	}{e.Status, e.Challenges, e.Problem})
	if err != nil {
		return err
	}
	code, first := int64(codePaymentRequired), "Payment required: "
	if e.Refused {
		code, first = codePaymentRefused, "Payment refused: "
	}
	text := first + e.Detail
	for _, c := range e.Challenges {
		text += "\nChallenge: " + string(c)
	}
	return &jsonrpc.Error{Code: code, Message: text, Data: data}
}

// failure returns a result that tells a model what went wrong and what to do next. A payment
// demand is a JSON-RPC error instead.
func (s *Server) failure(err error) (*sdk.CallToolResult, error) {
	var pay *PaymentError
	if errors.As(err, &pay) {
		return nil, pay.rpc()
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: s.advice(err)}}}, nil
}

// advice returns the text of an error for a model.
func (s *Server) advice(err error) string {
	var bad *badArgument
	if errors.As(err, &bad) {
		return bad.Error()
	}
	f := api.FaultOf(err)
	var refused *RefusedError
	if errors.As(err, &refused) {
		f = api.Fault{Code: refused.Code, Message: refused.Message}
	}
	code := f.Code
	for _, known := range runErrors {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	if code == api.CodeInternal {
		s.cfg.Log.Error("tool", "error", err)
	}
	text := f.Message
	for _, c := range api.ErrorCodes() {
		if c.Code == code && code != api.CodeInvalid {
			text += ". " + c.Action
		}
	}
	return strings.TrimSuffix(text, "..")
}

// runErrors are the errors of looking up a run.
var runErrors = []struct {
	err  error
	text string
}{
	{api.ErrNoRun, "There is no finished run or job under this runId. Call explain_transaction and use the runId that it returns; for a jobId call get_job first."},
	{api.ErrNoJob, "There is no job under this jobId: it is unknown, or older than an hour. Call explain_transaction with background=true to start one."},
	{api.ErrRunErrored, "This run ended in an error and left no result. Call explain_transaction again."},
	{api.ErrRunTooLarge, "The result of this run was too large to keep. Call explain_transaction again with view=standard."},
}

// badArgument is the error of an invalid argument.
type badArgument struct{ name, reason string }

func (e *badArgument) Error() string { return fmt.Sprintf("argument %s: %s", e.name, e.reason) }
