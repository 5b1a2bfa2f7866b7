package anthropic

import (
	"strings"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"

	"github.com/go-json-experiment/json/jsontext"
)

// encode words a request. The same request gives the same bytes.
func encode(r *llm.Request) ([]byte, error) {
	if err := llmhttp.CheckTools(r.Tools); err != nil {
		return nil, err
	}
	return llmhttp.Encode(requestOf(r))
}

func requestOf(r *llm.Request) *request {
	p := &request{Model: r.Model, MaxTokens: r.MaxOutput, Stream: true}
	for _, t := range r.Tools {
		// The schema goes out as it is written: the vendor's cache compares bytes from the
		// first tool on.
		p.Tools = append(p.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	if r.System != "" {
		p.System = []block{textBlock(r.System)}
	}
	for _, m := range r.Messages {
		p.Messages = appendMessage(p.Messages, m.Role, blocksOf(m))
	}
	mode := modeOf(r.Model)
	forced := r.MustCall != "" && mode.forces
	if forced {
		p.ToolChoice = &toolChoice{Type: "tool", Name: r.MustCall}
	}
	mode.think(p, r.Thinking, forced)
	breakpoints(p)
	return p
}

// appendMessage leaves out a message without content, which the vendor refuses, such
// as that of a model which had nothing to say. Its neighbours then become one.
func appendMessage(list []message, role llm.Role, blocks []block) []message {
	if len(blocks) == 0 {
		return list
	}
	if n := len(list); n > 0 && list[n-1].Role == role {
		list[n-1].Content = append(list[n-1].Content, blocks...)
		return list
	}
	return append(list, message{Role: role, Content: blocks})
}

func textBlock(text string) block { return block{Type: "text", Text: text} }

func blocksOf(m llm.Message) (blocks []block) {
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			input := p.Call.Input
			if input.Kind() != '{' { // the vendor takes objects alone, its outcome says what was wrong
				input = jsontext.Value("{}")
			}
			blocks = append(blocks, block{Type: "tool_use", ID: p.Call.ID, Name: p.Call.Name, Input: input})
		case p.Outcome != nil:
			b := block{Type: "tool_result", ToolUseID: p.Outcome.ID, IsError: p.Outcome.Failed}
			if strings.TrimSpace(p.Outcome.Content) != "" { // a block of text must have some
				b.Content = []block{textBlock(p.Outcome.Content)}
			}
			blocks = append(blocks, b)
		case p.Opaque != nil:
			blocks = append(blocks, block{opaque: p.Opaque})
		case strings.TrimSpace(p.Text) != "":
			blocks = append(blocks, textBlock(p.Text))
		}
	}
	return blocks
}

// breakpoints says where the vendor is to cache: after tools and system, which all
// analyses share; after the first message, the digest; and after the last two of
// the user. The last one is what the next turn reads; the one before is what this
// turn reads, named because the vendor looks only 20 blocks back and one turn may
// bring more. Four are allowed.
func breakpoints(p *request) {
	cached := &cacheControl{Type: "ephemeral"}
	switch {
	case len(p.System) > 0:
		p.System[len(p.System)-1].CacheControl = cached
	case len(p.Tools) > 0:
		p.Tools[len(p.Tools)-1].CacheControl = cached
	}
	var users []int
	for i, m := range p.Messages {
		if m.Role == llm.User {
			users = append(users, i)
		}
	}
	for n, i := range users {
		if n > 0 && n < len(users)-2 {
			continue
		}
		content := p.Messages[i].Content // text and results alone
		content[len(content)-1].CacheControl = cached
	}
}
