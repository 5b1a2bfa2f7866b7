package main

import "strings"

// group says what calling a set of functions attempts.
type group struct {
	act, slug string
	names     []string // function names; a name with "(" is a whole signature
}

// groups order the harvested selectors; the first that names a signature wins.
// Errors and callbacks attempt nothing and are in no group.
var groups = []group{
	{"approval", "permit2", []string{"approve(address,address,uint160,uint48)", "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)", "permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)"}},
	{"transfer", "permit2", []string{"transferFrom(address,address,uint160,address)", "permitTransferFrom", "permitWitnessTransferFrom"}},
	{"transfer", "", []string{"transfer", "transferFrom", "transferWithAuthorization", "receiveWithAuthorization"}},
	{"approval", "", []string{"approve", "increaseAllowance", "decreaseAllowance", "setApprovalForAll", "permit"}},
	{"swap", "uniswap", []string{"execute(bytes,bytes[])", "execute(bytes,bytes[],uint256)"}},
	{"liquidity", "uniswap_v4", []string{"modifyLiquidities"}},
	{"safe_exec", "safe", []string{"execTransaction", "execTransactionFromModule"}},
	{"userops", "", []string{"handleOps", "handleAggregatedOps"}},
	{"execute_proposal", "", []string{"execute(uint256)", "execute(address[],uint256[],bytes[],bytes32)", "execute(address,uint256,bytes,bytes32,bytes32)"}},
	{"wallet_exec", "", []string{"execute", "executeBatch", "executeUserOp"}},
	{"multicall", "", []string{"multicall", "aggregate", "tryAggregate", "aggregate3", "aggregate3Value", "multiSend"}},
	{"flash_loan", "", []string{"flashLoan", "flashLoanSimple"}},
	{"liquidation", "aave", []string{"liquidationCall"}},
	{"liquidation", "compound_v2", []string{"liquidateBorrow"}},
	{"liquidation", "compound_v3", []string{"absorb", "buyCollateral"}},
	{"liquidation", "morpho_blue", []string{"liquidate"}},
	{"propose", "", []string{"propose"}},
	{"vote", "", []string{"castVote", "castVoteWithReason", "castVoteBySig"}},
	{"queue_proposal", "", []string{"queue", "schedule", "scheduleBatch"}},
	{"delegate_votes", "", []string{"delegate"}},
	{"admin", "", []string{"upgradeTo", "upgradeToAndCall", "upgrade", "upgradeAndCall", "diamondCut", "transferOwnership", "grantRole"}},
	{"stake", "lido", []string{"submit"}},
	{"unstake", "lido", []string{"requestWithdrawals"}},
	{"claim_stake", "lido", []string{"claimWithdrawals"}},
	{"stake", "beacon_deposit", []string{"deposit(bytes,bytes,bytes,bytes32)"}},
	{"stake", "eigenlayer", []string{"depositIntoStrategy"}},
	{"restake_delegate", "eigenlayer", []string{"delegateTo"}},
	{"wrap", "", []string{"deposit()"}},
	{"unwrap", "", []string{"withdraw(uint256)"}},
	{"vault_deposit", "", []string{"deposit(uint256,address)", "mint(uint256,address)"}},
	{"vault_withdraw", "", []string{"withdraw(uint256,address,address)", "redeem(uint256,address,address)"}},
	{"bridge_out", "across", []string{"depositV3"}},
	{"message_out", "op_stack_bridge", []string{"depositTransaction"}},
	{"bridge_out", "op_stack_bridge", []string{"depositETHTo", "bridgeETHTo", "depositERC20To"}},
	{"bridge_prove", "op_stack_bridge", []string{"proveWithdrawalTransaction"}},
	{"bridge_in", "op_stack_bridge", []string{"finalizeWithdrawalTransaction"}},
	{"message_out", "arbitrum_bridge", []string{"createRetryableTicket"}},
	{"bridge_out", "cctp", []string{"depositForBurn"}},
	{"bridge_in", "cctp", []string{"receiveMessage"}},
	{"bridge_out", "wormhole", []string{"transferTokens"}},
	{"bridge_in", "wormhole", []string{"completeTransfer"}},
	{"bridge_out", "layerzero", []string{"send"}},
	{"bridge_out", "hop", []string{"sendToL2"}},
	{"swap", "cow", []string{"settle"}},
	{"system", "", []string{"setL1BlockValues", "setL1BlockValuesEcotone", "setL1BlockValuesIsthmus", "startBlock"}},
	{"bridge_in", "arbitrum_bridge", []string{"submitRetryable"}},
}

// rowOfCall makes the row of a harvested selector. Callbacks of flash loans and swaps
// are called by pools and attempt nothing; errors are only ever returned.
func rowOfCall(signature string) row {
	name, _, _ := strings.Cut(signature, "(")
	r := row{kind: "call", act: "note", signature: signature}
	for _, g := range groups {
		for _, n := range g.names {
			if n == signature || n == name {
				r.act, r.slug = g.act, g.slug
				return r
			}
		}
	}
	if slug, ok := callbacks[name]; ok {
		r.kind, r.act, r.slug = "callback", slug.act, slug.slug
	} else if c := name[0]; c >= 'A' && c <= 'Z' {
		r.kind = "error"
	}
	return r
}

// callbacks are the functions by which a pool or lender hands control to its borrower.
var callbacks = map[string]group{
	"unlockCallback":         {act: "note", slug: "uniswap_v4"},
	"uniswapV3SwapCallback":  {act: "note", slug: "uniswap_v3"},
	"uniswapV2Call":          {act: "flash_loan", slug: "uniswap_v2"},
	"pancakeCall":            {act: "flash_loan", slug: "pancakeswap_v2"},
	"uniswapV3FlashCallback": {act: "flash_loan", slug: "uniswap_v3"},
	"executeOperation":       {act: "flash_loan", slug: "aave"},
	"receiveFlashLoan":       {act: "flash_loan", slug: "balancer_v2"},
	"onMorphoFlashLoan":      {act: "flash_loan", slug: "morpho_blue"},
	"onFlashLoan":            {act: "flash_loan"},
	"DVMFlashLoanCall":       {act: "flash_loan", slug: "dodo"},
	"DPPFlashLoanCall":       {act: "flash_loan", slug: "dodo"},
}
