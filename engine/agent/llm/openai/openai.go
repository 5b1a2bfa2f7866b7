// Package openai speaks Chat Completions, the format that most servers of models
// speak, those on one's own machine included. Servers differ in what they leave
// out; usage, ids and indices of calls, and pieces of calls may be missing.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
)

var _ llm.Provider = (*Client)(nil)

// vendorURL is asked where the settings name nobody.
const vendorURL = "https://api.openai.com/v1"

// Client is a provider.
type Client struct {
	*llmhttp.Client
	header http.Header
}

// New makes a client; it connects nowhere yet.
func New(c llmhttp.Config) (*Client, error) {
	w, err := llmhttp.New(c, vendorURL)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if c.Key != "" {
		header.Set("Authorization", "Bearer "+c.Key)
	}
	return &Client{w, header}, nil
}

// Turn implements llm.Provider. Thinking is left to the model: there is no word for
// it that all servers know.
func (c *Client) Turn(ctx context.Context, r *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
	body, err := encode(r, c.Host() == "api.openai.com")
	if err != nil {
		return llm.Reply{}, err
	}
	return c.Client.Turn(ctx, r, hear, func(ctx context.Context, a *llmhttp.Answer) error {
		stream, err := c.Post(ctx, "chat/completions", c.header, body)
		if err != nil {
			return err
		}
		defer stream.Close()
		return c.read(stream, a)
	})
}

// read reads the stream to its end. Usage comes after the reason to stop.
func (c *Client) read(stream *llmhttp.Stream, a *llmhttp.Answer) error {
	p := parts{answer: a, calls: map[llmhttp.Count]*llmhttp.Block{}}
	for stream.Next() {
		data := stream.Event().Data
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return p.end()
		}
		var said chunk
		if err := llmhttp.Decode(data, &said); err != nil {
			return err
		}
		if said.Error != nil && said.Error.Kind() != 'n' {
			return c.Fault(http.StatusOK, llmhttp.ParseWords(data), 0)
		}
		if err := p.chunk(&said); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	return p.end()
}

// parts is an answer on its way.
type parts struct {
	answer *llmhttp.Answer
	text   *llmhttp.Block
	calls  map[llmhttp.Count]*llmhttp.Block // the last one of each index
	stop   string
	no     bool // the model refuses in words of its own
}

func (p *parts) chunk(c *chunk) error {
	if c.Usage != nil {
		if err := p.answer.Used(c.Usage.tokens(), true, true); err != nil {
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

// tokens splits the prompt's tokens, which include those of the cache. Other servers
// than the vendor mix them up; who reads more than there is has read all of it.
func (u *usage) tokens() llm.Usage {
	cached := min(u.Details.CachedTokens, u.PromptTokens)
	written := min(u.Details.CacheWriteTokens, u.PromptTokens-cached)
	return llm.Usage{
		Input:      int64(u.PromptTokens - cached - written),
		Output:     int64(u.CompletionTokens),
		CacheRead:  int64(cached),
		CacheWrite: int64(written),
	}
}

func (p *parts) choice(c *choice) (err error) {
	if c.FinishReason != "" {
		p.stop = string(c.FinishReason)
	}
	if err := p.answer.Think(string(cmp.Or(c.Delta.ReasoningContent, c.Delta.Reasoning))); err != nil {
		return err
	}
	p.no = p.no || c.Delta.Refusal != ""
	if c.Delta.Content != "" {
		if p.text == nil {
			if p.text, err = p.answer.Open("", ""); err != nil {
				return err
			}
		}
		if err := p.answer.Say(p.text, string(c.Delta.Content)); err != nil {
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
func (p *parts) call(d *callDelta) (err error) {
	b := p.calls[d.Index]
	switch id, name := string(d.ID), string(d.Function.Name); {
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
	return p.answer.Feed(b, string(d.Function.Arguments))
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
