package zoo

import (
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// searchingSpecimens: what searchers do, what happens to others by it, and what only
// looks like it.
var searchingSpecimens = []specimen{
	{
		name: "arbitrage with coins of its own",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, ether("10"))
			return w.call(who("searcher"), s, "cycle", markets.fork.addr, markets.wethUSDC.addr, addrWETH, ether("2"), 1)
		},
		want: truth{txType: api.TypeMEV, subType: "arbitrage", moves: []string{"searcher", "searcher's +0.046756270213046065 WETH"}},
	},
	{
		name: "arbitrage with a flash swap of a v2 pair",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, new(big.Int))
			return w.call(who("searcher"), s, "borrowed", markets.fork.addr, markets.wethUSDC.addr, addrWETH, ether("2"), 1)
		},
		want: truth{txType: api.TypeMEV, subType: "arbitrage", moves: []string{"searcher", "searcher's +0.046756270213046065 WETH"}},
	},
	{
		name: "arbitrage with a flash loan of a v3 pool",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, new(big.Int))
			return w.call(who("searcher"), s, "flash", markets.pool.addr, markets.fork.addr, markets.wethUSDC.addr, addrWETH, ether("2"))
		},
		want: truth{txType: api.TypeMEV, subType: "arbitrage", flags: []string{"flash_loan"}, moves: []string{"searcher", "searcher's +0.045756270213046065 WETH"}},
	},
	{
		name: "flash loan of a v3 pool for nothing",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, ether("1"))
			return w.call(who("searcher"), s, "lookAt", markets.pool.addr, addrWETH, ether("100"))
		},
		want: truth{txType: api.TypeOther, subType: "flash_loan", protocol: "uniswap_v3", flags: []string{"flash_loan"}, moves: []string{"searcher", "searcher's -0.05 WETH"}},
	},
	{
		name: "arbitrage that pays the producer of the block",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, ether("10"))
			return w.call(who("searcher"), s, "cycleAndBribe", markets.fork.addr, markets.wethUSDC.addr, addrWETH, ether("2"), ether("0.03"))
		},
		want: truth{txType: api.TypeMEV, subType: "arbitrage", flags: []string{"coinbase_payment"}, moves: []string{"searcher", "searcher's +0.016756270213046065 WETH"}},
	},
	{
		name: "payment to the producer of the block alone",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, ether("1"))
			return w.call(who("searcher"), s, "bribe", addrWETH, ether("0.2"))
		},
		want: truth{txType: api.TypeMEV, subType: "builder_payment", says: []string{"Paid the block producer 0.2 ETH"}, flags: []string{"coinbase_payment"}, moves: []string{"searcher", "searcher's -0.2 WETH"}},
	},
	{
		name: "arbitrage that found no profit",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, ether("10"))
			return w.failing(who("searcher"), s, "cycle", markets.wethUSDC.addr, markets.fork.addr, addrWETH, ether("2"), 1)
		},
		want: truth{txType: api.TypeSwap, attempted: true, moves: []string{"searcher"}},
	},
	{
		name: "a user's own round trip that loses",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, ether("10"))
			return w.call(who("searcher"), s, "cycleAtALoss", markets.wethUSDC.addr, markets.fork.addr, addrWETH, ether("2"))
		},
		want: truth{txType: api.TypeSwap, moves: []string{"searcher", "searcher's -0.106927977017163557 WETH"}},
	},
	{
		name: "sandwich: the first leg",
		script: func(w *world) common.Hash {
			return w.sandwich()[0]
		},
		want: truth{txType: api.TypeMEV, subType: "sandwich_leg", protocol: "uniswap_v2", moves: []string{"searcher", "searcher's -40 WETH +90661.089388 USDC"}},
	},
	{
		name: "sandwich: the victim",
		script: func(w *world) common.Hash {
			return w.sandwich()[1]
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", flags: []string{"sandwich"}, moves: []string{"victim -10 WETH +20148.251969 USDC"}},
	},
	{
		name: "sandwich: the last leg",
		script: func(w *world) common.Hash {
			return w.sandwich()[2]
		},
		want: truth{txType: api.TypeMEV, subType: "sandwich_leg", protocol: "uniswap_v2", moves: []string{"searcher", "searcher's +41.523007331387620599 WETH -90661.089388 USDC"}},
	},
	{
		name: "a swap between swaps of others is no victim",
		script: func(w *world) common.Hash {
			for _, name := range []string{"alice", "bob", "victim"} {
				w.approve(who(name), addrV2Router, canon.weth)
			}
			return w.mine(
				w.v2Sell(who("alice"), ether("1")),
				w.v2Sell(who("victim"), ether("1")),
				w.v2Sell(who("bob"), ether("1")),
			)[1]
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"victim -1 WETH +2473.951686 USDC"}},
	},
	{
		name: "liquidity just in time: the position",
		script: func(w *world) common.Hash {
			return w.justInTime()[0]
		},
		want: truth{txType: api.TypeMEV, subType: "jit_liquidity", protocol: "uniswap_v3", moves: []string{"searcher -824310.12668 USDC -399.999999999999999914 WETH +1 UNI-V3-POS#3"}},
	},
	{
		name: "liquidity just in time: the swap",
		script: func(w *world) common.Hash {
			return w.justInTime()[1]
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v3", moves: []string{"victim -250000 USDC +99.814561230766385302 WETH"}},
	},
	{
		name: "liquidity just in time: taken out again",
		script: func(w *world) common.Hash {
			return w.justInTime()[2]
		},
		want: truth{txType: api.TypeMEV, subType: "jit_liquidity", protocol: "uniswap_v3", moves: []string{"searcher +1072613.148291 USDC +300.862971381707925253 WETH"}},
	},
}

