package classify_test

import (
	"testing"

	"txlens/engine/classify"
	"txlens/engine/decode"
	"txlens/engine/facts"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// judgeChecker returns the check of type, subtype and protocol of one transaction.
func judgeChecker(t *testing.T) func(name string, s *scene.Scene, want string) {
	return func(name string, s *scene.Scene, want string) {
		t.Helper()
		v := scene.Judge(s.Facts(t))
		if got := judgedAs(v); got != want {
			t.Errorf("%s: %s, want %s: %s", name, got, want, v.Summary)
		}
	}
}

// TestTradesIntoVaults: a trade on the way into a vault, or out of it, is a part of the deposit or the
// withdrawal, also where the vault logs nothing but the transfer of its shares.
func TestTradesIntoVaults(t *testing.T) {
	f := judgeChecker(t)
	user, zap, pool, vault := scene.User, scene.Router, scene.Pool1, scene.Vault
	zero := common.Address{}
	swapped := func(s *scene.Scene, event string) *scene.Scene {
		switch event {
		case "v3":
			return s.Log(pool, "Swap(address,address,int256,int256,uint160,uint128,int24)", []any{zap, zap}, 9_000000, -50, 1, 1, 1)
		case "curve":
			return s.Log(pool, "TokenExchange(address,int128,uint256,int128,uint256)", []any{zap}, 0, 9_000000, 1, 50)
		}
		return s.Log(pool, v2Swap, []any{zap, zap}, 9_000000, 0, 0, 50)
	}
	in := func(event string) *scene.Scene {
		s := scene.New(scene.At(zap), 0, nil2()).Transfer(scene.Usdc, user, zap, 9_000000).Transfer(scene.Usdc, zap, pool, 9_000000)
		return swapped(s.Transfer(dai, pool, zap, 50), event).Transfer(dai, zap, vault, 50)
	}
	for _, event := range []string{"v2", "v3", "curve"} {
		f("into a vault, "+event, in(event).Transfer(vault, zero, user, 48), "other deposit -")
		f("into a vault that gives its shares to the zap, "+event, in(event).Transfer(vault, zero, zap, 48).Transfer(vault, zap, user, 48),
			"other deposit -")
		out := scene.New(scene.At(zap), 0, nil2()).Transfer(vault, user, zap, 48).Transfer(vault, zap, zero, 48).Transfer(dai, vault, zap, 50)
		out = swapped(out.Transfer(dai, zap, pool, 50), event).Transfer(scene.Usdc, pool, zap, 9_000000)
		f("out of a vault, "+event, out.Transfer(scene.Usdc, zap, user, 9_000000), "other redeem -")
	}
	f("asked of an aggregator", in("v2").Transfer(vault, zero, user, 48).Known(zap, "Aggregator", "aggregator", "odos"), "swap - odos")
	f("a coin that is minted by a trade", in("v2").Transfer(scene.Nft, zero, user, 48), "swap - -")
	f("a vault that took nothing", swapped(scene.New(scene.At(zap), 0, nil2()).Transfer(scene.Usdc, user, pool, 9_000000), "v2").
		Transfer(vault, zero, user, 48), "swap - -")
	f("shares of a vault that paid nothing, for a token that takes in others", swapped(scene.New(scene.At(zap), 0, nil2()).Transfer(vault, user, zero, 48).
		Transfer(scene.Usdc, zap, dai, 9_000000), "v2").Transfer(dai, pool, user, 50), "swap - -")
	f("shares and a token that was bought", in("v2").Transfer(vault, zero, user, 48).Transfer(dai, pool, user, 3), "swap - -")
}

// TestSavingsThroughTheIssuer: an issuer's peg stability module trades savings at the price of the vault, which is
// on another chain.
func TestSavingsThroughTheIssuer(t *testing.T) {
	f := judgeChecker(t)
	const swap = "Swap(address,address,address,address,uint256,uint256,uint256)"
	psm, share := scene.Pool1, scene.Vault
	trade := func(from, to common.Address) *scene.Scene {
		return scene.New(scene.At(psm), 0, nil2()).Transfer(from, scene.User, psm, 17_000000).Transfer(to, psm, scene.User, 16_000000).
			Log(psm, swap, []any{from, to, scene.User}, scene.User, 17_000000, 16_000000, 0).
			Known(share, "Savings", "yield", "sky").Known(psm, "PSM", "dex", "spark")
	}
	f("saved", trade(scene.Usdc, share), "other vault_deposit spark")
	f("taken out in the stablecoin", trade(share, dai), "other vault_withdraw spark")
	f("taken out in another one", trade(share, scene.Usdc), "other vault_withdraw spark")
	f("stablecoins", trade(scene.Usdc, dai), "swap - spark")
	f("by a route through a pool", trade(share, scene.Usdc).Log(scene.Pool2, v2Swap, []any{scene.Router, psm}, 1, 0, 0, 1), "swap - spark")
	f("for another", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, psm, 17_000000).
		Transfer(share, psm, scene.User, 16_000000).Log(psm, swap, []any{scene.Usdc, share, scene.Friend}, scene.Bot, 17_000000, 16_000000, 0).
		Known(share, "Savings", "yield", "sky").Known(psm, "PSM", "dex", "spark"), "swap - spark")
	for chain, share := range map[uint64]string{
		10: "0xb5B2dc7fd34C249F4be7fB1fCea07950784229e0", 130: "0xA06b10Db9F390990364A3984C04FaDf1c13691b5",
		8453: "0x5875eEE11Cf8398102FdAd704C9E96607675467a", 42161: "0xdDb46999F8891663a8F2828d25298f70416d7610",
	} {
		if l, _ := facts.Tables().LabelOf(chain, common.HexToAddress(share)); l.Category != "yield" || l.Protocol != "sky" {
			t.Errorf("chain %d: %+v", chain, l)
		}
	}
}

