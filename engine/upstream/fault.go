package upstream

import (
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// refusal converts a JSON-RPC error.
func (e *endpoint) refusal(op string, f *rpcFault) *Error {
	text := e.secrets.scrub(f.message)
	if text == "" {
		text = "error without a message"
	}
	err := newError(classify(op, f), text)
	switch err.Kind {
	case KindReverted:
		err.Data = f.data
	case KindTimeout:
		if traces(op) {
			// The node gave up on this work in good health; it would do so again.
			err.local, err.Retryable = true, false
		}
	}
	return err
}

// statusError converts an answer whose HTTP status is not 200. Its body may be a JSON-RPC
// error or plain text; both are classified, but only a JSON-RPC message is quoted.
func (e *endpoint) statusError(op string, status int, h http.Header, b *body) *Error {
	kind, text := statusKind(status)
	if f := readAnyFault(b); f != nil {
		// 401 and 402 are about the account, whatever the words beside them.
		if said := classify(op, f); said != KindRejected && kind != KindPayment {
			kind = said
		}
		if m := e.secrets.scrub(f.message); m != "" {
			text += ": " + m
		}
		if kind == KindReverted {
			err := newError(kind, text)
			err.Data = f.data
			return err
		}
	}
	err := newError(kind, text)
	err.retryAfter = retryAfter(h, time.Now())
	return err
}

// readAnyFault returns the error member of a JSON object, or nil.
func readAnyFault(b *body) *rpcFault {
	dec := newDecoder(b)
	if dec.PeekKind() != '{' {
		return nil
	}
	a, err := readAnswer(dec, func(dec *jsontext.Decoder) error { return dec.SkipValue() })
	if err != nil {
		return nil
	}
	return a.fault
}

// garbage converts the error of an answer that could not be parsed. Errors of decoders may
// quote the answer, so they are scrubbed.
func (e *endpoint) garbage(err error) *Error {
	var typed *Error
	if errors.As(err, &typed) {
		return typed
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return newError(KindGarbage, "answer is not valid JSON")
	}
	return newError(KindGarbage, e.secrets.scrub(err.Error()))
}
