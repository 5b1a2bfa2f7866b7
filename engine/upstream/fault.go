package upstream

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// phrases are texts of errors of nodes and gateways, lower case, in the order in which they
// are tried. There is no standard: codes collide (-32000 means everything in geth), so the
// text decides first.
var phrases = []struct {
	kind Kind
	any  []string
}{
	{
		KindRateLimited,
		[]string{
			"rate limit",
			"ratelimit",
			"too many requests",
			"request limit",
			"limit exceeded",
			"capacity",
			"throttl",
			"per second",
			"exceeded its",
		},
	},
	{KindPayment, []string{"payment required", "quota", "credits", "billing"}},
	{
		KindUnsupported,
		[]string{
			"method not found",
			"not whitelisted",
			"does not exist/is not available",
			"method is not available",
			"not available on",
			"unsupported method",
			"not supported",
			"unknown method",
			"current plan",
			"your plan",
			"upgrade",
			"tracer not found",
			"calltracer is not defined",
			"prestatetracer is not defined",
			"not allowed to access",
			"method is not enabled",
			"namespace",
			"is disabled",
			"invalid method",
			"paid plan",
			"freetier",
			"free tier",
		},
	},
	{KindPayment, []string{"unauthorized", "unauthenticated", "must authenticate", "api key", "apikey"}},
	{
		KindNoState,
		[]string{
			"historical state",
			"missing trie node",
			"required historical state",
			"no state available",
			"state is not available",
			"state not available",
			"pruned",
			"pruning",
			"archive",
			"proof window",
			"header not found",
			"state histories",
		},
	},
	{KindNotFound, []string{"transaction not found", "no transaction", "transaction with hash", "unknown transaction"}},
	{KindTimeout, []string{"execution timeout", "timed out", "timeout", "deadline exceeded"}},
	{KindTooLarge, []string{"response too large", "response size", "is too big", "exceeded max response"}},
	{
		KindServer,
		[]string{"indexing is in progress", "temporarily unavailable", "service unavailable", "try again", "no healthy", "overloaded"},
	},
}

// codes decide if the text does not. -32005 is "limit exceeded" of EIP-1474, -32016 and
// -32029 are used for it by public gateways; -32004 is "method not supported", -32001
// "resource not found", -32002 "resource unavailable".
var codes = map[int64]Kind{
	-32601: KindUnsupported, -32004: KindUnsupported,
	-32005: KindRateLimited, -32016: KindRateLimited, -32029: KindRateLimited, 429: KindRateLimited,
	-32001: KindNotFound, -32002: KindNoState,
	3: KindReverted, -32015: KindReverted,
}

// evmFailures are the errors of eth_call when the code ran and failed.
var evmFailures = []string{
	"revert",
	"vm execution error",
	"out of gas",
	"gas required exceeds",
	"invalid opcode",
	"invalid jump",
	"stack underflow",
	"stack limit",
	"opcode 0x",
}

// classify returns the kind of a JSON-RPC error.
func classify(op string, f *rpcFault) Kind {
	text := strings.ToLower(f.message)
	if f.code == 3 || strings.Contains(text, "execution reverted") {
		return KindReverted
	}
	for _, p := range phrases {
		if containsAny(text, p.any) {
			return p.kind
		}
	}
	if op == "eth_call" && containsAny(text, evmFailures) {
		return KindReverted
	}
	if k, ok := codes[f.code]; ok {
		return k
	}
	return KindRejected
}

func containsAny(text string, any []string) bool {
	for _, p := range any {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

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
		// The node gave up on this work in good health; it would do so again.
		err.local, err.Retryable = true, false
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
