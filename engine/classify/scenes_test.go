package classify

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/label"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

const (
	v2Swap = "Swap(address,uint256,uint256,uint256,uint256,address)"
	unlim  = 0
)

var maxUint = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))

// usdcForWeth has the user pay USDC into pool1 and get WETH out of it.
func usdcForWeth(s *scene, who common.Address) *scene {
	return s.transfer(usdc, who, pool1, 2500_000000).transfer(weth, pool1, who, 1000000).
		log(pool1, v2Swap, []any{router, who}, 2500_000000, 0, 0, 1000000)
}

var entryPoint = common.HexToAddress("0x0000000071727De22E5E9d8BAf0edAc6f37da032")

func userOp(s *scene, who common.Address, ok bool) *scene {
	return s.log(entryPoint, "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)",
		[]any{1, who, 0}, 1, ok, 1, 1)
}

func TestScenes(t *testing.T) {
	f := func(name string, s *scene, want api.TxType, sub, protocol, summary string) {
		t.Helper()
		v := judge(s.facts(t))
		if v.TxType == nil || *v.TxType != want || v.SubType != sub {
			t.Errorf("%s: type %v/%q, want %s/%q (%s)", name, tName(v), v.SubType, want, sub, v.Summary)
		}
		got := ""
		if v.Protocol != nil {
			got = *v.Protocol
		}
		if got != protocol {
			t.Errorf("%s: protocol %q, want %q", name, got, protocol)
		}
		if v.Summary != summary {
			t.Errorf("%s: summary\n  %s\nwant\n  %s", name, v.Summary, summary)
		}
	}
	const none = ""

	f("coin to an account", newScene(at(friend), 1_500000, nil), "transfer", none, none, "Sent 0.0000000000015 ETH to 0xf00d…f00d")
	f("token transfer", newScene(at(usdc), 0, input("transfer(address,uint256)", friend, 1250_000000)).transfer(usdc, user, friend, 1250_000000),
		"transfer", none, none, "Sent 1,250 USDC to 0xf00d…f00d")
	f("airdrop", newScene(at(router), 0, input("disperseToken(address,address[],uint256[])")).
		transfer(usdc, user, friend, 1000000).transfer(usdc, user, bot, 2000000),
		"transfer", none, none, "Sent 3 USDC to 2 addresses")
	f("approval", newScene(at(usdc), 0, input("approve(address,uint256)", router, maxUint)).
		log(usdc, "Approval(address,address,uint256)", []any{user, router}, maxUint),
		"approval", none, none, "Allowed 0x4007…4007 to spend unlimited USDC")
	f("operator", newScene(at(nft), 0, input("setApprovalForAll(address,bool)", router, true)).
		log(nft, "ApprovalForAll(address,address,bool)", []any{user, router}, true),
		"approval", none, none, "Let 0x4007…4007 move all 0x0721…0721 it holds")
	f("swap by an unknown pool", usdcForWeth(newScene(at(router), 0, input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 2500_000000, 5)), user),
		"swap", none, none, "Swapped 2,500 USDC for 0.000000000001 WETH")
	f("swap by a known router", usdcForWeth(newScene(at(router), 0, nil2()), user).known(router, "Router", "router", "uniswap_v2"),
		"swap", none, "uniswap_v2", "Swapped 2,500 USDC for 0.000000000001 WETH on Uniswap v2")
	f("swap for somebody else", newScene(at(router), 0, nil2()).transfer(usdc, user, pool1, 1000000).transfer(weth, pool1, friend, 5).
		log(pool1, v2Swap, []any{router, friend}, 1000000, 0, 0, 5),
		"swap", none, none, "Swapped 1 USDC for 0.000000000000000005 WETH, paid to 0xf00d…f00d")
	f("wrap", withMove(newScene(at(weth), 1000, input("deposit()")), nil).log(weth, "Deposit(address,uint256)", []any{user}, 1000),
		"other", "wrap", "weth", "Wrapped 0.000000000000001 ETH to 0.000000000000001 WETH")
	f("supply", newScene(at(vault), 0, nil2()).known(vault, "Aave Pool", "lending", "aave_v3").transfer(usdc, user, addr(77), 1000000).
		transfer(addr(77), common.Address{}, user, 1000000).
		log(vault, "Supply(address,address,address,uint256,uint16)", []any{usdc, user, 0}, user, 1000000),
		"other", "supply", "aave_v3", "Supplied 1 USDC to Aave v3")
	f("liquidation", newScene(at(bot), 0, nil2()).known(vault, "Aave Pool", "lending", "aave_v3").
		log(vault, "LiquidationCall(address,address,address,uint256,uint256,address,bool)", []any{weth, usdc, friend}, 1, 1, bot, false),
		"liquidation", none, "aave_v3", "Liquidated the position of 0xf00d…f00d on Aave v3")
	f("liquidation without its event", newScene(at(vault), 0, input("liquidationCall(address,address,address,uint256,bool)")),
		"liquidation", none, none, "Liquidated a position")
	f("share burnt by a contract between", newScene(at(router), 0, nil2()).transfer(vault, user, router, 1000).transfer(vault, router, common.Address{}, 995).
		transfer(usdc, router, pool1, 7).transfer(weth, pool1, user, 5).log(pool1, v2Swap, []any{router, user}, 7, 0, 0, 5),
		"swap", none, none, "Swapped 1,000 base units of 0x7a17…7a17 for 0.000000000000000005 WETH")
	f("share redeemed by a contract between", newScene(at(router), 0, nil2()).transfer(vault, user, router, 1000).transfer(vault, router, common.Address{}, 995).
		transfer(usdc, router, user, 7),
		"other", "redeem", none, "Redeemed 1,000 base units of 0x7a17…7a17 for 0.000007 USDC")
	f("loan without events", newScene(at(router), 0, nil2()).transfer(usdc, user, pool1, 1000000).transfer(weth, vault, user, 5),
		"other", "contract_call", none, "Called 0x4007…4007, giving 1 USDC and getting 0.000000000000000005 WETH")
	f("lock told to another chain", newScene(at(vault), 0, nil2()).transfer(usdc, user, vault, 1000000).
		log(friend, "PacketSent(bytes,bytes,address)", nil, 96, 128, bot, 0, 0),
		"other", "message", "layerzero", "Sent a cross-chain message on LayerZero: gave 1 USDC")
	f("burnt to cross", newScene(at(usdc), 0, nil2()).transfer(usdc, user, common.Address{}, 1000000).
		log(friend, "PacketSent(bytes,bytes,address)", nil, 96, 128, bot, 0, 0),
		"bridge", "send", "layerzero", "Bridged 1 USDC over LayerZero")
	f("vote", newScene(at(vault), 0, input("castVote(uint256,uint8)", 1, 1)).
		log(vault, "VoteCast(address,uint256,uint8,uint256,string)", []any{user}, 1, 1, 1, 160, 0),
		"governance", "vote", none, "Voted on a governance proposal")
	f("bridge out", newScene(at(vault), 0, nil2()).transfer(usdc, user, vault, 1000000).
		log(vault, "V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)", []any{10, 1, user}),
		"bridge", "send", "across", "Bridged 1 USDC over Across")
	f("stake", newScene(at(vault), 0, nil2()).transfer(usdc, user, vault, 1000000).log(vault, "Staked(address,uint256)", []any{user}, 1000000),
		"stake", "stake", none, "Staked 1 USDC")
	f("farm pays out", newScene(at(vault), 0, nil2()).transfer(usdc, vault, user, 1000000).log(vault, "Withdrawn(address,uint256)", []any{user}, 1000000).
		transfer(weth, vault, user, 5).log(vault, "RewardPaid(address,uint256)", []any{user}, 5),
		"stake", "unstake", none, "Unstaked 1 USDC and 0.000000000000000005 WETH")
	f("staking on the way of a swap", usdcForWeth(newScene(at(router), 0, nil2()), user).known(router, "Router", "aggregator", "1inch").
		log(vault, "Submitted(address,uint256,address)", []any{router}, 1, 0),
		"swap", none, "oneinch", "Swapped 2,500 USDC for 0.000000000001 WETH on 1inch")
	f("oracle", newScene(at(vault), 0, input("transmit(bytes32[3],bytes,bytes32[],bytes32[],bytes32)")),
		"routine_infra", "oracle_report", "chainlink", "Reported oracle data on Chainlink")
	f("NFT bought", withMove(newScene(at(router), 1000, nil2()), &move{router, friend, 1000}).
		log(nft, "Transfer(address,address,uint256)", []any{friend, user, 17}),
		"swap", "nft_sale", none, "Bought NFT 17 of 0x0721…0721 for 0.000000000000001 ETH")
	f("NFT minted", newScene(at(nft), 1000, nil2()).log(nft, "Transfer(address,address,uint256)", []any{common.Address{}, user, 17}),
		"other", "mint_nft", none, "Minted NFT 17 of 0x0721…0721 for 0.000000000000001 ETH")
	f("Safe", newScene(at(vault), 0, input("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)", usdc)).
		transfer(usdc, vault, friend, 1000000).log(vault, "ExecutionSuccess(bytes32,uint256)", nil, 1, 0),
		"transfer", none, "safe", "Sent 1 USDC to 0xf00d…f00d, for Safe 0x7a17…7a17")
	f("user operation", userOp(usdcForWeth(newScene(at(entryPoint), 0, nil2()), vault), vault, true),
		"swap", none, none, "Swapped 2,500 USDC for 0.000000000001 WETH, for smart account 0x7a17…7a17")
	f("two orders in one batch", cowTrade(cowTrade(newScene(at(cowSettlement), 0, nil2()), friend), vault),
		"swap", none, "cow", "Swapped 1 USDC for 0.000000000000000005 WETH on CoW Protocol, in a batch of 2 orders")
	f("signed authorization", newScene(at(usdc), 0, input("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)")).
		log(usdc, "AuthorizationUsed(address,bytes32)", []any{friend, 1}).transfer(usdc, friend, vault, 1000000),
		"transfer", none, none, "Sent 1 USDC to 0x7a17…7a17, by signed authorization of 0xf00d…f00d")
}

