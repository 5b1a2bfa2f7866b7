package classify_test

import (
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/label"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// namedAs are the kind of a transaction, all protocols that took part, the roles of the addresses
// and the texts of the risks.
func namedAs(v *scene.Judged) string {
	var roles []string
	for a, role := range v.Roles {
		roles = append(roles, api.AddrOf(a).Short()[:6]+" "+role)
	}
	slices.Sort(roles)
	s := judgedAs(v) + " [" + strings.Join(v.Protocols, " ") + "] " + strings.Join(roles, ", ")
	for _, r := range lines(v) {
		s += " / " + r
	}
	return s
}

func namesChecker(t *testing.T) func(name string, s *scene.Scene, want string) {
	return func(name string, s *scene.Scene, want string) {
		t.Helper()
		if got := namedAs(scene.Held(t, name, s.Facts(t))); got != want {
			t.Errorf("%s:\n got  %s\n want %s", name, got, want)
		}
	}
}

// TestProtocolTwins: the called contract, the events and the brands name the protocol in this order.
func TestProtocolTwins(t *testing.T) {
	f := namesChecker(t)
	user, vault, pool, router := scene.User, scene.Vault, scene.Pool1, scene.Router
	swap := func(to common.Address) *scene.Scene { return usdcForWeth(scene.New(scene.At(to), 0, nil2()), user) }
	f("nobody known", swap(router), "swap - - [] 0x05dc token, 0x4007 router, 0x9001 pool, 0xa11c sender, 0xc02a token")
	f("router", swap(router).Known(router, "Router", "router", "uniswap_v2"), "swap - uniswap_v2 [uniswap_v2] 0x05dc token, 0x4007 router, 0x9001 pool, 0xa11c sender, 0xc02a token")
	f("pool", swap(router).Known(pool, "Pool", "dex", "sushiswap"), "swap - sushiswap [sushiswap] 0x05dc token, 0x4007 router, 0x9001 pool, 0xa11c sender, 0xc02a token")
	f("router and pool", swap(router).Known(router, "Router", "router", "oneinch").Known(pool, "Pool", "dex", "sushiswap"), "swap - oneinch [oneinch sushiswap] 0x05dc token, 0x4007 router, 0x9001 pool, 0xa11c sender, 0xc02a token")
	f("router of all versions", swap(router).Known(router, "Router", "router", "uniswap").Known(pool, "Pool", "dex", "uniswap_v3"), "swap - uniswap_v3 [uniswap uniswap_v3] 0x05dc token, 0x4007 router, 0x9001 pool, 0xa11c sender, 0xc02a token")
	f("a yield contract that swaps", swap(vault).Known(vault, "Vault", "yield", "yearn").Known(pool, "Pool", "dex", "sushiswap"), "swap - yearn [yearn sushiswap] 0x05dc token, 0x7a17 vault, 0x9001 pool, 0xa11c sender, 0xc02a token")
	f("two pools of two protocols", swap(router).Known(pool, "Pool", "dex", "sushiswap").Transfer(dai, user, scene.Pool2, 5).Log(scene.Pool2, v2Swap, []any{router, user}, 5, 0, 0, 0).
		Known(scene.Pool2, "Pool", "dex", "uniswap_v2"), "swap - - [sushiswap uniswap_v2] 0x05dc token, 0x0da1 token, 0x4007 router, 0x9001 pool, 0x9002 pool, 0xa11c sender, 0xc02a token")
	supply := func() *scene.Scene {
		return scene.New(scene.At(router), 0, nil2()).Transfer(scene.Usdc, user, vault, 5).Log(vault, supplyEvent, []any{scene.Usdc, user, 0}, user, 5)
	}
	f("lender by its event", supply(), "other supply - [] 0x05dc token, 0x4007 contract, 0x7a17 lending pool, 0xa11c sender")
	f("lender by its label", supply().Known(vault, "Pool", "lending", "aave_v3"), "other supply aave_v3 [aave_v3] 0x05dc token, 0x4007 contract, 0x7a17 lending pool, 0xa11c sender")
	f("lender through another contract", supply().Known(vault, "Pool", "lending", "aave_v3").Known(router, "Zap", "yield", "yearn"), "other supply yearn [yearn aave_v3] 0x05dc token, 0x4007 vault, 0x7a17 lending pool, 0xa11c sender")
	f("lender through a router", supply().Known(vault, "Pool", "lending", "aave_v3").Known(router, "Router", "router", "uniswap_v2"), "other supply aave_v3 [uniswap_v2 aave_v3] 0x05dc token, 0x4007 router, 0x7a17 lending pool, 0xa11c sender")
	f("payment contract", called(router, "disperseToken(address,address[],uint256[])").Known(router, "Pay", "payment", "disperse").Transfer(scene.Usdc, user, scene.Friend, 5), "transfer - disperse [disperse] 0x05dc token, 0x4007 contract, 0xa11c sender, 0xf00d recipient")
	f("transfer at a known contract", called(router, "disperseToken(address,address[],uint256[])").Known(router, "Pay", "yield", "yearn").Transfer(scene.Usdc, user, scene.Friend, 5), "transfer - - [yearn] 0x05dc token, 0x4007 vault, 0xa11c sender, 0xf00d recipient")
	permit2 := func() *scene.Scene {
		return called(router, "approve(address,address,uint160,uint48)", scene.Usdc, scene.Friend, 5, 6).Known(router, "Permit2", "system", "permit2").
			Log(scene.Usdc, "Approval(address,address,uint256)", []any{user, scene.Friend}, 5)
	}
	f("approval at Permit2", permit2(), "approval - permit2 [] 0x05dc token, 0x4007 contract, 0xa11c sender, 0xf00d spender")
	f("approval at another", permit2().Known(router, "Router", "router", "uniswap_v2"), "approval - - [uniswap_v2] 0x05dc token, 0x4007 router, 0xa11c sender, 0xf00d spender")
	f("event of a known contract", called(router, "foo()").Known(vault, "Vault", "yield", "yearn").Log(vault, "Something(uint256)", nil, 1), "other contract_call yearn [] 0x4007 contract, 0xa11c sender")
	f("events of two known contracts", called(router, "foo()").Known(vault, "Vault", "yield", "yearn").Log(vault, "Something(uint256)", nil, 1).Known(pool, "Pool", "dex", "curve").Log(pool, "Something(uint256)", nil, 1), "other contract_call - [] 0x4007 contract, 0xa11c sender")
	f("event of an oracle", called(router, "foo()").Known(vault, "Oracle", "oracle", "chainlink").Log(vault, "Something(uint256)", nil, 1), "other contract_call - [] 0x4007 contract, 0xa11c sender")
	f("event of a messenger", called(router, "foo()").Known(vault, "Endpoint", "bridge", "layerzero").Log(vault, "Something(uint256)", nil, 1), "other contract_call - [] 0x4007 contract, 0xa11c sender")
	f("event of a listed token", called(router, "foo()").Known(scene.Usdc, "USDC", "", "lido").Log(scene.Usdc, "Something(uint256)", nil, 1), "other contract_call - [] 0x4007 contract, 0xa11c sender")
	f("staking contract that tokens went to", called(router, "foo()").Known(vault, "Staking", "staking", "stader").Transfer(scene.Usdc, user, vault, 5), "stake stake stader [] 0x05dc token, 0x4007 contract, 0xa11c sender")
	f("bridge that tokens went to", called(router, "foo()").Known(vault, "Bridge", "bridge", "hop").Transfer(scene.Usdc, user, vault, 5), "bridge send hop [] 0x05dc token, 0x4007 contract, 0xa11c sender")
	f("bridge that tokens went to and came from", called(router, "foo()").Known(vault, "Bridge", "bridge", "hop").Transfer(scene.Usdc, user, vault, 5).Transfer(dai, vault, user, 5), "swap - - [] 0x05dc token, 0x0da1 token, 0x4007 router, 0xa11c sender")
	f("burnt", called(scene.Usdc, "transfer(address,uint256)", zero, 5).Known(scene.Usdc, "USDC", "stablecoin", "frax").Transfer(scene.Usdc, user, zero, 5), "other burn - [] 0x05dc token, 0xa11c sender / stuck_value: 0.000005 USDC was sent to the zero address, by a transfer and no burn")
	f("burnt at its contract", called(scene.Usdc, "burn(uint256)", 5).Known(scene.Usdc, "USDC", "stablecoin", "frax").Transfer(scene.Usdc, user, zero, 5), "other burn frax [] 0x05dc token, 0xa11c sender")
	f("deployed pool", called(router, "createPair(address,address)", scene.Usdc, dai).Log(router, "PairCreated(address,address,address,uint256)", []any{scene.Usdc, dai}, pool, 1), "deployment pool - [] 0x4007 contract, 0xa11c sender")
	f("deployed pool, paying", called(router, "createPair(address,address)", scene.Usdc, dai).Log(router, "PairCreated(address,address,address,uint256)", []any{scene.Usdc, dai}, pool, 1).Transfer(scene.Usdc, user, router, 5), "deployment pool - [] 0x05dc token, 0x4007 contract, 0xa11c sender")
	f("vote", called(vault, "castVote(uint256,uint8)", 1, 1).Log(vault, "VoteCast(address,uint256,uint8,uint256,string)", []any{user}, 1, 1, 1, 160, 0), "governance vote - [] 0x7a17 governance, 0xa11c sender")
	f("votes delegated", called(vault, "delegate(address)", scene.Friend).Log(vault, "DelegateChanged(address,address,address)", []any{user, zero, scene.Friend}), "governance delegate - [] 0x7a17 contract, 0xa11c sender")
	f("votes of another delegated", called(router, "foo()").Log(vault, "DelegateChanged(address,address,address)", []any{scene.Friend, zero, user}), "governance delegate - [] 0x4007 contract, 0xa11c sender")
	f("oracle", called(vault, "transmit(bytes32[3],bytes,bytes32[],bytes32[],bytes32)"), "routine_infra oracle_report chainlink [] 0x7a17 contract, 0xa11c sender")
	f("oracle, paid", called(vault, "transmit(bytes32[3],bytes,bytes32[],bytes32[],bytes32)").Transfer(scene.Usdc, vault, user, 5), "other receive - [] 0x05dc token, 0x7a17 contract, 0xa11c sender")
	f("blobs", blobs(5), "other contract_call - [] 0xa11c sender, 0xf00d contract")
	f("liquidation", called(scene.Bot, "foo()").Known(vault, "Pool", "lending", "aave_v3").
		Log(vault, "LiquidationCall(address,address,address,uint256,uint256,address,bool)", []any{scene.Weth, scene.Usdc, scene.Friend}, 5, 6, scene.Bot, false), "liquidation - aave_v3 [aave_v3] 0x7a17 lending pool, 0xa11c sender, 0xb070 contract, 0xf00d liquidated")
	f("message", called(router, "foo()").Log(vault, "PacketSent(bytes,bytes,address)", nil, 96, 128, scene.Bot, 0, 0), "other message layerzero [layerzero] 0x4007 contract, 0x7a17 bridge, 0xa11c sender")
	f("message with a vote", called(router, "foo()").Transfer(scene.Usdc, user, zero, 5).Log(vault, "PacketSent(bytes,bytes,address)", nil, 96, 128, scene.Bot, 0, 0).
		Log(router, "VoteCast(address,uint256,uint8,uint256,string)", []any{user}, 1, 1, 1, 160, 0), "governance vote - [layerzero] 0x05dc token, 0x4007 governance, 0x7a17 bridge, 0xa11c sender")
	f("message with a stake", called(router, "foo()").Transfer(scene.Usdc, user, zero, 5).Log(vault, "PacketSent(bytes,bytes,address)", nil, 96, 128, scene.Bot, 0, 0).
		Log(router, "Staked(address,uint256)", []any{user}, 5), "stake stake - [layerzero] 0x05dc token, 0x4007 staking contract, 0x7a17 bridge, 0xa11c sender")
	f("message with an NFT", called(router, "foo()").Log(scene.Nft, "Transfer(address,address,uint256)", []any{user, router, 7}).Log(vault, "PacketSent(bytes,bytes,address)", nil, 96, 128, scene.Bot, 0, 0), "other message layerzero [layerzero] 0x0721 token, 0x4007 contract, 0x7a17 bridge, 0xa11c sender")
}

// blobs is a transaction that posts blobs with some bytes of calldata.
func blobs(n int) *scene.Scene {
	s := scene.New(scene.At(scene.Friend), 0, make([]byte, n))
	s.Tx.Type, s.Tx.BlobHashes = 3, []common.Hash{{1}}
	return s
}

// TestRiskTwins: what a risk is said of, and its sibling that is none.
func TestRiskTwins(t *testing.T) {
	f := namesChecker(t)
	user, friend, vault, bot, usdc := scene.User, scene.Friend, scene.Vault, scene.Bot, scene.Usdc
	approval := "Approval(address,address,uint256)"
	f("operator", called(scene.Nft, "foo()").Log(scene.Nft, "ApprovalForAll(address,address,bool)", []any{user, bot}, true), "approval - - [] 0x0721 token, 0xa11c sender, 0xb070 spender / operator_approval: 0xb070…b070, unlabelled, may move every 0x0721…0721 token of 0xa11c…a11c")
	f("operator of a stranger", called(scene.Nft, "foo()").Log(scene.Nft, "ApprovalForAll(address,address,bool)", []any{friend, bot}, true), "approval - - [] 0x0721 token, 0xa11c sender, 0xb070 spender")
	f("unlimited", called(usdc, "foo()").Log(usdc, approval, []any{user, bot}, maxUint), "approval - - [] 0x05dc token, 0xa11c sender, 0xb070 spender / unlimited_approval: 0xb070…b070, unlabelled, may spend any amount of USDC of 0xa11c…a11c")
	f("unlimited to a known spender", called(usdc, "foo()").Known(bot, "Router", "router", "uniswap_v2").Log(usdc, approval, []any{user, bot}, maxUint), "approval - - [] 0x05dc token, 0xa11c sender, 0xb070 router / unlimited_approval: Router may spend any amount of USDC of 0xa11c…a11c")
	f("to a reported spender", called(usdc, "foo()").Known(bot, "Drainer", label.Reported, "").Log(usdc, approval, []any{user, bot}, 5), "approval - - [] 0x05dc token, 0xa11c sender, 0xb070 spender / approval_to_reported: Drainer, which a public list reports for fraud or theft (), may spend USDC of 0xa11c…a11c; revoke the approval unless the list errs / reported_address: 0xb070…b070 is on a public list of addresses reported for fraud or theft (); such lists err")
	f("nothing to a reported spender", called(usdc, "foo()").Known(bot, "Drainer", label.Reported, "").Log(usdc, approval, []any{user, bot}, 0), "approval - - [] 0x05dc token, 0xa11c sender, 0xb070 spender / reported_address: 0xb070…b070 is on a public list of addresses reported for fraud or theft (); such lists err")
	several := func(amount int) *scene.Scene {
		return called(vault, "foo()").Log(usdc, approval, []any{user, bot}, amount).Log(scene.Weth, approval, []any{user, bot}, amount)
	}
	f("two tokens", several(5), "approval - - [] 0x05dc token, 0x7a17 contract, 0xa11c sender, 0xb070 spender, 0xc02a token")
	f("three tokens", several(5).Log(dai, approval, []any{user, bot}, 5), "approval - - [] 0x05dc token, 0x0da1 token, 0x7a17 contract, 0xa11c sender, 0xb070 spender, 0xc02a token / bulk_approvals: 0xb070…b070, unlabelled, may spend 3 tokens of 0xa11c…a11c; one call of it can take them all")
	f("three tokens, one for another", several(5).Log(dai, approval, []any{user, friend}, 5), "approval - - [] 0x05dc token, 0x0da1 token, 0x7a17 contract, 0xa11c sender, 0xb070 spender, 0xc02a token, 0xf00d spender")
	f("three tokens, one of another", several(5).Log(dai, approval, []any{friend, bot}, 5), "approval - - [] 0x05dc token, 0x0da1 token, 0x7a17 contract, 0xa11c sender, 0xb070 spender, 0xc02a token")
	f("three tokens, one an NFT", several(5).Log(scene.Nft, approval, []any{user, bot, 7}), "approval - - [] 0x05dc token, 0x0721 token, 0x7a17 contract, 0xa11c sender, 0xb070 spender, 0xc02a token")
	f("three tokens, to a known spender", several(5).Known(bot, "Router", "router", "uniswap_v2").Log(dai, approval, []any{user, bot}, 5), "approval - - [] 0x05dc token, 0x0da1 token, 0x7a17 contract, 0xa11c sender, 0xb070 router, 0xc02a token")
	near := friend
	near[7] ^= 0xff
	f("lookalike", called(bot, "foo()").Transfer(usdc, user, near, 1).Transfer(usdc, user, friend, 5_000000), "transfer - - [] 0x05dc token, 0xa11c sender, 0xb070 contract, 0xf00d recipient, 0xf00d recipient / address_poisoning: 0xf00d0000000000ff00010000000000000000f00d, which moved 0.000001 USDC, begins and ends like 0xf00D00000000000000010000000000000000f00d, another counterparty of 0xa11c…a11c")
	f("lookalike of a large payment", called(bot, "foo()").Transfer(usdc, user, near, 10000).Transfer(usdc, user, friend, 5_000000), "transfer - - [] 0x05dc token, 0xa11c sender, 0xb070 contract, 0xf00d recipient, 0xf00d recipient")
	f("lookalike that pays", called(bot, "foo()").Transfer(usdc, near, user, 1).Transfer(usdc, friend, user, 5_000000), "other receive - [] 0x05dc token, 0xa11c sender, 0xb070 contract / address_poisoning: 0xf00d0000000000ff00010000000000000000f00d, which moved 0.000001 USDC, begins and ends like 0xf00D00000000000000010000000000000000f00d, another counterparty of 0xa11c…a11c")
	f("lookalike the other way", called(bot, "foo()").Transfer(usdc, near, user, 1).Transfer(usdc, user, friend, 5_000000), "transfer - - [] 0x05dc token, 0xa11c sender, 0xb070 contract, 0xf00d recipient / address_poisoning: 0xf00d0000000000ff00010000000000000000f00d, which moved 0.000001 USDC, begins and ends like 0xf00D00000000000000010000000000000000f00d, another counterparty of 0xa11c…a11c")
	f("no lookalike", called(bot, "foo()").Transfer(usdc, user, vault, 1).Transfer(usdc, user, friend, 5_000000), "transfer - - [] 0x05dc token, 0x7a17 recipient, 0xa11c sender, 0xb070 contract, 0xf00d recipient")
	f("lookalike of another payer", called(bot, "foo()").Transfer(usdc, vault, near, 1).Transfer(usdc, user, friend, 5_000000), "transfer - - [] 0x05dc token, 0xa11c sender, 0xb070 contract, 0xf00d recipient")
	f("coin to a token", scene.New(scene.At(usdc), 50, nil), "transfer - - [] 0x05dc recipient, 0xa11c sender / stuck_value: 50 wei was sent to a token contract that did nothing with it")
	f("coin to a token that logs", scene.New(scene.At(usdc), 50, nil).Log(usdc, "Something(uint256)", nil, 1), "transfer - - [] 0x05dc recipient, 0xa11c sender")
	f("coin with data to a token", scene.New(scene.At(usdc), 50, nil2()), "other contract_call - [] 0x05dc token, 0xa11c sender")
	f("coin to the zero address", scene.New(&common.Address{}, 50, nil), "transfer - - [] 0xa11c sender / stuck_value: 50 wei was sent to the zero address")
	passed := scene.New(scene.At(usdc), 50, nil)
	passed.Call(usdc, friend, 50, nil)
	f("coin to a token that passes it on", passed, "transfer - - [] 0x05dc recipient, 0xa11c sender")
	f("owner", called(vault, "foo()").Log(vault, "OwnershipTransferred(address,address)", []any{user, friend}), "other admin - [] 0x7a17 contract, 0xa11c sender / owner_changed: 0x7a17…7a17 says that its owner was replaced (a claim of its event: there is no state diff to check it against)")
	f("owner of a contract beside a payment", called(vault, "foo()").Log(vault, "OwnershipTransferred(address,address)", []any{user, friend}).Transfer(usdc, user, friend, 5), "transfer - - [] 0x05dc token, 0x7a17 contract, 0xa11c sender, 0xf00d recipient / owner_changed: 0x7a17…7a17 says that its owner was replaced (a claim of its event: there is no state diff to check it against)")
	f("any output", called(scene.Router, "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 5, 0).Transfer(usdc, user, scene.Pool1, 5), "transfer - - [] 0x05dc token, 0x4007 contract, 0x9001 recipient, 0xa11c sender / no_slippage_limit: the swap accepted any output, so anyone could move the price against it")
	f("one unit of output", called(scene.Router, "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 5, 1).Transfer(usdc, user, scene.Pool1, 5), "transfer - - [] 0x05dc token, 0x4007 contract, 0x9001 recipient, 0xa11c sender / no_slippage_limit: the swap accepted any output, so anyone could move the price against it")
	f("two units of output", called(scene.Router, "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 5, 2).Transfer(usdc, user, scene.Pool1, 5), "transfer - - [] 0x05dc token, 0x4007 contract, 0x9001 recipient, 0xa11c sender")
	caught := called(vault, "foo()")
	caught.Call(vault, friend, 0, nil2()).Err = "execution reverted"
	f("caught", caught, "other contract_call - [] 0x7a17 contract, 0xa11c sender / caught_inner_failure: a call to 0xf00d…f00d failed and the transaction went on: reverted without a reason")
}
