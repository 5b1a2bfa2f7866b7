package classify_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestAggregates: what several events are together stands in one step, and only when
// the movements bear it out.
func TestAggregates(t *testing.T) {
	f := func(name string, s *scene.Scene, want string, says bool) {
		t.Helper()
		got := scene.Held(t, name, s.Facts(t)).Steps
		if slices.ContainsFunc(got, func(x string) bool { return strings.Contains(x, want) }) != says {
			t.Errorf("%s: %q is said: %v\n%s", name, want, !says, strings.Join(got, "\n"))
		}
	}
	link := scene.Addr(0x114c)
	two := func() *scene.Scene {
		return scene.New(scene.At(scene.Router), 0, nil2()).
			Transfer(scene.Usdc, scene.User, scene.Pool1, 7_000000).Transfer(scene.Weth, scene.Pool1, scene.Pool2, 5).Log(scene.Pool1, v2Swap, []any{scene.Router, scene.Pool2}, 7_000000, 0, 0, 5).
			Transfer(link, scene.Pool2, scene.User, 9).Log(scene.Pool2, v2Swap, []any{scene.Router, scene.User}, 5, 0, 0, 9)
	}
	f("route", two(), "The swap is one trade over 2 pools: 7 USDC to 0.000000000000000005 WETH to 9 raw units of 0x114c…114c.", true)
	f("route through a front", two().Known(scene.Router, "1inch router", "aggregator", "oneinch"), "The swap through 1inch is one trade over 2 pools: 7 USDC to", true)
	f("split", scene.New(scene.At(scene.Router), 0, nil2()).
		Transfer(scene.Usdc, scene.User, scene.Pool1, 7_000000).Transfer(scene.Weth, scene.Pool1, scene.User, 5).Log(scene.Pool1, v2Swap, []any{scene.Router, scene.User}, 7_000000, 0, 0, 5).
		Transfer(scene.Usdc, scene.User, scene.Pool2, 1_000000).Transfer(scene.Weth, scene.Pool2, scene.User, 1).Log(scene.Pool2, v2Swap, []any{scene.Router, scene.User}, 1_000000, 0, 0, 1),
		"one trade split over 2 pools: 7 USDC for 0.000000000000000005 WETH and 1 USDC for 0.000000000000000001 WETH.", true)
	f("signed amounts", scene.New(scene.At(scene.Router), 0, nil2()).
		Transfer(scene.Weth, scene.Pool1, scene.Pool2, 5).Transfer(scene.Usdc, scene.User, scene.Pool1, 7_000000).
		Log(scene.Pool1, "Swap(address,address,int256,int256,uint160,uint128,int24)", []any{scene.Router, scene.Pool2}, 7_000000, -5, 1, 1, 1).
		Transfer(link, scene.Pool2, scene.User, 9).Log(scene.Pool2, v2Swap, []any{scene.Router, scene.User}, 5, 0, 0, 9),
		"7 USDC to 0.000000000000000005 WETH to 9 raw units", true)
	f("one pool is no route", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Pool1, 7_000000).Transfer(scene.Weth, scene.Pool1, scene.User, 5).
		Log(scene.Pool1, v2Swap, []any{scene.Router, scene.User}, 7_000000, 0, 0, 5), "one trade", false)
	f("an event that no movement bears out", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Pool1, 7_000000).Transfer(scene.Weth, scene.Pool1, scene.User, 5).
		Log(scene.Pool1, v2Swap, []any{scene.Router, scene.User}, 7_000000, 0, 0, 5).Log(scene.Pool2, v2Swap, []any{scene.Router, scene.User}, 5, 0, 0, 9), "one trade", false)

	const balancerLoan = "FlashLoan(address,address,uint256,uint256)"
	f("loan", scene.New(scene.At(scene.Bot), 0, nil2()).Known(scene.Vault, "Balancer vault", "dex", "balancer_v2").Transfer(scene.Usdc, scene.Vault, scene.Bot, 5_000000).
		Transfer(scene.Usdc, scene.Bot, scene.Vault, 5_004500).Log(scene.Vault, balancerLoan, []any{scene.Bot, scene.Usdc}, 5_000000, 4500),
		"had lent 5 USDC to 0xb070…b070 for the length of the transaction and has it back, with 0.0045 USDC more for the loan.", true)
	f("loan that nobody repaid", scene.New(scene.At(scene.Bot), 0, nil2()).Known(scene.Vault, "Balancer vault", "dex", "balancer_v2").Transfer(scene.Usdc, scene.Vault, scene.Bot, 5_000000).
		Transfer(scene.Usdc, scene.Bot, scene.Vault, 4_999999).Log(scene.Vault, balancerLoan, []any{scene.Bot, scene.Usdc}, 5_000000, 0), "had lent", false)
	f("loan of a share's contract", scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Usdc, scene.Vault, scene.Bot, 5_000000).Transfer(scene.Usdc, scene.Bot, scene.Vault, 5_002500).
		Log(scene.Pool1, "FlashLoan(address,address,address,uint256,uint8,uint256,uint16)", []any{scene.Bot, scene.Usdc, 0}, scene.User, 5_000000, 0, 2500),
		"0x7a17…7a17 had lent 5 USDC to 0xb070…b070", true)
	callback := scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Usdc, scene.Vault, scene.Bot, 5_000000).Transfer(scene.Usdc, scene.Bot, scene.Vault, 5_000000)
	callback.Call(scene.Vault, scene.Bot, 0, scene.Input("onFlashLoan(address,address,uint256,uint256,bytes)", scene.Bot, scene.Usdc, 5_000000, 0, 160, 0))
	f("loan by callback", callback, "0x7a17…7a17 had lent 5 USDC to 0xb070…b070 for the length of the transaction and has it back.", true)

	const aave = "LiquidationCall(address,address,address,uint256,uint256,address,bool)"
	f("seizure", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 4_000000).Transfer(scene.Weth, scene.Vault, scene.User, 3).
		Log(scene.Vault, aave, []any{scene.Weth, scene.Usdc, scene.Friend}, 4_000000, 3, scene.User, false),
		"A debt of 0xf00d…f00d of 4 USDC was repaid, and 0.000000000000000003 WETH of the collateral taken for it.", true)
	f("seizure with tokens from the movements", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Weth, scene.Vault, scene.User, 3).Transfer(scene.Usdc, scene.User, scene.Vault, 4_000000).
		Log(scene.Vault, "Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)", []any{1, scene.User, scene.Friend}, 4_000000, 1, 3, 1, 1),
		"A debt of 0xf00d…f00d of 4 USDC was repaid, and 0.000000000000000003 WETH of the collateral taken for it; a part of the debt stayed with the lender.", true)

	seaport := "OrderFulfilled(bytes32,address,address,address,(uint8,address,uint256,uint256)[],(uint8,address,uint256,uint256,address)[])"
	f("sale", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.Friend, scene.User, 5}).
		Transfer(scene.Usdc, scene.User, scene.Friend, 9_000000).Transfer(scene.Usdc, scene.User, scene.Miner, 1_000000).Log(scene.Vault, seaport, []any{scene.Friend, 0}, 1, scene.User, 128, 128, 0),
		"0xa11c…a11c bought NFT 5 of 0x0721…0721 from 0xf00d…f00d for 10 USDC, of which 1 USDC did not reach the seller (fees).", true)
	f("sale by a broker whose own money is in it", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.Friend, scene.User, 5}).
		Transfer(scene.Usdc, scene.User, scene.Vault, 9_000000).Transfer(scene.Usdc, scene.Vault, scene.Friend, 10_000000).Log(scene.Vault, seaport, []any{scene.Friend, 0}, 1, scene.User, 128, 128, 0), " bought NFT", false)

	across := "V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)"
	f("crossing", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 1_000000).Log(scene.Vault, across, []any{8453, 77, scene.User}, scene.Usdc, scene.Usdc, 1_000000, 990000),
		"The crossing goes to Base over Across, with the key 77.", true)
	f("crossing by a messenger's number", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 1_000000).
		Log(scene.Vault, "OFTSent(bytes32,uint32,address,uint256,uint256)", []any{big.NewInt(0xabc), scene.User}, 30184, 1_000000, 1_000000),
		"The crossing goes to Base over LayerZero, with the key 2748.", true)
	f("crossing that came", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.Vault, scene.User, 1_000000).
		Log(scene.Vault, "OFTReceived(bytes32,uint32,address,uint256)", []any{big.NewInt(0xabc), scene.User}, 30110, 1_000000),
		"The crossing came from Arbitrum One over LayerZero, with the key 2748.", true)
	f("crossing to nobody knows where", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 1_000000).
		Log(scene.Vault, "OFTSent(bytes32,uint32,address,uint256,uint256)", []any{big.NewInt(0xabc), scene.User}, 39999, 1_000000, 1_000000),
		"The crossing goes to chain 39999 by its own numbers over LayerZero", true)
}

func TestLendersNameTheAsset(t *testing.T) {
	s := scene.New(scene.At(scene.Vault), 0, nil2()).Known(scene.Vault, "Aave Pool", "lending", "aave_v3").Transfer(scene.Usdc, scene.User, scene.Addr(77), 1_000000).
		Log(scene.Vault, "Supply(address,address,address,uint256,uint16)", []any{scene.Usdc, scene.User, 0}, scene.User, 1_000000)
	if got := scene.Held(t, "", s.Facts(t)).Steps; !slices.Contains(got, "Aave Pool took in 1 USDC for 0xa11c…a11c (supply).") {
		t.Errorf("%q", got)
	}
	p := scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Pool1, 2_000000).Transfer(scene.Weth, scene.User, scene.Pool1, 7).Transfer(scene.Pool1, common.Address{}, scene.User, 3).
		Log(scene.Pool1, "Mint(address,uint256,uint256)", []any{scene.Router}, 2_000000, 7)
	if got := scene.Held(t, "", p.Facts(t)).Steps; !slices.Contains(got, "0x9001…9001 (Uniswap v2-style) took in 2 USDC and 0.000000000000000007 WETH for liquidity.") {
		t.Errorf("%q", got)
	}
}
