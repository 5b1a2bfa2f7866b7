package narrate_test

import (
	"testing"

	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestTaxed: only what was burnt is told as burnt, and what a token takes for itself as a fee.
func TestTaxed(t *testing.T) {
	var zero common.Address
	type part struct {
		to     common.Address
		amount int
	}
	f := func(want string, input []byte, parts ...part) {
		t.Helper()
		s := scene.New(&scene.Usdc, 0, input)
		for _, p := range parts {
			s.Transfer(scene.Usdc, scene.User, p.to, p.amount*1e6)
		}
		if got := scene.Judge(s.Facts(t)).Summary; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	send := scene.Input("transfer(address,uint256)", scene.Friend, int(100e6))
	from := scene.Input("transferFrom(address,address,uint256)", scene.User, scene.Friend, int(100e6))
	burn := scene.Input("burn(uint256)", int(100e6))
	f("Sent 98 USDC to 0xf00d…f00d; 2 USDC burnt by the token", send, part{scene.Friend, 98}, part{zero, 2})
	f("Sent 98 USDC to 0xf00d…f00d; 2 USDC burnt by the token", send, part{zero, 2}, part{scene.Friend, 98})
	f("Sent 98 USDC to 0xf00d…f00d; 2 USDC burnt by the token", from, part{scene.Friend, 98}, part{zero, 2})
	f("Sent 95 USDC to 0xf00d…f00d; 5 USDC went to the token as a fee", send, part{scene.Usdc, 5}, part{scene.Friend, 95})
	f("Sent 95 USDC to 0xf00d…f00d; 3 USDC went to 0xb070…b070 as a fee of the token; 2 USDC burnt by the token", send,
		part{scene.Bot, 3}, part{scene.Friend, 95}, part{zero, 2})
	f("Sent 100 USDC to 0xf00d…f00d", send, part{scene.Friend, 100})
	f("Burnt 100 USDC", burn, part{zero, 100})
	f("Burnt 98 USDC; 2 USDC went to 0xb070…b070", burn, part{zero, 98}, part{scene.Bot, 2})
	f("Burnt 50 USDC; 50 USDC went to 0xb070…b070", burn, part{zero, 50}, part{scene.Bot, 50})
}
