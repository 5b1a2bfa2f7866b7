package claim

import (
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/assemble/recorded"
)

// TestPlainEnglish: sentences as models write them about a recorded swap through an
// aggregator, all of them true.
func TestPlainEnglish(t *testing.T) {
	ix := NewIndex(assemble.Build(recorded.Find(t, "0x769e36370a")))
	f := func(s string) {
		t.Helper()
		if kept, bad := ix.prose(s, maxSummary); bad > 0 || kept == "" {
			why := ""
			for _, part := range sentences(plainText(s)) {
				if w := ix.sentence(part); w != "" {
					why += w + "; "
				}
			}
			t.Errorf("%q: %s", s, why)
		}
	}
	f("The sender swapped 0.054792 ETH (about $171) for an unlisted token (0x1634…9b0a) through the 0x Exchange Proxy, routing via a Uniswap V2-style pair.")
	f("EOA 0x2581…9e28 calls an unverified router contract at 0xa2fde9de6e6ebfe068d3ec0b515669817a9c3808 with 0.0548 ETH attached.")
	f("The router forwards the full value to `transformERC20` on the 0x: Exchange Proxy.")
	f("The WETH transformer wraps 0.054792071246605796 ETH into WETH.")
	f("The fill-quote transformer calls `swapExactTokensForTokens` on the Uniswap V2 Router with an amountOutMin of 1, i.e. without slippage protection at that hop; the outer minimum still applies.")
	f("The pair 0xb0af…185f pays out 70,514,232,891,626,061,515,467,862,611 base units of the token, and emits `Sync` and `Swap` (logs 42 and 43).")
	f("A fee of 69,012,505,733,606,256,089,551,833 base units goes to 0xad01…fce5, which is likely the affiliate.")
	f("The remaining 70,445,220,385,892,455,259,378,310,778 base units end up at 0xf36b…5fb1 (frame 0.2), so the recipient differs from the sender.")
	f("The sender paid 0.005749 ETH (~$17.94) in gas, of which most was burnt.")
	f("Gas used: 308,958 at 18.6 gwei.")
	f("The transaction is in block 21,230,867 (index 44), mined on 2024-11-20 at 18:54:47 UTC.")
	f("No approval was needed, because native ETH was sent; the contract uses its own balance.")
	f("The token's decimals are unknown, so amounts are given in base units.")
	f("Since the token isn't listed and its source wasn't looked up, its behaviour can't be judged from this trace alone.")
	f("First, the flash wallet (0x22f9…8c18) receives the ETH; then it runs four transformers via delegatecall.")
	f("The net effect: -0.0605 ETH for the sender, +70.4e27 base units for 0xf36b…5fb1.")
	f("The minOutputTokenAmount was 68,943,493,227,872,649,833,462,281,489, which the swap exceeded.")
	f("The block producer received 0.0000308958 ETH as the priority fee.")
	f("The call to the ERC-20 contract's `transfer` function moved the tokens; the `Transfer` event confirmed it.")
}
