package zoo

import (
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// market is Aave v3 as it stands from the first block on, with two reserves.
var market *aave

func placeMarket(g *genesis) {
	// In the order of Ethereum, so that their tokens land where they are there.
	wstETH, wBTC := common.HexToAddress("0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0"), common.HexToAddress("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599")
	g.construct(wstETH, who("deployer").addr, compiled(g.tb, "ZooToken"), "Wrapped liquid staked Ether 2.0", "wstETH", uint8(18))
	g.construct(wBTC, who("deployer").addr, compiled(g.tb, "ZooToken"), "Wrapped BTC", "WBTC", uint8(8))
	market = layAave(g, reserve{addrWETH, "WETH", 18, 2000e8}, reserve{wstETH, "wstETH", 18, 2400e8}, reserve{wBTC, "WBTC", 8, 60000e8}, reserve{addrUSDC, "USDC", 6, 1e8})
}

// variable is the mode of a debt whose rate follows the market.
var variable = big.NewInt(2)

var lendingSpecimens = []specimen{
	{
		name: "Aave v3: supply",
		script: func(w *world) common.Hash {
			w.hold("alice", canon.usdc, usd("10000"), aavePool)
			return w.call(who("alice"), market.pool, "supply", addrUSDC, usd("10000"), who("alice").addr, uint16(0))
		},
		want: truth{
			txType: api.TypeOther, subType: "supply", protocol: "aave_v3",
			moves: []string{"alice -10000 USDC +10000 aEthUSDC"},
		},
	},
	{
		name: "Aave v3: borrow",
		script: func(w *world) common.Hash {
			w.pledge("alice", "10")
			return w.call(who("alice"), market.pool, "borrow", addrUSDC, usd("5000"), variable, uint16(0), who("alice").addr)
		},
		want: truth{
			txType: api.TypeOther, subType: "borrow", protocol: "aave_v3",
			moves: []string{"alice +5000 USDC +5000 variableDebtEthUSDC"},
		},
	},
	{
		name: "Aave v3: borrowing more than the pledge allows",
		script: func(w *world) common.Hash {
			w.pledge("alice", "10")
			return w.failing(who("alice"), market.pool, "borrow", addrUSDC, usd("17000"), variable, uint16(0), who("alice").addr)
		},
		want: truth{txType: api.TypeOther, subType: "borrow", protocol: "aave_v3", attempted: true},
	},
	{
		name: "Aave v3: repay",
		script: func(w *world) common.Hash {
			w.owe("alice", "5000")
			w.call(who("alice"), canon.usdc, "approve", aavePool, maxUint)
			return w.call(who("alice"), market.pool, "repay", addrUSDC, usd("2000"), variable, who("alice").addr)
		},
		want: truth{txType: api.TypeOther, subType: "repay", protocol: "aave_v3"},
	},
	{
		name: "Aave v3: withdraw",
		script: func(w *world) common.Hash {
			w.pledge("alice", "10")
			return w.call(who("alice"), market.pool, "withdraw", addrWETH, ether("4"), who("alice").addr)
		},
		want: truth{
			txType: api.TypeOther, subType: "withdraw", protocol: "aave_v3",
			moves: []string{"alice +4 WETH -4 aEthWETH"},
		},
	},
	{
		name: "Aave v3: flash loan, repaid with its fee",
		script: func(w *world) common.Hash {
			w.liquidity("1000000")
			user := w.deploy(who("alice"), compiled(w.tb, "FlashUser"), aavePool)
			w.hold("alice", canon.usdc, usd("500"), user.addr)
			return w.call(who("alice"), user, "run", addrUSDC, usd("100000"))
		},
		want: truth{
			txType: api.TypeOther, subType: "flash_loan", protocol: "aave_v3",
			moves: []string{"alice -50 USDC"}, flags: []string{"flash_loan"},
		},
	},
	{
		name: "Aave v3: liquidation",
		script: func(w *world) common.Hash {
			w.hold("liquidator", canon.usdc, usd("20000"), aavePool)
			w.pledge("alice", "10")
			// In one block: what is owed grows by one block alone until the liquidation.
			w.mine(
				w.calling(who("alice"), market.pool, "borrow", addrUSDC, usd("15000"), variable, uint16(0), who("alice").addr),
				w.calling(who("feeder"), market.feeds[addrWETH], "transmit", big.NewInt(1700e8)),
			)
			return w.call(who("liquidator"), market.pool, "liquidationCall", addrWETH, addrUSDC, who("alice").addr, usd("7000"), false)
		},
		// 7,000 USDC are worth 4.117647058823529411 WETH, and 5 % come on top.
		want: truth{
			txType: api.TypeLiquidation, protocol: "aave_v3",
			moves: []string{"liquidator -7000 USDC +4.323529411764705882 WETH"},
		},
	},
	{
		name: "a market like Compound v2: mint",
		script: func(w *world) common.Hash {
			m := compoundLike(w)
			w.hold("carol", m.collateral, ether("50"), m.pledges.addr)
			return w.call(who("carol"), m.pledges, "mint", ether("50"))
		},
		want: truth{txType: api.TypeOther, subType: "supply", moves: []string{"carol -50 TOK +50 ZSH"}},
	},
	{
		name: "a market like Compound v2: borrow",
		script: func(w *world) common.Hash {
			m := compoundLike(w)
			m.pledge(w, "alice", "100")
			return w.call(who("alice"), m.loans, "borrow", usd("60"))
		},
		want: truth{txType: api.TypeOther, subType: "borrow", moves: []string{"alice +60 USDC"}},
	},
	{
		name: "a market like Compound v2: liquidation",
		script: func(w *world) common.Hash {
			m := compoundLike(w)
			m.pledge(w, "alice", "100")
			w.call(who("alice"), m.loans, "borrow", usd("60"))
			w.call(who("deployer"), m.loans, "setUp", m.pledges.addr, units("0.7", 6))
			w.hold("liquidator", canon.usdc, usd("30"), m.loans.addr)
			return w.call(who("liquidator"), m.loans, "liquidateBorrow", who("alice").addr, usd("21"), m.pledges.addr)
		},
		want: truth{
			txType: api.TypeLiquidation,
			moves:  []string{"liquidator -21 USDC +32.4 ZSH", "alice -32.4 ZSH"},
		},
	},
}

// hold mints tokens for somebody, who lets a spender take them.
func (w *world) hold(name string, token contract, amount *big.Int, spender common.Address) {
	w.tb.Helper()
	if token.addr == addrWETH {
		w.pay(who(name), amount, token, "deposit")
	} else {
		w.call(who("deployer"), token, "mint", who(name).addr, amount)
	}
	w.call(who(name), token, "approve", spender, amount)
}

// liquidity is USDC of somebody else that the market can lend.
func (w *world) liquidity(amount string) {
	w.tb.Helper()
	w.hold("treasury", canon.usdc, usd(amount), aavePool)
	w.call(who("treasury"), market.pool, "supply", addrUSDC, usd(amount), who("treasury").addr, uint16(0))
}

// pledge supplies WETH in a market that has cash to lend.
func (w *world) pledge(name, amount string) {
	w.tb.Helper()
	w.liquidity("1000000")
	w.hold(name, canon.weth, ether(amount), aavePool)
	w.call(who(name), market.pool, "supply", addrWETH, ether(amount), who(name).addr, uint16(0))
}

// owe pledges ten WETH and borrows USDC.
func (w *world) owe(name, amount string) {
	w.tb.Helper()
	w.pledge(name, "10")
	w.call(who(name), market.pool, "borrow", addrUSDC, usd(amount), variable, uint16(0), who(name).addr)
}

// compound is a pair of markets: cash is lent in one against pledges in the other.
type compound struct{ collateral, pledges, loans contract }

func compoundLike(w *world) compound {
	by := who("deployer")
	m := compound{collateral: w.token("TOK", 18)}
	m.pledges = w.deploy(by, compiled(w.tb, "CMarket"), m.collateral.addr)
	m.loans = w.deploy(by, compiled(w.tb, "CMarket"), addrUSDC)
	w.call(by, m.loans, "setUp", m.pledges.addr, usd("1"))
	w.call(by, m.pledges, "befriend", m.loans.addr)
	w.call(by, canon.usdc, "mint", m.loans.addr, usd("10000"))
	return m
}

func (m compound) pledge(w *world, name, amount string) {
	w.tb.Helper()
	w.hold(name, m.collateral, ether(amount), m.pledges.addr)
	w.call(who(name), m.pledges, "mint", ether(amount))
}
