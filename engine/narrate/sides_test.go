package narrate_test

import (
	"testing"

	"txlens/engine/label"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// headlineOf returns the check of one headline.
func headlineOf(t *testing.T) func(name string, s *scene.Scene, want string) {
	return func(name string, s *scene.Scene, want string) {
		t.Helper()
		if got := scene.Held(t, name, s.Facts(t)).Summary; got != want {
			t.Errorf("%s:\n got  %s\n want %s", name, got, want)
		}
	}
}

// TestOrders: a batch of orders is told by the trade of the first one and their number.
func TestOrders(t *testing.T) {
	f := headlineOf(t)
	settled := func(owners ...common.Address) *scene.Scene {
		s := made(scene.Vault)
		for i, owner := range owners {
			s.Transfer(scene.Usdc, owner, scene.Vault, 1_000000*(i+1)).Transfer(daiToken, scene.Vault, owner, 500*(i+1)).
				Log(scene.Vault, "Trade(address,address,address,uint256,uint256,uint256,bytes)", []any{owner}, scene.Usdc, daiToken, 1_000000*(i+1), 500*(i+1), 0, 192, 0)
		}
		return s
	}
	f("one", settled(scene.Friend), "Swapped 1 USDC for 0.0000000000000005 DAI on CoW Protocol, for 0xf00d…f00d")
	f("two", settled(scene.Friend, scene.Bot), "Swapped 1 USDC for 0.0000000000000005 DAI on CoW Protocol, in a batch of 2 orders")
	f("three", settled(scene.Friend, scene.Bot, scene.Pool1), "Swapped 1 USDC for 0.0000000000000005 DAI on CoW Protocol, in a batch of 3 orders")
}

// TestTips: what the block's producer got by hand is no part of a trade, unless it is more than what
// the trader gave.
func TestTips(t *testing.T) {
	f := headlineOf(t)
	const ether = 1_000_000_000_000_000_000
	tipped := func(value int64, tip uint64, token int) *scene.Scene {
		s := scene.New(&scene.Router, value, opaque)
		if token > 0 {
			s.Transfer(scene.Usdc, scene.User, scene.Pool1, token)
		}
		s.Transfer(scene.Weth, scene.Pool1, scene.User, 700).Log(scene.Pool1, v2SwapEvent, []any{scene.Router, scene.User}, 5_000000, 0, 0, 700)
		if tip > 0 {
			s.Call(scene.Router, scene.Miner, tip, nil)
		}
		return s
	}
	f("no tip", tipped(ether, 0, 5_000000), "Swapped 1 ETH for 0.0000000000000007 WETH")
	f("all of the coin", tipped(ether, ether, 5_000000), "Swapped 5 USDC for 0.0000000000000007 WETH, paying the block producer 1 ETH")
	f("a part", tipped(ether, ether/4, 5_000000), "Swapped 0.75 ETH for 0.0000000000000007 WETH, paying the block producer 0.25 ETH")
	f("a part, and nothing else", tipped(ether, ether/4, 0), "Swapped 0.75 ETH for 0.0000000000000007 WETH, paying the block producer 0.25 ETH")
	f("more than was given", tipped(ether/4, ether/2, 5_000000), "Swapped 0.25 ETH for 0.0000000000000007 WETH")
	f("one wei", tipped(ether, 1, 5_000000), "Swapped 1 ETH for 0.0000000000000007 WETH, paying the block producer 1 wei")
}

// TestTwinContracts: the second contract of a token that records the same movements is left out: it is of
// the same protocol, no list has it, and amounts and parties are the same.
func TestTwinContracts(t *testing.T) {
	f := headlineOf(t)
	listed, second := scene.Addr(0x7001), scene.Addr(0x7002)
	both := func(slug string, first, other int, to common.Address) *scene.Scene {
		s := made(scene.Router).Known(listed, "Token", "token", "synthetix").Known(second, "Proxy", "defi", slug)
		eighteen := uint8(18)
		s.Tokens[listed] = label.Token{Address: listed, Symbol: "SNX", Decimals: &eighteen, Listed: true}
		return s.Transfer(listed, scene.Friend, scene.Bot, first).Transfer(second, scene.Friend, to, other)
	}
	f("the same", both("synthetix", 5, 5, scene.Bot), "Moved 0.000000000000000005 SNX from 0xf00d…f00d to 0xb070…b070 through 0x4007…4007")
	f("another amount", both("synthetix", 5, 6, scene.Bot), "Moved 0.000000000000000005 SNX from 0xf00d…f00d to 0xb070…b070 and moved 6 raw units of Proxy from 0xf00d…f00d to 0xb070…b070 through 0x4007…4007")
	f("another recipient", both("synthetix", 5, 5, scene.Vault), "Moved 0.000000000000000005 SNX from 0xf00d…f00d to 0xb070…b070 and moved 5 raw units of Proxy from 0xf00d…f00d to 0x7a17…7a17 through 0x4007…4007")
	f("another protocol", both("lido", 5, 5, scene.Bot), "Moved 0.000000000000000005 SNX from 0xf00d…f00d to 0xb070…b070 and moved 5 raw units of Proxy from 0xf00d…f00d to 0xb070…b070 through 0x4007…4007")
	own := func(slug string, n int) *scene.Scene {
		s := made(scene.Router).Known(listed, "Token", "token", "synthetix").Known(second, "Proxy", "defi", slug)
		eighteen := uint8(18)
		s.Tokens[listed] = label.Token{Address: listed, Symbol: "SNX", Decimals: &eighteen, Listed: true}
		return s.Transfer(listed, scene.User, scene.Bot, 5).Transfer(second, scene.User, scene.Bot, n)
	}
	f("of the sender", own("synthetix", 5), "Sent 0.000000000000000005 SNX to 0xb070…b070")
	f("of the sender, another amount", own("synthetix", 6), "Sent 0.000000000000000005 SNX and 6 raw units of Proxy to 0xb070…b070")
	f("of the sender, another protocol", own("lido", 5), "Sent 0.000000000000000005 SNX and 5 raw units of Proxy to 0xb070…b070")
}
