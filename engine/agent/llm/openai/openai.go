// Package openai speaks Chat Completions, the format that most servers of models
// speak, those on one's own machine included. Servers differ in what they leave
// out; usage, ids and indices of calls, and pieces of calls may be missing.
package openai

import (
	"context"
	"errors"
	"fmt"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/wire"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

var _ llm.Provider = (*Client)(nil)

// vendorURL is asked where the settings name nobody.
const vendorURL = "https://api.openai.com/v1"

// Client is a provider.
type Client struct {
	*wire.Client
	chat sdk.ChatCompletionService
}

// New makes a client; it connects nowhere yet. The service is used without the
// library's client, which would take keys and URLs from the environment.
func New(c wire.Config) (*Client, error) {
	w, err := wire.New(c, vendorURL)
	if err != nil {
		return nil, err
	}
	opts := []option.RequestOption{option.WithBaseURL(w.Base()), option.WithHTTPClient(w), option.WithMaxRetries(0)}
	if c.Key != "" {
		opts = append(opts, option.WithAPIKey(c.Key))
	}
	return &Client{w, sdk.NewChatCompletionService(opts...)}, nil
}

// Turn implements llm.Provider. Thinking is left to the model: there is no word for
// it that all servers know.
func (c *Client) Turn(ctx context.Context, r *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
	params, err := paramsOf(r, c.Host() == "api.openai.com")
	if err != nil {
		return llm.Reply{}, err
	}
	return c.Client.Turn(ctx, r, hear, func(ctx context.Context, a *wire.Answer) error {
		stream := c.chat.NewStreaming(ctx, params)
		defer stream.Close()
		return c.read(stream, a)
	})
}

// read reads the stream to its end. Usage comes after the reason to stop.
func (c *Client) read(stream *ssestream.Stream[sdk.ChatCompletionChunk], a *wire.Answer) error {
	p := parts{answer: a, calls: map[int64]*wire.Block{}}
	for stream.Next() {
		chunk := stream.Current()
		if err := p.chunk(&chunk); err != nil {
			return err
		}
	}
	err := stream.Err()
	var said *ssestream.StreamError // an event that is an error
	if errors.As(err, &said) {
		return c.Fault(200, wire.ParseWords(said.Event.Data), 0)
	}
	if err != nil {
		return err
	}
	return p.end()
}

// parts is an answer on its way.
type parts struct {
	answer *wire.Answer
	text   *wire.Block
	calls  map[int64]*wire.Block // the last one of each index
	stop   string
	no     bool // the model refuses in words of its own
}

func (p *parts) chunk(c *sdk.ChatCompletionChunk) error {
	if c.JSON.Usage.Valid() {
		u := c.Usage
		cached, written := u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens
		// The prompt's tokens include those of the cache. Other servers than the vendor
		// mix them up; who reads more than there is has read all of it.
		cached = min(cached, u.PromptTokens)
		written = min(written, u.PromptTokens-cached)
		used := llm.Usage{Input: u.PromptTokens - cached - written, Output: u.CompletionTokens, CacheRead: cached, CacheWrite: written}
		if err := p.answer.Used(used, true, true); err != nil {
			return err
		}
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue // one answer was asked for
		}
		if err := p.choice(&c.Choices[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *parts) choice(c *sdk.ChatCompletionChunkChoice) (err error) {
	if c.FinishReason != "" {
		p.stop = c.FinishReason
	}
	// Two names are in use for thinking that is shown.
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var thought string
		if v := jsontext.Value(c.Delta.JSON.ExtraFields[name].Raw()); v.Kind() == '"' {
			if json.Unmarshal(v, &thought) == nil && thought != "" {
				if err := p.answer.Think(thought); err != nil {
					return err
				}
				break
			}
		}
	}
	p.no = p.no || c.Delta.Refusal != ""
	if c.Delta.Content != "" {
		if p.text == nil {
			if p.text, err = p.answer.Open("", ""); err != nil {
				return err
			}
		}
		if err := p.answer.Say(p.text, c.Delta.Content); err != nil {
			return err
		}
	}
	for i := range c.Delta.ToolCalls {
		if err := p.call(&c.Delta.ToolCalls[i]); err != nil {
			return err
		}
	}
	return nil
}

// call adds a piece of a call. It begins a new one when it has another id than the
// one before, or a name although that one is whole: servers that send calls in one
// piece leave out or repeat the index.
func (p *parts) call(d *sdk.ChatCompletionChunkChoiceDeltaToolCall) (err error) {
	b := p.calls[d.Index]
	switch id, name := d.ID, d.Function.Name; {
	case b == nil && name == "":
		return &llm.Fault{Err: llm.ErrMalformed, Detail: "a call names no tool", Passing: true}
	case b == nil, name != "" && id != "" && id != b.ID, name != "" && id == "" && b.Whole():
		if id == "" || p.answer.Call(id) != nil {
			id = p.freshID()
		}
		if b, err = p.answer.Open(id, name); err != nil {
			return err
		}
		p.calls[d.Index] = b
	}
	return p.answer.Feed(b, d.Function.Arguments)
}

// freshID makes up an id: it must differ from the others of the answer alone.
func (p *parts) freshID() string {
	for n := 1; ; n++ {
		if id := fmt.Sprintf("call_%d", n); p.answer.Call(id) == nil {
			return id
		}
	}
}

func (p *parts) end() error {
	switch {
	case p.stop == "content_filter" || p.no:
		p.answer.Stop = llm.StopEnd // for the usage: all of it was told
		return &llm.Fault{Err: llm.ErrRefused, Detail: "the answer was filtered or refused"}
	case p.stop == "length":
		p.answer.Stop = llm.StopLimit
	case p.stop != "":
		p.answer.Stop = llm.StopEnd // of calls the answer itself knows
	}
	return nil
}