// TestOwnLiquidations: who liquidates its own position repays its loan.
func TestOwnLiquidations(t *testing.T) {
	f := judgeChecker(t)
	user, lender := scene.User, scene.Vault
	at := func() *scene.Scene {
		return called(lender, "liquidate(address,uint256)", user, 0).Transfer(scene.Usdc, user, lender, 7)
	}
	curve := func(liquidator, borrower common.Address) *scene.Scene {
		return at().Log(lender, "Liquidate(address,address,uint256,uint256,uint256)", []any{liquidator, borrower}, 5, 0, 7)
	}
	f("Curve", curve(user, user), "other repay curve")
	f("Curve, of another", curve(user, scene.Friend), "liquidation - curve")
	f("Curve, one of two", curve(user, user).Log(lender, "Liquidate(address,address,uint256,uint256,uint256)", []any{user, scene.Friend}, 5, 0, 7),
		"liquidation - curve")
	const euler = "Liquidate(address,address,address,uint256,uint256)"
	f("Euler", at().Log(lender, euler, []any{user, user}, scene.Weth, 7, 5), "other repay euler_v2")
	f("Euler, of another", at().Log(lender, euler, []any{user, scene.Friend}, scene.Weth, 7, 5), "liquidation - euler_v2")
	const morpho = "Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)"
	f("Morpho", at().Log(lender, morpho, []any{1, user, user}, 7, 7, 5, 0, 0), "other repay morpho_blue")
	f("Morpho, of another", at().Log(lender, morpho, []any{1, user, scene.Friend}, 7, 7, 5, 0, 0), "liquidation - morpho_blue")
}

// TestTradesThroughPools: without the event of a swap, liquidity that was added and removed again on the
// way is no act of its own.
func TestTradesThroughPools(t *testing.T) {
	f := judgeChecker(t)
	pool := scene.Pool1
	at := func() *scene.Scene {
		return scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, pool, 9_000000).Transfer(dai, pool, scene.User, 8)
	}
	added := func(s *scene.Scene) *scene.Scene { return s.Log(pool, v2Mint, []any{scene.Router}, 9, 9) }
	removed := func(s *scene.Scene) *scene.Scene {
		return s.Log(scene.Pool2, v2Burn, []any{scene.Router, scene.Router}, 9, 9)
	}
	vault := func(s *scene.Scene) *scene.Scene {
		s.Log(scene.Vault, vaultDeposit, []any{scene.Router, scene.Router}, 9, 9)
		return s.Log(scene.Vault, vaultWithdraw, []any{scene.Router, scene.Router, scene.Router}, 9, 9)
	}
	f("added and removed", removed(added(at())), "swap - -")
	f("into a vault and out", vault(at()), "swap - -")
	f("both", vault(removed(added(at()))), "swap - -")
	f("added alone", added(at()), "other add_liquidity -")
	f("removed alone", removed(at()), "other remove_liquidity -")
	f("asked of a router that paid elsewhere", added(called(scene.Router, "swapExactTokensForETH(uint256,uint256,address[],address,uint256)", 5, 6).
		Transfer(scene.Usdc, scene.User, pool, 9_000000)).Log(pool, v2Swap, []any{scene.Router, scene.Router}, 9_000000, 0, 0, 8).
		Known(scene.Router, "Router", "aggregator", "odos"), "swap - odos")
	f("what came was minted", removed(added(at())).Transfer(dai, common.Address{}, pool, 3), "other rebalance_liquidity -")
	f("for the actor", removed(added(at())).Log(scene.Vault, vaultDeposit, []any{scene.User, scene.User}, 9, 9), "other vault_deposit -")
}

