package zoo

import (
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// liquiditySpecimens: what is given to pools and taken out of them.
var liquiditySpecimens = []specimen{
	{
		name: "v2 liquidity added with coins",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV2Router, canon.usdc)
			return w.v2Add(who("alice"))
		},
		want: truth{txType: api.TypeOther, subType: "add_liquidity", protocol: "uniswap_v2",
			moves: []string{"alice -4 ETH -10000 USDC +0.0002 UNI-V2"}},
	},
	{
		name: "v2 liquidity removed for coins",
		script: func(w *world) common.Hash {
			alice := who("alice")
			w.approve(alice, addrV2Router, canon.usdc, markets.wethUSDC)
			w.v2Add(alice)
			held := one[*big.Int](w, markets.wethUSDC, "balanceOf", alice.addr)
			return w.call(alice, canon.v2Router, "removeLiquidityETH", addrUSDC, held, usd("9900"), ether("3.9"), alice.addr, w.deadline())
		},
		want: truth{txType: api.TypeOther, subType: "remove_liquidity", protocol: "uniswap_v2",
			moves: []string{"alice +4 ETH +10000 USDC -0.0002 UNI-V2"}},
	},
	{
		name: "v2 pair made",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.v2Factory, "createPair", addrDAI, addrUSDT)
		},
		want: truth{txType: api.TypeDeployment, subType: "pool", protocol: "uniswap_v2", moves: []string{"alice"}},
	},
	{
		name: "v3 position made",
		script: func(w *world) common.Hash {
			hash, _ := w.v3Mint(who("alice"))
			return hash
		},
		want: truth{txType: api.TypeOther, subType: "add_liquidity", protocol: "uniswap_v3", moves: []string{"alice -10000 USDC -4 WETH +1 UNI-V3-POS#3"}},
	},
	{
		name: "v3 position increased",
		script: func(w *world) common.Hash {
			_, id := w.v3Mint(who("alice"))
			return w.call(who("alice"), canon.v3Positions, "increaseLiquidity", tuple{id, usd("2500"), ether("1"), 0, 0, w.deadline()})
		},
		want: truth{txType: api.TypeOther, subType: "add_liquidity", protocol: "uniswap_v3", moves: []string{"alice -2500 USDC -1 WETH"}},
	},
	{
		name: "v3 position decreased, and nothing collected yet",
		script: func(w *world) common.Hash {
			_, id := w.v3Mint(who("alice"))
			return w.v3Decrease(who("alice"), id)
		},
		want: truth{txType: api.TypeOther, subType: "remove_liquidity", protocol: "uniswap_v3", moves: []string{"alice"}},
	},
	{
		name: "v3 position collected that was taken out before",
		script: func(w *world) common.Hash {
			alice := who("alice")
			_, id := w.v3Mint(alice)
			w.v3Decrease(alice, id)
			return w.call(alice, canon.v3Positions, "collect", tuple{id, alice.addr, maxUint128, maxUint128})
		},
		want: truth{txType: api.TypeOther, subType: "collect_liquidity", protocol: "uniswap_v3", moves: []string{"alice +4999.999999 USDC +1.999999999999999999 WETH"}},
	},
	{
		name: "v3 position decreased and collected at once",
		script: func(w *world) common.Hash {
			alice := who("alice")
			_, id := w.v3Mint(alice)
			return w.call(alice, canon.v3Positions, "multicall", [][]byte{
				canon.v3Positions.pack(w.tb, "decreaseLiquidity", tuple{id, w.v3Liquidity(id), usd("4900"), ether("1.9"), w.deadline()}),
				canon.v3Positions.pack(w.tb, "collect", tuple{id, alice.addr, maxUint128, maxUint128}),
			})
		},
		want: truth{txType: api.TypeOther, subType: "remove_liquidity", protocol: "uniswap_v3", moves: []string{"alice +9999.999999 USDC +3.999999999999999999 WETH"}},
	},
	{
		name: "v3 fees collected, and nothing else",
		script: func(w *world) common.Hash {
			alice, bob := who("alice"), who("bob")
			_, id := w.v3Mint(alice)
			w.approve(bob, addrV3Router, canon.usdc)
			w.call(bob, canon.v3Router, "exactInputSingle", tuple{addrUSDC, addrWETH, 500, bob.addr, w.deadline(), usd("250000"), 0, 0})
			return w.call(alice, canon.v3Positions, "collect", tuple{id, alice.addr, maxUint128, maxUint128})
		},
		want: truth{txType: api.TypeOther, subType: "collect_liquidity", protocol: "uniswap_v3", moves: []string{"alice +0.992063 USDC"}},
	},
	{
		name: "v3 pool made, priced and filled at once",
		script: func(w *world) common.Hash {
			alice := who("alice")
			w.approve(alice, addrV3Positions, canon.dai, canon.usdc)
			lower, upper := fullRange(10)
			return w.call(alice, canon.v3Positions, "multicall", [][]byte{
				canon.v3Positions.pack(w.tb, "createAndInitializePoolIfNecessary", addrDAI, addrUSDC, 500, sqrtPrice(ether("1"), usd("1"))),
				canon.v3Positions.pack(w.tb, "mint", tuple{addrDAI, addrUSDC, 500, lower, upper, ether("1000"), usd("1000"), 0, 0, alice.addr, w.deadline()}),
			})
		},
		want: truth{txType: api.TypeOther, subType: "add_liquidity", protocol: "uniswap_v3", moves: []string{"alice -999.999999999999000001 DAI -1000 USDC +1 UNI-V3-POS#3"}},
	},
	{
		name: "v2 liquidity removed with a permit",
		script: func(w *world) common.Hash {
			alice := who("alice")
			w.approve(alice, addrV2Router, canon.usdc)
			w.v2Add(alice)
			held, until := one[*big.Int](w, markets.wethUSDC, "balanceOf", alice.addr), w.deadline()
			sig := alice.sign(typed(one[[32]byte](w, markets.wethUSDC, "DOMAIN_SEPARATOR"),
				crypto.Keccak256([]byte("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)")),
				alice.addr, addrV2Router, held, 0, until))
			return w.call(alice, canon.v2Router, "removeLiquidityWithPermit", addrWETH, addrUSDC, held, 0, 0, alice.addr, until, false,
				sig[64], [32]byte(sig[:32]), [32]byte(sig[32:64]))
		},
		want: truth{txType: api.TypeOther, subType: "remove_liquidity", protocol: "uniswap_v2",
			moves: []string{"alice +4 WETH +10000 USDC -0.0002 UNI-V2"}},
	},
	{
		name: "v4 position made with coins",
		script: func(w *world) common.Hash {
			w.mine(w.permit2For(who("alice"), canon.usdc, addrV4Positions)...)
			return w.v4Mint(who("alice"), ether("4"), usd("10000"))
		},
		want: truth{txType: api.TypeOther, subType: "add_liquidity", protocol: "uniswap_v4", moves: []string{"alice -4 ETH -10000 USDC +1 UNI-V4-POSM#2"}},
	},
	{
		name: "v4 position decreased",
		script: func(w *world) common.Hash {
			alice := who("alice")
			w.mine(w.permit2For(alice, canon.usdc, addrV4Positions)...)
			w.v4Mint(alice, ether("4"), usd("10000"))
			half := new(big.Int).Sqrt(new(big.Int).Mul(ether("2"), usd("5000")))
			return w.v4Modify(alice, nil, []byte{0x01, 0x11}, // DECREASE_LIQUIDITY, TAKE_PAIR
				encode(w.tb, "(uint256,uint256,uint128,uint128,bytes)", 2, half, 0, 0, []byte{}),
				encode(w.tb, "(address,address,address)", common.Address{}, addrUSDC, alice.addr))
		},
		want: truth{txType: api.TypeOther, subType: "remove_liquidity", protocol: "uniswap_v4", moves: []string{"alice +1.999999999999999999 ETH +4999.999999 USDC"}},
	},
}

