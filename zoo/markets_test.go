package zoo

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// markets are the pools that every specimen finds. One ether is worth 2,500 USDC, a
// LINK a hundredth of an ether; the pair of the fork alone is four percent dearer.
var markets struct {
	wethUSDC, linkWETH, fork, taxed contract // v2 pairs; fork is of a factory that nobody knows
	forkRouter                      contract
	pool                            contract // v3, WETH and USDC, 0.05 %
	linkPool                        contract // v3, LINK and WETH, 0.3 %
	tax                             contract // a token that keeps a percent of what is sent
}

// traders hold tokens from the first block of the set-up on.
var traders = []string{"alice", "bob", "victim", "searcher", "deployer"}

func openMarkets(w *world) {
	deployer := who("deployer")
	var setup []tx
	for _, name := range traders {
		t := who(name)
		setup = append(setup,
			w.calling(deployer, canon.usdc, "mint", t.addr, usd("50000000")),
			w.calling(deployer, canon.usdt, "mint", t.addr, usd("50000000")),
			w.calling(deployer, canon.link, "mint", t.addr, ether("1000000")),
			w.calling(deployer, canon.dai, "mint", t.addr, ether("1000000")),
			tx{from: t, to: &addrWETH, value: ether("3000"), data: canon.weth.pack(w.tb, "deposit")},
		)
	}
	w.mine(setup...)

	markets.wethUSDC = w.openPair(canon.v2Factory, canon.weth, ether("400"), canon.usdc, usd("1000000"))
	markets.linkWETH = w.openPair(canon.v2Factory, canon.link, ether("20000"), canon.weth, ether("200"))
	forkFactory := w.deploy(deployer, published(w.tb, "@uniswap/v2-core/build/UniswapV2Factory.json"), deployer.addr)
	markets.forkRouter = w.deploy(deployer, published(w.tb, "@uniswap/v2-periphery/build/UniswapV2Router02.json"), forkFactory.addr, addrWETH)
	markets.fork = w.openPair(forkFactory, canon.weth, ether("400"), canon.usdc, usd("1040000"))
	markets.tax = w.deploy(deployer, compiled(w.tb, "TaxedToken"), ether("1000000"))
	markets.taxed = w.openPair(canon.v2Factory, markets.tax, ether("100000"), canon.weth, ether("100"))

	markets.pool = w.openPool(canon.weth, canon.usdc, 500, ether("500"), usd("1250000"))
	markets.linkPool = w.openPool(canon.link, canon.weth, 3000, ether("30000"), ether("300"))
	w.openV4()
}

// openPair makes a v2 pair and pays its first liquidity in.
func (w *world) openPair(factory, a contract, ofA *big.Int, b contract, ofB *big.Int) contract {
	w.tb.Helper()
	by := who("deployer")
	w.call(by, factory, "createPair", a.addr, b.addr)
	pair := contract{one[common.Address](w, factory, "getPair", a.addr, b.addr), published(w.tb, "@uniswap/v2-core/build/UniswapV2Pair.json").abi}
	w.mine(
		w.calling(by, a, "transfer", pair.addr, ofA),
		w.calling(by, b, "transfer", pair.addr, ofB),
		w.calling(by, pair, "mint", by.addr),
	)
	return pair
}

// The widest range of a v3 position at each spacing of ticks.
func fullRange(spacing int) (lower, upper int) {
	return -887272 / spacing * spacing, 887272 / spacing * spacing
}

// openPool makes a v3 pool at the price of the two amounts, and a position over all
// prices of about so much.
func (w *world) openPool(a, b contract, fee int, ofA, ofB *big.Int) contract {
	w.tb.Helper()
	by := who("deployer")
	if a.addr.Cmp(b.addr) > 0 {
		a, b, ofA, ofB = b, a, ofB, ofA
	}
	w.mine(
		w.calling(by, a, "approve", addrV3Positions, maxUint),
		w.calling(by, b, "approve", addrV3Positions, maxUint),
		w.calling(by, canon.v3Positions, "createAndInitializePoolIfNecessary", a.addr, b.addr, fee, sqrtPrice(ofA, ofB)),
	)
	lower, upper := fullRange(spacings[fee])
	w.call(by, canon.v3Positions, "mint", tuple{a.addr, b.addr, fee, lower, upper, ofA, ofB, 0, 0, by.addr, w.deadline()})
	pool := one[common.Address](w, canon.v3Factory, "getPool", a.addr, b.addr, big.NewInt(int64(fee)))
	return contract{pool, published(w.tb, "@uniswap/v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool.json").abi}
}

var spacings = map[int]int{500: 10, 3000: 60}

// sqrtPrice is the root of b/a as a v3 pool keeps it: times 2^96.
func sqrtPrice(a, b *big.Int) *big.Int {
	n := new(big.Int).Lsh(b, 192)
	return n.Sqrt(n.Div(n, a))
}

// v4Key is the pool of coins and USDC at 0.3 %, without a hook.
var v4Key = tuple{common.Address{}, addrUSDC, 3000, 60, common.Address{}}

func (w *world) openV4() {
	w.tb.Helper()
	by := who("deployer")
	w.call(by, canon.v4PoolManager, "initialize", v4Key, sqrtPrice(ether("1"), usd("2500")))
	w.mine(w.permit2For(by, canon.usdc, addrV4Positions)...)
	w.v4Mint(by, ether("400"), usd("1000000"))
}

// permit2For lets a spender take a token through Permit2.
func (w *world) permit2For(a account, token contract, spender common.Address) []tx {
	return []tx{
		w.calling(a, token, "approve", addrPermit2, maxUint),
		w.calling(a, canon.permit2, "approve", token.addr, spender, usd("1000000000000"), w.deadline()),
	}
}

// v4Mint makes a position over all prices and returns what did.
func (w *world) v4Mint(a account, wei, tokens *big.Int) common.Hash {
	w.tb.Helper()
	lower, upper := fullRange(60)
	liquidity := new(big.Int).Sqrt(new(big.Int).Mul(wei, tokens))
	return w.v4Modify(a, wei, []byte{0x02, 0x0d, 0x14}, // MINT_POSITION, SETTLE_PAIR, SWEEP
		encode(w.tb, "((address,address,uint24,int24,address),int24,int24,uint256,uint128,uint128,address,bytes)",
			v4Key, lower, upper, liquidity, wei, tokens, a.addr, []byte{}),
		encode(w.tb, "(address,address)", common.Address{}, addrUSDC),
		encode(w.tb, "(address,address)", common.Address{}, a.addr))
}

// v4Modify is one call of the position manager.
func (w *world) v4Modify(a account, wei *big.Int, actions []byte, params ...[]byte) common.Hash {
	w.tb.Helper()
	return w.pay(a, wei, canon.v4Positions, "modifyLiquidities", encode(w.tb, "(bytes,bytes[])", actions, params), w.deadline())
}

// approve lets spenders take all of a token of an account.
func (w *world) approve(a account, spender common.Address, tokens ...contract) {
	w.tb.Helper()
	var txs []tx
	for _, t := range tokens {
		txs = append(txs, w.calling(a, t, "approve", spender, maxUint))
	}
	w.mine(txs...)
}
