package anthropic

import (
	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"

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
	Type    llmhttp.Text  `json:"type"`
	Index   llmhttp.Count `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	ContentBlock contentBlock `json:"content_block"`
	Delta        delta        `json:"delta"`
	Usage        usage        `json:"usage"`
}

type contentBlock struct {
	Type      llmhttp.Text `json:"type"`
	ID        llmhttp.Text `json:"id"`
	Name      llmhttp.Text `json:"name"`
	Text      llmhttp.Text `json:"text"`
	Thinking  llmhttp.Text `json:"thinking"`
	Signature llmhttp.Text `json:"signature"`
	Data      llmhttp.Text `json:"data"`
}

// delta is that of content_block_delta, or that of message_delta.
type delta struct {
	Type        llmhttp.Text `json:"type"`
	Text        llmhttp.Text `json:"text"`
	PartialJSON llmhttp.Text `json:"partial_json"`
	Thinking    llmhttp.Text `json:"thinking"`
	Signature   llmhttp.Text `json:"signature"`
	StopReason  llmhttp.Text `json:"stop_reason"`
}

type usage struct {
	Input      llmhttp.Count `json:"input_tokens"`
	Output     llmhttp.Count `json:"output_tokens"`
	CacheRead  llmhttp.Count `json:"cache_read_input_tokens"`
	CacheWrite llmhttp.Count `json:"cache_creation_input_tokens"`
}
