package classify_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

const (
	v2Swap = "Swap(address,uint256,uint256,uint256,uint256,address)"
	unlim  = 0
)

var maxUint = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))

// usdcForWeth has the user pay USDC into pool1 and get WETH out of it.
func usdcForWeth(s *scene.Scene, who common.Address) *scene.Scene {
	return s.Transfer(scene.Usdc, who, scene.Pool1, 2500_000000).Transfer(scene.Weth, scene.Pool1, who, 1000000).
		Log(scene.Pool1, v2Swap, []any{scene.Router, who}, 2500_000000, 0, 0, 1000000)
}

var entryPoint = common.HexToAddress("0x0000000071727De22E5E9d8BAf0edAc6f37da032")

func userOp(s *scene.Scene, who common.Address, ok bool) *scene.Scene {
	return s.Log(entryPoint, "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)",
		[]any{1, who, 0}, 1, ok, 1, 1)
}

func TestScenes(t *testing.T) {
	f := func(name string, s *scene.Scene, want api.TxType, sub, protocol, summary string) {
		t.Helper()
		v := scene.Held(t, name, s.Facts(t))
		if v.TxType == nil || *v.TxType != want || v.SubType != sub {
			t.Errorf("%s: type %v/%q, want %s/%q (%s)", name, typeName(v), v.SubType, want, sub, v.Summary)
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

	f("coin to an account", scene.New(scene.At(scene.Friend), 1_500000, nil), "transfer", none, none, "Sent 1,500,000 wei to 0xf00d…f00d")
	f("token transfer", scene.New(scene.At(scene.Usdc), 0, scene.Input("transfer(address,uint256)", scene.Friend, 1250_000000)).Transfer(scene.Usdc, scene.User, scene.Friend, 1250_000000),
		"transfer", none, none, "Sent 1,250 USDC to 0xf00d…f00d")
	f("airdrop", scene.New(scene.At(scene.Router), 0, scene.Input("disperseToken(address,address[],uint256[])")).
		Transfer(scene.Usdc, scene.User, scene.Friend, 1000000).Transfer(scene.Usdc, scene.User, scene.Bot, 2000000),
		"transfer", none, none, "Sent 3 USDC to 2 addresses")
	f("approval", scene.New(scene.At(scene.Usdc), 0, scene.Input("approve(address,uint256)", scene.Router, maxUint)).
		Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.User, scene.Router}, maxUint),
		"approval", none, none, "Allowed 0x4007…4007 to spend unlimited USDC")
	f("operator", scene.New(scene.At(scene.Nft), 0, scene.Input("setApprovalForAll(address,bool)", scene.Router, true)).
		Log(scene.Nft, "ApprovalForAll(address,address,bool)", []any{scene.User, scene.Router}, true),
		"approval", none, none, "Let 0x4007…4007 move all 0x0721…0721 it holds")
	f("swap by an unknown pool", usdcForWeth(scene.New(scene.At(scene.Router), 0, scene.Input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 2500_000000, 5)), scene.User),
		"swap", none, none, "Swapped 2,500 USDC for 0.000000000001 WETH")
	f("swap by a known router", usdcForWeth(scene.New(scene.At(scene.Router), 0, nil2()), scene.User).Known(scene.Router, "Router", "router", "uniswap_v2"),
		"swap", none, "uniswap_v2", "Swapped 2,500 USDC for 0.000000000001 WETH on Uniswap v2")
	f("swap for somebody else", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Pool1, 1000000).Transfer(scene.Weth, scene.Pool1, scene.Friend, 5).
		Log(scene.Pool1, v2Swap, []any{scene.Router, scene.Friend}, 1000000, 0, 0, 5),
		"swap", none, none, "Swapped 1 USDC for 0.000000000000000005 WETH, paid to 0xf00d…f00d")
	f("wrap", withMove(scene.New(scene.At(scene.Weth), 1000, scene.Input("deposit()")), nil).Log(scene.Weth, "Deposit(address,uint256)", []any{scene.User}, 1000),
		"other", "wrap", "weth", "Wrapped 1,000 wei to 0.000000000000001 WETH")
	f("supply", scene.New(scene.At(scene.Vault), 0, nil2()).Known(scene.Vault, "Aave Pool", "lending", "aave_v3").Transfer(scene.Usdc, scene.User, scene.Addr(77), 1000000).
		Transfer(scene.Addr(77), common.Address{}, scene.User, 1000000).
		Log(scene.Vault, "Supply(address,address,address,uint256,uint16)", []any{scene.Usdc, scene.User, 0}, scene.User, 1000000),
		"other", "supply", "aave_v3", "Supplied 1 USDC to Aave v3")
	f("liquidation", scene.New(scene.At(scene.Bot), 0, nil2()).Known(scene.Vault, "Aave Pool", "lending", "aave_v3").
		Log(scene.Vault, "LiquidationCall(address,address,address,uint256,uint256,address,bool)", []any{scene.Weth, scene.Usdc, scene.Friend}, 1, 1, scene.Bot, false),
		"liquidation", none, "aave_v3", "Liquidated the position of 0xf00d…f00d on Aave v3, repaying 0.000001 USDC of debt and seizing 0.000000000000000001 WETH of collateral")
	f("liquidation without its event", scene.New(scene.At(scene.Vault), 0, scene.Input("liquidationCall(address,address,address,uint256,bool)")),
		"liquidation", none, none, "Liquidated a position")
	f("share burnt by a contract between", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Vault, scene.User, scene.Router, 1000).Transfer(scene.Vault, scene.Router, common.Address{}, 995).
		Transfer(scene.Usdc, scene.Router, scene.Pool1, 7).Transfer(scene.Weth, scene.Pool1, scene.User, 5).Log(scene.Pool1, v2Swap, []any{scene.Router, scene.User}, 7, 0, 0, 5),
		"swap", none, none, "Swapped 1,000 raw units of 0x7a17…7a17 for 0.000000000000000005 WETH")
	f("share redeemed by a contract between", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Vault, scene.User, scene.Router, 1000).Transfer(scene.Vault, scene.Router, common.Address{}, 995).
		Transfer(scene.Usdc, scene.Router, scene.User, 7),
		"other", "redeem", none, "Redeemed 1,000 raw units of 0x7a17…7a17 for 0.000007 USDC")
	f("loan without events", scene.New(scene.At(scene.Router), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Pool1, 1000000).Transfer(scene.Weth, scene.Vault, scene.User, 5),
		"other", "contract_call", none, "Paid 1 USDC and received 0.000000000000000005 WETH through 0x4007…4007")
	f("lock told to another chain", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 1000000).
		Log(scene.Friend, "PacketSent(bytes,bytes,address)", nil, 96, 128, scene.Bot, 0, 0),
		"other", "message", "layerzero", "Sent a cross-chain message on LayerZero, paying 1 USDC")
	f("burnt to cross", scene.New(scene.At(scene.Usdc), 0, nil2()).Transfer(scene.Usdc, scene.User, common.Address{}, 1000000).
		Log(scene.Friend, "PacketSent(bytes,bytes,address)", nil, 96, 128, scene.Bot, 0, 0),
		"bridge", "send", "layerzero", "Bridged 1 USDC over LayerZero")
	f("vote", scene.New(scene.At(scene.Vault), 0, scene.Input("castVote(uint256,uint8)", 1, 1)).
		Log(scene.Vault, "VoteCast(address,uint256,uint8,uint256,string)", []any{scene.User}, 1, 1, 1, 160, 0),
		"governance", "vote", none, "Voted on a governance proposal")
	f("bridge out", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 1000000).
		Log(scene.Vault, "V3FundsDeposited(address,address,uint256,uint256,uint256,uint32,uint32,uint32,uint32,address,address,address,bytes)", []any{10, 1, scene.User}),
		"bridge", "send", "across", "Bridged 1 USDC over Across")
	f("stake", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 1000000).Log(scene.Vault, "Staked(address,uint256)", []any{scene.User}, 1000000),
		"stake", "stake", none, "Staked 1 USDC")
	f("farm pays out", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.Vault, scene.User, 1000000).Log(scene.Vault, "Withdrawn(address,uint256)", []any{scene.User}, 1000000).
		Transfer(scene.Weth, scene.Vault, scene.User, 5).Log(scene.Vault, "RewardPaid(address,uint256)", []any{scene.User}, 5),
		"stake", "unstake", none, "Unstaked 1 USDC and 0.000000000000000005 WETH")
	f("staking on the way of a swap", usdcForWeth(scene.New(scene.At(scene.Router), 0, nil2()), scene.User).Known(scene.Router, "Router", "aggregator", "1inch").
		Log(scene.Vault, "Submitted(address,uint256,address)", []any{scene.Router}, 1, 0),
		"swap", none, "oneinch", "Swapped 2,500 USDC for 0.000000000001 WETH on 1inch")
	f("oracle", scene.New(scene.At(scene.Vault), 0, scene.Input("transmit(bytes32[3],bytes,bytes32[],bytes32[],bytes32)")),
		"routine_infra", "oracle_report", "chainlink", "Reported oracle data on Chainlink")
	f("NFT bought", withMove(scene.New(scene.At(scene.Router), 1000, nil2()), &move{scene.Router, scene.Friend, 1000}).
		Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.Friend, scene.User, 17}),
		"swap", "nft_sale", none, "Bought NFT 17 of 0x0721…0721 for 1,000 wei")
	f("NFT minted", scene.New(scene.At(scene.Nft), 1000, nil2()).Log(scene.Nft, "Transfer(address,address,uint256)", []any{common.Address{}, scene.User, 17}),
		"other", "mint_nft", none, "Minted NFT 17 of 0x0721…0721 for 1,000 wei")
	f("Safe", scene.New(scene.At(scene.Vault), 0, scene.Input("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)", scene.Usdc)).
		Transfer(scene.Usdc, scene.Vault, scene.Friend, 1000000).Log(scene.Vault, "ExecutionSuccess(bytes32,uint256)", nil, 1, 0),
		"transfer", none, "safe", "Sent 1 USDC to 0xf00d…f00d, for Safe 0x7a17…7a17")
	f("user operation", userOp(usdcForWeth(scene.New(scene.At(entryPoint), 0, nil2()), scene.Vault), scene.Vault, true),
		"swap", none, none, "Swapped 2,500 USDC for 0.000000000001 WETH, for smart account 0x7a17…7a17")
	f("two orders in one batch", cowTrade(cowTrade(scene.New(scene.At(cowSettlement), 0, nil2()), scene.Friend), scene.Vault),
		"swap", none, "cow", "Swapped 1 USDC for 0.000000000000000005 WETH on CoW Protocol, in a batch of 2 orders")
	f("signed authorization", scene.New(scene.At(scene.Usdc), 0, scene.Input("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)")).
		Log(scene.Usdc, "AuthorizationUsed(address,bytes32)", []any{scene.Friend, 1}).Transfer(scene.Usdc, scene.Friend, scene.Vault, 1000000),
		"transfer", none, none, "Sent 1 USDC to 0x7a17…7a17, by signed authorization of 0xf00d…f00d")
}

