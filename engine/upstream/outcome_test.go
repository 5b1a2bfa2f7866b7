package upstream

import (
	"slices"
	"sync"
	"testing"
	"time"

	"txlens/engine/meter"
	"txlens/testkit/stubnode"
)

// TestOutcomesAreTold: each metered call is told once, with how it ended.
func TestOutcomesAreTold(t *testing.T) {
	n, url := newNode(t, stubnode.Options{})
	var mu sync.Mutex
	var told []string
	cfg := quick(url)
	cfg.OnCall = func(tool, outcome string, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, tool+" "+outcome)
		if took < 0 {
			t.Errorf("%s took %s", tool, took)
		}
	}
	c := newClient(t, cfg)
	n.SetFault("eth_getTransactionReceipt", stubnode.Fault{Status: 403})
	m := new(meter.Meter)
	s := c.Session(m, nil)
	ch := mustChain(t, 1)
	s.Transaction(t.Context(), ch, hashA)
	s.Transaction(t.Context(), ch, hashA) // the same call again is none
	s.Transaction(t.Context(), ch, unknown)
	s.Receipt(t.Context(), ch, hashA)
	want := []string{"eth_getTransactionByHash not_found", "eth_getTransactionByHash ok", "eth_getTransactionReceipt refused"}
	slices.Sort(told)
	if !slices.Equal(told, want) || len(m.ToolCalls()) != len(want) {
		t.Errorf("told %q, metered %d; want %q", told, len(m.ToolCalls()), want)
	}
}
