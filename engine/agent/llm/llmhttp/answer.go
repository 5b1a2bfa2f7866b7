package llmhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"txlens/engine/agent/llm"

	"github.com/go-json-experiment/json/jsontext"
)

// maxTokens is beyond what any model takes or gives in one turn; who reports more is
// not believed.
const maxTokens = 100_000_000

// Answer puts an answer together from its pieces, within the bounds of package llm,
// and tells each piece to the caller of the turn.
type Answer struct {
	Stop llm.Stop // set at the end of the stream; empty: it was cut off

	hear    func(llm.Delta)
	before  llm.Reply // what earlier attempts have used
	request *llm.Request
	blocks  []*Block
	calls   int
	text    int // bytes
	thought int
	inputs  int
	usage   llm.Usage // of this attempt
	in, out bool      // the vendor has reported the input tokens, the output tokens
}

// Block is one part of the answer while it comes.
type Block struct {
	ID, Name string         // of a call
	Opaque   jsontext.Value // of a part that is the vendor's own
	buf      strings.Builder
}

func newAnswer(r *llm.Request, hear func(llm.Delta), before llm.Reply) *Answer {
	return &Answer{hear: hear, request: r, before: before}
}

// spoke reports whether the model has said anything, calls included.
func (a *Answer) spoke() bool { return a.text+a.thought+a.inputs+a.calls > 0 }

func tooMuch(what string, limit int) error {
	return &llm.Fault{Err: llm.ErrMalformed, Detail: fmt.Sprintf("%s, at most %d", what, limit)}
}

// Open begins a part: text, or with a name a call.
func (a *Answer) Open(id, name string) (*Block, error) {
	if name != "" {
		a.calls++
	}
	switch {
	case len(a.blocks) >= llm.MaxParts:
		return nil, tooMuch("too many parts", llm.MaxParts)
	case a.calls > llm.MaxCalls:
		return nil, tooMuch("too many calls", llm.MaxCalls)
	case len(id) > 256 || len(name) > 128:
		return nil, tooMuch("the name or id of a call is too long", 256)
	}
	b := &Block{ID: id, Name: name}
	a.blocks = append(a.blocks, b)
	return b, nil
}

// Call finds a call by its id.
func (a *Answer) Call(id string) *Block {
	for _, b := range a.blocks {
		if b.Name != "" && b.ID == id {
			return b
		}
	}
	return nil
}

// Say adds text to a part.
func (a *Answer) Say(b *Block, piece string) error {
	if piece == "" {
		return nil
	}
	if a.text += len(piece); a.text > llm.MaxText {
		return tooMuch("too many bytes of text", llm.MaxText)
	}
	b.buf.WriteString(piece)
	a.hear(llm.Delta{Text: piece})
	return nil
}

// Think tells a piece of thinking. Keeping it is the vendor's matter.
func (a *Answer) Think(piece string) error {
	if piece == "" {
		return nil
	}
	if err := a.Keep(piece); err != nil {
		return err
	}
	a.hear(llm.Delta{Thought: piece})
	return nil
}

// Keep counts what is kept of thinking without being told.
func (a *Answer) Keep(piece string) error {
	if a.thought += len(piece); a.thought > llm.MaxText {
		return tooMuch("too many bytes of thinking", llm.MaxText)
	}
	return nil
}

// Feed adds a piece of JSON to the input of a call.
func (a *Answer) Feed(b *Block, piece string) error {
	if b.buf.Len()+len(piece) > llm.MaxInput {
		return tooMuch("too many bytes of input of a call", llm.MaxInput)
	}
	a.inputs += len(piece)
	b.buf.WriteString(piece)
	return nil
}

// Whole reports whether the input of a call is whole JSON as far as it came.
func (b *Block) Whole() bool { return valid(jsontext.Value(b.buf.String())) }

// valid leaves duplicate names to the reader of the input: it can tell the model.
func valid(v jsontext.Value) bool {
	return v.IsValid(lax)
}