// nil2 is calldata that no table knows.
func nil2() []byte { return []byte{0xde, 0xad, 0xbe, 0xef} }

type move struct {
	from, to common.Address
	value    uint64
}

func withMove(s *scene, m *move) *scene {
	if m != nil {
		s.call(m.from, m.to, m.value, nil)
	}
	return s
}

var cowSettlement = common.HexToAddress("0x9008D19f58AAbD9eD0D60971565AA8510560ab41")

func cowTrade(s *scene, owner common.Address) *scene {
	return s.transfer(usdc, owner, cowSettlement, 1000000).transfer(weth, cowSettlement, owner, 5).
		log(cowSettlement, "Trade(address,address,address,uint256,uint256,uint256,bytes)", []any{owner}, usdc, weth, 1000000, 5, 0, 224, 0)
}

func TestActors(t *testing.T) {
	f := func(name string, s *scene, actor common.Address, role map[common.Address]string) {
		t.Helper()
		v := judge(s.facts(t))
		if v.Actor != actor {
			t.Errorf("%s: actor %s, want %s", name, v.Actor, actor)
		}
		for a, r := range role {
			if v.Roles[a] != r {
				t.Errorf("%s: role of %s is %q, want %q", name, a, v.Roles[a], r)
			}
		}
	}
	f("sender", newScene(at(friend), 1, nil), user, map[common.Address]string{user: "sender", friend: "recipient"})
	f("user operation", userOp(usdcForWeth(newScene(at(entryPoint), 0, nil2()), vault), vault, true), vault,
		map[common.Address]string{user: "bundler", vault: "smart account", pool1: "pool", entryPoint: "entry point"})
	f("event of an impostor", func() *scene {
		s := newScene(at(router), 0, nil2())
		s.log(router, "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)", []any{1, vault, 0}, 1, true, 1, 1)
		return s
	}(), user, nil)
	f("order", cowTrade(newScene(at(cowSettlement), 0, nil2()), friend), friend, map[common.Address]string{user: "solver", friend: "trader"})
	f("fill", newScene(at(vault), 0, nil2()).transfer(usdc, user, friend, 1000000).
		log(vault, "FilledV3Relay(address,address,uint256,uint256,uint256,uint256,uint32,uint32,uint32,address,address,address,address,bytes,(address,bytes,uint256,uint8))",
			[]any{10, 1, user}, usdc, usdc, 1, 1, 1, 1, 1, 0, friend), friend, map[common.Address]string{user: "relayer", friend: "recipient"})
	f("maker of a limit order", newScene(at(bot), 0, nil2()).transfer(usdc, friend, bot, 1000000).transfer(weth, bot, friend, 5).
		log(router, "OrderFilled(bytes32,uint256)", nil, 1, 0), friend, map[common.Address]string{user: "solver"})
	f("liquidated", newScene(at(bot), 0, nil2()).
		log(vault, "LiquidateBorrow(address,address,uint256,address,uint256)", nil, bot, friend, 1, vault, 1), user,
		map[common.Address]string{friend: "liquidated"})
}

