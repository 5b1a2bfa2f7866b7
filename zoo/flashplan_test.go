package zoo

import (
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
)

var (
	addrBalancerVault = common.HexToAddress("0xBA12222222228d8Ba445958a75a0704d566BF2C8")
	addrWBTC          = common.HexToAddress("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599")
	balancerVault     contract
)

// placeBalancer constructs the vault of Balancer v2 from its published creation code.
func placeBalancer(g *genesis) {
	const folder = "node_modules/@balancer-labs/v2-deployments/dist/tasks/20210418-vault/"
	read := func(path string) []byte {
		text, err := os.ReadFile(filepath.FromSlash(folder + path))
		if err != nil {
			g.tb.Fatalf("read Balancer: %v", err)
		}
		return text
	}
	var code struct{ CreationCode string }
	if err := json.Unmarshal(read("bytecode/Vault.json"), &code); err != nil {
		g.tb.Fatalf("read Balancer: %v", err)
	}
	a, err := newArtefact(read("abi/Vault.json"), code.CreationCode)
	if err != nil {
		g.tb.Fatalf("read Balancer: %v", err)
	}
	by := who("deployer").addr
	balancerVault = g.construct(addrBalancerVault, by, a, by, addrWETH, 0, 0)
}

// flashMarkets are the markets that only flash loan specimens use.
var flashMarkets struct {
	linkUSDC contract // v2 pair; LINK is four percent dearer than elsewhere
	wbtcWETH contract // v2 pair
	fusd     contract // mints loans by ERC-3156
	fusdUSDC contract // v2 pair at par
}

func openFlashMarkets(w *world) {
	by := who("deployer")
	wbtc := contract{addrWBTC, compiled(w.tb, "ZooToken").abi}
	flashMarkets.fusd = w.deploy(by, compiled(w.tb, "FlashMinted"), 1)
	w.mine(
		w.calling(by, wbtc, "mint", by.addr, units("100", 8)),
		w.calling(by, flashMarkets.fusd, "mint", by.addr, ether("2000000")),
		w.calling(by, canon.usdc, "mint", addrBalancerVault, usd("2000000")),
		w.calling(by, canon.weth, "transfer", addrBalancerVault, ether("500")),
	)
	flashMarkets.linkUSDC = w.openPair(canon.v2Factory, canon.link, ether("20000"), canon.usdc, usd("520000"))
	flashMarkets.wbtcWETH = w.openPair(canon.v2Factory, wbtc, units("20", 8), canon.weth, ether("600"))
	flashMarkets.fusdUSDC = w.openPair(canon.v2Factory, flashMarkets.fusd, ether("1000000"), canon.usdc, usd("1000000"))
	w.liquidity("1000000")
	w.hold("treasury", canon.weth, ether("500"), aavePool)
	w.call(who("treasury"), market.pool, "supply", addrWETH, ether("500"), who("treasury").addr, uint16(0))
	w.call(by, wbtc, "mint", who("treasury").addr, units("20", 8))
	w.call(who("treasury"), wbtc, "approve", aavePool, maxUint)
	w.call(who("treasury"), market.pool, "supply", addrWBTC, units("20", 8), who("treasury").addr, uint16(0))
}

// step is one call of a plan. Where token is set, the word at this place of the data
// becomes the executor's balance of it.
type step struct {
	to    common.Address
	value *big.Int
	data  []byte
	token common.Address
	at    int
}

// plan is an executor and what a script has it do.
type plan struct {
	w       *world
	by      account
	bot     contract
	lenders []loan
	owes    bool // the plan leaves a debt at its lender
}

// loan is what a lender lends in a plan.
type loan struct {
	lender, token, to common.Address
}

// executor deploys the contract that performs the plans of an account.
func (w *world) executor(name string) *plan {
	w.tb.Helper()
	p := &plan{w: w, by: who(name)}
	p.bot = w.deploy(p.by, compiled(w.tb, "Executor"), p.by.addr)
	w.name("bot", p.bot.addr)
	return p
}

func (p *plan) do(c contract, method string, args ...any) step {
	p.w.tb.Helper()
	return step{to: c.addr, data: c.pack(p.w.tb, method, args...)}
}

// all makes an argument, by its number, the balance of a token.
func (s step) all(token contract, argument int) step {
	s.token, s.at = token.addr, 4+32*argument
	return s
}

func packSteps(tb testing.TB, steps []step) []byte {
	tb.Helper()
	var l list
	for _, s := range steps {
		value := s.value
		if value == nil {
			value = new(big.Int)
		}
		l = append(l, tuple{s.to, value, s.data, s.token, s.at})
	}
	return encode(tb, "((address,uint256,bytes,address,uint256)[])", l)
}

// entry is calldata for an executor: a selector that no table knows, and the steps.
func entry(tb testing.TB, steps []step) []byte {
	tb.Helper()
	return append([]byte{0, 0, 0, 1}, packSteps(tb, steps)...)
}

// run mines the transaction that performs the steps.
func (p *plan) run(steps ...step) common.Hash {
	p.w.tb.Helper()
	return p.w.mine(tx{from: p.by, to: &p.bot.addr, data: entry(p.w.tb, steps)})[0]
}

