package agent

import (
	"context"
	"fmt"

	"txlens/engine/agent/llm"
	"txlens/engine/api"
	"txlens/engine/meter"
)

// leastOutput is the number of tokens in which a model can submit a short answer. A turn with
// fewer is not begun.
const leastOutput = 1024

// purchase is one turn with the money that is reserved for its present attempt.
type purchase struct {
	r      *run
	req    *llm.Request
	hold   meter.Hold
	end    func(cost int64) // of the Budget
	before int64            // cost of the run when the attempt began
}

// fitOutput limits the output of a turn so that its highest price is left in the budget of the
// run. The error is ErrBudget if too little is left.
func (r *run) fitOutput(req *llm.Request) error {
	left := r.Limits.Nano - r.nano - r.Price.Most(&llm.Request{
		System: req.System, Tools: req.Tools, Messages: req.Messages, Counted: req.Counted, CountedTokens: req.CountedTokens,
	})
	if r.Price.Output > 0 {
		req.MaxOutput = min(req.MaxOutput, max(left, 0)/r.Price.Output)
	}
	if left < 0 || req.MaxOutput < min(leastOutput, r.Limits.Output) {
		return fmt.Errorf("%w of $%s", ErrBudget, api.NanoDollars(r.Limits.Nano))
	}
	return nil
}

// buy reserves the highest price of a turn. Call close when the cost is recorded.
func (r *run) buy(ctx context.Context, req *llm.Request) (*purchase, error) {
	p := &purchase{r: r, req: req}
	if err := p.reserve(ctx); err != nil {
		return nil, err
	}
	req.Repeat = p.repeat
	return p, nil
}

// notBought is the error of the meter's gate: nobody pays for the turn, or the run was stopped.
type notBought struct{ error }

func (e notBought) Unwrap() error { return e.error }

func (p *purchase) reserve(ctx context.Context) (err error) {
	most := p.r.Price.Most(p.req)
	if p.hold, err = p.r.Meter.Reserve(ctx, most); err != nil {
		return notBought{err}
	}
	if p.end, err = p.r.Budget.reserve(most); err != nil {
		p.hold.End()
		return err
	}
	p.before = p.r.nano
	return nil
}

// repeat reserves another attempt. It needs the budget of the run again.
func (p *purchase) repeat(ctx context.Context) error {
	p.close()
	if p.r.nano+p.r.Price.Most(p.req) > p.r.Limits.Nano {
		return fmt.Errorf("%w of $%s", ErrBudget, api.NanoDollars(p.r.Limits.Nano))
	}
	if err := p.reserve(ctx); err != nil {
		p.hold, p.end = nil, nil
		return err
	}
	return nil
}

// close releases what the attempt did not cost.
func (p *purchase) close() {
	if p.hold != nil {
		p.hold.End()
		p.end(p.r.nano - p.before)
		p.hold, p.end = nil, nil
	}
}
