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
		if got := scene.Held(t, "", s.Facts(t)).Summary; got != want {
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
	own := scene.Input("pay(uint256)", int(100e6)) // names nobody
	f("Sent 98 USDC to 0xf00d…f00d; 2 USDC burnt by the token", own, part{scene.Friend, 98}, part{zero, 2})
	f("Sent 98 USDC to 0xf00d…f00d; 2 USDC burnt by the token", own, part{scene.Friend, 48}, part{scene.Friend, 50}, part{zero, 2})
	f("Sent 100 USDC to 2 addresses", own, part{scene.Friend, 50}, part{scene.Bot, 50})
	f("Sent 98 USDC to 2 addresses; 2 USDC burnt", own, part{scene.Friend, 50}, part{scene.Bot, 48}, part{zero, 2})
	f("Sent 100 USDC to 0xf00d…f00d", own, part{scene.Friend, 50}, part{scene.Friend, 50})
	f("Sent 100 USDC to 0xb070…b070", send, part{scene.Bot, 100})
	f("Sent 60 USDC to 0xb070…b070; 40 USDC burnt", send, part{scene.Bot, 60}, part{zero, 40}) // not to whom the call names
	f("Sent 96 USDC to 2 addresses; 4 USDC burnt", send, part{scene.Bot, 60}, part{zero, 1}, part{scene.Pool1, 36}, part{zero, 3})
	f("Sent 100 USDC to 5 addresses", send,
		part{scene.Friend, 96}, part{scene.Bot, 1}, part{scene.Pool1, 1}, part{scene.Pool2, 1}, part{scene.Vault, 1})
	f("Burnt 100 USDC", burn, part{zero, 100})
	f("Burnt 98 USDC; 2 USDC went to 0xb070…b070", burn, part{zero, 98}, part{scene.Bot, 2})
	f("Burnt 50 USDC; 50 USDC went to 0xb070…b070", burn, part{zero, 50}, part{scene.Bot, 50})
}

// TestTaxedByHalf: what a token takes of a transfer is no burn of the holder, however much it is, and a
// burn beside a transfer is no fee of it.
func TestTaxedByHalf(t *testing.T) {
	var zero common.Address
	f := func(want string, input []byte, amounts ...int) { // burnt, and sent to a friend
		t.Helper()
		s := scene.New(&scene.Usdc, 0, input)
		s.Transfer(scene.Usdc, scene.User, zero, amounts[0])
		if len(amounts) > 1 {
			s.Transfer(scene.Usdc, scene.User, scene.Friend, amounts[1])
		}
		if got := scene.Held(t, "", s.Facts(t)).Summary; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	f("Sent 0.000001 USDC to 0xf00d…f00d; 0.000001 USDC burnt by the token", scene.Input("transfer(address,uint256)", scene.Friend, 2), 1, 1)
	f("Sent 1 USDC to 0xf00d…f00d; 99 USDC burnt by the token",
		scene.Input("transferFrom(address,address,uint256)", scene.User, scene.Friend, int(100e6)), 99e6, 1e6)
	f("Burnt 60 USDC; 40 USDC went to 0xf00d…f00d", scene.Input("burnAndSend(address,uint256)", scene.Friend, int(100e6)), 60e6, 40e6)
	f("Burnt 60 USDC", scene.Input("transfer(address,uint256)", zero, int(60e6)), 60e6)
}

// TestTaxedThroughRouter: a contract that moves a user's tokens by transferFrom pays the receiver that the
// call of the token names; the rest is a fee.
func TestTaxedThroughRouter(t *testing.T) {
	f := func(want string, payees ...common.Address) {
		t.Helper()
		s := scene.New(&scene.Router, 0, scene.Input("forward(address)", scene.Friend))
		for _, payee := range payees {
			call := s.Call(scene.Router, scene.Usdc, 0, scene.Input("transferFrom(address,address,uint256)", scene.User, payee, int(100e6)))
			at := len(s.Root.Logs)
			s.Transfer(scene.Usdc, scene.User, scene.Usdc, 5e6).Transfer(scene.Usdc, scene.User, payee, 95e6)
			call.Logs = append(call.Logs, s.Root.Logs[at:]...)
			s.Root.Logs = s.Root.Logs[:at]
		}
		if got := scene.Held(t, "", s.Facts(t)).Summary; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	f("Sent 95 USDC to 0xf00d…f00d; 5 USDC went to the token as a fee", scene.Friend)
	f("Sent 200 USDC to 3 addresses", scene.Friend, scene.Bot)
	f("Sent 190 USDC to 0xf00d…f00d; 5 USDC went to the token as a fee; 5 USDC went to the token as a fee", scene.Friend, scene.Friend)
}

// TestTaxedWithoutLogs: where the trace does not tell which call logged what, only a token that was
// called once names its payee.
func TestTaxedWithoutLogs(t *testing.T) {
	f := func(want string, calls int) {
		t.Helper()
		s := newCostScene(t, 1, scene.Router, scene.Input("forward(address)", scene.Friend))
		s.bare = true
		for range calls {
			call := s.call(s.root, scene.Router, scene.Usdc, 0,
				scene.Input("transferFrom(address,address,uint256)", scene.User, scene.Friend, int(100e6)))
			s.transfer(call, scene.Usdc, scene.User, scene.Usdc, 5e6)
			s.transfer(call, scene.Usdc, scene.User, scene.Friend, 95e6)
		}
		s.want(want)
	}
	f("transfer: Sent 95 USDC to 0xf00d…f00d; 5 USDC went to the token as a fee", 1)
	f("transfer: Sent 200 USDC to 2 addresses", 2)
}

// TestTaxedBesideOthers: what an account sends to itself, and a token that comes back, do not hide who
// was paid; a transfer behind which no call names a receiver does.
func TestTaxedBesideOthers(t *testing.T) {
	f := func(name, want string, more func(s *scene.Scene, moved func(token, named common.Address, to ...common.Address))) {
		t.Helper()
		s := scene.New(&scene.Router, 0, scene.Input("forward(address)", scene.Friend))
		moved := func(token, named common.Address, to ...common.Address) {
			call := s.Call(scene.Router, token, 0, scene.Input("transferFrom(address,address,uint256)", scene.User, named, int(100e6)))
			at := len(s.Root.Logs)
			for i, who := range to {
				s.Transfer(token, scene.User, who, []int{95e6, 5e6}[i])
			}
			call.Logs = append(call.Logs, s.Root.Logs[at:]...)
			s.Root.Logs = s.Root.Logs[:at]
		}
		moved(scene.Usdc, scene.Friend, scene.Friend, scene.Usdc)
		more(s, moved)
		if got := scene.Held(t, name, s.Facts(t)).Summary; got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	type move = func(token, named common.Address, to ...common.Address)
	const sent = "Sent 95 USDC to 0xf00d…f00d; 5 USDC went to the token as a fee"
	f("alone", sent, func(*scene.Scene, move) {})
	f("to itself", sent, func(_ *scene.Scene, moved move) { moved(scene.Usdc, scene.User, scene.User) })
	f("a token that came back", sent, func(s *scene.Scene, moved move) {
		moved(scene.Weth, scene.Bot, scene.Bot)
		s.Transfer(scene.Weth, scene.Bot, scene.User, 95e6)
	})
	f("of which no call tells", "Sent 101 USDC to 3 addresses", func(s *scene.Scene, _ move) { s.Transfer(scene.Usdc, scene.User, scene.Bot, 1e6) })
}
