// Package anthropic speaks the Messages API of Anthropic, and of whoever imitates it.
package anthropic

import (
	"context"
	"net/http"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"

	"github.com/go-json-experiment/json"
)

var _ llm.Provider = (*Client)(nil)

// Client is a provider.
type Client struct {
	*llmhttp.Client
	header http.Header
}

// New makes a client; it connects nowhere yet.
func New(c llmhttp.Config) (*Client, error) {
	w, err := llmhttp.New(c, "https://api.anthropic.com")
	if err != nil {
		return nil, err
	}
	header := http.Header{"Anthropic-Version": {"2023-06-01"}}
	if c.Key != "" {
		header.Set("X-Api-Key", c.Key)
	}
	return &Client{w, header}, nil
}

// Turn implements llm.Provider.
func (c *Client) Turn(ctx context.Context, r *llm.Request, hear func(llm.Delta)) (llm.Reply, error) {
	body, err := encode(r)
	if err != nil {
		return llm.Reply{}, err
	}
	return c.Client.Turn(ctx, r, hear, func(ctx context.Context, a *llmhttp.Answer) error {
		stream, err := c.Post(ctx, "v1/messages", c.header, body)
		if err != nil {
			return err
		}
		defer stream.Close()
		return c.read(stream, a)
	})
}

// read reads the stream to its end.
func (c *Client) read(stream *llmhttp.Stream, a *llmhttp.Answer) error {
	p := parts{answer: a, blocks: map[llmhttp.Count]*part{}}
	for stream.Next() {
		said := stream.Event()
		switch said.Name {
		case "", "ping": // the vendor names all events
			continue
		case "error":
			return c.Fault(http.StatusOK, llmhttp.ParseWords(said.Data), 0)
		}
		var e event
		if err := llmhttp.Decode(said.Data, &e); err != nil {
			return err
		}
		if e.Type == "message_stop" {
			return p.end()
		}
		if err := p.event(&e); err != nil {
			return err
		}
	}
	return stream.Err()
}

// parts is an answer on its way.
type parts struct {
	answer *llmhttp.Answer
	blocks map[llmhttp.Count]*part // those that are open, by index
	stop   llmhttp.Text
}

type part struct {
	*llmhttp.Block
	thinking *thinking // nil: text or a call
}

// thinking goes back to the vendor as it came, signature included.
type thinking struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

func (p *parts) event(e *event) error {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		// The output here is a first guess of the vendor's.
		return p.answer.Used(llm.Usage{Input: int64(u.Input), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite)}, true, false)
	case "message_delta":
		if e.Delta.StopReason != "" {
			p.stop = e.Delta.StopReason
		}
		u := e.Usage
		return p.answer.Used(
			llm.Usage{Input: int64(u.Input), Output: int64(u.Output), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite)},
			false,
			true,
		)
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

func (p *parts) start(e *event) error {
	cb := &e.ContentBlock
	id := string(cb.ID)
	if p.blocks[e.Index] != nil {
		return malformed("a part begins twice")
	}
	b := &part{}
	name := ""
	switch cb.Type {
	case "tool_use":
		if name = string(cb.Name); name == "" {
			return malformed("a call names no tool")
		}
		if p.answer.Call(id) != nil {
			return malformed("two calls have the same id")
		}
	case "text":
	case "thinking":
		b.thinking = &thinking{Type: "thinking"}
	case "redacted_thinking":
		if err := p.answer.Keep(string(cb.Data)); err != nil {
			return err
		}
	default:
		return malformed("a part of unknown type")
	}
	var err error
	if b.Block, err = p.answer.Open(id, name); err != nil {
		return err
	}
	p.blocks[e.Index] = b
	switch cb.Type {
	case "text":
		return p.answer.Say(b.Block, string(cb.Text))
	case "thinking":
		b.thinking.Signature = string(cb.Signature)
		return p.think(b, string(cb.Thinking))
	case "redacted_thinking":
		b.Opaque, err = json.Marshal(struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{string(cb.Type), string(cb.Data)})
	}
	return err
}

func (p *parts) delta(e *event) error {
	b := p.blocks[e.Index]
	if b == nil {
		return malformed("a piece belongs to no part")
	}
	switch d := &e.Delta; d.Type {
	case "text_delta":
		if b.Name != "" || b.thinking != nil || b.Opaque != nil {
			return malformed("text in a part that is none")
		}
		return p.answer.Say(b.Block, string(d.Text))
	case "input_json_delta":
		if b.Name == "" {
			return malformed("input in a part that is no call")
		}
		return p.answer.Feed(b.Block, string(d.PartialJSON))
	case "thinking_delta", "signature_delta":
		if b.thinking == nil {
			return malformed("thinking in a part that is none")
		}
		b.thinking.Signature += string(d.Signature)
		if err := p.answer.Keep(string(d.Signature)); err != nil {
			return err
		}
		return p.think(b, string(d.Thinking))
	}
	return nil
}

func (p *parts) think(b *part, piece string) error {
	b.thinking.Thinking += piece
	return p.answer.Think(piece)
}

func (p *parts) finish(index llmhttp.Count) (err error) {
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
	case p.stop == "refusal":
		p.answer.Stop = llm.StopEnd // for the usage: all of it was told
		return &llm.Fault{Err: llm.ErrRefused, Detail: "stop reason refusal"}
	case len(p.blocks) > 0 && p.stop != "max_tokens":
		return malformed("a part did not end")
	case p.stop == "":
		return malformed("the answer has no reason to stop")
	case p.stop == "max_tokens", p.stop == "model_context_window_exceeded":
		p.answer.Stop = llm.StopLimit
	default:
		p.answer.Stop = llm.StopEnd // of calls the answer itself knows
	}
	return nil
}

func malformed(detail string) error {
	return &llm.Fault{Err: llm.ErrMalformed, Detail: detail, Passing: true}
}
