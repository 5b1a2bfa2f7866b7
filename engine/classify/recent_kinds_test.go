package classify_test

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/label"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestRecentKinds has transactions of protocols that began in 2025, as their contracts log them.
func TestRecentKinds(t *testing.T) {
	f := kindChecker(t)
	user, friend, vault := scene.User, scene.Friend, scene.Vault
	call := callOf(vault)

	router := func() *scene.Scene {
		return call("execute(bytes,bytes[],uint256)").Transfer(scene.Usdc, user, vault, 5_000000).Transfer(scene.Weth, vault, user, 4_990000)
	}
	f("PancakeSwap Infinity CL", router().
		Log(vault, "Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24,uint16)", []any{7, friend}, -5_000000, 4_990000, 1, 2, 3, 100, 33),
		"swap - pancakeswap_infinity", "5 USDC", "WETH")
	f("PancakeSwap Infinity bins", router().
		Log(vault, "Swap(bytes32,address,int128,int128,uint24,uint24,uint16)", []any{7, friend}, -5_000000, 4_990000, 8388608, 100, 33),
		"swap - pancakeswap_infinity", "5 USDC", "WETH")

	fill := func() *scene.Scene {
		return call("matchOrders()").Transfer(scene.Usdc, friend, vault, 5_000000).
			Log(scene.Pool1, "TransferSingle(address,address,address,uint256,uint256)", []any{vault, vault, friend}, 77, 10_000000)
	}
	f("Polymarket v1", fill().
		Log(vault, "OrderFilled(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)", []any{1, friend, vault}, 0, 77, 5_000000, 10_000000, 0),
		"swap - polymarket", "5 USDC", "id 77", "Polymarket")
	f("Polymarket v2", fill().
		Log(vault, "OrderFilled(bytes32,address,address,uint8,uint256,uint256,uint256,uint256,bytes32,bytes32)", []any{1, friend, vault}, 0, 77, 5_000000, 10_000000, 0, 0, 0),
		"swap - polymarket", "5 USDC", "id 77", "Polymarket")

	f("CoreWriter", call("sendRawAction(bytes)").
		Log(vault, "RawAction(address,bytes)", []any{user}, 32, 4, 0), "other contract_call -")
	f("CCIP 1.6", call("ccipSend(uint64,(bytes,bytes,(address,uint256)[],address,bytes))").Transfer(scene.Usdc, user, vault, 5_000000).
		Log(vault, "CCIPMessageSent(uint64,uint64,((bytes32,uint64,uint64,uint64,uint64),address,bytes,bytes,bytes,address,uint256,uint256,(address,bytes,bytes,uint256,bytes)[]))",
			[]any{1, 2}, 32, 1, 2, 3, 4, 5), "other message ccip", "CCIP")
	f("Relay depository", call("depositErc20(address,address,uint256,bytes32)").Transfer(scene.Usdc, user, vault, 5_000000).
		Log(vault, "RelayErc20Deposit(address,address,uint256,bytes32)", nil, user, scene.Usdc, 5_000000, 9), "bridge send relay", "5 USDC")
	f("Gas.zip", sceneAt(common.HexToAddress("0x391E7C679d29bD940d63be94AD22A25d25b5A604"), 5000, []byte{1, 0, 0x37}), "bridge send gas_zip", "Gas.zip")
	f("EntryPoint v0.9", callOf(common.HexToAddress("0x433709009B8330FDa32311DF1C2AFA402eD8D009"))("depositTo(address)", user), "other contract_call -", "EntryPoint v0.9")
}

// TestKnownDelegates: the code that an account names by EIP-7702 is told by its publisher.
func TestKnownDelegates(t *testing.T) {
	f := func(delegate, want string) {
		t.Helper()
		s := sceneAt(scene.User, 0, nil)
		who := scene.User
		s.Tx.Type = 4
		s.Tx.Authorizations = make([]ethrpc.Authorization, 1)
		in := s.Facts(t)
		in.Authorizations = []decode.Authorization{{Authority: &who, Delegate: common.HexToAddress(delegate), ChainID: big.NewInt(1), Outcome: decode.Applied}}
		if v := scene.Held(t, "", in); !strings.Contains(v.Summary, want) {
			t.Errorf("%s: %q lacks %q", delegate, v.Summary, want)
		}
	}
	f("0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B", "MetaMask: EIP-7702 delegator")
	f("0x80296FF8D1ED46f8e3C7992664D13B833504c2Bb", "OKX Wallet: EIP-7702 delegate")
	f("0x7702cb554e6bFb442cb743A7dF23154544a7176C", "Coinbase Smart Wallet: EIP-7702 proxy")
	f("0x69007702764179f14F51cdce752f4f775d74E139", "Alchemy: Modular account for EIP-7702")
	f("0xd6CEDDe84be40893d153Be9d467CD6aD37875b28", "ZeroDev: Kernel v3.3")
}

// TestRecentContracts: their singletons are known by name.
func TestRecentContracts(t *testing.T) {
	f := func(chainID uint64, address, want string) {
		t.Helper()
		if l, _ := label.Lookup(chainID, common.HexToAddress(address)); l.Name != want || l.Confidence != label.Official {
			t.Errorf("%d %s: %+v, want %q", chainID, address, l, want)
		}
	}
	f(56, "0x238a358808379702088667322f80aC48bAd5e6c4", "PancakeSwap Infinity: Vault")
	f(8453, "0xa0FfB9c1CE1Fe56963B0321B32E7A0302114058b", "PancakeSwap Infinity: CL pool manager")
	f(56, "0xC697d2898e0D09264376196696c51D7aBbbAA4a9", "PancakeSwap Infinity: Bin pool manager")
	f(137, "0xE111180000d2663C0091e4f400237545B87B996B", "Polymarket: CTF exchange v2")
	f(137, "0xe2222d279d744050d28e00520010520000310F59", "Polymarket: Neg risk exchange v2")
	f(999, "0x3333333333333333333333333333333333333333", "Hyperliquid: CoreWriter")
	f(8453, "0x4cD00E387622C35bDDB9b4c962C136462338BC31", "Relay: Depository")
	f(10, "0x391E7C679d29bD940d63be94AD22A25d25b5A604", "Gas.zip: Deposit")
	f(1, "0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3", "MetaMask: Delegation manager")
	f(42161, "0x433709009B8330FDa32311DF1C2AFA402eD8D009", "ERC-4337: EntryPoint v0.9")
}