// nil2 is calldata that no table knows.
func nil2() []byte { return []byte{0xde, 0xad, 0xbe, 0xef} }

type move struct {
	from, to common.Address
	value    uint64
}

func withMove(s *scene.Scene, m *move) *scene.Scene {
	if m != nil {
		s.Call(m.from, m.to, m.value, nil)
	}
	return s
}

var cowSettlement = common.HexToAddress("0x9008D19f58AAbD9eD0D60971565AA8510560ab41")

func cowTrade(s *scene.Scene, owner common.Address) *scene.Scene {
	return s.Transfer(scene.Usdc, owner, cowSettlement, 1000000).Transfer(scene.Weth, cowSettlement, owner, 5).
		Log(cowSettlement, "Trade(address,address,address,uint256,uint256,uint256,bytes)", []any{owner}, scene.Usdc, scene.Weth, 1000000, 5, 0, 224, 0)
}

func TestActors(t *testing.T) {
	f := func(name string, s *scene.Scene, actor common.Address, role map[common.Address]string) {
		t.Helper()
		v := scene.Held(t, name, s.Facts(t))
		if v.Actor != actor {
			t.Errorf("%s: actor %s, want %s", name, v.Actor, actor)
		}
		for a, r := range role {
			if v.Roles[a] != r {
				t.Errorf("%s: role of %s is %q, want %q", name, a, v.Roles[a], r)
			}
		}
	}
	f("sender", scene.New(scene.At(scene.Friend), 1, nil), scene.User, map[common.Address]string{scene.User: "sender", scene.Friend: "recipient"})
	f("user operation", userOp(usdcForWeth(scene.New(scene.At(entryPoint), 0, nil2()), scene.Vault), scene.Vault, true), scene.Vault,
		map[common.Address]string{scene.User: "bundler", scene.Vault: "smart account", scene.Pool1: "pool", entryPoint: "entry point"})
	f("event of an impostor", func() *scene.Scene {
		s := scene.New(scene.At(scene.Router), 0, nil2())
		s.Log(scene.Router, "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)", []any{1, scene.Vault, 0}, 1, true, 1, 1)
		return s
	}(), scene.User, nil)
	f("order", cowTrade(scene.New(scene.At(cowSettlement), 0, nil2()), scene.Friend), scene.Friend, map[common.Address]string{scene.User: "solver", scene.Friend: "trader"})
	f("fill", scene.New(scene.At(scene.Vault), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Friend, 1000000).
		Log(scene.Vault, "FilledV3Relay(address,address,uint256,uint256,uint256,uint256,uint32,uint32,uint32,address,address,address,address,bytes,(address,bytes,uint256,uint8))",
			[]any{10, 1, scene.User}, scene.Usdc, scene.Usdc, 1, 1, 1, 1, 1, 0, scene.Friend), scene.Friend, map[common.Address]string{scene.User: "relayer", scene.Friend: "recipient"})
	f("maker of a limit order", scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Usdc, scene.Friend, scene.Bot, 1000000).Transfer(scene.Weth, scene.Bot, scene.Friend, 5).
		Log(scene.Router, "OrderFilled(bytes32,uint256)", nil, 1, 0), scene.Friend, map[common.Address]string{scene.User: "solver"})
	f("liquidated", scene.New(scene.At(scene.Bot), 0, nil2()).
		Log(scene.Vault, "LiquidateBorrow(address,address,uint256,address,uint256)", nil, scene.Bot, scene.Friend, 1, scene.Vault, 1), scene.User,
		map[common.Address]string{scene.Friend: "liquidated"})
}

