package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"txlens/engine/agent/claim"
	"txlens/engine/agent/llm"
	"txlens/engine/agent/playbook"
	"txlens/engine/agent/tool"
	"txlens/engine/api"
	"txlens/engine/meter"
)

// Each call of the model that is served, of whatever name, is announced and ended by
// one event each and stands once in the list of calls. Calls beside an answer that is
// taken are not served.

// begin emits the start of a call, identified by its position in the turn.
func (r *run) begin(c *llm.Call, place int) *meter.Ticket {
	t := &meter.Ticket{ID: fmt.Sprintf("a%d.%d", r.out.Turns, place), Tool: callName(c.Name), Seq: r.Meter.Begin()}
	r.Emit(api.ToolStarted(t.ID, t.Tool, string(c.Input)))
	return t
}

// end records a call and emits its outcome, unless a layer below the tool did.
func (r *run) end(t *meter.Ticket, took time.Duration, ok bool) {
	if !t.Take() {
		return
	}
	r.Meter.Add(meter.Call{Bucket: meter.Other, Seq: t.Seq, Tool: t.Tool, Key: t.ID, Duration: took, OK: ok})
	r.Emit(api.ToolEnded(t.ID, api.ToolCall{Tool: t.Tool, DurationMs: took.Milliseconds(), OK: ok}))
}

// maxCallName bounds the name of a tool that does not exist, in characters.
const maxCallName = 64

// callName returns the name of a call with only the characters that tool names may have: a
// model may have copied the name from the transaction.
func callName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, api.Clean(name, maxCallName))
	if name == "" {
		return "unnamed"
	}
	return name
}

// answer looks for the final answer among the calls. An answer that cannot be parsed is
// sent back for correction. So is, once, an answer with sentences that are not accepted; it
// is kept in case no better one follows.
func (r *run) answer(calls []*llm.Call, outcomes []llm.Outcome) (done bool, err error) {
	for i, c := range calls {
		if c.Name != r.final.Name {
			continue
		}
		t, began := r.begin(c, i), time.Now()
		a, err := parse(c)
		r.end(t, time.Since(began), err == nil)
		if err == nil {
			r.out.Answer = a
			drops := claim.Review(r.Env.Case, a, r.out.Index)
			if len(drops) == 0 || r.reviewed || r.refused >= r.Limits.Answers || r.isLastTurn() {
				return true, nil
			}
			r.reviewed = true
			r.refused++
			outcomes[i] = llm.Outcome{
				Content: claim.Explain(drops) + "Mend them or leave them out, and submit the explanation again, whole.",
				Failed:  true,
			}
			continue
		}
		if r.refused++; r.refused > r.Limits.Answers {
			return false, fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
		outcomes[i] = llm.Outcome{
			Content: "The explanation was not taken: " + err.Error() + ". Mend it and submit it again, whole.",
			Failed:  true,
		}
	}
	return false, nil
}

// parse reads an explanation.
func parse(c *llm.Call) (*claim.Answer, error) {
	if c.Broken != "" {
		return nil, errors.New("the arguments could not be read: " + c.Broken)
	}
	return claim.Parse(c.Input)
}

// call runs the tools concurrently and fills in their outcomes.
func (r *run) call(ctx context.Context, calls []*llm.Call, outcomes []llm.Outcome) {
	answers := make([]any, len(calls))
	slots := make(chan struct{}, r.Limits.Parallel)
	var wg sync.WaitGroup
	for i, c := range calls {
		if c.Name == r.final.Name {
			continue // an answer that was not taken
		}
		t, known := r.tools[c.Name]
		if !known || c.Broken != "" {
			outcomes[i] = r.other(c, i)
			continue
		}
		slots <- struct{}{}
		if ctx.Err() != nil {
			break // the rest is not asked any more
		}
		ticket := r.begin(c, i)
		wg.Go(func() {
			defer func() { <-slots }()
			answers[i], outcomes[i] = r.ask(ctx, &t, c, ticket)
		})
	}
	wg.Wait()
	for i, a := range answers {
		if a != nil && !r.tools[calls[i].Name].Hypothetical {
			r.numbered++
			outcomes[i].Content = fmt.Sprintf("{tool:%d:MEMBER}\n", r.numbered) + outcomes[i].Content
			r.out.Index.AddAnswerTo(r.numbered, a, calls[i].Input)
		}
	}
}

// other answers a call that runs no tool: of a playbook, of an unknown name, or with
// arguments that could not be parsed.
func (r *run) other(c *llm.Call, place int) (o llm.Outcome) {
	t, began := r.begin(c, place), time.Now()
	defer func() { r.end(t, time.Since(began), !o.Failed) }()
	switch _, known := r.tools[c.Name]; {
	case c.Broken != "" && (known || c.Name == playbook.EngageTool):
		return llm.Outcome{
			Content: "The arguments could not be read: " + c.Broken + ". Send the call again with complete arguments.",
			Failed:  true,
		}
	case c.Name == playbook.EngageTool:
		return r.engage(c.Input)
	}
	return llm.Outcome{Content: "There is no tool of the name " + strconv.Quote(api.OneLine(c.Name, maxCallName)) + ".", Failed: true}
}

// oneAtATime serialises the events of tools that run concurrently.
func oneAtATime(emit func(api.Event)) func(api.Event) {
	var mu sync.Mutex
	return func(e api.Event) {
		mu.Lock()
		defer mu.Unlock()
		emit(e)
	}
}

// ask runs one tool. Its failure affects this call only.
func (r *run) ask(ctx context.Context, t *tool.Tool, c *llm.Call, ticket *meter.Ticket) (answer any, o llm.Outcome) {
	began := time.Now()
	hold, err := r.Meter.Reserve(ctx, 0) // what it buys is reserved below it
	if err == nil {
		hold.End()
		answer, err = t.Do(ticket.With(ctx), r.Env, c.Input, r.Limits.ToolTime)
	}
	if err == nil {
		err = ctx.Err()
	}
	r.end(ticket, time.Since(began), err == nil)
	if err != nil {
		return nil, llm.Outcome{Content: tool.Mark(map[string]string{"error": err.Error()}), Failed: true}
	}
	return answer, llm.Outcome{Content: tool.Mark(answer)}
}
