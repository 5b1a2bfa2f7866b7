package openai

import (
	stdjson "encoding/json"
	"fmt"
	"strings"

	"txlens/engine/agent/llm"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// paramsOf words a request; the same request gives the same bytes. The vendor itself
// has renamed the limit, which its newer models know by the new name alone; all
// others know the old one.
func paramsOf(r *llm.Request, vendor bool) (sdk.ChatCompletionNewParams, error) {
	p := sdk.ChatCompletionNewParams{
		Model:         shared.ChatModel(r.Model),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if vendor {
		p.MaxCompletionTokens = sdk.Int(r.MaxOutput)
	} else {
		p.MaxTokens = sdk.Int(r.MaxOutput)
	}
	if r.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, messagesOf(m)...)
	}
	for _, t := range r.Tools {
		tool := shared.FunctionDefinitionParam{Name: t.Name}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		var members map[string]jsontext.Value
		if err := json.Unmarshal(t.Schema, &members); err != nil {
			return p, fmt.Errorf("word tool %s: read schema: %w", t.Name, err)
		}
		tool.Parameters = shared.FunctionParameters{}
		for name, v := range members {
			tool.Parameters[name] = stdjson.RawMessage(v)
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(tool))
	}
	if r.MustCall != "" {
		p.ToolChoice = sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: r.MustCall})
	}
	return p, nil
}

// messagesOf words one message: each outcome is a message of its own here, and they
// come before the user's text, right after the calls.
func messagesOf(m llm.Message) (out []sdk.ChatCompletionMessageParamUnion) {
	var text []string
	var calls []sdk.ChatCompletionMessageToolCallUnionParam
	for _, p := range m.Parts {
		switch {
		case p.Outcome != nil:
			content := p.Outcome.Content
			if p.Outcome.Failed { // there is no other place to say so
				content = "failed: " + content
			}
			out = append(out, sdk.ToolMessage(content, p.Outcome.ID))
		case p.Call != nil:
			calls = append(calls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID:       p.Call.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: p.Call.Name, Arguments: string(p.Call.Input)},
			}})
		case p.Text != "":
			text = append(text, p.Text)
		}
	}
	said := strings.Join(text, "\n\n")
	switch {
	case m.Role == llm.User && said != "":
		out = append(out, sdk.UserMessage(said))
	case m.Role == llm.Assistant && (said != "" || len(calls) > 0):
		a := sdk.ChatCompletionAssistantMessageParam{ToolCalls: calls}
		if said != "" {
			a.Content.OfString = sdk.String(said)
		}
		out = append(out, sdk.ChatCompletionMessageParamUnion{OfAssistant: &a})
	}
	return out
}
