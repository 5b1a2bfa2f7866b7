package zoo

import (
	"math/big"
	"os"
	"regexp"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// Where contracts of public use stand on Ethereum.
var (
	addrWETH          = common.HexToAddress("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
	addrUSDC          = common.HexToAddress("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
	addrUSDT          = common.HexToAddress("0xdAC17F958D2ee523a2206206994597C13D831ec7")
	addrLINK          = common.HexToAddress("0x514910771AF9Ca656af840dff83E8264EcF986CA")
	addrDAI           = common.HexToAddress("0x6B175474E89094C44Da98b954EedeAC495271d0F")
	addrV2Factory     = common.HexToAddress("0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f")
	addrV2Router      = common.HexToAddress("0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D")
	addrV3Factory     = common.HexToAddress("0x1F98431c8aD98523631AE4a59f267346ea31F984")
	addrV3Router      = common.HexToAddress("0xE592427A0AEce92De3Edee1F18E0157C05861564")
	addrV3Positions   = common.HexToAddress("0xC36442b4a4522E871399CD717aBDD847Ab11FE88")
	addrSwapRouter02  = common.HexToAddress("0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45")
	addrPermit2       = common.HexToAddress("0x000000000022D473030F116dDEE9F6B43aC78BA3")
	addrV4PoolManager = common.HexToAddress("0x000000000004444c5dc75cB358380D2e3dE08A90")
	addrV4Positions   = common.HexToAddress("0xbD216513d74C8cf14cf4747E6AaA6420FF64ee9e")
	addrUniversal     = common.HexToAddress("0x66a9893cC07D91D95644AEDD05D03f95e1dBA8Af")
	addrSeaport       = common.HexToAddress("0x0000000000000068F116a894984e2DB1123eB395")
	addrConduits      = common.HexToAddress("0x00000000F9490004C11Cef243f5400493c00Ad63")
)

// canon is what stands at the addresses above.
var canon struct {
	v2Factory, v2Router                                  contract
	weth, usdc, usdt, link, dai                          contract
	v3Factory, v3Router, v3Positions, swapRouter02       contract
	permit2, v4PoolManager, v4Positions, universalRouter contract
	seaport, conduits                                    contract
}

// The hashes of the creation code of pools, which routers derive addresses from.
var (
	v2PairHash = [32]byte(mustHex("0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f"))
	v3PoolHash = [32]byte(mustHex("0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54"))
)

// placeCanon builds them all. Tokens of public use are not published on npm: a plain
// token of the same name and decimals stands in for each.
func placeCanon(g *genesis) {
	tb, by := g.tb, newAccount("deployer").addr
	at := func(addr common.Address, path string, args ...any) contract {
		tb.Helper()
		return g.construct(addr, by, published(tb, path), args...)
	}
	canon.weth = at(addrWETH, "canonical-weth/build/contracts/WETH9.json")
	token := func(addr common.Address, name, symbol string, decimals uint8) contract {
		return at(addr, "@uniswap/v4-periphery/foundry-out/MockERC20.sol/MockERC20.json", name, symbol, decimals)
	}
	canon.usdc = token(addrUSDC, "USD Coin", "USDC", 6)
	canon.usdt = token(addrUSDT, "Tether USD", "USDT", 6)
	canon.link = token(addrLINK, "ChainLink Token", "LINK", 18)

	canon.dai = g.construct(addrDAI, by, compiled(tb, "DaiLike"))

	canon.v2Factory = at(addrV2Factory, "@uniswap/v2-core/build/UniswapV2Factory.json", by)
	canon.v2Router = at(addrV2Router, "@uniswap/v2-periphery/build/UniswapV2Router02.json", addrV2Factory, addrWETH)

	canon.v3Factory = at(addrV3Factory, "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json")
	canon.v3Router = at(addrV3Router, "@uniswap/v3-periphery/artifacts/contracts/SwapRouter.sol/SwapRouter.json", addrV3Factory, addrWETH)
	canon.v3Positions = at(addrV3Positions, "@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json", addrV3Factory, addrWETH, common.Address{})
	canon.swapRouter02 = at(addrSwapRouter02, "@uniswap/swap-router-contracts/artifacts/contracts/SwapRouter02.sol/SwapRouter02.json", addrV2Factory, addrV3Factory, addrV3Positions, addrWETH)

	g.place(addrPermit2, permit2Code(tb))
	canon.permit2 = contract{addrPermit2, permit2ABI}
	canon.v4PoolManager = at(addrV4PoolManager, "@uniswap/v4-core/out/PoolManager.sol/PoolManager.json", by)
	canon.v4Positions = at(addrV4Positions, "@uniswap/v4-periphery/foundry-out/PositionManager.sol/PositionManager.json",
		addrV4PoolManager, addrPermit2, big.NewInt(300_000), common.Address{}, addrWETH)
	canon.universalRouter = at(addrUniversal, "@uniswap/universal-router/artifacts/contracts/UniversalRouter.sol/UniversalRouter.json", tuple{
		addrPermit2, addrWETH, addrV2Factory, addrV3Factory, v2PairHash, v3PoolHash, addrV4PoolManager, addrV3Positions, addrV4Positions, common.Address{},
	})

	const factories = "@opensea/seaport-js/lib/typechain-types/factories/seaport/contracts/"
	canon.conduits = at(addrConduits, factories+"conduit/ConduitController.sol/LocalConduitController__factory.js")
	canon.seaport = at(addrSeaport, factories+"Seaport__factory.js", addrConduits)
}

// permit2Code is the code of Permit2 as it stands on every chain: its package keeps it
// in a script, since a compiler gives it only with the settings of its makers.
func permit2Code(tb testing.TB) []byte {
	tb.Helper()
	text, err := os.ReadFile("node_modules/@uniswap/v4-periphery/lib/permit2/test/utils/DeployPermit2.sol")
	if err != nil {
		tb.Fatalf("read Permit2: %v", err)
	}
	m := regexp.MustCompile(`hex"([0-9a-f]+)"`).FindSubmatch(text)
	if m == nil {
		tb.Fatal("the script of Permit2 has no code")
	}
	return common.FromHex(string(m[1]))
}

var permit2ABI = methods(
	"approve(address,address,uint160,uint48)",
	"transferFrom(address,address,uint160,address)",
	"permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)",
	"lockdown((address,address)[])",
)
