package classify_test

import (
	"testing"

	"txlens/engine/decode"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestAskedSwaps: what a router was asked to trade is a trade, whatever its route went through: a
// stake, a lender, a vault. What it was asked to stake or deposit is not.
func TestAskedSwaps(t *testing.T) {
	f := func(name string, s *scene.Scene, want, sub string) {
		t.Helper()
		if v := scene.Held(t, name, s.Facts(t)); typeName(v) != want || v.SubType != sub {
			t.Errorf("%s: %s %q, want %s %q: %s", name, typeName(v), v.SubType, want, sub, v.Summary)
		}
	}
	const trade = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
	zero := common.Address{}
	ask := func(function string) *scene.Scene {
		return scene.New(scene.At(scene.Router), 0, scene.Input(function)).Known(scene.Router, "Router", "aggregator", "odos").
			Transfer(scene.Usdc, scene.User, scene.Router, 9_000000)
	}
	minted := func(s *scene.Scene) *scene.Scene { return s.Transfer(scene.Vault, zero, scene.User, 8_000000) }
	f("stake on the route", minted(ask(trade)).Log(scene.Vault, "Submitted(address,uint256,address)", []any{scene.Router}, 9, zero),
		"swap", "")
	f("stake for the actor on the route", minted(ask(trade)).Log(scene.Vault, "Staked(address,uint256)", []any{scene.User}, 9),
		"swap", "")
	f("lender on the route", minted(ask(trade)).
		Log(scene.Pool2, "Supply(address,address,address,uint256,uint16)", []any{scene.Usdc, scene.User, 0}, scene.Router, 9_000000), "swap", "")
	f("vault on the route", minted(ask(trade)).
		Log(scene.Vault, "Deposit(address,address,uint256,uint256)", []any{scene.Router, scene.User}, 9_000000, 8_000000), "swap", "")
	f("asked to deposit", minted(ask("deposit(uint256)")).
		Log(scene.Vault, "Deposit(address,address,uint256,uint256)", []any{scene.Router, scene.User}, 9_000000, 8_000000), "other", "vault_deposit")
	named := minted(ask("aTradeOfItsOwn(uint256)")).Log(scene.Vault, "Submitted(address,uint256,address)", []any{scene.Router}, 9, zero).Facts(t)
	named.Decoded = &decode.Set{Calls: []*decode.Call{{Name: "uniswapV3Swap"}}}
	if v := scene.Held(t, "", named); typeName(v) != "swap" {
		t.Errorf("function whose name says swap: %s: %s", typeName(v), v.Summary)
	}
	const boughtV3 = "BoughtV3(bytes16,address,uint256,address,address,address,address,uint256,uint256,uint256)"
	traded := func(at common.Address) *scene.Scene {
		s := scene.New(scene.At(scene.Router), 0, scene.Input("aTradeOfItsOwn(uint256)")).Transfer(scene.Usdc, scene.User, scene.Router, 9_000000)
		return minted(s).Log(at, boughtV3, []any{scene.Friend, scene.Usdc, scene.Vault}, 1, 0, 0, scene.Bot, 9_000000, 8_000000, 8_000000).
			Log(scene.Vault, "Deposit(address,address,uint256,uint256)", []any{scene.Router, scene.User}, 9_000000, 8_000000)
	}
	f("trade that the called contract logs", traded(scene.Router), "swap", "")
	f("trade of another contract on the way into a vault", traded(scene.Pool2), "other", "vault_deposit")
	unlabelled := scene.New(scene.At(scene.Router), 0, scene.Input(trade)).Transfer(scene.Usdc, scene.User, scene.Router, 9_000000)
	f("no router", minted(unlabelled).
		Log(scene.Vault, "Deposit(address,address,uint256,uint256)", []any{scene.Router, scene.User}, 9_000000, 8_000000), "other", "vault_deposit")
	f("nothing got", ask(trade).
		Log(scene.Pool2, "Supply(address,address,address,uint256,uint16)", []any{scene.Usdc, scene.User, 0}, scene.Router, 9_000000), "other", "supply")
}

// TestPendleActions: what Pendle's router did is told by its own events, also where the tokens
// went through the pools of others.
func TestPendleActions(t *testing.T) {
	f := func(event string, indexed, data []any, gave, want, sub string) {
		t.Helper()
		s := scene.New(scene.At(scene.Router), 0, scene.Input("execute(uint256)")).Log(scene.Router, event, indexed, data...)
		if gave == "share" {
			usdcForWeth(s.Transfer(scene.Vault, scene.User, scene.Vault, 5), scene.Bot).Transfer(scene.Usdc, scene.Pool1, scene.User, 7_000000)
		} else {
			usdcForWeth(s.Transfer(scene.Usdc, scene.User, scene.Router, 7_000000), scene.Bot).Transfer(scene.Vault, scene.Pool2, scene.User, 5)
		}
		v := scene.Held(t, "", s.Facts(t))
		if typeName(v) != want || v.SubType != sub || v.Protocol == nil || *v.Protocol != "pendle" {
			t.Errorf("%s: %s %q, want %s %q: %s", event, typeName(v), v.SubType, want, sub, v.Summary)
		}
	}
	who := []any{scene.User, scene.Usdc, scene.Vault}
	market := []any{scene.User, scene.Vault, scene.User}
	f("RedeemSyToToken(address,address,address,address,uint256,uint256)", who, []any{scene.User, 5, 7}, "share", "other", "vault_withdraw")
	f("MintSyFromToken(address,address,address,address,uint256,uint256)", who, []any{scene.User, 7, 5}, "", "other", "vault_deposit")
	f("RedeemPyToSy(address,address,address,uint256,uint256)", []any{scene.User, scene.User, scene.Vault}, []any{5, 7}, "share", "other", "redeem")
	f("RedeemPyToToken(address,address,address,address,uint256,uint256)", who, []any{scene.User, 5, 7}, "share", "other", "redeem")
	f("AddLiquiditySinglePt(address,address,address,uint256,uint256)", market, []any{7, 5}, "", "other", "add_liquidity")
	f("RemoveLiquiditySingleSy(address,address,address,uint256,uint256)", market, []any{5, 7}, "share", "other", "remove_liquidity")
	f("SwapPtAndSy(address,address,address,int256,int256)", market, []any{5, 7}, "share", "swap", "")
}