func TestFailedUserOperationIsSaid(t *testing.T) {
	v := scene.Held(t, "", userOp(scene.New(scene.At(entryPoint), 0, nil2()), scene.Vault, false).Facts(t))
	if !strings.HasPrefix(v.Summary, "User operation failed") || len(v.Risks) == 0 || !strings.HasPrefix(lines(v)[0], "inner_failure: ") {
		t.Errorf("summary %q, risks %q", v.Summary, lines(v))
	}
}

func TestBundleOfDifferentActs(t *testing.T) {
	s := userOp(usdcForWeth(scene.New(scene.At(entryPoint), 0, nil2()), scene.Vault), scene.Vault, true)
	s = userOp(s.Transfer(scene.Usdc, scene.Friend, scene.Bot, 5), scene.Friend, true)
	if v := scene.Held(t, "", s.Facts(t)); *v.TxType != api.TypeOther {
		t.Errorf("a bundle of a swap and a transfer is %s", *v.TxType)
	}
}

// arbitrageScene has a bot turn WETH over two pools into more WETH.
func arbitrageScene(back int) *scene.Scene {
	return scene.New(scene.At(scene.Bot), 0, nil2()).
		Transfer(scene.Weth, scene.Bot, scene.Pool1, 1000_000000).Transfer(scene.Usdc, scene.Pool1, scene.Bot, 7).Log(scene.Pool1, v2Swap, []any{scene.Bot, scene.Bot}, 1, 0, 0, 7).
		Transfer(scene.Usdc, scene.Bot, scene.Pool2, 7).Transfer(scene.Weth, scene.Pool2, scene.Bot, back).Log(scene.Pool2, v2Swap, []any{scene.Bot, scene.Bot}, 7, 0, 0, 1)
}

