package narrate_test

import (
	"testing"

	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestBackAndForth: trades of one's own volume tell what came back and what was lost; trades that
// gained, or that left something bought, are told as others are.
func TestBackAndForth(t *testing.T) {
	type trade struct {
		pool           common.Address
		in             common.Address
		took           int
		out            common.Address
		gave           int
		payer, receipt common.Address
	}
	f := func(name string, to common.Address, want string, trades ...trade) {
		t.Helper()
		s := scene.New(&to, 0, scene.Input("volume(uint256)", 3))
		for _, x := range trades {
			s.Transfer(x.in, x.payer, x.pool, x.took)
			if x.gave == 0 { // no trade
				continue
			}
			s.Transfer(x.out, x.pool, x.receipt, x.gave)
			a, b := []any{x.took, 0, 0, x.gave}, []any{0, x.took, x.gave, 0}
			words := a
			if x.in == scene.Weth {
				words = b
			}
			s.Log(x.pool, "Swap(address,uint256,uint256,uint256,uint256,address)", []any{to, x.receipt}, words...)
		}
		if got := scene.Held(t, name, s.Facts(t)); got.Summary != want || got.TxType == nil || string(*got.TxType) == "mev" {
			t.Errorf("%s: %s\nwant %s", name, got.Summary, want)
		}
	}
	const m = 1_000_000
	bot, user, p1, p2 := scene.Bot, scene.User, scene.Pool1, scene.Pool2
	sell := func(pool, who common.Address, usdc, weth int) trade {
		return trade{pool, scene.Usdc, usdc, scene.Weth, weth, who, who}
	}
	buy := func(pool, who common.Address, weth, usdc int) trade {
		return trade{pool, scene.Weth, weth, scene.Usdc, usdc, who, who}
	}
	f("of a contract", bot, "Traded back and forth, 2 trades over 1 pool: gave 100 USDC in all, got 99 USDC back and lost 1 USDC, with contract 0xb070…b070",
		sell(p1, bot, 100*m, 1e17), buy(p1, bot, 1e17, 99*m))
	f("four times", bot, "Traded back and forth, 4 trades over 1 pool: gave 199 USDC in all, got 197 USDC back and lost 2 USDC, with contract 0xb070…b070",
		sell(p1, bot, 100*m, 1e17), buy(p1, bot, 1e17, 99*m), sell(p1, bot, 99*m, 9e16), buy(p1, bot, 9e16, 98*m))
	f("over two pools", bot, "Traded back and forth, 2 trades over 2 pools: gave 100 USDC in all, got 97 USDC back and lost 3 USDC, with contract 0xb070…b070",
		sell(p1, bot, 100*m, 1e17), buy(p2, bot, 1e17, 97*m))
	f("of the sender", bot, "Traded back and forth, 2 trades over 1 pool: gave 100 USDC in all, got 99 USDC back and lost 1 USDC",
		sell(p1, user, 100*m, 1e17), buy(p1, user, 1e17, 99*m))
	f("a part sold on for another", bot, "Executed a trade for other accounts: moved 51 USDC from 0xb070…b070 to 0x9001…9001, "+
		"moved 7 raw units of 0x7a17…7a17 from 0x9002…9002 to 0xf00d…f00d and moved 0.05 ETH from 0x9001…9001 to 0x9002…9002",
		sell(p1, bot, 100*m, 1e17), buy(p1, bot, 5e16, 49*m), trade{p2, scene.Weth, 5e16, scene.Vault, 7, bot, scene.Friend})
	f("trades of two others", bot, "Executed a trade for other accounts: moved 101 USDC from 2 addresses to 3 addresses "+
		"and moved 0.1 ETH from 0x4007…4007 to 0xf00d…f00d through 0xb070…b070",
		sell(p1, scene.Friend, 100*m, 1e17), buy(p1, scene.Router, 1e17, 99*m), trade{scene.Vault, scene.Usdc, 2 * m, scene.Weth, 0, bot, bot},
		trade{bot, scene.Usdc, m, scene.Weth, 0, scene.Vault, bot})
	f("something kept", bot, "Swapped 1 USDC for 0.01 WETH, by contract 0xb070…b070",
		sell(p1, bot, 100*m, 1e17), buy(p1, bot, 9e16, 99*m))
}