func TestFailedUserOperationIsSaid(t *testing.T) {
	v := judge(userOp(newScene(at(entryPoint), 0, nil2()), vault, false).facts(t))
	if !strings.HasPrefix(v.Summary, "Inner act failed") || len(v.Risks) == 0 || !strings.HasPrefix(lines(v)[0], "inner_failure: ") {
		t.Errorf("summary %q, risks %q", v.Summary, lines(v))
	}
}

func TestBundleOfDifferentActs(t *testing.T) {
	s := userOp(usdcForWeth(newScene(at(entryPoint), 0, nil2()), vault), vault, true)
	s = userOp(s.transfer(usdc, friend, bot, 5), friend, true)
	if v := judge(s.facts(t)); *v.TxType != api.TypeOther {
		t.Errorf("a bundle of a swap and a transfer is %s", *v.TxType)
	}
}

// arbitrageScene has a bot turn WETH over two pools into more WETH.
func arbitrageScene(back int) *scene {
	return newScene(at(bot), 0, nil2()).
		transfer(weth, bot, pool1, 1000_000000).transfer(usdc, pool1, bot, 7).log(pool1, v2Swap, []any{bot, bot}, 1, 0, 0, 7).
		transfer(usdc, bot, pool2, 7).transfer(weth, pool2, bot, back).log(pool2, v2Swap, []any{bot, bot}, 7, 0, 0, 1)
}