func TestArbitrageMustShowProfit(t *testing.T) {
	f := func(name string, s *scene.Scene, want api.TxType) {
		t.Helper()
		if v := scene.Held(t, name, s.Facts(t)); *v.TxType != want {
			t.Errorf("%s: %s (%s)", name, *v.TxType, v.Summary)
		}
	}
	const fee = 1_000_000 // of every scene
	f("profit above the fee", arbitrageScene(1000_000000+2*fee), api.TypeMEV)
	f("profit below the fee", arbitrageScene(1000_000000+fee/2), api.TypeSwap)
	f("loss", arbitrageScene(1000_000000-fee), api.TypeSwap)
	f("through a router", arbitrageScene(1000_000000+2*fee).Known(scene.Bot, "Router", "router", "uniswap_v2"), api.TypeSwap)
	f("paid from elsewhere", arbitrageScene(1000_000000+2*fee).Transfer(scene.Weth, scene.Friend, scene.Bot, 5), api.TypeSwap)
}

// TestArbitrageIsWorthItsGain: of many movements the gain is the value, with all its
// parts, and without the units that were left behind.
func TestArbitrageIsWorthItsGain(t *testing.T) {
	f := func(s *scene.Scene, summary string, want ...int64) {
		t.Helper()
		v := scene.Held(t, "", s.Facts(t))
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
	f(arbitrageScene(1000_000000+2*fee).Transfer(scene.Usdc, scene.Pool2, scene.Bot, 5), "gaining 0.000000000002 WETH before the fee", 2*fee)
	f(arbitrageScene(1000_000000+2*fee).Transfer(scene.Usdc, scene.Pool2, scene.Bot, 500), "gaining 0.0005 USDC before the fee", 500, 2*fee)
	f(arbitrageScene(1000_000000+2*fee).Transfer(scene.Weth, scene.Bot, scene.Friend, 2*fee), "gaining 0.000000000002 WETH for ", 2*fee)
}

func TestFailedAttempts(t *testing.T) {
	f := func(name string, s *scene.Scene, want api.TxType, summary string) {
		t.Helper()
		v := scene.Held(t, name, s.Facts(t))
		if !v.Attempted || *v.TxType != want || v.Summary != summary || len(v.Risks) != 0 || v.Primary != nil {
			t.Errorf("%s: attempted %v, %s, risks %v\n  %s\nwant\n  %s", name, v.Attempted, *v.TxType, lines(v), v.Summary, summary)
		}
	}
	f("swap", scene.New(scene.At(scene.Router), 0, scene.Input("swapExactETHForTokens(uint256,address[],address,uint256)")).Fail("out of gas"),
		api.TypeSwap, "Failed attempt to swap through 0x4007…4007: out of gas")
	f("transfer", scene.New(scene.At(scene.Usdc), 0, scene.Input("transfer(address,uint256)", scene.Friend, 5)).Fail("execution reverted"),
		api.TypeTransfer, "Failed attempt to send 0.000005 USDC to 0xf00d…f00d: reverted without a reason")
	f("deployment", scene.New(nil, 0, []byte{0x60}).Fail("contract creation code storage out of gas"),
		api.TypeDeployment, "Failed attempt to deploy a contract: out of gas while storing the code of the new contract")
	f("unknown", scene.New(scene.At(scene.Router), 0, nil2()).Fail("invalid jump destination"),
		api.TypeOther, "Failed attempt to call function 0xdeadbeef of 0x4007…4007: invalid jump destination: a failed check of an old compiler, or broken code")
	s := scene.New(scene.At(scene.Router), 0, scene.Input("multicall(bytes[])"))
	inner := s.Call(scene.Router, scene.Pool1, 0, scene.Input("exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))"))
	inner.Err = "invalid opcode: INVALID"
	f("inside a batch", s.Fail("execution reverted"), api.TypeSwap,
		"Failed attempt to swap through 0x4007…4007: in 0x9001…9001, invalid opcode (INVALID): a failed assertion of an old compiler, or a deliberate stop")
}

func TestRisks(t *testing.T) {
	f := func(name string, s *scene.Scene, want ...string) {
		t.Helper()
		v := scene.Held(t, name, s.Facts(t))
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
	approve := func(owner common.Address, amount any) *scene.Scene {
		return scene.New(scene.At(scene.Usdc), 0, scene.Input("approve(address,uint256)")).Log(scene.Usdc, "Approval(address,address,uint256)", []any{owner, scene.Router}, amount)
	}
	f("none", scene.New(scene.At(scene.Friend), 1, nil))
	several := func(owner, spender common.Address, amount any, tokens ...common.Address) *scene.Scene {
		sc := scene.New(scene.At(scene.Vault), 0, nil2())
		for _, token := range tokens {
			sc.Log(token, "Approval(address,address,uint256)", []any{owner, spender}, amount)
		}
		return sc
	}
	f("three tokens for one unknown spender", several(scene.User, scene.Bot, 5, scene.Usdc, scene.Weth, scene.Vault), "bulk_approvals")
	f("three of them without limit", several(scene.User, scene.Bot, maxUint, scene.Usdc, scene.Weth, scene.Vault), "unlimited_approval", "unlimited_approval", "unlimited_approval", "bulk_approvals")
	f("two tokens", several(scene.User, scene.Bot, 5, scene.Usdc, scene.Weth))
	f("one token three times", several(scene.User, scene.Bot, 5, scene.Usdc, scene.Usdc, scene.Usdc))
	f("three tokens that are taken back", several(scene.User, scene.Bot, 0, scene.Usdc, scene.Weth, scene.Vault))
	f("three tokens of a contract", several(scene.Friend, scene.Bot, 5, scene.Usdc, scene.Weth, scene.Vault))
	f("three tokens for two spenders", several(scene.User, scene.Bot, 5, scene.Usdc, scene.Weth).Log(scene.Vault, "Approval(address,address,uint256)", []any{scene.User, scene.Friend}, 5))
	f("unlimited", approve(scene.User, maxUint), "unlimited_approval")
	f("limited", approve(scene.User, 5))
	power := func(bits uint, less int64) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(1), bits)
		return n.Sub(n, big.NewInt(less))
	}
	for _, bits := range []uint{96, 104, 112, 120, 128, 160, 255} {
		f(fmt.Sprintf("the most of %d bits", bits), approve(scene.User, power(bits, 1)), "unlimited_approval")
		f(fmt.Sprintf("half of %d bits", bits), approve(scene.User, power(bits-1, 1)), "unlimited_approval")
		f(fmt.Sprintf("a tenth of %d bits", bits), approve(scene.User, new(big.Int).Quo(power(bits, 1), big.NewInt(10))), "unlimited_approval")
	}
	f("near the most of 96 bits", approve(scene.User, new(big.Int).Sub(power(96, 1), power(87, 0))), "unlimited_approval")
	f("much, but a number like others", approve(scene.User, new(big.Int).Exp(big.NewInt(10), big.NewInt(28), nil)))
	f("more than 96 bits", approve(scene.User, new(big.Int).Mul(power(96, 0), big.NewInt(3))))
	f("revoked", approve(scene.User, unlim))
	f("unlimited, but of a stranger", approve(scene.Friend, maxUint))
	f("counting down", scene.New(scene.At(scene.Router), 0, nil2()).Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.User, scene.Router}, maxUint).Transfer(scene.Usdc, scene.User, scene.Friend, 5))
	f("operator", scene.New(scene.At(scene.Nft), 0, nil2()).Log(scene.Nft, "ApprovalForAll(address,address,bool)", []any{scene.User, scene.Router}, true), "operator_approval")
	f("operator known", scene.New(scene.At(scene.Nft), 0, nil2()).Known(scene.Router, "Seaport", "nft", "seaport").Log(scene.Nft, "ApprovalForAll(address,address,bool)", []any{scene.User, scene.Router}, true))
	f("poisoning", scene.New(scene.At(scene.Bot), 0, nil2()).Transfer(scene.Usdc, scene.Friend, scene.Vault, 0).Transfer(scene.Usdc, scene.Vault, scene.Friend, 0), "address_poisoning")
	f("zero transfer by oneself", scene.New(scene.At(scene.Usdc), 0, nil2()).Transfer(scene.Usdc, scene.User, scene.Vault, 0))
	f("owner changed", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Vault, "OwnershipTransferred(address,address)", []any{scene.User, scene.Friend}), "owner_changed")
	f("upgraded", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Vault, "Upgraded(address)", []any{scene.Friend}), "implementation_changed")
	f("module", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Vault, "EnabledModule(address)", nil, scene.Friend), "module_enabled")
	f("bad debt", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Vault, "Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)", []any{1, scene.User, scene.Friend}, 1, 1, 1, 5, 5), "bad_debt")
	f("no bad debt", scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Vault, "Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)", []any{1, scene.User, scene.Friend}, 1, 1, 1, 0, 0))
	f("flash loan", scene.New(scene.At(scene.Bot), 0, nil2()).Log(scene.Vault, "FlashLoan(address,address,address,uint256,uint8,uint256,uint16)", []any{scene.Bot, scene.Usdc, 0}, scene.Bot, 1, 0, 1), "flash_loan")
	f("any output", usdcForWeth(scene.New(scene.At(scene.Router), 0, scene.Input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 2500_000000, 1)), scene.User), "no_slippage_limit")
	f("least output", usdcForWeth(scene.New(scene.At(scene.Router), 0, scene.Input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 2500_000000, 999)), scene.User))
	f("stuck", scene.New(scene.At(scene.Usdc), 0, scene.Input("transfer(address,uint256)", scene.Usdc, 5)).Transfer(scene.Usdc, scene.User, scene.Usdc, 5), "stuck_value")
	f("sent to the token by a third function", scene.New(scene.At(scene.Usdc), 0, scene.Input("transfer(address,uint256,bytes)", scene.Usdc, 5, 96, 0)).Transfer(scene.Usdc, scene.User, scene.Usdc, 5), "stuck_value")
	for _, signature := range []string{"transferFrom(address,address,uint256)", "safeTransferFrom(address,address,uint256)"} {
		batch := func(to common.Address) *scene.Scene {
			s := scene.New(scene.At(scene.Router), 0, nil2())
			for id := 1; id <= 2; id++ {
				call := s.Call(scene.Router, scene.Nft, 0, scene.Input(signature, scene.User, to, id))
				s.Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.User, to, id})
				call.Logs, s.Root.Logs = s.Root.Logs, nil
			}
			return s
		}
		f("NFTs that a contract sent to their own", batch(scene.Nft), "stuck_value", "stuck_value")
		f("NFTs that a contract sent to somebody", batch(scene.Friend))
	}
	f("a batch of NFTs to their own contract", scene.New(scene.At(scene.Nft), 0, scene.Input("safeBatchTransferFrom(address,address,uint256[])", scene.User, scene.Nft, 96, 1, 9)).
		Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.User, scene.Nft, 9}), "stuck_value")
	nft := func(to common.Address) *scene.Scene {
		return scene.New(scene.At(scene.Nft), 0, scene.Input("safeTransferFrom(address,address,uint256)", scene.User, to, 9)).
			Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.User, to, 9})
	}
	f("NFT to its contract", nft(scene.Nft), "stuck_value")
	f("NFT to another contract", nft(scene.Vault))
	f("NFT to its contract, which burns it", nft(scene.Nft).Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.Nft, 0, 9}))
	f("NFT to its contract, which pays for it", nft(scene.Nft).Transfer(scene.Usdc, scene.Nft, scene.User, 5))
	f("batch to its contract", scene.New(scene.At(scene.Nft), 0, scene.Input("safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)", scene.User, scene.Nft, 160, 256, 352, 2, 5, 6, 2, 1, 3, 0)).
		Log(scene.Nft, "TransferBatch(address,address,address,uint256[],uint256[])", []any{scene.User, scene.User, scene.Nft}, 64, 160, 2, 5, 6, 2, 1, 3), "stuck_value", "stuck_value")
	f("ERC-6909 to its contract", scene.New(scene.At(scene.Nft), 0, scene.Input("transfer(address,uint256,uint256)", scene.Nft, 7, 40)).
		Log(scene.Nft, "Transfer(address,address,address,uint256,uint256)", []any{scene.User, scene.Nft, 7}, scene.User, 40), "stuck_value")
	f("NFT of another to its contract", scene.New(scene.At(scene.Nft), 0, scene.Input("transferFrom(address,address,uint256)", scene.Friend, scene.Nft, 9)).
		Log(scene.Nft, "Transfer(address,address,uint256)", []any{scene.Friend, scene.Nft, 9}))
	f("paymaster", userOp(scene.New(scene.At(entryPoint), 0, nil2()), scene.Vault, true).
		Log(entryPoint, "PostOpRevertReason(bytes32,address,uint256,bytes)", []any{1, scene.Vault}, 1, 64, 0), "paymaster_or_postop_failure")
	s := scene.New(scene.At(scene.Router), 1000, nil2())
	s.Call(scene.Router, scene.Miner, 1000, nil)
	f("tip", s, "coinbase_payment")
	s = scene.New(scene.At(scene.Router), 0, nil2())
	s.Call(scene.Router, scene.Pool1, 0, nil2()).Err = "execution reverted"
	f("caught", s, "caught_inner_failure")
}

