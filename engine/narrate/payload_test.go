package narrate_test

import (
	"strings"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/scene"
)

// TestPayloadsTold: each call that carries others is told once: not a static one, and not the delegatecall
// by which a proxy hands on what it was called with.
func TestPayloadsTold(t *testing.T) {
	inner := append(scene.Input("multicall(bytes[])", 32, 1, 32, 4), append(scene.Input("refundETH()"), make([]byte, 28)...)...)
	other := append(scene.Input("multicall(bytes[])", 32, 1, 32, 4), append([]byte{0xde, 0xad, 0xbe, 0xef}, make([]byte, 28)...)...)
	f := func(name string, build func(s *scene.Scene), want int) {
		t.Helper()
		s := scene.New(&scene.Router, 0, inner)
		build(s)
		if got := strings.Count(strings.Join(scene.Held(t, name, s.Facts(t)).Steps, " "), " holds 1 call: "); got != want {
			t.Errorf("%s: told %d times, want %d", name, got, want)
		}
	}
	f("once", func(*scene.Scene) {}, 1)
	f("at two contracts", func(s *scene.Scene) { s.Call(scene.Router, scene.Vault, 0, other) }, 2)
	f("behind a proxy", func(s *scene.Scene) { s.Call(scene.Router, scene.Vault, 0, inner).Kind = trace.DelegateCall }, 1)
	f("asked for", func(s *scene.Scene) { s.Call(scene.Router, scene.Vault, 0, other).Kind = trace.StaticCall }, 1)
	f("failed", func(s *scene.Scene) { s.Call(scene.Router, scene.Vault, 0, other).Err = "execution reverted" }, 1)
}
