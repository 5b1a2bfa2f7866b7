package settings

import (
	"strings"
	"testing"
	"time"
)

// TestRPCConcurrency: the bound reaches the upstream client, and impossible ones are refused.
func TestRPCConcurrency(t *testing.T) {
	f := func(n, want int, fault string) {
		t.Helper()
		e := Evidence{RPCCalls: n, Deadline: time.Second, Sources: "on"}
		cfg, err := e.UpstreamConfig()
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.HasPrefix(err.Error(), fault)) || cfg.MaxConcurrent != want {
			t.Errorf("%d: %d, %v", n, cfg.MaxConcurrent, err)
		}
	}
	f(32, 32, "")
	f(0, 0, "")
	f(1024, 1024, "")
	f(-1, 0, "--rpc-concurrency: ")
	f(1025, 0, "--rpc-concurrency: ")
}