// Used takes what the vendor says the turn has used until now; each kind counts only
// upwards, as vendors and gateways leave out what they have said before. In and out
// say of which side it speaks. More than the request can have used is not believed.
func (a *Answer) Used(u llm.Usage, in, out bool) error {
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
		if n < 0 || n > maxTokens {
			return &llm.Fault{Err: llm.ErrMalformed, Detail: "the reported usage is impossible"}
		}
	}
	before := a.usage
	a.usage = a.believed(llm.Usage{Input: max(u.Input, before.Input), Output: max(u.Output, before.Output),
		CacheRead: max(u.CacheRead, before.CacheRead), CacheWrite: max(u.CacheWrite, before.CacheWrite)})
	a.in, a.out = a.in || in, a.out || out
	if a.usage != before {
		told := a.before.Usage.Plus(a.usage)
		a.hear(llm.Delta{Usage: &told})
	}
	return nil
}

// believed cuts a usage to what one attempt of the request can have used.
func (a *Answer) believed(u llm.Usage) llm.Usage {
	left := a.request.MostInput()
	for _, n := range []*int64{&u.CacheRead, &u.CacheWrite, &u.Input} {
		*n = min(*n, left)
		left -= *n
	}
	if most := a.request.MaxOutput; most > 0 {
		u.Output = min(u.Output, most)
	}
	return u
}

// reply ends an answer that came whole.
func (a *Answer) reply() (llm.Reply, error) {
	if a.Stop == "" {
		return llm.Reply{}, &llm.Fault{Err: llm.ErrCut, Detail: "the stream ended early", Passing: true}
	}
	r := llm.Reply{Message: llm.Message{Role: llm.Assistant}, Stop: a.Stop}
	calls := false
	for i, b := range a.blocks {
		part := b.part(a.Stop == llm.StopLimit && i == len(a.blocks)-1)
		if part.Text == "" && part.Call == nil && part.Opaque == nil {
			continue
		}
		calls = calls || part.Call != nil
		r.Message.Parts = append(r.Message.Parts, part)
	}
	if a.Stop != llm.StopLimit {
		// Some servers end a turn that calls tools as if it did not.
		r.Stop = llm.StopEnd
		if calls {
			r.Stop = llm.StopCalls
		}
	}
	r.Usage, r.Guessed = a.reckon(a.in, a.out)
	return r, nil
}

// part is the finished part. Cut: the limit of tokens was reached in it.
func (b *Block) part(cut bool) llm.Part {
	switch {
	case b.Opaque != nil:
		return llm.Part{Opaque: b.Opaque}
	case b.Name == "":
		return llm.Part{Text: b.buf.String()}
	}
	c := &llm.Call{ID: b.ID, Name: b.Name, Input: jsontext.Value(b.buf.String())}
	switch {
	case cut && !valid(c.Input):
		c.Broken = "they were cut off at the limit of tokens of a turn: be shorter"
	case len(c.Input) == 0:
		c.Input = jsontext.Value("{}") // a tool without arguments
	case !valid(c.Input):
		c.Broken = wrong(c.Input)
	}
	if c.Broken != "" {
		c.Input = jsontext.Value("{}")
	}
	return llm.Part{Call: c}
}

// wrong says where a text stops being one JSON value.
func wrong(text []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(text), lax)
	_, err := dec.ReadValue()
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("they end after %d bytes, before the JSON value does", len(text))
	case errors.As(err, &syntactic):
		return fmt.Sprintf("they are not valid JSON at byte %d of %d", syntactic.ByteOffset, len(text))
	}
	return fmt.Sprintf("something follows the JSON value at byte %d of %d", dec.InputOffset(), len(text))
}

// spent is the reply of a turn that failed. What the model said until then is paid
// for, whether or not the vendor came to say how much it was.
func (a *Answer) spent() llm.Reply {
	if !a.spoke() && a.usage == (llm.Usage{}) {
		return a.before // nothing began
	}
	var r llm.Reply
	r.Usage, r.Guessed = a.reckon(a.in, a.out && a.Stop != "")
	return r
}

// reckon fills in what the vendor did not say, at four bytes a token.
func (a *Answer) reckon(in, out bool) (u llm.Usage, guessed bool) {
	u = a.usage
	if !in {
		u.Input = max(u.Input, a.request.GuessInput()-u.CacheRead-u.CacheWrite)
	}
	if !out {
		u.Output = max(u.Output, tokens(int64(a.text+a.thought+a.inputs)))
	}
	return a.before.Usage.Plus(a.believed(u)), a.before.Guessed || !in || !out
}

func tokens(bytes int64) int64 { return (bytes + 3) / 4 }
