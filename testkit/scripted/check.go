package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func badRequest(format string, args ...any) *Fault {
	return &Fault{Status: http.StatusBadRequest, Kind: "invalid_request_error", Message: fmt.Sprintf(format, args...)}
}

// messagesRequest is what of a request to the Messages API has rules here.
type messagesRequest struct {
	Model     string
	MaxTokens int64 `json:"max_tokens"`
	Stream    bool
	Thinking  struct {
		Type         string
		BudgetTokens int64 `json:"budget_tokens"`
	}
	ToolChoice struct{ Type, Name string } `json:"tool_choice"`
	Tools      []struct{ Name string }
	Messages   []struct {
		Role    string
		Content []messagesBlock
	}
}

type messagesBlock struct {
	Type, Text, Thinking, Signature, ID string
	ToolUseID                           string `json:"tool_use_id"`
	Input                               json.RawMessage
}

// checkMessages refuses what the vendor documents to refuse.
func checkMessages(h http.Header, body []byte) *Fault {
	if h.Get("X-Api-Key") != Key {
		return &Fault{Status: http.StatusUnauthorized, Message: "invalid x-api-key " + h.Get("X-Api-Key")}
	}
	if h.Get("Anthropic-Version") == "" {
		return badRequest("anthropic-version: header is required")
	}
	var r messagesRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return badRequest("the body is no request: %v", err)
	}
	switch {
	case r.Model == "" || r.MaxTokens <= 0 || !r.Stream || len(r.Messages) == 0:
		return badRequest("model, max_tokens, stream and messages are required")
	case r.Thinking.Type == "enabled" && (r.Thinking.BudgetTokens < 1024 || r.Thinking.BudgetTokens >= r.MaxTokens):
		return badRequest("thinking.budget_tokens must be at least 1024 and below max_tokens")
	case r.ToolChoice.Type == "tool" && (r.Thinking.Type == "enabled" || r.Thinking.Type == "adaptive"):
		return badRequest("Thinking may not be enabled when tool_choice forces tool use.")
	case r.ToolChoice.Type == "tool" &&
		!slices.ContainsFunc(r.Tools, func(t struct{ Name string }) bool { return t.Name == r.ToolChoice.Name }):
		return badRequest("tool_choice names no tool")
	case bytes.Count(body, []byte(`"cache_control":{`)) > 4:
		return badRequest("A maximum of 4 blocks with cache_control may be provided.")
	}
	return r.checkTalk()
}

// checkTalk wants every call answered in the next message, and thinking as it was.
func (r *messagesRequest) checkTalk() *Fault {
	var open []string
	for i, m := range r.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return badRequest("messages.%d: role is %q, want %q", i, m.Role, want)
		}
		for _, b := range m.Content {
			switch b.Type {
			case "tool_result":
				at := slices.Index(open, b.ToolUseID)
				if at < 0 {
					return badRequest("messages.%d: unexpected tool_use_id %q found in tool_result blocks", i, b.ToolUseID)
				}
				open = slices.Delete(open, at, at+1)
			case "tool_use":
				if !bytes.HasPrefix(b.Input, []byte("{")) {
					return badRequest("messages.%d: input should be a valid dictionary", i)
				}
				open = append(open, b.ID)
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					return badRequest("messages.%d: text content blocks must contain non-whitespace text", i)
				}
			case "thinking":
				if b.Signature != Sign(b.Thinking) {
					return badRequest("messages.%d: Invalid `signature` in `thinking` block", i)
				}
			}
		}
		if m.Role == "user" && len(open) > 0 {
			return badRequest("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %v", i, open)
		}
		if len(m.Content) == 0 {
			return badRequest("messages.%d: content is empty", i)
		}
	}
	return nil
}

// checkCompletions does the same for Chat Completions.
func checkCompletions(h http.Header, body []byte) *Fault {
	if auth := h.Get("Authorization"); auth != "" && auth != "Bearer "+Key {
		return &Fault{Status: http.StatusUnauthorized, Message: "Incorrect API key provided: " + auth}
	}
	var r struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string                      `json:"tool_call_id"`
			ToolCalls  []struct{ ID, Type string } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return badRequest("the body is no request: %v", err)
	}
	if r.Model == "" || !r.Stream || len(r.Messages) == 0 {
		return badRequest("model, stream and messages are required")
	}
	var open []string
	for i, m := range r.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return badRequest("messages[%d]: no tool call has the id %q", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return badRequest("messages[%d]: tool calls %v are not answered", i, open)
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || c.Type != "function" || slices.Contains(open, c.ID) {
				return badRequest("messages[%d]: a tool call has no id of its own", i)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return badRequest("tool calls %v are not answered", open)
	}
	return nil
}