func TestConfidence(t *testing.T) {
	f := func(name string, s *scene.Scene, want api.Confidence) {
		t.Helper()
		v := scene.Held(t, name, s.Facts(t))
		if v.Confidence != want || (want == api.High) != (len(v.Reasons) == 0) {
			t.Errorf("%s: %s, reasons %q", name, v.Confidence, v.ReasonTexts())
		}
	}
	f("coin", scene.New(scene.At(scene.Friend), 1, nil), api.High)
	quick := scene.New(scene.At(scene.Friend), 1, nil)
	quick.Source = trace.SourceReplayQuick
	f("coin, quick replay", quick, api.Medium)
	plainCoin := scene.New(scene.At(scene.Friend), 1, nil)
	plainCoin.Source, plainCoin.Rc.GasUsed = trace.SourceReceipt, 21000
	f("coin for the plain price, receipt only", plainCoin, api.High)
	dear := scene.New(scene.At(scene.Friend), 1, nil)
	dear.Source = trace.SourceReceipt
	f("coin, receipt only", dear, api.Low)
	told := func(source trace.Source, gas uint64) *scene.Scene {
		s := usdcForWeth(scene.New(scene.At(scene.Router), 0, nil2()), scene.User).Known(scene.Router, "Router", "router", "uniswap_v2")
		if gas == 21000 {
			s = scene.New(scene.At(scene.Friend), 1, nil)
		}
		s.Source, s.Rc.GasUsed = source, gas
		return s
	}
	f("coin, by an explorer", told(trace.SourceExplorer, 21000), api.High)
	f("coin, by a list without failures", told(trace.SourceOtterscan, 21000), api.High)
	f("swap, by an explorer", told(trace.SourceExplorer, 90000), api.Medium)
	f("swap, by a list without failures", told(trace.SourceOtterscan, 90000), api.Medium)
	f("swap, by the node's other method", told(trace.SourceReplayed, 90000), api.High)
	f("swap at a known router", usdcForWeth(scene.New(scene.At(scene.Router), 0, nil2()), scene.User).Known(scene.Router, "Router", "router", "uniswap_v2"), api.High)
	f("swap at an unknown router", usdcForWeth(scene.New(scene.At(scene.Router), 0, nil2()), scene.User), api.Medium)
	f("unknown call", scene.New(scene.At(scene.Router), 0, nil2()), api.Low)
	noDecimals := scene.New(scene.At(scene.Addr(99)), 0, scene.Input("transfer(address,uint256)")).Transfer(scene.Addr(99), scene.User, scene.Friend, 5)
	noDecimals.Tokens[scene.Addr(99)] = label.Token{Symbol: "XYZ"}
	f("unknown decimals", noDecimals, api.Medium)
}

