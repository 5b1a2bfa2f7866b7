package analysis

import (
	"context"
	"errors"
	"testing"

	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
)

// TestProbeEventHasTheReason: the event of a search without success says what each chain did.
func TestProbeEventHasTheReason(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		w := newWorld()
		w.probe = func(context.Context) (*upstream.ProbeResult, error) { return nil, err }
		var got api.Event
		x := New(Options{})
		defer x.Close()
		sink := func(e api.Event) {
			if e.Type == api.EventPreflightStatus && e.Phase == "probe" && e.State == api.StateFailed {
				got = e
			}
		}
		_, all := x.Explain(context.Background(), Input{Request: api.Request{TxHash: hash}, World: w, Meter: new(meter.Meter), Sink: sink})
		if !errors.Is(all, err) || got.Message != want {
			t.Errorf("%v: event %q, want %q", all, got.Message, want)
		}
	}
	f(&api.NotFoundError{TxHash: hash, Asked: 5}, "all 5 chains that were asked answered, and none knows the hash")
	f(&api.UnavailableError{TxHash: hash, Asked: 1, Silent: []string{"x"}, Kinds: []string{string(upstream.KindTimeout)}},
		"x: the data provider did not answer in time; the hash is unknown to the 1 chain that answered")
}
