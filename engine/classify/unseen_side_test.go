package classify_test

import (
	"testing"

	"txlens/engine/chain"
	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestSoldForCoin: a token that went into a pool, after which a contract unwrapped coin, was sold, although
// a receipt does not show who got the coin. With a trace, nobody got it.
func TestSoldForCoin(t *testing.T) {
	unknown := scene.Addr(0x50ff)
	f := func(name string, s *scene.Scene, traced bool, want string) {
		t.Helper()
		in := s.Facts(t)
		in.Tree.Source = trace.SourceReceipt
		if traced {
			in.Tree.Source = trace.SourceDebug
		}
		if v := scene.Judge(in); typeName(v) != want {
			t.Errorf("%s: %s, want %s: %s", name, typeName(v), want, v.Summary)
		}
	}
	weth := func() common.Address { ch, _ := chain.ByID(1); return *ch.WrappedNative }()
	sold := func(swap func(s *scene.Scene)) *scene.Scene {
		s := scene.New(&unknown, 0, scene.Input("act(uint256)", 1)).Transfer(scene.Usdc, scene.User, scene.Pool1, 5_000_000).
			Transfer(weth, scene.Pool1, unknown, 7)
		swap(s)
		return s
	}
	unwrapped := func(s *scene.Scene, who common.Address) *scene.Scene {
		return s.Log(weth, "Withdrawal(address,uint256)", []any{who}, 7)
	}
	pair := func(s *scene.Scene) {
		s.Log(scene.Pool1, "Swap(address,uint256,uint256,uint256,uint256,address)", []any{unknown, unknown}, 5_000_000, 0, 0, 7)
	}
	v3 := func(s *scene.Scene) {
		s.Log(scene.Pool1, "Swap(address,address,int256,int256,uint160,uint128,int24)", []any{unknown, unknown}, 5_000_000, -7, 1, 1, 1)
	}
	curve := func(s *scene.Scene) {
		s.Log(scene.Pool1, "TokenExchange(address,int128,uint256,int128,uint256)", []any{unknown}, 0, 5_000_000, 1, 7)
	}
	f("a pair", unwrapped(sold(pair), unknown), false, "swap")
	f("a pool with ticks", unwrapped(sold(v3), unknown), false, "swap")
	f("a pool of stable coins", unwrapped(sold(curve), unknown), false, "swap")
	f("coin that was not unwrapped", sold(pair), false, "swap") // somebody got it
	f("coin that the actor unwraps", unwrapped(sold(pair), scene.User), false, "transfer")
	f("no pool", unwrapped(sold(func(*scene.Scene) {}), unknown), false, "transfer")
	f("coin that was unwrapped before", sold(func(s *scene.Scene) { unwrapped(s, unknown); pair(s) }), false, "transfer")
	other := scene.New(&unknown, 0, scene.Input("act(uint256)", 1)).Transfer(scene.Usdc, scene.User, scene.Friend, 5_000_000).
		Transfer(weth, scene.Pool1, unknown, 7)
	pair(other)
	f("a token that went elsewhere", unwrapped(other, unknown), false, "transfer")
	f("with a trace", unwrapped(sold(pair), unknown), true, "transfer")
}

// TestLiquidatedForTheBorrower: a contract that liquidates a position for its owner repays its loan, by
// the events of several lenders.
func TestLiquidatedForTheBorrower(t *testing.T) {
	closer := scene.Addr(0xc105)
	f := func(name, event string, indexed []any, words []any, want string) {
		t.Helper()
		s := scene.New(&closer, 0, scene.Input("close(uint256)", 1)).Transfer(scene.Usdc, scene.User, scene.Vault, 5_000_000).
			Transfer(scene.Weth, scene.Vault, scene.User, 7).Log(scene.Vault, event, indexed, words...)
		if v := scene.Judge(s.Facts(t)); typeName(v) != want {
			t.Errorf("%s: %s, want %s: %s", name, typeName(v), want, v.Summary)
		}
	}
	const (
		aave  = "LiquidationCall(address,address,address,uint256,uint256,address,bool)"
		curve = "Liquidate(address,address,uint256,uint256,uint256)"
		euler = "Liquidate(address,address,address,uint256,uint256)"
		blue  = "Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)"
	)
	for who, want := range map[common.Address]string{scene.User: "other", scene.Friend: "liquidation"} {
		f("Aave", aave, []any{scene.Weth, scene.Usdc, who}, []any{5_000_000, 7, closer, 0}, want)
		f("Curve", curve, []any{closer, who}, []any{7, 0, 5_000_000}, want)
		f("Euler", euler, []any{closer, who}, []any{scene.Weth, 5_000_000, 7}, want)
		f("Morpho Blue", blue, []any{1, closer, who}, []any{5_000_000, 1, 7, 0, 0}, want)
	}
}
