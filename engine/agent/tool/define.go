package tool

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/api"
	"txlens/engine/replay"
	"txlens/engine/upstream"

	"github.com/go-json-experiment/json/jsontext"
)

// Time limits of tools. Requests that they make have shorter limits of their own.
const (
	limitLocal  = 5 * time.Second  // reads only the evidence
	limitRemote = 30 * time.Second // makes requests
	limitReplay = 90 * time.Second // re-executes the transaction
)

// Unavailable is the answer if chain or evidence cannot answer the question.
type Unavailable struct {
	Unavailable string `json:"unavailable"`
}

func unavailable(format string, args ...any) (any, error) {
	return Unavailable{fmt.Sprintf(format, args...)}, nil
}

// define creates a tool from a function with a typed input. The schema is derived from the
// type, and the input is validated against it before run is called.
func define[In any](name, description string, limit time.Duration, run func(context.Context, *Env, *In) (any, error)) Tool {
	form := reflect.TypeFor[In]()
	return Tool{
		Tool:  llm.Tool{Name: name, Description: description, Schema: jsontext.Value(schemaOf(form, ""))},
		Limit: limit,
		Run: func(ctx context.Context, d *Env, input jsontext.Value) (any, error) {
			in := new(In)
			if err := readInput(input, form, in); err != nil {
				return nil, fmt.Errorf("input of %s: %w", name, err)
			}
			if d.Case.Evidence.Tx == nil {
				return unavailable("the transaction itself could not be had")
			}
			answer, err := run(ctx, d, in)
			if err != nil {
				return fault(ctx, err)
			}
			return answer, nil
		},
	}
}

// fault converts an error of a request to an answer or to an error for the model. A
// definite refusal is an answer, because a repeated request would fail again.
func fault(ctx context.Context, err error) (any, error) {
	var e *upstream.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, replay.ErrUnsupported), errors.Is(err, replay.ErrReadLimit), errors.Is(err, replay.ErrTraceTooLarge):
		return unavailable("%s", api.Clean(err.Error(), 300))
	case errors.Is(err, upstream.ErrNoState):
		return unavailable("the node keeps no state of that block")
	case errors.Is(err, upstream.ErrSourcesOff):
		return unavailable("this deployment asks nobody but nodes: no sources, signatures and prices")
	case errors.Is(err, upstream.ErrNotRecorded):
		return unavailable("this analysis is replayed from a recording that does not hold the answer")
	case errors.As(err, &e) && permanent(e.Kind):
		return unavailable("the world does not answer this: %s", e.Kind)
	case errors.As(err, &e):
		return nil, fmt.Errorf("the world could not be asked (%s): once more may help", e.Kind)
	}
	return nil, fmt.Errorf("%s", api.Clean(err.Error(), 300))
}

// permanent reports whether a repeated request would fail again.
func permanent(k upstream.Kind) bool {
	switch k {
	case upstream.KindUnsupported, upstream.KindNoEndpoint, upstream.KindRejected, upstream.KindRefused, upstream.KindUnpaid:
		return true
	}
	return false
}