// v2Sell sells wrapped coins for USDC in the pair and takes a fifth less than
// it gives when nobody comes before.
func (w *world) v2Sell(a account, amount *big.Int) tx {
	w.tb.Helper()
	least := w.v2Out(amount, canon.weth, canon.usdc)
	least.Div(least.Mul(least, big.NewInt(80)), big.NewInt(100))
	return w.calling(a, canon.v2Router, "swapExactTokensForTokens", amount, least, list{addrWETH, addrUSDC}, a.addr, w.deadline())
}

// sandwich is three transactions of one block: the searcher sells before the victim
// does, and buys back after.
func (w *world) sandwich() []common.Hash {
	w.tb.Helper()
	s := w.searcher(canon.weth, ether("40"))
	w.approve(who("victim"), addrV2Router, canon.weth)
	first := w.v2Out(ether("40"), canon.weth, canon.usdc)
	return w.mine(
		w.calling(who("searcher"), s, "sell", markets.wethUSDC.addr, addrWETH, ether("40")),
		w.v2Sell(who("victim"), ether("10")),
		w.calling(who("searcher"), s, "sell", markets.wethUSDC.addr, addrUSDC, first),
	)
}

// justInTime is a position that is there for one swap alone.
func (w *world) justInTime() []common.Hash {
	w.tb.Helper()
	searcher, victim := who("searcher"), who("victim")
	w.approve(searcher, addrV3Positions, canon.weth, canon.usdc)
	w.approve(victim, addrV3Router, canon.usdc)
	price := w.read(markets.pool, "slot0")[1].(*big.Int).Int64()
	lower, upper := price/10*10-100, price/10*10+100
	mint := w.calling(searcher, canon.v3Positions, "mint", tuple{addrUSDC, addrWETH, 500, int(lower), int(upper), usd("1000000"), ether("400"), 0, 0, searcher.addr, w.deadline()})
	// The number and the size of the position are known once the same was tried.
	trial := on(w.tb, w.node, w.head)
	hash := trial.mine(mint)[0]
	made := trial.emitted(hash, canon.v3Positions, "IncreaseLiquidity")
	id, liquidity := made["tokenId"], made["liquidity"]
	return w.mine(
		mint,
		w.calling(victim, canon.v3Router, "exactInputSingle", tuple{addrUSDC, addrWETH, 500, victim.addr, w.deadline(), usd("250000"), ether("90"), 0}),
		w.calling(searcher, canon.v3Positions, "multicall", [][]byte{
			canon.v3Positions.pack(w.tb, "decreaseLiquidity", tuple{id, liquidity, 0, 0, w.deadline()}),
			canon.v3Positions.pack(w.tb, "collect", tuple{id, searcher.addr, maxUint128, maxUint128}),
		}),
	)
}