var maxUint128 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))

// v2Add pays four coins and their worth into the pair.
func (w *world) v2Add(a account) common.Hash {
	w.tb.Helper()
	return w.pay(a, ether("4"), canon.v2Router, "addLiquidityETH", addrUSDC, usd("10000"), usd("9900"), ether("3.9"), a.addr, w.deadline())
}

// v3Mint makes a position over all prices in the pool of WETH and USDC.
func (w *world) v3Mint(a account) (hash common.Hash, id *big.Int) {
	w.tb.Helper()
	w.approve(a, addrV3Positions, canon.weth, canon.usdc)
	lower, upper := fullRange(10)
	hash = w.call(a, canon.v3Positions, "mint", tuple{addrUSDC, addrWETH, 500, lower, upper, usd("10000"), ether("4"), 0, 0, a.addr, w.deadline()})
	return hash, w.emitted(hash, canon.v3Positions, "IncreaseLiquidity")["tokenId"].(*big.Int)
}

func (w *world) v3Liquidity(id *big.Int) *big.Int {
	w.tb.Helper()
	return w.read(canon.v3Positions, "positions", id)[7].(*big.Int)
}

// v3Decrease takes half of a position out, which stays with the pool until collected.
func (w *world) v3Decrease(a account, id *big.Int) common.Hash {
	w.tb.Helper()
	half := new(big.Int).Rsh(w.v3Liquidity(id), 1)
	return w.call(a, canon.v3Positions, "decreaseLiquidity", tuple{id, half, 0, 0, w.deadline()})
}
