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

// Time that tools may take. The world's own calls have shorter limits each.
const (
	soon = 5 * time.Second  // the evidence at hand alone
	ask  = 30 * time.Second // questions to the world
	long = 90 * time.Second // re-execution over the world's state
)

// Unavailable is the answer where chain or evidence cannot support a question:
// said, never guessed.
type Unavailable struct {
	Unavailable string `json:"unavailable"`
}

func unavailable(format string, args ...any) (any, error) {
	return Unavailable{fmt.Sprintf(format, args...)}, nil
}

// define makes a tool of a function of a typed input. The schema is made from the
// type, and the input is held against it before run sees it.
func define[In any](name, description string, limit time.Duration, run func(context.Context, *Desk, *In) (any, error)) Tool {
	form := reflect.TypeFor[In]()
	return Tool{
		Tool:  llm.Tool{Name: name, Description: description, Schema: jsontext.Value(schemaOf(form, ""))},
		Limit: limit,
		Run: func(ctx context.Context, d *Desk, input jsontext.Value) (any, error) {
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

// fault words an error of the world. A definite no is an answer: it will be the
// same at the next attempt.
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

// permanent reports whether the same question would fail again.
func permanent(k upstream.Kind) bool {
	switch k {
	case upstream.KindUnsupported, upstream.KindNoEndpoint, upstream.KindRejected, upstream.KindRefused, upstream.KindUnpaid:
		return true
	}
	return false
}
