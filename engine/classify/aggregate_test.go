package classify

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// TestAggregates: what several events are together stands in one step, and only when
// the movements bear it out.
func TestAggregates(t *testing.T) {
	f := func(name string, s *scene, want string, says bool) {
		t.Helper()
		got := judge(s.facts(t)).Steps
		if slices.ContainsFunc(got, func(x string) bool { return strings.Contains(x, want) }) != says {
			t.Errorf("%s: %q is said: %v\n%s", name, want, !says, strings.Join(got, "\n"))
		}
	}
	link := addr(0x114c)
	two := func() *scene {
		return newScene(at(router), 0, nil2()).
			transfer(usdc, user, pool1, 7_000000).transfer(weth, pool1, pool2, 5).log(pool1, v2Swap, []any{router, pool2}, 7_000000, 0, 0, 5).
			transfer(link, pool2, user, 9).log(pool2, v2Swap, []any{router, user}, 5, 0, 0, 9)
	}
	f("route", two(), "The swap is one trade over 2 pools: 7 USDC to 0.000000000000000005 WETH to 9 base units of 0x114c…114c.", true)
	f("route through a front", two().known(router, "1inch router", "aggregator", "oneinch"), "The swap through 1inch is one trade over 2 pools: 7 USDC to", true)
	f("split", newScene(at(router), 0, nil2()).
		transfer(usdc, user, pool1, 7_000000).transfer(weth, pool1, user, 5).log(pool1, v2Swap, []any{router, user}, 7_000000, 0, 0, 5).
		transfer(usdc, user, pool2, 1_000000).transfer(weth, pool2, user, 1).log(pool2, v2Swap, []any{router, user}, 1_000000, 0, 0, 1),
		"one trade split over 2 pools: 7 USDC for 0.000000000000000005 WETH and 1 USDC for 0.000000000000000001 WETH.", true)
	f("signed amounts", newScene(at(router), 0, nil2()).
		transfer(weth, pool1, pool2, 5).transfer(usdc, user, pool1, 7_000000).
		log(pool1, "Swap(address,address,int256,int256,uint160,uint128,int24)", []any{router, pool2}, 7_000000, -5, 1, 1, 1).
		transfer(link, pool2, user, 9).log(pool2, v2Swap, []any{router, user}, 5, 0, 0, 9),
		"7 USDC to 0.000000000000000005 WETH to 9 base units", true)
	f("one pool is no route", newScene(at(router), 0, nil2()).transfer(usdc, user, pool1, 7_000000).transfer(weth, pool1, user, 5).
		log(pool1, v2Swap, []any{router, user}, 7_000000, 0, 0, 5), "one trade", false)
	f("an event that no movement bears out", newScene(at(router), 0, nil2()).transfer(usdc, user, pool1, 7_000000).transfer(weth, pool1, user, 5).
		log(pool1, v2Swap, []any{router, user}, 7_000000, 0, 0, 5).log(pool2, v2Swap, []any{router, user}, 5, 0, 0, 9), "one trade", false)

	const balancerLoan = "FlashLoan(address,address,uint256,uint256)"
	f("loan", newScene(at(bot), 0, nil2()).known(vault, "Balancer vault", "dex", "balancer_v2").transfer(usdc, vault, bot, 5_000000).
		transfer(usdc, bot, vault, 5_004500).log(vault, balancerLoan, []any{bot, usdc}, 5_000000, 4500),
		"had lent 5 USDC to 0xb070…b070 for the length of the transaction and has it back, with 0.0045 USDC more for the loan.", true)
	f("loan that nobody repaid", newScene(at(bot), 0, nil2()).known(vault, "Balancer vault", "dex", "balancer_v2").transfer(usdc, vault, bot, 5_000000).
		transfer(usdc, bot, vault, 4_999999).log(vault, balancerLoan, []any{bot, usdc}, 5_000000, 0), "had lent", false)
	f("loan of a share's contract", newScene(at(bot), 0, nil2()).transfer(usdc, vault, bot, 5_000000).transfer(usdc, bot, vault, 5_002500).
		log(pool1, "FlashLoan(address,address,address,uint256,uint8,uint256,uint16)", []any{bot, usdc, 0}, user, 5_000000, 0, 2500),
		"0x7a17…7a17 had lent 5 USDC to 0xb070…b070", true)
	callback := newScene(at(bot), 0, nil2()).transfer(usdc, vault, bot, 5_000000).transfer(usdc, bot, vault, 5_000000)
	callback.call(vault, bot, 0, input("onFlashLoan(address,address,uint256,uint256,bytes)", bot, usdc, 5_000000, 0, 160, 0))
	f("loan by callback", callback, "0x7a17…7a17 had lent 5 USDC to 0xb070…b070 for the length of the transaction and has it back.", true)

	const aave = "LiquidationCall(address,address,address,uint256,uint256,address,bool)"
	f("seizure", newScene(at(vault), 0, nil2()).transfer(usdc, user, vault, 4_000000).transfer(weth, vault, user, 3).
		log(vault, aave, []any{weth, usdc, friend}, 4_000000, 3, user, false),
		"A debt of 0xf00d…f00d of 4 USDC was repaid, and 0.000000000000000003 WETH of the collateral taken for it.", true)
	f("seizure with tokens from the movements", newScene(at(vault), 0, nil2()).transfer(weth, vault, user, 3).transfer(usdc, user, vault, 4_000000).
		log(vault, "Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)", []any{1, user, friend}, 4_000000, 1, 3, 1, 1),
		"A debt of 0xf00d…f00d of 4 USDC was repaid, and 0.000000000000000003 WETH of the collateral taken for it; a part of the debt stayed with the lender.", true)

	seaport := "OrderFulfilled(bytes32,address,address,address,(uint8,address,uint256,uint256)[],(uint8,address,uint256,uint256,address)[])"
	f("sale", newScene(at(vault), 0, nil2()).log(nft, "Transfer(address,address,uint256)", []any{friend, user, 5}).
		transfer(usdc, user, friend, 9_000000).transfer(usdc, user, miner, 1_000000).log(vault, seaport, []any{friend, 0}, 1, user, 128, 128, 0),
		"0xa11c…a11c bought NFT 5 of 0x0721…0721 from 0xf00d…f00d for 10 USDC, of which 1 USDC did not reach the seller (fees).", true)
	f("sale by a broker whose own money is in it", newScene(at(vault), 0, nil2()).log(nft, "Transfer(address,address,uint256)", []any{friend, user, 5}).
		transfer(usdc, user, vault, 9_000000).transfer(usdc, vault, friend, 10_000000).log(vault, seaport, []any{friend, 0}, 1, user, 128, 128, 0), " bought NFT", false)

	across := "V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)"
	f("crossing", newScene(at(vault), 0, nil2()).transfer(usdc, user, vault, 1_000000).log(vault, across, []any{8453, 77, user}, usdc, usdc, 1_000000, 990000),
		"The crossing goes to Base over Across, with the key 77.", true)
	f("crossing by a messenger's number", newScene(at(vault), 0, nil2()).transfer(usdc, user, vault, 1_000000).
		log(vault, "OFTSent(bytes32,uint32,address,uint256,uint256)", []any{big.NewInt(0xabc), user}, 30184, 1_000000, 1_000000),
		"The crossing goes to Base over LayerZero, with the key 2748.", true)
	f("crossing that came", newScene(at(vault), 0, nil2()).transfer(usdc, vault, user, 1_000000).
		log(vault, "OFTReceived(bytes32,uint32,address,uint256)", []any{big.NewInt(0xabc), user}, 30110, 1_000000),
		"The crossing came from Arbitrum One over LayerZero, with the key 2748.", true)
	f("crossing to nobody knows where", newScene(at(vault), 0, nil2()).transfer(usdc, user, vault, 1_000000).
		log(vault, "OFTSent(bytes32,uint32,address,uint256,uint256)", []any{big.NewInt(0xabc), user}, 39999, 1_000000, 1_000000),
		"The crossing goes to chain 39999 by its own numbers over LayerZero", true)
}

func TestLendersNameTheAsset(t *testing.T) {
	s := newScene(at(vault), 0, nil2()).known(vault, "Aave Pool", "lending", "aave_v3").transfer(usdc, user, addr(77), 1_000000).
		log(vault, "Supply(address,address,address,uint256,uint16)", []any{usdc, user, 0}, user, 1_000000)
	if got := judge(s.facts(t)).Steps; !slices.Contains(got, "Aave Pool took in 1 USDC for 0xa11c…a11c (supply).") {
		t.Errorf("%q", got)
	}
	p := newScene(at(router), 0, nil2()).transfer(usdc, user, pool1, 2_000000).transfer(weth, user, pool1, 7).transfer(pool1, common.Address{}, user, 3).
		log(pool1, "Mint(address,uint256,uint256)", []any{router}, 2_000000, 7)
	if got := judge(p.facts(t)).Steps; !slices.Contains(got, "0x9001…9001 (Uniswap v2-style) took in 2 USDC and 0.000000000000000007 WETH for liquidity.") {
		t.Errorf("%q", got)
	}
}
