package zoo

import (
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// flashSpecimen is an honest transaction that takes a loan for its own length.
type flashSpecimen struct {
	name   string
	script func(w *world) (*plan, common.Hash)
	moves  []string // as in truth
	// unseen says why the rules do not flag the loan yet. It must go once they do.
	unseen string
	// misread says why a balance of the result is not that of the node. It must go, too.
	misread string
}

// The premium raises what every supplier has, the borrower among them, after the last
// event of the share token.
const premiumShared = "the premium of the loan raises the balance of the share token without an event"

// buyLow buys WETH in the pair of Uniswap and sells it in the dearer fork.
func (p *plan) buyLow() []step {
	return slices.Concat(p.sell(canon.v2Router, canon.usdc, canon.weth), p.sell(markets.forkRouter, canon.weth, canon.usdc))
}

// triangle goes from WETH over LINK to USDC and back.
func (p *plan) triangle() []step {
	return slices.Concat(p.sell3(3000, canon.weth, canon.link), p.sell(canon.v2Router, canon.link, canon.usdc), p.sell3(500, canon.usdc, canon.weth))
}

// arbitrage borrows USDC for buyLow and then does what is done with the profit.
func arbitrage(by lender, after func(p *plan) []step) func(w *world) (*plan, common.Hash) {
	return func(w *world) (*plan, common.Hash) {
		p := w.executor("searcher")
		steps := []step{by(p, canon.usdc, usd("5000"), p.buyLow()...)}
		return p, p.run(append(steps, after(p)...)...)
	}
}

func kept(*plan) []step { return nil }

func toSender(p *plan) []step { return []step{p.send(canon.usdc, p.by.addr)} }

func toColdWallet(p *plan) []step { return []step{p.send(canon.usdc, who("treasury").addr)} }

// circle borrows WETH for the triangle.
func circle(by lender, after func(p *plan) []step) func(w *world) (*plan, common.Hash) {
	return func(w *world) (*plan, common.Hash) {
		p := w.executor("searcher")
		steps := []step{by(p, canon.weth, ether("2"), p.triangle()...)}
		return p, p.run(append(steps, after(p)...)...)
	}
}

// unwrapped gives the sender this much of the profit as coins.
func unwrapped(amount string, to func(p *plan) common.Address) func(p *plan) []step {
	return func(p *plan) []step {
		return []step{
			p.do(canon.weth, "withdraw", ether(amount)),
			{to: to(p), value: ether(amount)},
		}
	}
}

func tipper(p *plan) common.Address {
	return p.w.deploy(p.by, compiled(p.w.tb, "Tipper")).addr
}

func sender(p *plan) common.Address { return p.by.addr }

var flashArbitrages = []flashSpecimen{
	{name: "two pools, Aave v3, profit kept", moves: []string{"searcher", "bot +115.397896 USDC"}, script: arbitrage(byAave, kept)},
	{name: "two pools, Balancer, profit to the sender", moves: []string{"searcher +117.897896 USDC"}, script: arbitrage(byBalancer, toSender)},
	{name: "two pools, Balancer, profit to a cold wallet", moves: []string{"searcher", "treasury +117.897896 USDC"}, script: arbitrage(byBalancer, toColdWallet)},
	{name: "two pools, flash swap of a third pair, profit to the sender", moves: []string{"searcher +102.85276 USDC"}, script: arbitrage(byPair(&flashMarkets.linkUSDC), toSender)},
	{name: "two pools, Uniswap v3, profit to the sender", moves: []string{"searcher +115.397895 USDC"}, script: arbitrage(byPool, toSender)},
	{name: "two pools, Uniswap v4, profit kept", moves: []string{"searcher", "bot +117.897896 USDC"}, script: arbitrage(byV4, kept)},
	{name: "two pools, Uniswap v4, profit to a cold wallet", moves: []string{"searcher", "treasury +117.897896 USDC"}, script: arbitrage(byV4, toColdWallet)},
	{name: "two pools, minted dollars of ERC-3156", moves: []string{"searcher +86.691419124067659154 FUSD"}, script: func(w *world) (*plan, common.Hash) {
		p := w.executor("searcher")
		fusd := flashMarkets.fusd
		return p, p.run(byMint(p, fusd, ether("5000"), slices.Concat(
			p.sell(canon.v2Router, fusd, canon.usdc), p.buyLow(), p.sell(canon.v2Router, canon.usdc, fusd))...),
			p.send(fusd, p.by.addr))
	}},
	{name: "three pools, Aave v3, profit kept", moves: []string{"searcher", "bot +0.023556610066455266 WETH"}, script: circle(byAave, kept)},
	{name: "three pools, Balancer, profit unwrapped for the sender", moves: []string{"searcher +0.01 ETH", "bot +0.014556610066455266 WETH"}, script: circle(byBalancer, unwrapped("0.01", sender))},
	{name: "three pools, Balancer, a share for the block producer", moves: []string{"searcher", "bot +0.009556610066455266 WETH"}, script: circle(byBalancer, unwrapped("0.015", tipper))},
	{name: "three pools, flash swap of a v2 pair", moves: []string{"searcher", "bot +0.018538555903967803 WETH"}, script: circle(byPair(&flashMarkets.wbtcWETH), kept)},
	{name: "two loans, one in the other", moves: []string{"searcher +0.022157858539360718 WETH +117.897896 USDC"}, script: func(w *world) (*plan, common.Hash) {
		p := w.executor("searcher")
		h := &plan{w: w, by: p.by, bot: contract{p.helper(), p.bot.abi}}
		inner := entry(w.tb, []step{byAave(h, canon.weth, ether("1"), h.triangle()...), h.send(canon.weth, p.by.addr)})
		p.lenders = h.lenders
		return p, p.run(byBalancer(p, canon.usdc, usd("5000"), append(p.buyLow(), step{to: h.bot.addr, data: inner})...), p.send(canon.usdc, p.by.addr))
	}},
	{name: "two assets of Balancer in one loan", moves: []string{"searcher", "bot +117.897896 USDC"}, script: func(w *world) (*plan, common.Hash) {
		p := w.executor("searcher")
		p.lend(addrBalancerVault, addrUSDC)
		p.lend(addrBalancerVault, addrWETH)
		// USDC has the lower address, and the vault wants the assets in that order.
		steps := slices.Concat(
			[]step{p.do(canon.weth, "transfer", p.helper(), ether("2"))}, p.buyLow(),
			[]step{{to: p.helper(), data: entry(w.tb, []step{p.do(canon.weth, "transfer", p.bot.addr, ether("2"))})}})
		return p, p.run(p.do(balancerVault, "flashLoan", p.bot.addr, list{addrUSDC, addrWETH}, list{usd("5000"), ether("2")}, packSteps(w.tb, steps)))
	}},
	{name: "a loss, covered by own money", moves: []string{"searcher", "bot -330.456418 USDC"}, script: func(w *world) (*plan, common.Hash) {
		p := w.executor("searcher").fund(canon.usdc, usd("1000"))
		steps := slices.Concat(p.sell(markets.forkRouter, canon.usdc, canon.weth), p.sell(canon.v2Router, canon.weth, canon.usdc))
		return p, p.run(byBalancer(p, canon.usdc, usd("5000"), steps...))
	}},
	{name: "a contract made in the same transaction", moves: []string{"searcher +117.897896 USDC"}, script: func(w *world) (*plan, common.Hash) {
		return oneShot(w, byBalancer)
	}},
	{name: "a contract made in the same transaction, loan of Uniswap v3", moves: []string{"searcher +115.397895 USDC"}, script: func(w *world) (*plan, common.Hash) {
		return oneShot(w, byPool)
	}},
	{name: "a helper contract trades", moves: []string{"searcher +115.397896 USDC"}, script: func(w *world) (*plan, common.Hash) {
		p := w.executor("searcher")
		h := &plan{w: w, by: p.by, bot: contract{p.helper(), p.bot.abi}}
		inner := append(h.buyLow(), h.send(canon.usdc, p.bot.addr))
		return p, p.run(byAave(p, canon.usdc, usd("5000"), p.send(canon.usdc, h.bot.addr), step{to: h.bot.addr, data: entry(w.tb, inner)}),
			p.send(canon.usdc, p.by.addr))
	}},
}

// helper is another executor, which obeys the first.
func (p *plan) helper() common.Address {
	return p.w.once("helper", func() contract {
		c := p.w.deploy(p.by, compiled(p.w.tb, "Executor"), p.bot.addr)
		p.w.name("helper", c.addr)
		return c
	}).addr
}

// oneShot deploys a contract whose constructor makes an executor and runs the plan.
func oneShot(w *world, by lender) (*plan, common.Hash) {
	p := &plan{w: w, by: who("searcher")}
	made := crypto.CreateAddress(p.by.addr, w.nonce(p.by))
	p.bot = contract{addr: crypto.CreateAddress(made, 1)}
	w.name("bot", p.bot.addr)
	steps := packSteps(w.tb, []step{by(p, canon.usdc, usd("5000"), p.buyLow()...), p.send(canon.usdc, p.by.addr)})
	_, hash := w.deployment(p.by, compiled(w.tb, "OneShot"), steps)
	return p, hash
}

// position gives the executor ten WETH pledged in Aave and a debt of USDC that its
// owner has.
func position(w *world, name, debt string) *plan {
	p := w.executor(name).fund(canon.weth, ether("10"))
	p.run(
		p.do(canon.weth, "approve", aavePool, maxUint),
		p.do(market.pool, "supply", addrWETH, ether("10"), p.bot.addr, uint16(0)),
		p.do(market.pool, "borrow", addrUSDC, usd(debt), variable, uint16(0), p.bot.addr),
		p.send(canon.usdc, p.by.addr),
	)
	return p
}

// leverUp borrows WETH, supplies it, and borrows the USDC that buys it back.
func leverUp(by lender) func(w *world) (*plan, common.Hash) {
	return func(w *world) (*plan, common.Hash) {
		p := position(w, "alice", "2000")
		return p, p.run(by(p, canon.weth, ether("2"), slices.Concat([]step{
			p.do(canon.weth, "approve", aavePool, maxUint),
			p.do(market.pool, "supply", addrWETH, ether("2"), p.bot.addr, uint16(0)),
			p.do(market.pool, "borrow", addrUSDC, usd("5200"), variable, uint16(0), p.bot.addr),
		}, p.sell(canon.v2Router, canon.usdc, canon.weth))...))
	}
}

// leverDown borrows USDC, repays the debt, and sells part of the pledge.
func leverDown(by lender, closes bool) func(w *world) (*plan, common.Hash) {
	return func(w *world) (*plan, common.Hash) {
		p := position(w, "alice", "5000")
		out := ether("2.2")
		if closes {
			out = maxUint
		}
		steps := []step{by(p, canon.usdc, usd("5100"), slices.Concat([]step{
			p.do(canon.usdc, "approve", aavePool, maxUint),
			p.do(market.pool, "repay", addrUSDC, maxUint, variable, p.bot.addr),
			p.do(market.pool, "withdraw", addrWETH, out, p.bot.addr),
		}, p.sell(canon.v2Router, canon.weth, canon.usdc))...)}
		if closes {
			steps = append(steps, p.send(canon.usdc, p.by.addr))
		}
		return p, p.run(steps...)
	}
}

// swapPledge replaces the pledged WETH by USDC while a debt of WBTC stays.
func swapPledge(by lender) func(w *world) (*plan, common.Hash) {
	return func(w *world) (*plan, common.Hash) {
		p := w.executor("bob").fund(canon.weth, ether("4"))
		p.run(
			p.do(canon.weth, "approve", aavePool, maxUint),
			p.do(market.pool, "supply", addrWETH, ether("4"), p.bot.addr, uint16(0)),
			p.do(market.pool, "borrow", addrWBTC, units("0.05", 8), variable, uint16(0), p.bot.addr),
		)
		return p, p.run(by(p, canon.usdc, usd("9000"), slices.Concat([]step{
			p.do(canon.usdc, "approve", aavePool, maxUint),
			p.do(market.pool, "supply", addrUSDC, usd("9000"), p.bot.addr, uint16(0)),
			p.do(market.pool, "withdraw", addrWETH, maxUint, p.bot.addr),
		}, p.sell(canon.v2Router, canon.weth, canon.usdc))...))
	}
}

// liquidate repays a borrower's debt with borrowed USDC and sells what it seized.
func liquidate(by lender, after func(p *plan) []step) func(w *world) (*plan, common.Hash) {
	return func(w *world) (*plan, common.Hash) {
		w.pledge("victim", "10")
		p := w.executor("liquidator")
		w.mine(
			w.calling(who("victim"), market.pool, "borrow", addrUSDC, usd("15000"), variable, uint16(0), who("victim").addr),
			w.calling(who("feeder"), market.feeds[addrWETH], "transmit", big.NewInt(1700e8)),
		)
		steps := []step{by(p, canon.usdc, usd("7000"), slices.Concat([]step{
			p.do(canon.usdc, "approve", aavePool, maxUint),
			p.do(market.pool, "liquidationCall", addrWETH, addrUSDC, who("victim").addr, usd("7000"), false),
		}, p.sell(canon.v2Router, canon.weth, canon.usdc))...)}
		return p, p.run(append(steps, after(p)...)...)
	}
}

var flashPositions = []flashSpecimen{
	{name: "leverage up, Aave v3", moves: []string{"alice", "bot +0.062064249703835435 WETH +2 aEthWETH +5200 variableDebtEthUSDC"}, script: leverUp(byAave), misread: premiumShared},
	{name: "leverage up, Balancer", moves: []string{"alice", "bot +0.063064249703835435 WETH +2 aEthWETH +5200 variableDebtEthUSDC"}, script: leverUp(byBalancer)},
	{name: "leverage up, Uniswap v3", moves: []string{"alice", "bot +0.062064249703835434 WETH +2 aEthWETH +5200 variableDebtEthUSDC"}, script: leverUp(byPool)},
	{name: "leverage down, Balancer", moves: []string{"alice", "bot +453.59521 USDC -2.2 aEthWETH -5000 variableDebtEthUSDC"}, script: leverDown(byBalancer, false)},
	{name: "leverage down, flash swap of a v2 pair", moves: []string{"alice", "bot +438.249171 USDC -2.2 aEthWETH -5000 variableDebtEthUSDC"}, script: leverDown(byPair(&flashMarkets.linkUSDC), false)},
	{name: "position closed, Aave v3, the rest to the sender", moves: []string{"alice +19316.302598 USDC", "bot -10 aEthWETH -5000 variableDebtEthUSDC"}, script: leverDown(byAave, true)},
	{name: "position closed, Uniswap v4, the rest to the sender", moves: []string{"alice +19318.852598 USDC", "bot -10 aEthWETH -5000 variableDebtEthUSDC"}, script: leverDown(byV4, true)},
	{name: "collateral swap, Aave v3", moves: []string{"bob", "bot +867.080343 USDC +9000 aEthUSDC -4 aEthWETH"}, script: swapPledge(byAave), misread: premiumShared},
	{name: "collateral swap, Balancer", moves: []string{"bob", "bot +871.580343 USDC +9000 aEthUSDC -4 aEthWETH"}, script: swapPledge(byBalancer)},
	{name: "refinancing from Aave to a market like Compound v2", moves: []string{"alice", "bot +1 USDC +10 ZSH -10 aEthWETH -5000 variableDebtEthUSDC"}, script: func(w *world) (*plan, common.Hash) {
		m := wethCompound(w)
		p := position(w, "alice", "5000")
		return p, p.run(byBalancer(p, canon.usdc, usd("5001"),
			p.do(canon.usdc, "approve", aavePool, maxUint),
			p.do(market.pool, "repay", addrUSDC, maxUint, variable, p.bot.addr),
			p.do(market.pool, "withdraw", addrWETH, maxUint, p.bot.addr),
			p.do(canon.weth, "approve", m.pledges.addr, maxUint),
			p.do(m.pledges, "mint", 0).all(canon.weth, 0),
			p.do(m.loans, "borrow", usd("5001")),
		))
	}},
	{name: "refinancing from a market like Compound v2 to Aave", moves: []string{"alice", "bot +10 aEthWETH +5002.5 variableDebtEthUSDC -10 ZSH"}, script: func(w *world) (*plan, common.Hash) {
		m := wethCompound(w)
		p := w.executor("alice").fund(canon.weth, ether("10"))
		p.run(
			p.do(canon.weth, "approve", m.pledges.addr, maxUint), p.do(m.pledges, "mint", ether("10")),
			p.do(m.loans, "borrow", usd("5000")), p.send(canon.usdc, p.by.addr),
		)
		p.owes = true
		return p, p.run(byAave(p, canon.usdc, usd("5000"),
			p.do(canon.usdc, "approve", m.loans.addr, maxUint),
			p.do(m.loans, "repayBorrow", usd("5000")),
			p.do(m.pledges, "redeem", ether("10")),
			p.do(canon.weth, "approve", aavePool, maxUint),
			p.do(market.pool, "supply", addrWETH, ether("10"), p.bot.addr, uint16(0)),
			p.do(market.pool, "borrow", addrUSDC, usd("5002.5"), variable, uint16(0), p.bot.addr),
		))
	}},
	{name: "liquidation, Balancer, profit to the sender", moves: []string{"liquidator +3661.504453 USDC", "victim -4.323529411764705882 aEthWETH -6999.999998 variableDebtEthUSDC"}, script: liquidate(byBalancer, toSender)},
	{name: "liquidation, Aave v3, profit kept", moves: []string{"liquidator", "bot +3658.004453 USDC", "victim -4.323529411764705882 aEthWETH -6999.999998 variableDebtEthUSDC"}, script: liquidate(byAave, kept)},
	{name: "liquidation, flash swap of a v2 pair, profit to a cold wallet", moves: []string{"liquidator", "treasury +3640.441263 USDC", "victim -4.323529411764705882 aEthWETH -6999.999998 variableDebtEthUSDC"}, script: liquidate(byPair(&flashMarkets.linkUSDC), toColdWallet)},
	{name: "NFT bought with a loan and sold into a bid", moves: []string{"searcher +0.3 WETH", "alice +2 WETH -1 ZPIC#7"}, script: flipPicture},
	{name: "NFT bought with a loan that own USDC repays", moves: []string{"bob +1 ZPIC#7", "bot +0.062064249703835435 WETH -5200 USDC", "alice +2 WETH -1 ZPIC#7"}, script: buyPicture},
	{name: "claim with a loan, Aave v3", moves: []string{"bob +3132.221778 USDC", "grants -200 LINK"}, script: claimWithLoan(byAave)},
	{name: "claim with a loan, Balancer", moves: []string{"bob +3133.221778 USDC", "grants -200 LINK"}, script: claimWithLoan(byBalancer)},
	{name: "vault compounding: rewards claimed and levered", moves: []string{"keeper", "bot +0.017768919703172717 WETH +1.215272743070571106 aEthWETH +1300 variableDebtEthUSDC"}, script: compoundRewards},
	{name: "move from one vault to another before the first pays", moves: []string{"carol +3 vSHARE", "bot -3 vSHARE"}, script: moveVault},
}

// wethCompound is a market like Compound v2 that lends USDC on WETH.
func wethCompound(w *world) compound {
	by := who("deployer")
	m := compound{collateral: canon.weth}
	m.pledges = w.deploy(by, compiled(w.tb, "CMarket"), addrWETH)
	m.loans = w.deploy(by, compiled(w.tb, "CMarket"), addrUSDC)
	w.call(by, m.loans, "setUp", m.pledges.addr, usd("2000"))
	w.call(by, m.pledges, "befriend", m.loans.addr)
	w.call(by, canon.usdc, "mint", m.loans.addr, usd("100000"))
	return m
}

// pictureOrder is an offer of Alice's picture for two WETH.
func pictureOrder(w *world) tuple {
	alice, nft := who("alice"), w.pictures()
	w.mine(w.calling(alice, nft, "mint", alice.addr, 7), w.calling(alice, nft, "setApprovalForAll", addrSeaport, true))
	const erc20, erc721 = uint8(1), uint8(2)
	return w.seaportOrder(alice, list{tuple{erc721, nft.addr, 7, 1, 1}}, list{tuple{erc20, addrWETH, 0, ether("2"), ether("2"), alice.addr}})
}

func flipPicture(w *world) (*plan, common.Hash) {
	bob, nft := who("bob"), w.pictures()
	sale := pictureOrder(w)
	w.call(bob, canon.weth, "approve", addrSeaport, ether("2.3"))
	const erc20, erc721 = uint8(1), uint8(2)
	bid := w.seaportOrder(bob, list{tuple{erc20, addrWETH, 0, ether("2.3"), ether("2.3")}}, list{tuple{erc721, nft.addr, 7, 1, 1, bob.addr}})
	p := w.executor("searcher")
	return p, p.run(byBalancer(p, canon.weth, ether("2"),
		p.do(canon.weth, "approve", addrSeaport, maxUint),
		p.do(canon.seaport, "fulfillOrder", sale, [32]byte{}),
		p.do(nft, "setApprovalForAll", addrSeaport, true),
		p.do(canon.seaport, "fulfillOrder", bid, [32]byte{}),
	), p.send(canon.weth, p.by.addr))
}

func buyPicture(w *world) (*plan, common.Hash) {
	sale := pictureOrder(w)
	p := w.executor("bob").fund(canon.usdc, usd("5200"))
	return p, p.run(byAave(p, canon.weth, ether("2"), slices.Concat([]step{
		p.do(canon.weth, "approve", addrSeaport, maxUint),
		p.do(canon.seaport, "fulfillOrder", sale, [32]byte{}),
		p.do(w.pictures(), "transferFrom", p.bot.addr, p.by.addr, 7),
	}, p.sell(canon.v2Router, canon.usdc, canon.weth))...))
}

// claimWithLoan pays the price of granted LINK with a loan and sells enough of it.
func claimWithLoan(by lender) func(w *world) (*plan, common.Hash) {
	return func(w *world) (*plan, common.Hash) {
		p := w.executor("bob")
		grants := w.deploy(who("deployer"), compiled(w.tb, "OptionGrants"), addrLINK, addrUSDC, usd("10"))
		w.name("grants", grants.addr)
		w.mine(
			w.calling(who("deployer"), canon.link, "transfer", grants.addr, ether("1000")),
			w.calling(who("deployer"), grants, "grant", p.bot.addr, ether("200")),
		)
		return p, p.run(by(p, canon.usdc, usd("2000"), slices.Concat([]step{
			p.do(canon.usdc, "approve", grants.addr, maxUint),
			p.do(grants, "claim", ether("200")),
		}, p.sell(canon.v2Router, canon.link, canon.usdc))...), p.send(canon.usdc, p.by.addr))
	}
}

// compoundRewards claims the rewards of a farm, sells them, and doubles what it adds
// to the position with a loan.
func compoundRewards(w *world) (*plan, common.Hash) {
	p := position(w, "keeper", "1000")
	farm := w.deploy(who("deployer"), compiled(w.tb, "Farm"), addrWETH, addrLINK, units("1", 18))
	w.name("farm", farm.addr)
	w.call(who("deployer"), canon.link, "transfer", farm.addr, ether("100000"))
	p.fund(canon.weth, ether("1"))
	p.run(p.do(canon.weth, "approve", farm.addr, maxUint), p.do(farm, "stake", ether("1")))
	w.skip(5)
	return p, p.run(append(slices.Concat([]step{p.do(farm, "getReward")}, p.sell(canon.v2Router, canon.link, canon.weth)),
		byBalancer(p, canon.weth, ether("0.5"), slices.Concat([]step{
			p.do(canon.weth, "approve", aavePool, maxUint),
			p.do(market.pool, "supply", addrWETH, 0, p.bot.addr, uint16(0)).all(canon.weth, 1),
			p.do(market.pool, "borrow", addrUSDC, usd("1300"), variable, uint16(0), p.bot.addr),
		}, p.sell(canon.v2Router, canon.usdc, canon.weth))...))...)
}

// moveVault deposits borrowed WETH in one vault and repays with what another gives.
func moveVault(w *world) (*plan, common.Hash) {
	by := who("deployer")
	p := w.executor("carol").fund(canon.weth, ether("3"))
	from, to := w.deploy(by, compiled(w.tb, "ShareVault"), addrWETH), w.deploy(by, compiled(w.tb, "ShareVault"), addrWETH)
	w.name("old vault", from.addr)
	w.name("new vault", to.addr)
	p.run(p.do(canon.weth, "approve", from.addr, maxUint), p.do(from, "deposit", ether("3"), p.bot.addr))
	return p, p.run(byBalancer(p, canon.weth, ether("3"),
		p.do(canon.weth, "approve", to.addr, maxUint),
		p.do(to, "deposit", ether("3"), p.by.addr),
		p.do(from, "withdraw", ether("3"), p.bot.addr, p.bot.addr),
	))
}