func TestSystemTransactions(t *testing.T) {
	s := scene.New(scene.At(common.HexToAddress("0x4200000000000000000000000000000000000015")), 0, scene.Input("setL1BlockValuesIsthmus()"))
	s.Tx.Type, s.Tx.From = 0x7e, common.HexToAddress("0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001")
	rollup := func(s *scene.Scene) *facts.Input {
		f := s.Facts(t)
		f.Chain, _ = chain.BySlug("base")
		return f
	}
	if v := scene.Held(t, "", rollup(s)); *v.TxType != api.TypeRoutineInfra || v.SubType != "system" {
		t.Errorf("L1 attributes: %s/%s", *v.TxType, v.SubType)
	}
	s = scene.New(scene.At(scene.Friend), 5, nil)
	s.Tx.Type = 0x7e
	if v := scene.Held(t, "", rollup(s)); *v.TxType == api.TypeRoutineInfra {
		t.Error("a user's deposit is taken for the system's")
	}
	s = scene.New(scene.At(common.HexToAddress("0xff00000000000000000000000000000000000010")), 0, []byte{0, 1, 2})
	if v := scene.Held(t, "", s.Facts(t)); *v.TxType != api.TypeRoutineInfra || v.SubType != "batch_post" {
		t.Errorf("batch: %s/%s", *v.TxType, v.SubType)
	}
}
