package anthropic

import (
	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/wire"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The part of the Messages API that is used here, version 2023-06-01, as
// platform.claude.com/docs/en/api/messages documents it.

// request is the body of a request.
type request struct {
	MaxTokens    int64           `json:"max_tokens"`
	Messages     []message       `json:"messages"`
	Model        string          `json:"model"`
	OutputConfig *outputConfig   `json:"output_config,omitzero"`
	System       []block         `json:"system,omitzero"`
	Thinking     *thinkingConfig `json:"thinking,omitzero"`
	ToolChoice   *toolChoice     `json:"tool_choice,omitzero"`
	Tools        []tool          `json:"tools,omitzero"`
	Stream       bool            `json:"stream"`
}

type outputConfig struct {
	Effort string `json:"effort"` // low, medium, high
}

type thinkingConfig struct {
	BudgetTokens int64  `json:"budget_tokens,omitzero"` // enabled
	Display      string `json:"display,omitzero"`       // adaptive
	Type         string `json:"type"`                   // enabled, adaptive, disabled
}

type toolChoice struct {
	Name string `json:"name"`
	Type string `json:"type"` // tool
}

type tool struct {
	InputSchema  jsontext.Value `json:"input_schema"`
	Name         string         `json:"name"`
	CacheControl *cacheControl  `json:"cache_control,omitzero"`
	Description  string         `json:"description,omitzero"`
}

type message struct {
	Content []block  `json:"content"`
	Role    llm.Role `json:"role"` // the names are the vendor's too
}

// block is a block of text, a call or the result of one. A block with opaque is that
// value, as the vendor sent it.
type block struct {
	ID           string         `json:"id,omitzero"`
	Input        jsontext.Value `json:"input,omitzero"`
	Name         string         `json:"name,omitzero"`
	ToolUseID    string         `json:"tool_use_id,omitzero"`
	IsError      bool           `json:"is_error,omitzero"`
	Text         string         `json:"text,omitzero"`
	CacheControl *cacheControl  `json:"cache_control,omitzero"`
	Content      []block        `json:"content,omitzero"`
	Type         string         `json:"type"` // text, tool_use, tool_result

	opaque jsontext.Value
}

// MarshalJSONTo implements json.MarshalerTo.
func (b block) MarshalJSONTo(enc *jsontext.Encoder) error {
	if b.opaque != nil {
		return enc.WriteValue(b.opaque)
	}
	type members block
	return json.MarshalEncode(enc, members(b))
}

type cacheControl struct {
	Type string `json:"type"` // ephemeral
}

// event is the data of an event of the stream. Which members it has follows from Type.
type event struct {
	Type    wire.Text  `json:"type"`
	Index   wire.Count `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	ContentBlock contentBlock `json:"content_block"`
	Delta        delta        `json:"delta"`
	Usage        usage        `json:"usage"`
}

type contentBlock struct {
	Type      wire.Text `json:"type"`
	ID        wire.Text `json:"id"`
	Name      wire.Text `json:"name"`
	Text      wire.Text `json:"text"`
	Thinking  wire.Text `json:"thinking"`
	Signature wire.Text `json:"signature"`
	Data      wire.Text `json:"data"`
}

// delta is that of content_block_delta, or that of message_delta.
type delta struct {
	Type        wire.Text `json:"type"`
	Text        wire.Text `json:"text"`
	PartialJSON wire.Text `json:"partial_json"`
	Thinking    wire.Text `json:"thinking"`
	Signature   wire.Text `json:"signature"`
	StopReason  wire.Text `json:"stop_reason"`
}

type usage struct {
	Input      wire.Count `json:"input_tokens"`
	Output     wire.Count `json:"output_tokens"`
	CacheRead  wire.Count `json:"cache_read_input_tokens"`
	CacheWrite wire.Count `json:"cache_creation_input_tokens"`
}
