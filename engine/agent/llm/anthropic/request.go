package anthropic

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"

	"txlens/engine/agent/llm"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// paramsOf words a request. The same request gives the same bytes.
func paramsOf(r *llm.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{Model: sdk.Model(r.Model), MaxTokens: r.MaxOutput}
	for _, t := range r.Tools {
		tool, err := toolOf(t)
		if err != nil {
			return p, fmt.Errorf("word tool %s: %w", t.Name, err)
		}
		p.Tools = append(p.Tools, tool)
	}
	if r.System != "" {
		p.System = []sdk.TextBlockParam{{Text: r.System}}
	}
	for _, m := range r.Messages {
		p.Messages = appendMessage(p.Messages, sdk.MessageParamRole(m.Role), blocksOf(m))
	}
	mode := modeOf(r.Model)
	forced := r.MustCall != "" && mode.forces
	if forced {
		p.ToolChoice = sdk.ToolChoiceParamOfTool(r.MustCall)
	}
	mode.think(&p, r.Thinking, forced)
	breakpoints(&p)
	return p, nil
}

// appendMessage leaves out a message without content, which the vendor refuses, such
// as that of a model which had nothing to say. Its neighbours then become one.
func appendMessage(list []sdk.MessageParam, role sdk.MessageParamRole, blocks []sdk.ContentBlockParamUnion) []sdk.MessageParam {
	if len(blocks) == 0 {
		return list
	}
	if n := len(list); n > 0 && list[n-1].Role == role {
		list[n-1].Content = append(list[n-1].Content, blocks...)
		return list
	}
	return append(list, sdk.MessageParam{Role: role, Content: blocks})
}

// toolOf words a tool. Its schema goes out as it is written: the library would put
// the members that it does not know in another order each time, and the vendor's
// cache, which compares bytes from the first tool on, would never hit.
func toolOf(t llm.Tool) (sdk.ToolUnionParam, error) {
	if t.Schema.Kind() != '{' || !t.Schema.IsValid() {
		return sdk.ToolUnionParam{}, errors.New("the schema is no object of JSON")
	}
	tool := sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](stdjson.RawMessage(t.Schema))}
	if t.Description != "" {
		tool.Description = sdk.String(t.Description)
	}
	return sdk.ToolUnionParam{OfTool: &tool}, nil
}

func blocksOf(m llm.Message) (blocks []sdk.ContentBlockParamUnion) {
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			input := stdjson.RawMessage(p.Call.Input)
			if p.Call.Input.Kind() != '{' { // the vendor takes objects alone, its outcome says what was wrong
				input = stdjson.RawMessage("{}")
			}
			blocks = append(blocks, sdk.NewToolUseBlock(p.Call.ID, input, p.Call.Name))
		case p.Outcome != nil:
			b := sdk.ToolResultBlockParam{ToolUseID: p.Outcome.ID}
			if strings.TrimSpace(p.Outcome.Content) != "" { // a block of text must have some
				b.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: p.Outcome.Content}}}
			}
			if p.Outcome.Failed {
				b.IsError = sdk.Bool(true)
			}
			blocks = append(blocks, sdk.ContentBlockParamUnion{OfToolResult: &b})
		case p.Opaque != nil:
			blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](stdjson.RawMessage(p.Opaque)))
		case strings.TrimSpace(p.Text) != "":
			blocks = append(blocks, sdk.NewTextBlock(p.Text))
		}
	}
	return blocks
}

// breakpoints says where the vendor is to cache: after tools and system, which all
// analyses share; after the first message, the digest; and after the last two of
// the user. The last one is what the next turn reads; the one before is what this
// turn reads, named because the vendor looks only 20 blocks back and one turn may
// bring more. Four are allowed.
func breakpoints(p *sdk.MessageNewParams) {
	cached := sdk.NewCacheControlEphemeralParam()
	switch {
	case len(p.System) > 0:
		p.System[len(p.System)-1].CacheControl = cached
	case len(p.Tools) > 0:
		p.Tools[len(p.Tools)-1].OfTool.CacheControl = cached
	}
	var users []int
	for i, m := range p.Messages {
		if m.Role == sdk.MessageParamRoleUser {
			users = append(users, i)
		}
	}
	for n, i := range users {
		if n > 0 && n < len(users)-2 {
			continue
		}
		content := p.Messages[i].Content
		switch last := &content[len(content)-1]; {
		case last.OfText != nil:
			last.OfText.CacheControl = cached
		case last.OfToolResult != nil:
			last.OfToolResult.CacheControl = cached
		}
	}
}