func TestArbitrageMustShowProfit(t *testing.T) {
	f := func(name string, s *scene, want api.TxType) {
		t.Helper()
		if v := judge(s.facts(t)); *v.TxType != want {
			t.Errorf("%s: %s (%s)", name, *v.TxType, v.Summary)
		}
	}
	const fee = 1_000_000 // of every scene
	f("profit above the fee", arbitrageScene(1000_000000+2*fee), api.TypeMEV)
	f("profit below the fee", arbitrageScene(1000_000000+fee/2), api.TypeSwap)
	f("loss", arbitrageScene(1000_000000-fee), api.TypeSwap)
	f("through a router", arbitrageScene(1000_000000+2*fee).known(bot, "Router", "router", "uniswap_v2"), api.TypeSwap)
	f("paid from elsewhere", arbitrageScene(1000_000000+2*fee).transfer(weth, friend, bot, 5), api.TypeSwap)
}

// TestArbitrageIsWorthItsGain: of many movements the gain is the value, with all its
// parts, and without the units that were left behind.
func TestArbitrageIsWorthItsGain(t *testing.T) {
	f := func(s *scene, summary string, want ...int64) {
		t.Helper()
		v := judge(s.facts(t))
		if *v.TxType != api.TypeMEV || !strings.Contains(v.Summary, summary) {
			t.Errorf("%s: %s", *v.TxType, v.Summary)
		}
		var got []int64
		if v.Primary != nil {
			got = append(got, v.Primary.Amount.Int64())
		}
		for _, d := range v.Besides {
			got = append(got, d.Amount.Int64())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: worth %d, want %d", v.Summary, got, want)
		}
	}
	const fee = 1_000_000
	f(arbitrageScene(1000_000000+2*fee), "gaining 0.000000000002 WETH before the fee", 2*fee)
	f(arbitrageScene(1000_000000+2*fee).transfer(usdc, pool2, bot, 5), "gaining 0.000000000002 WETH before the fee", 2*fee)
	f(arbitrageScene(1000_000000+2*fee).transfer(usdc, pool2, bot, 500), "gaining 0.0005 USDC and 0.000000000002 WETH before the fee", 500, 2*fee)
	f(arbitrageScene(1000_000000+2*fee).transfer(weth, bot, friend, 2*fee), "gaining 0.000000000002 WETH for ", 2*fee)
}