// TestDividendsOfTrades: tokens that pay dividends to their holders pay them when they are traded.
func TestDividendsOfTrades(t *testing.T) {
	f := judgeChecker(t)
	pool := scene.Pool1
	paid := func(event string) *scene.Scene {
		return scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, pool, 9_000000).
			Log(scene.Vault, event, []any{scene.User}, 3)
	}
	for _, event := range []string{"RewardPaid(address,uint256)", "RewardClaimed(address,uint256)", "Claim(address,uint256)"} {
		f(event, paid(event).Transfer(dai, pool, scene.User, 8).Log(pool, v2Swap, []any{scene.Router, scene.User}, 9_000000, 0, 0, 8), "swap - -")
	}
	f("a reward alone", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(dai, scene.Vault, scene.User, 3).
		Log(scene.Vault, "RewardPaid(address,uint256)", []any{scene.User}, 3), "stake claim -")
}

// TestClaimsThatPay: a function that claims, and says how it pays, is a claim.
func TestClaimsThatPay(t *testing.T) {
	f := func(function, want string) {
		t.Helper()
		in := called(scene.Router, function+"(uint256)", 1).Transfer(dai, scene.Vault, scene.User, 8).Facts(t)
		in.Decoded = named(function)
		if v := scene.Judge(in); judgedAs(v) != want {
			t.Errorf("%s: %s, want %s", function, judgedAs(v), want)
		}
	}
	f("claimAirdrop", "other claim -")
	f("claimAndTransfer", "other claim -")
	f("harvestAndSend", "other harvest -")
	f("withdrawPayments", "other withdraw -")
	f("redeemAndPay", "other withdraw -")
	f("transferFrom", "transfer - -")
	f("airdrop", "transfer - -")
}

// named is what the decoder finds in calldata of a function.
func named(function string) *decode.Set { return &decode.Set{Calls: []*decode.Call{{Name: function}}} }

// TestRoutersNameTheTrader: routers and exchanges of the first years name who traded.
func TestRoutersNameTheTrader(t *testing.T) {
	f := func(signature string, indexed []any, data []any, want string) {
		t.Helper()
		s := scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Router, 9).Transfer(dai, scene.Pool2, scene.User, 8)
		v := scene.Judge(s.Log(scene.Router, signature, indexed, data...).Facts(t))
		if judgedAs(v) != want || v.Evidence != classify.OwnEvent {
			t.Errorf("%s: %s by %s, want %s", signature, judgedAs(v), v.Evidence, want)
		}
	}
	words := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = i
		}
		return list
	}
	user := scene.User
	f("ExchangeMultiple(address,address,address[9],uint256[3][4],address[4],uint256,uint256)", []any{user, user}, words(27), "swap - curve")
	f("ExchangeMultiple(address,address,address[9],uint256[5][4],address[4],uint256,uint256)", []any{user, user}, words(35), "swap - curve")
	f("Exchange(address,address,address[11],uint256[5][5],address[5],uint256,uint256)", []any{user, user}, words(43), "swap - curve")
	f("Exchange(address,address,address[11],uint256[4][5],address[5],uint256,uint256)", []any{user, user}, words(38), "swap - curve")
	f("TokenExchange(address,address,address,address,address,uint256,uint256)", []any{user, user, scene.Pool1}, []any{scene.Usdc, dai, 9, 8}, "swap - curve")
	f("TokenPurchase(address,uint256,uint256)", []any{user, 9, 8}, nil, "swap - uniswap_v1")
	f("EthPurchase(address,uint256,uint256)", []any{user, 9, 8}, nil, "swap - uniswap_v1")
	f("ExecuteTrade(address,address,address,uint256,uint256)", []any{user}, []any{scene.Usdc, dai, 9, 8}, "swap - kyberswap")
	f("ExecuteTrade(address,address,address,address,uint256,uint256,address,uint256)", []any{user}, []any{scene.Usdc, dai, user, 9, 8, 0, 0}, "swap - kyberswap")
	f("Conversion(address,address,address,uint256,uint256,address)", []any{scene.Pool1, scene.Usdc, dai}, []any{9, 8, user}, "swap - bancor")
	f("TokensTraded(bytes32,address,address,uint256,uint256,uint256,uint256,uint256,address)", []any{1, scene.Usdc, dai}, []any{9, 8, 7, 0, 0, user}, "swap - bancor")
	f("TokensTraded(address,address,address,uint256,uint256,uint128,bool)", []any{user, scene.Usdc, dai}, []any{9, 8, 0, false}, "swap - bancor")
}
