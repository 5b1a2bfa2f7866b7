package scripted

import (
	"net/http"
	"strings"
)

// vendor is one of the two formats.
type vendor struct {
	events     func(n int, model string, usage bool, t *Turn) []string
	check      func(h http.Header, body []byte) *Fault
	errorBody  func(f *Fault) string
	errorEvent func(f *Fault) string
	more       string // an event with a piece of text
}

var anthropic = &vendor{
	events: func(n int, model string, _ bool, t *Turn) []string { return messages(n, model, t) },
	check:  checkMessages,
	errorBody: func(f *Fault) string {
		return encode(
			object{"type": "error", "error": object{"type": f.kind(anthropicKinds, "api_error"), "message": f.Message}, "request_id": "req_refused"},
		)
	},
	errorEvent: func(f *Fault) string {
		return "event: error\ndata: " + encode(object{"type": "error", "error": object{"type": f.Error, "message": f.Message}}) + "\n\n"
	},
	more: "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + strings.Repeat(
		"on and on, ",
		100,
	) + `"}}` + "\n\n",
}

var openai = &vendor{
	events: completions,
	check:  checkCompletions,
	errorBody: func(f *Fault) string {
		return encode(
			object{"error": object{"type": f.kind(nil, "server_error"), "code": f.kind(openaiCodes, ""), "message": f.Message, "param": nil}},
		)
	},
	errorEvent: func(f *Fault) string {
		return "data: " + encode(object{"error": object{"type": f.Error, "code": f.Error, "message": f.Message}}) + "\n\n"
	},
	more: `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"` + strings.Repeat(
		"on and on, ",
		100,
	) + `"}}]}` + "\n\n",
}

func vendorOf(path string) *vendor {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return anthropic
	case strings.HasSuffix(path, "/chat/completions"):
		return openai
	}
	return nil
}

// What goes with a status where the script does not say.
var (
	anthropicKinds = map[int]string{400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error"}
	openaiCodes = map[int]string{401: "invalid_api_key", 402: "insufficient_quota", 404: "model_not_found", 429: "rate_limit_exceeded"}
)

func (f *Fault) kind(of map[int]string, other string) string {
	if f.Kind != "" {
		return f.Kind
	}
	if k := of[f.Status]; k != "" {
		return k
	}
	return other
}

// refuse answers with the error.
func (v *vendor) refuse(w http.ResponseWriter, f *Fault) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Request-Id", "req_refused")
	for name, value := range map[string]string{"Retry-After": f.RetryAfter, "Location": f.Location} {
		if value != "" {
			h.Set(name, value)
		}
	}
	w.WriteHeader(f.Status)
	body := f.Body
	if body == "" {
		body = v.errorBody(f)
	}
	_, _ = w.Write([]byte(body)) // the client may be gone
}
