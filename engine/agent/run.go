package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/agent/tool"
	"txlens/engine/api"
)

// run is one conversation.
type run struct {
	Options
	tools   map[string]tool.Tool
	offered []llm.Tool
	final   llm.Tool
	talk    []llm.Message
	out     Outcome
	nano    int64 // cost recorded so far
	refused int   // answers that were sent back
	silent  int   // turns without any call

	counted       int // messages that were counted in an earlier turn, see llm.Request
	countedTokens int64

	reviewed bool // an answer was sent back for sentences that were not accepted
	numbered int  // number of tool answers that references may name
}

// converse alternates between the model and its tool calls. If a turn fails after an answer
// was sent back, that answer is used, unless the run was stopped or nobody pays.
func (r *run) converse(ctx context.Context) error {
	for {
		if err := r.limitReached(); err != nil {
			return r.unlessAnswered(err)
		}
		done, err := r.exchange(ctx)
		switch {
		case errors.As(err, new(notBought)), err != nil && ctx.Err() != nil:
			r.out.Answer = nil
			return err
		case err != nil:
			return r.unlessAnswered(err)
		case done:
			return nil
		}
	}
}

// unlessAnswered drops the error if an answer is kept.
func (r *run) unlessAnswered(err error) error {
	if r.out.Answer != nil {
		return nil
	}
	return err
}

// limitReached returns the error of the limit that is reached, or nil.
func (r *run) limitReached() error {
	switch {
	case r.out.Turns >= r.Limits.Turns:
		return fmt.Errorf("%w: %d", ErrTurns, r.Limits.Turns)
	case r.used() >= r.Limits.Tokens:
		return fmt.Errorf("%w of %d tokens", ErrBudget, r.Limits.Tokens)
	case r.nano >= r.Limits.Nano:
		return fmt.Errorf("%w of $%s", ErrBudget, api.NanoDollars(r.Limits.Nano))
	}
	return nil
}

// exchange runs one turn of the model and its tool calls.
func (r *run) exchange(ctx context.Context) (done bool, err error) {
	reply, err := r.turn(ctx)
	if err != nil {
		return false, err
	}
	r.talk = append(r.talk, reply.Message)
	return r.serve(ctx, reply)
}

// turn requests one turn of the model. In the last turn that the limits allow the model
// must answer.
func (r *run) turn(ctx context.Context) (llm.Reply, error) {
	req := &llm.Request{
		Model: r.Model, System: system, Messages: r.talk, Tools: r.offered,
		MaxOutput: r.Limits.Output, Counted: r.counted, CountedTokens: r.countedTokens,
	}
	if err := r.fitOutput(req); err != nil {
		return llm.Reply{}, err
	}
	req.Thinking = min(r.Limits.Thinking, req.MaxOutput/2)
	bought, err := r.buy(ctx, req)
	if err != nil {
		return llm.Reply{}, err
	}
	defer bought.close()
	r.out.Turns++
	iteration := int64(r.out.Turns)
	r.Emit(api.Event{Type: api.EventIteration, Iteration: &iteration})
	if r.isLastTurn() || req.MaxOutput < r.Limits.Output {
		req.MustCall = r.final.Name
	}
	booked := r.openBill(iteration, bought)
	began := time.Now()
	reply, err := r.Provider.Turn(ctx, req, func(d llm.Delta) {
		r.forwardDelta(iteration, d)
		if d.Usage != nil {
			booked.grow(*d.Usage)
		}
	})
	booked.grow(reply.Usage)
	booked.close(time.Since(began), err == nil)
	r.count(req, reply)
	if err != nil && ctx.Err() == nil {
		r.Emit(api.Event{Type: api.EventAgentStatus, Iteration: &iteration, State: api.StateFailed, Message: err.Error()})
	}
	return reply, err
}

// count keeps how many tokens the conversation so far has. A count that is too low to be true
// is not believed, because the next turn would be.
func (r *run) count(req *llm.Request, reply llm.Reply) {
	if u := reply.Usage; !reply.Guessed && len(reply.Message.Parts) > 0 {
		r.counted, r.countedTokens = len(req.Messages), max(u.Input+u.CacheRead+u.CacheWrite, req.GuessInput())
	}
}

// forwardDelta emits what streams in during a turn.
func (r *run) forwardDelta(iteration int64, d llm.Delta) {
	if text := api.Piece(d.Text); text != "" {
		r.Emit(api.Event{Type: api.EventAgentText, Iteration: &iteration, Text: text})
	}
	if text := api.Piece(d.Thought); text != "" {
		r.Emit(api.Event{Type: api.EventAgentText, Iteration: &iteration, Text: text, Thinking: true})
	}
	if d.Retry != nil {
		attempt, wait := int64(d.Retry.Attempt), d.Retry.Wait.Milliseconds()
		r.Emit(api.Event{
			Type: api.EventAgentStatus, Iteration: &iteration, State: api.StateRetrying, Message: d.Retry.Err.Error(), Attempt: &attempt, WaitMs: &wait,
		})
	}
}

// isLastTurn reports whether the limits may not allow another turn after this one.
func (r *run) isLastTurn() bool {
	return r.out.Turns >= r.Limits.Turns || 5*r.used() >= 4*r.Limits.Tokens || 5*r.nano >= 4*r.Limits.Nano
}

func (r *run) used() int64 {
	u := r.out.Usage
	return u.Input + u.Output + u.CacheRead + u.CacheWrite
}

// serve runs the calls of a turn. It reports true when one of them was the final answer.
func (r *run) serve(ctx context.Context, reply llm.Reply) (done bool, err error) {
	var calls []*llm.Call
	for _, p := range reply.Message.Parts {
		if p.Call != nil {
			calls = append(calls, p.Call)
		}
	}
	if len(calls) == 0 {
		return false, r.demandAnswer(reply.Stop)
	}
	r.silent = 0
	outcomes := make([]llm.Outcome, len(calls))
	if done, err = r.answer(calls, outcomes); done || err != nil {
		return done, err
	}
	r.call(ctx, calls, outcomes)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	parts := make([]llm.Part, len(calls))
	for i := range outcomes {
		outcomes[i].ID = calls[i].ID
		parts[i].Outcome = &outcomes[i]
	}
	r.talk = append(r.talk, llm.Message{Role: llm.User, Parts: parts})
	return false, nil
}

// demandAnswer asks for the final call after a turn of text only.
func (r *run) demandAnswer(stop llm.Stop) error {
	if r.silent++; r.silent > 2 {
		return fmt.Errorf("%w: it stopped without one", ErrNoAnswer)
	}
	text := "Go on with the tools, or submit what you have with " + r.final.Name + "."
	if stop == llm.StopLimit {
		text = "Your turn was cut off at its limit of tokens. Be shorter. " + text
	}
	r.talk = append(r.talk, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text}}})
	return nil
}
