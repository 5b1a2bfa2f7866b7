package openai

import (
	"strings"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
)

// encode words a request. The same request gives the same bytes.
func encode(r *llm.Request, vendor bool) ([]byte, error) {
	if err := llmhttp.CheckTools(r.Tools); err != nil {
		return nil, err
	}
	return llmhttp.Encode(requestOf(r, vendor))
}

// requestOf words a request. The vendor itself has renamed the limit, which its newer
// models know by the new name alone; all others know the old one.
func requestOf(r *llm.Request, vendor bool) *request {
	p := &request{Model: r.Model, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	if vendor {
		p.MaxCompletionTokens = r.MaxOutput
	} else {
		p.MaxTokens = r.MaxOutput
	}
	if r.System != "" {
		p.Messages = append(p.Messages, message{Role: "system", Content: &r.System})
	}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, messagesOf(m)...)
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, tool{Type: "function", Function: function{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	if r.MustCall != "" {
		p.ToolChoice = &toolChoice{Type: "function"}
		p.ToolChoice.Function.Name = r.MustCall
	}
	return p
}

// messagesOf words one message: each outcome is a message of its own here, and they
// come before the user's text, right after the calls.
func messagesOf(m llm.Message) (out []message) {
	var text []string
	var calls []call
	for _, p := range m.Parts {
		switch {
		case p.Outcome != nil:
			content := p.Outcome.Content
			if p.Outcome.Failed { // there is no other place to say so
				content = "failed: " + content
			}
			out = append(out, message{Role: "tool", ToolCallID: p.Outcome.ID, Content: &content})
		case p.Call != nil:
			calls = append(calls, call{ID: p.Call.ID, Type: "function", Function: callFunction{Name: p.Call.Name, Arguments: string(p.Call.Input)}})
		case p.Text != "":
			text = append(text, p.Text)
		}
	}
	said := strings.Join(text, "\n\n")
	switch {
	case m.Role == llm.User && said != "":
		out = append(out, message{Role: "user", Content: &said})
	case m.Role == llm.Assistant && (said != "" || len(calls) > 0):
		a := message{Role: "assistant", ToolCalls: calls}
		if said != "" {
			a.Content = &said
		}
		out = append(out, a)
	}
	return out
}