func TestFailedAttempts(t *testing.T) {
	f := func(name string, s *scene, want api.TxType, summary string) {
		t.Helper()
		v := judge(s.facts(t))
		if !v.Attempted || *v.TxType != want || v.Summary != summary || len(v.Risks) != 0 || v.Primary != nil {
			t.Errorf("%s: attempted %v, %s, risks %v\n  %s\nwant\n  %s", name, v.Attempted, *v.TxType, lines(v), v.Summary, summary)
		}
	}
	f("swap", newScene(at(router), 0, input("swapExactETHForTokens(uint256,address[],address,uint256)")).fail("out of gas"),
		api.TypeSwap, "Failed attempt to swap through 0x4007…4007: out of gas")
	f("transfer", newScene(at(usdc), 0, input("transfer(address,uint256)", friend, 5)).fail("execution reverted"),
		api.TypeTransfer, "Failed attempt to send 0.000005 USDC to 0xf00d…f00d: reverted without a reason")
	f("deployment", newScene(nil, 0, []byte{0x60}).fail("contract creation code storage out of gas"),
		api.TypeDeployment, "Failed attempt to deploy a contract: out of gas while storing the code of the new contract")
	f("unknown", newScene(at(router), 0, nil2()).fail("invalid jump destination"),
		api.TypeOther, "Failed attempt to call function 0xdeadbeef of 0x4007…4007: invalid jump destination: a failed check of an old compiler, or broken code")
	s := newScene(at(router), 0, input("multicall(bytes[])"))
	inner := s.call(router, pool1, 0, input("exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))"))
	inner.Err = "invalid opcode: INVALID"
	f("inside a batch", s.fail("execution reverted"), api.TypeSwap,
		"Failed attempt to swap through 0x4007…4007: in 0x9001…9001, invalid opcode (INVALID): a failed assertion of an old compiler, or a deliberate stop")
}

func TestRisks(t *testing.T) {
	f := func(name string, s *scene, want ...string) {
		t.Helper()
		v := judge(s.facts(t))
		var got []string
		for _, r := range lines(v) {
			flag, text, ok := strings.Cut(r, ": ")
			if !ok || text == "" {
				t.Errorf("%s: risk %q is not flag and explanation", name, r)
			}
			got = append(got, flag)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: risks %q, want %q", name, lines(v), want)
		}
	}
	approve := func(owner common.Address, amount any) *scene {
		return newScene(at(usdc), 0, input("approve(address,uint256)")).log(usdc, "Approval(address,address,uint256)", []any{owner, router}, amount)
	}
	f("none", newScene(at(friend), 1, nil))
	f("unlimited", approve(user, maxUint), "unlimited_approval")
	f("limited", approve(user, 5))
	f("revoked", approve(user, unlim))
	f("unlimited, but of a stranger", approve(friend, maxUint))
	f("counting down", newScene(at(router), 0, nil2()).log(usdc, "Approval(address,address,uint256)", []any{user, router}, maxUint).transfer(usdc, user, friend, 5))
	f("operator", newScene(at(nft), 0, nil2()).log(nft, "ApprovalForAll(address,address,bool)", []any{user, router}, true), "operator_approval")
	f("operator known", newScene(at(nft), 0, nil2()).known(router, "Seaport", "nft", "seaport").log(nft, "ApprovalForAll(address,address,bool)", []any{user, router}, true))
	f("poisoning", newScene(at(bot), 0, nil2()).transfer(usdc, friend, vault, 0).transfer(usdc, vault, friend, 0), "address_poisoning")
	f("zero transfer by oneself", newScene(at(usdc), 0, nil2()).transfer(usdc, user, vault, 0))
	f("owner changed", newScene(at(vault), 0, nil2()).log(vault, "OwnershipTransferred(address,address)", []any{user, friend}), "owner_changed")
	f("upgraded", newScene(at(vault), 0, nil2()).log(vault, "Upgraded(address)", []any{friend}), "implementation_changed")
	f("module", newScene(at(vault), 0, nil2()).log(vault, "EnabledModule(address)", nil, friend), "module_enabled")
	f("bad debt", newScene(at(vault), 0, nil2()).log(vault, "Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)", []any{1, user, friend}, 1, 1, 1, 5, 5), "bad_debt")
	f("no bad debt", newScene(at(vault), 0, nil2()).log(vault, "Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)", []any{1, user, friend}, 1, 1, 1, 0, 0))
	f("flash loan", newScene(at(bot), 0, nil2()).log(vault, "FlashLoan(address,address,address,uint256,uint8,uint256,uint16)", []any{bot, usdc, 0}, bot, 1, 0, 1), "flash_loan")
	f("any output", usdcForWeth(newScene(at(router), 0, input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 2500_000000, 1)), user), "no_slippage_limit")
	f("least output", usdcForWeth(newScene(at(router), 0, input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 2500_000000, 999)), user))
	f("stuck", newScene(at(usdc), 0, input("transfer(address,uint256)", usdc, 5)).transfer(usdc, user, usdc, 5), "stuck_value")
	f("paymaster", userOp(newScene(at(entryPoint), 0, nil2()), vault, true).
		log(entryPoint, "PostOpRevertReason(bytes32,address,uint256,bytes)", []any{1, vault}, 1, 64, 0), "paymaster_or_postop_failure")
	s := newScene(at(router), 1000, nil2())
	s.call(router, miner, 1000, nil)
	f("tip", s, "coinbase_payment")
	s = newScene(at(router), 0, nil2())
	s.call(router, pool1, 0, nil2()).Err = "execution reverted"
	f("caught", s, "caught_inner_failure")
}

