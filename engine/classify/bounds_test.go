package classify_test

import (
	"strings"
	"testing"

	"txlens/engine/label"
	"txlens/testkit/scene"
)

// TestRiskBounds: of many risks of one kind the first ones are told.
func TestRiskBounds(t *testing.T) {
	f := func(name string, s *scene.Scene, flag string, want int) {
		t.Helper()
		n := 0
		for _, r := range lines(scene.Held(t, name, s.Facts(t))) {
			if strings.HasPrefix(r, flag+": ") {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d risks, want %d", name, n, want)
		}
	}
	lookalikes := func(n int) *scene.Scene {
		s := called(scene.Router, "foo()")
		for i := range n {
			token := scene.Addr(uint16(0x2200 + i))
			s.Tokens[token] = label.Token{Address: token, Symbol: "USDС", Lookalike: "USDC"}
			s.Transfer(token, scene.Friend, scene.User, 5).Transfer(token, scene.Friend, scene.Bot, 5)
		}
		return s
	}
	f("a lookalike that moved twice", lookalikes(1), "address_poisoning", 1)
	f("five lookalikes", lookalikes(5), "address_poisoning", 5)
	f("seven lookalikes", lookalikes(7), "address_poisoning", 5)
	stuck := func(n int) *scene.Scene {
		s := scene.New(scene.At(scene.Router), 0, nil2())
		for id := 1; id <= n; id++ {
			call := s.Call(scene.Router, scene.Nft, 0, scene.Input("safeTransferFrom(address,address,uint256)", scene.User, scene.Nft, id))
			s.Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.User, scene.Nft, id})
			call.Logs, s.Root.Logs = s.Root.Logs, nil
		}
		return s
	}
	f("five NFTs sent to their contract", stuck(5), "stuck_value", 5)
	f("seven NFTs sent to their contract", stuck(7), "stuck_value", 5)
}
