package gather

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"txlens/engine/api"
	"txlens/engine/replay"
	"txlens/engine/upstream"
)

// reasons are the texts for failed calls that results show. They contain no host, method or
// library text, which only the log has.
var reasons = map[upstream.Kind]string{
	upstream.KindPayment:     "the service could not pay its data provider",
	upstream.KindRateLimited: "the data provider takes no more requests at the moment",
	upstream.KindTimeout:     "the data provider did not answer in time",
	upstream.KindUnreachable: "the data provider is not available at the moment",
	upstream.KindServer:      "the data provider is not available at the moment",
	upstream.KindIncomplete:  "the data provider left out a part of its answer",
	upstream.KindBusy:        "the data provider is not available at the moment",
	upstream.KindGarbage:     "the data provider gave an answer that cannot be used",
	upstream.KindWrongChain:  "the data provider gave an answer that cannot be used",
	upstream.KindRefused:     "the data provider refused the request",
	upstream.KindRejected:    "the data provider refused the request",
	upstream.KindUnsupported: "the data provider does not offer it",
	upstream.KindNoState:     "the data provider does not keep the state of that block",
	upstream.KindReverted:    "the call reverted",
	upstream.KindNotFound:    "the data provider does not have it",
	upstream.KindTooLarge:    "the answer of the data provider is too large",
	upstream.KindNoMemory:    "the server has no memory for the answer of the data provider at the moment",
	upstream.KindNoEndpoint:  "no data provider is configured for the chain",
	upstream.KindNotRecorded: "it is not in the recording",
	upstream.KindSourcesOff:  "it is switched off",
	upstream.KindCanceled:    "the time for it was over",
	upstream.KindUnpaid:      api.ErrUnpaid.Error(),
}

// Reason describes why a piece of evidence is missing, for the reader of the result.
func Reason(err error) string {
	if e := mostSevere(err); e != nil {
		if text, ok := reasons[e.Kind]; ok {
			return text
		}
		return "internal error"
	}
	for _, s := range []struct {
		err  error
		kind upstream.Kind
	}{
		{upstream.ErrUnsupported, upstream.KindUnsupported}, {upstream.ErrNoState, upstream.KindNoState}, {upstream.ErrNotFound, upstream.KindNotFound}, {upstream.ErrUnpaid, upstream.KindUnpaid},
	} {
		if errors.Is(err, s.err) {
			return reasons[s.kind]
		}
	}
	var contradiction *ContradictionError
	var silent *api.UnavailableError
	var nowhere *api.NotFoundError
	switch {
	case errors.As(err, &silent):
		return reasonOfSilence(silent)
	case errors.As(err, &nowhere) && nowhere.Asked > 1:
		return fmt.Sprintf("all %d chains that were asked answered, and none knows the hash", nowhere.Asked)
	case errors.Is(err, api.ErrNotFound):
		return "the chain answered, and does not know the hash"
	case errors.Is(err, api.ErrPending):
		return "the transaction is in no block yet"
	case errors.As(err, &contradiction):
		return contradiction.What
	case errors.Is(err, replay.ErrUnsupported), errors.Is(err, errDiffers), errors.Is(err, api.ErrUnpaid), errors.Is(err, api.ErrStopping):
		return api.OneLine(err.Error(), 300) // our own words
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return reasons[upstream.KindCanceled]
	}
	return "internal error"
}

// reasonOfSilence names each chain that did not answer, and why.
func reasonOfSilence(e *api.UnavailableError) string {
	var texts []string
	chains := make(map[string][]string)
	for i, slug := range e.Silent {
		text := "did not answer"
		if i < len(e.Kinds) {
			text = cmp.Or(reasons[upstream.Kind(e.Kinds[i])], "internal error")
		}
		if chains[text] == nil {
			texts = append(texts, text)
		}
		chains[text] = append(chains[text], slug)
	}
	for i, text := range texts {
		texts[i] = strings.Join(chains[text], ", ") + ": " + text
	}
	if e.Asked > 0 {
		texts = append(texts, "the hash is unknown to the "+api.Count(e.Asked, "chain")+" that answered")
	}
	return strings.Join(texts, "; ")
}

// Unpaid reports whether a call failed because the service could not pay its own provider.
// It does not depend on the caller's payment.
func Unpaid(err error) bool {
	e := mostSevere(err)
	return e != nil && e.Kind == upstream.KindPayment
}

// mostSevere returns the upstream error within err that best explains why something is
// missing: one about payment if there is one, else the first. It returns nil if there is
// none.
func mostSevere(err error) *upstream.Error {
	var first *upstream.Error
	var walk func(error) bool
	walk = func(err error) bool {
		switch e := err.(type) {
		case nil:
			return false
		case *upstream.Error:
			if first == nil || e.Kind == upstream.KindPayment {
				first = e
			}
			return first.Kind == upstream.KindPayment
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				if walk(inner) {
					return true
				}
			}
			return false
		}
		return walk(errors.Unwrap(err))
	}
	walk(err)
	return first
}
