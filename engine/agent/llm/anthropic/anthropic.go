// Package anthropic speaks the Messages API of Anthropic, and of whoever imitates it.
package anthropic

import (
	"context"
	"errors"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/wire"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/go-json-experiment/json"
)

var _ llm.Provider = (*Client)(nil)

// Client is a provider.
type Client struct {
	*wire.Client
	messages sdk.MessageService
}

// New makes a client; it connects nowhere yet. The service is used without the
// library's client, which would take keys and URLs from the environment.
func New(c wire.Config) (*Client, error) {
	w, err := wire.New(c, "https://api.anthropic.com")
	if err != nil {
		return nil, err
	}
	opts := []option.RequestOption{
		option.WithBaseURL(w.Base()), option.WithHTTPClient(w),
		option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	}
	if c.Key != "" {
		opts = append(opts, option.WithAPIKey(c.Key))
	}
	return &Client{w, sdk.NewMessageService(opts...)}, nil
}

// Turn implements llm.Provider.
func (c *Client) Turn(ctx context.Context, r *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
	params, err := paramsOf(r)
	if err != nil {
		return llm.Reply{}, err
	}
	return c.Client.Turn(ctx, r, hear, func(ctx context.Context, a *wire.Answer) error {
		stream := c.messages.NewStreaming(ctx, params)
		defer stream.Close()
		return c.read(stream, a)
	})
}

// read reads the stream to its end.
func (c *Client) read(stream *ssestream.Stream[sdk.MessageStreamEventUnion], a *wire.Answer) error {
	p := parts{answer: a, blocks: map[int64]*block{}}
	for stream.Next() {
		e := stream.Current()
		if e.Type == "message_stop" {
			return p.end()
		}
		if err := p.event(&e); err != nil {
			return err
		}
	}
	err := stream.Err()
	var said *sdk.Error // an event that is an error
	if errors.As(err, &said) {
		return c.Fault(200, wire.ParseWords([]byte(said.RawJSON())), 0)
	}
	return err
}

// parts is an answer on its way.
type parts struct {
	answer *wire.Answer
	blocks map[int64]*block // those that are open, by index
	stop   sdk.StopReason
}

type block struct {
	*wire.Block
	thinking *thinking // nil: text or a call
}

// thinking goes back to the vendor as it came, signature included.
type thinking struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

func (p *parts) event(e *sdk.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		// The output here is a first guess of the vendor's.
		return p.answer.Used(llm.Usage{Input: u.InputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}, true, false)
	case "message_delta":
		if e.Delta.StopReason != "" {
			p.stop = e.Delta.StopReason
		}
		u := e.Usage
		return p.answer.Used(llm.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}, false, true)
	case "content_block_start":
		return p.start(e)
	case "content_block_delta":
		return p.delta(e)
	case "content_block_stop":
		return p.finish(e.Index)
	}
	if e.Type == "" {
		return malformed("an event has no type")
	}
	return nil // the vendor reserves the right to add kinds of events
}

func (p *parts) start(e *sdk.MessageStreamEventUnion) error {
	cb := &e.ContentBlock
	if p.blocks[e.Index] != nil {
		return malformed("a part begins twice")
	}
	b := &block{}
	name := ""
	switch cb.Type {
	case "tool_use":
		if name = cb.Name; name == "" {
			return malformed("a call names no tool")
		}
		if p.answer.Call(cb.ID) != nil {
			return malformed("two calls have the same id")
		}
	case "text":
	case "thinking":
		b.thinking = &thinking{Type: "thinking"}
	case "redacted_thinking":
		if err := p.answer.Keep(cb.Data); err != nil {
			return err
		}
	default:
		return malformed("a part of unknown type")
	}
	var err error
	if b.Block, err = p.answer.Open(cb.ID, name); err != nil {
		return err
	}
	p.blocks[e.Index] = b
	switch cb.Type {
	case "text":
		return p.answer.Say(b.Block, cb.Text)
	case "thinking":
		b.thinking.Signature = cb.Signature
		return p.think(b, cb.Thinking)
	case "redacted_thinking":
		b.Opaque, err = json.Marshal(struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{cb.Type, cb.Data})
	}
	return err
}

func (p *parts) delta(e *sdk.MessageStreamEventUnion) error {
	b := p.blocks[e.Index]
	if b == nil {
		return malformed("a piece belongs to no part")
	}
	switch d := &e.Delta; d.Type {
	case "text_delta":
		if b.Name != "" || b.thinking != nil || b.Opaque != nil {
			return malformed("text in a part that is none")
		}
		return p.answer.Say(b.Block, d.Text)
	case "input_json_delta":
		if b.Name == "" {
			return malformed("input in a part that is no call")
		}
		return p.answer.Feed(b.Block, d.PartialJSON)
	case "thinking_delta", "signature_delta":
		if b.thinking == nil {
			return malformed("thinking in a part that is none")
		}
		b.thinking.Signature += d.Signature
		if err := p.answer.Keep(d.Signature); err != nil {
			return err
		}
		return p.think(b, d.Thinking)
	}
	return nil
}

func (p *parts) think(b *block, piece string) error {
	b.thinking.Thinking += piece
	return p.answer.Think(piece)
}

func (p *parts) finish(index int64) (err error) {
	b := p.blocks[index]
	if b == nil {
		return malformed("a part ends that did not begin")
	}
	delete(p.blocks, index)
	if b.thinking != nil {
		b.Opaque, err = json.Marshal(b.thinking)
	}
	return err
}

// end is called at the end of the message; without one the answer was cut off.
func (p *parts) end() error {
	switch {
	case p.stop == sdk.StopReasonRefusal:
		p.answer.Stop = llm.StopEnd // for the usage: all of it was told
		return &llm.Fault{Err: llm.ErrRefused, Detail: "stop reason refusal"}
	case len(p.blocks) > 0 && p.stop != sdk.StopReasonMaxTokens:
		return malformed("a part did not end")
	case p.stop == "":
		return malformed("the answer has no reason to stop")
	case p.stop == sdk.StopReasonMaxTokens, p.stop == sdk.StopReasonModelContextWindowExceeded:
		p.answer.Stop = llm.StopLimit
	default:
		p.answer.Stop = llm.StopEnd // of calls the answer itself knows
	}
	return nil
}

func malformed(detail string) error {
	return &llm.Fault{Err: llm.ErrMalformed, Detail: detail, Passing: true}
}
