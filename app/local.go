package app

import (
	"context"
	"errors"
	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/transport"
)

// Local runs the analyses of the command line in this process.
type Local struct{ *Analyst }

// Explain runs one analysis. A provider that refuses the account makes it partial, and
// the result says so.
func (l Local) Explain(ctx context.Context, req api.Request, sink func(api.Event)) (*api.Result, error) {
	res, err := l.Analyst.Explain(ctx, transport.RunSpec{Request: req, Sink: sink})
	if _, unpaid := errors.AsType[*analysis.UnpaidError](err); unpaid && res != nil {
		return res, nil
	}
	return res, err
}
