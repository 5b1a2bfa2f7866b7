package evmsig

// Sets of functions that rules treat alike. What a single function means stands in
// functions.go and interfaces.go.

// setOf makes a set of functions of their signatures.
func setOf(signatures ...string) map[Selector]bool {
	out := make(map[Selector]bool, len(signatures))
	for _, s := range signatures {
		out[Func(s)] = true
	}
	return out
}

// TokenFunctions are functions of tokens that move or approve, and those of the wrapped coin.
var TokenFunctions = setOf("transfer(address,uint256)", "transferFrom(address,address,uint256)", "approve(address,uint256)",
	"increaseAllowance(address,uint256)", "decreaseAllowance(address,uint256)", "setApprovalForAll(address,bool)",
	"safeTransferFrom(address,address,uint256)", "safeTransferFrom(address,address,uint256,bytes)",
	"safeTransferFrom(address,address,uint256,uint256,bytes)", "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)",
	"deposit()", "withdraw(uint256)")

// TakingFunctions are functions of tokens that move tokens of the owner in their first argument.
var TakingFunctions = setOf("transferFrom(address,address,uint256)", "safeTransferFrom(address,address,uint256)",
	"safeTransferFrom(address,address,uint256,bytes)", "safeTransferFrom(address,address,uint256,uint256,bytes)",
	"safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)")

// LeavePool are functions by which a provider of liquidity takes both assets of a pool.
var LeavePool = setOf(
	"burn(address)",
	"burn()",
	"burn(uint256)",
	"burn(address,address,uint256)",
	"burn(int24,int24,uint128)",
	"burn(uint256,bytes)",
	"burn(address,address,uint256,uint256,uint256)",
	"collect(address,int24,int24,uint128,uint128)",
	"collect((uint256,address,uint128,uint128))",
	"remove_liquidity(uint256,uint256[2])",
	"remove_liquidity(uint256,uint256[3])",
	"remove_liquidity(uint256,uint256[4])",
	"remove_liquidity_imbalance(uint256[2],uint256)",
	"remove_liquidity_imbalance(uint256[3],uint256)",
	"removeLiquidity(uint256,uint256,uint256)",
	"removeLiquidity(uint256,uint256[],uint256)",
	"exitPool(uint256,uint256[])",
	"exitswapPoolAmountIn(address,uint256,uint256)",
	"withdraw(uint256,uint256[])",
	"removeLiquidity(uint256,uint256,uint256,uint256)",
	"withdrawAll()",
	"redeem(uint256)",
)

// TokenHooks are functions that tokens call on who sends or gets them.
var TokenHooks = setOf(
	"tokensReceived(address,address,address,uint256,bytes,bytes)",
	"tokensToSend(address,address,address,uint256,bytes,bytes)",
	"onERC721Received(address,address,uint256,bytes)",
	"onERC1155Received(address,address,uint256,uint256,bytes)",
	"onERC1155BatchReceived(address,address,uint256[],uint256[],bytes)",
	"tokenFallback(address,uint256,bytes)",
	"onTokenTransfer(address,uint256,bytes)",
)

// AssetFunctions are functions of tokens and pools that a contract calls on what it takes for one.
var AssetFunctions = setOf(
	"transfer(address,uint256)",
	"transferFrom(address,address,uint256)",
	"approve(address,uint256)",
	"balanceOf(address)",
	"allowance(address,address)",
	"totalSupply()",
	"decimals()",
	"symbol()",
	"name()",
	"token0()",
	"token1()",
	"getReserves()",
	"swap(uint256,uint256,address,bytes)",
	"sync()",
	"skim(address)",
	"mint(address)",
	"burn(address)",
	"deposit()",
	"deposit(uint256)",
	"withdraw(uint256)",
	"deposit(uint256,address)",
	"asset()",
	"underlying()",
	"burn(uint256)",
	"mint(uint256)",
	"burn(address,uint256)",
	"mint(address,uint256)",
	"factory()",
	"fee()",
	"liquidity()",
	"slot0()",
	"getAmountsOut(uint256,address[])",
	"owner()",
	"exchange(int128,int128,uint256,uint256)",
	"balanceOfUnderlying(address)",
	"claimRewards(address)",
	"getRewardTokens()",
	"rewardTokens()",
	"redeemRewards(address)",
)

// CountingViews are views that tell balances and counts, not prices.
var CountingViews = setOf(
	"balanceOf(address)",
	"totalSupply()",
	"allowance(address,address)",
	"getReserves()",
	"nonces(address)",
	"decimals()",
	"balanceOf(address,uint256)",
	"totalAssets()",
	"getCash()",
	"liquidity()",
	"totalBorrows()",
	"borrowIndex()",
	"totalBorrowsCurrent()",
	"borrowBalanceCurrent(address)",
	"borrowBalanceStored(address)",
	"balance()",
	"available()",
	"balanceOfUnderlying(address)",
	"totalDebt()",
	"token()",
	"maxWithdraw(address)",
	"maxRedeem(address)",
	"earned(address)",
	"getBalance(address)",
	"kLast()",
	"balances(uint256)",
	"balanceOfPool()",
	"getEthBalance(address)",
	"availableToLend()",
)

// Runners are functions that are published and yet only name what a contract of one's own
// is told to do.
var Runners = setOf("start()", "run()", "attack()", "execute()", "test()")

// UnpaidTokenFunctions are functions of tokens that take no coin.
var UnpaidTokenFunctions = setOf("transfer(address,uint256)", "transferFrom(address,address,uint256)", "approve(address,uint256)")

// Callbacks are functions that lenders and pools call on whoever called them.
var Callbacks = setOf(
	"onFlashLoan(address,address,uint256,uint256,bytes)",
	"onERC3156FlashLoan(address,address,uint256,uint256,uint256,bytes)",
	"executeOperation(address[],uint256[],uint256[],address,bytes)",
	"executeOperation(address,uint256,uint256,address,bytes)",
	"executeOperation(address,uint256,uint256,bytes)",
	"receiveFlashLoan(address[],uint256[],uint256[],bytes)",
	"onMorphoFlashLoan(uint256,bytes)",
	"uniswapV2Call(address,uint256,uint256,bytes)",
	"pancakeCall(address,uint256,uint256,bytes)",
	"BiswapCall(address,uint256,uint256,bytes)",
	"waultSwapCall(address,uint256,uint256,bytes)",
	"apeCall(address,uint256,uint256,bytes)",
	"uniswapV3FlashCallback(uint256,uint256,bytes)",
	"pancakeV3FlashCallback(uint256,uint256,bytes)",
	"uniswapV3SwapCallback(int256,int256,bytes)",
	"pancakeV3SwapCallback(int256,int256,bytes)",
	"algebraSwapCallback(int256,int256,bytes)",
	"unlockCallback(bytes)",
	"lockAcquired(bytes)",
	"DVMFlashLoanCall(address,uint256,uint256,bytes)",
	"DPPFlashLoanCall(address,uint256,uint256,bytes)",
	"DSPFlashLoanCall(address,uint256,uint256,bytes)",
	"callFunction(address,(address,uint256),bytes)",
	"hook(address,uint256,uint256,bytes)",
	"swapCallback(int256,int256,bytes)",
	"swapCallback(uint256,uint256,bytes)",
	"swapY2XCallback(uint256,uint256,bytes)",
	"swapX2YCallback(uint256,uint256,bytes)",
)