func TestConfidence(t *testing.T) {
	f := func(name string, s *scene, want api.Confidence) {
		t.Helper()
		v := judge(s.facts(t))
		if v.Confidence != want || (want == api.High) != (len(v.Reasons) == 0) {
			t.Errorf("%s: %s, reasons %q", name, v.Confidence, v.reasons())
		}
	}
	f("coin", newScene(at(friend), 1, nil), api.High)
	quick := newScene(at(friend), 1, nil)
	quick.rung = trace.RungReplayQuick
	f("coin, quick replay", quick, api.Medium)
	plainCoin := newScene(at(friend), 1, nil)
	plainCoin.rung, plainCoin.rc.GasUsed = trace.RungReceipt, 21000
	f("coin for the plain price, receipt only", plainCoin, api.High)
	dear := newScene(at(friend), 1, nil)
	dear.rung = trace.RungReceipt
	f("coin, receipt only", dear, api.Low)
	f("swap at a known router", usdcForWeth(newScene(at(router), 0, nil2()), user).known(router, "Router", "router", "uniswap_v2"), api.High)
	f("swap at an unknown router", usdcForWeth(newScene(at(router), 0, nil2()), user), api.Medium)
	f("unknown call", newScene(at(router), 0, nil2()), api.Low)
	noDecimals := newScene(at(addr(99)), 0, input("transfer(address,uint256)")).transfer(addr(99), user, friend, 5)
	noDecimals.tokens[addr(99)] = label.Token{Symbol: "XYZ"}
	f("unknown decimals", noDecimals, api.Medium)
}

func TestSystemTransactions(t *testing.T) {
	s := newScene(at(common.HexToAddress("0x4200000000000000000000000000000000000015")), 0, input("setL1BlockValuesIsthmus()"))
	s.tx.Type, s.tx.From = 0x7e, common.HexToAddress("0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001")
	rollup := func(s *scene) *Facts {
		f := s.facts(t)
		f.Chain, _ = chain.BySlug("base")
		return f
	}
	if v := judge(rollup(s)); *v.TxType != api.TypeRoutineInfra || v.SubType != "system" {
		t.Errorf("L1 attributes: %s/%s", *v.TxType, v.SubType)
	}
	s = newScene(at(friend), 5, nil)
	s.tx.Type = 0x7e
	if v := judge(rollup(s)); *v.TxType == api.TypeRoutineInfra {
		t.Error("a user's deposit is taken for the system's")
	}
	s = newScene(at(common.HexToAddress("0xff00000000000000000000000000000000000010")), 0, []byte{0, 1, 2})
	if v := judge(s.facts(t)); *v.TxType != api.TypeRoutineInfra || v.SubType != "batch_post" {
		t.Errorf("batch: %s/%s", *v.TxType, v.SubType)
	}
}
