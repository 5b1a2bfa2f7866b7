package openai

import (
	"txlens/engine/agent/llm/llmhttp"

	"github.com/go-json-experiment/json/jsontext"
)

// The part of Chat Completions that is used here, as
// platform.openai.com/docs/api-reference/chat documents it.

// request is the body of a request.
type request struct {
	Messages            []message     `json:"messages"`
	Model               string        `json:"model"`
	MaxCompletionTokens int64         `json:"max_completion_tokens,omitzero"`
	MaxTokens           int64         `json:"max_tokens,omitzero"`
	StreamOptions       streamOptions `json:"stream_options"`
	ToolChoice          *toolChoice   `json:"tool_choice,omitzero"`
	Tools               []tool        `json:"tools,omitzero"`
	Stream              bool          `json:"stream"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Content    *string `json:"content,omitzero"` // nil: the assistant calls and says nothing
	ToolCalls  []call  `json:"tool_calls,omitzero"`
	ToolCallID string  `json:"tool_call_id,omitzero"`
	Role       string  `json:"role"` // system, user, assistant, tool
}

type call struct {
	ID       string       `json:"id"`
	Function callFunction `json:"function"`
	Type     string       `json:"type"` // function
}

type callFunction struct {
	Arguments string `json:"arguments"`
	Name      string `json:"name"`
}

type tool struct {
	Function function `json:"function"`
	Type     string   `json:"type"` // function
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters"`
}

type toolChoice struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Type string `json:"type"` // function
}

// chunk is the data of an event of the stream.
type chunk struct {
	Error   jsontext.Value `json:"error"`
	Choices []choice       `json:"choices"`
	Usage   *usage         `json:"usage"`
}

type choice struct {
	Index        llmhttp.Count `json:"index"`
	Delta        delta         `json:"delta"`
	FinishReason llmhttp.Text  `json:"finish_reason"`
}

// delta has two names for thinking that is shown; neither is the vendor's.
type delta struct {
	Content          llmhttp.Text `json:"content"`
	ReasoningContent llmhttp.Text `json:"reasoning_content"`
	Reasoning        llmhttp.Text `json:"reasoning"`
	Refusal          llmhttp.Text `json:"refusal"`
	ToolCalls        []callDelta  `json:"tool_calls"`
}

type callDelta struct {
	Index    llmhttp.Count `json:"index"`
	ID       llmhttp.Text  `json:"id"`
	Function struct {
		Name      llmhttp.Text `json:"name"`
		Arguments arguments    `json:"arguments"`
	} `json:"function"`
}

// arguments is a piece of the JSON of a call's input. Some servers send the input as an
// object instead of a string.
type arguments string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *arguments) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		return (*llmhttp.Text)(a).UnmarshalJSONFrom(dec)
	}
	v, err := dec.ReadValue()
	*a = arguments(v)
	return err
}

type usage struct {
	PromptTokens     llmhttp.Count `json:"prompt_tokens"`
	CompletionTokens llmhttp.Count `json:"completion_tokens"`
	Details          struct {
		CachedTokens     llmhttp.Count `json:"cached_tokens"`
		CacheWriteTokens llmhttp.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}