// fund gives the executor tokens before its transaction.
func (p *plan) fund(token contract, amount *big.Int) *plan {
	p.w.tb.Helper()
	if token.addr == addrWETH {
		p.w.pay(p.by, amount, token, "deposit")
		p.w.call(p.by, token, "transfer", p.bot.addr, amount)
		return p
	}
	p.w.call(who("deployer"), token, "transfer", p.bot.addr, amount)
	return p
}

// sell trades all that the executor holds of the first token along a path of v2 pairs.
func (p *plan) sell(router contract, path ...contract) []step {
	p.w.tb.Helper()
	var addrs list
	for _, c := range path {
		addrs = append(addrs, c.addr)
	}
	return []step{
		p.do(path[0], "approve", router.addr, maxUint),
		p.do(router, "swapExactTokensForTokens", 0, 1, addrs, p.bot.addr, p.w.deadline()).all(path[0], 0),
	}
}

// sell3 is sell in one v3 pool.
func (p *plan) sell3(fee int, from, to contract) []step {
	p.w.tb.Helper()
	return []step{
		p.do(from, "approve", addrV3Router, maxUint),
		p.do(canon.v3Router, "exactInputSingle", tuple{from.addr, to.addr, fee, p.bot.addr, p.w.deadline(), 0, 1, 0}).all(from, 5),
	}
}

// send sends all that the executor holds of a token.
func (p *plan) send(token contract, to common.Address) step {
	p.w.tb.Helper()
	return p.do(token, "transfer", to, 0).all(token, 1)
}

func (p *plan) lend(lender, token common.Address) {
	p.lenders = append(p.lenders, loan{lender, token, p.bot.addr})
}

// lender makes the step that borrows, performs the steps and repays.
type lender func(p *plan, token contract, amount *big.Int, steps ...step) step

// byAave borrows from Aave v3, for a premium of 0.05 %.
func byAave(p *plan, token contract, amount *big.Int, steps ...step) step {
	p.lend(aTokenOf(p.w, token), token.addr)
	return p.do(market.pool, "flashLoanSimple", p.bot.addr, token.addr, amount, packSteps(p.w.tb, steps), uint16(0))
}

// aTokenOf is the contract that holds a reserve of Aave.
func aTokenOf(w *world, token contract) common.Address {
	data := market.pool.pack(w.tb, "getReserveData", token.addr)
	out, err := w.node.client.CallContract(w.tb.Context(), callTo(aavePool, data), nil)
	if err != nil {
		w.tb.Fatalf("read reserve: %v", err)
	}
	return common.BytesToAddress(out[8*32 : 9*32])
}

// byBalancer borrows from the vault of Balancer, which asks no fee.
func byBalancer(p *plan, token contract, amount *big.Int, steps ...step) step {
	p.lend(addrBalancerVault, token.addr)
	return p.do(balancerVault, "flashLoan", p.bot.addr, list{token.addr}, list{amount}, packSteps(p.w.tb, steps))
}

// byPair borrows by the flash swap of a v2 pair and repays the same token.
func byPair(pair *contract) lender {
	return func(p *plan, token contract, amount *big.Int, steps ...step) step {
		p.lend(pair.addr, token.addr)
		owed := new(big.Int).Mul(amount, big.NewInt(1000))
		owed.Div(owed, big.NewInt(997)).Add(owed, big.NewInt(1))
		steps = append(slices.Clone(steps), p.do(token, "transfer", pair.addr, owed))
		of0, of1 := amount, new(big.Int)
		if one[common.Address](p.w, *pair, "token0") != token.addr {
			of0, of1 = of1, of0
		}
		return p.do(*pair, "swap", of0, of1, p.bot.addr, packSteps(p.w.tb, steps))
	}
}

// byPool borrows by the flash of the v3 pool of WETH and USDC, for 0.05 %.
func byPool(p *plan, token contract, amount *big.Int, steps ...step) step {
	p.lend(markets.pool.addr, token.addr)
	fee := new(big.Int).Div(amount, big.NewInt(2000))
	owed := new(big.Int).Add(amount, fee.Add(fee, big.NewInt(1)))
	steps = append(slices.Clone(steps), p.do(token, "transfer", markets.pool.addr, owed))
	of0, of1 := amount, new(big.Int)
	if token.addr == addrWETH {
		of0, of1 = of1, of0
	}
	return p.do(markets.pool, "flash", p.bot.addr, of0, of1, packSteps(p.w.tb, steps))
}

// byV4 takes from the pool manager of Uniswap v4 and settles, without a fee.
func byV4(p *plan, token contract, amount *big.Int, steps ...step) step {
	p.lend(addrV4PoolManager, token.addr)
	inner := slices.Concat(
		[]step{p.do(canon.v4PoolManager, "take", token.addr, p.bot.addr, amount)}, steps,
		[]step{
			p.do(canon.v4PoolManager, "sync", token.addr),
			p.do(token, "transfer", addrV4PoolManager, amount),
			p.do(canon.v4PoolManager, "settle"),
		})
	return p.do(canon.v4PoolManager, "unlock", packSteps(p.w.tb, inner))
}

// byMint borrows newly minted dollars by ERC-3156.
func byMint(p *plan, token contract, amount *big.Int, steps ...step) step {
	p.lend(common.Address{}, token.addr)
	return p.do(token, "flashLoan", p.bot.addr, token.addr, amount, packSteps(p.w.tb, steps))
}

func callTo(to common.Address, data []byte) ethereum.CallMsg {
	return ethereum.CallMsg{To: &to, Data: data}
}
