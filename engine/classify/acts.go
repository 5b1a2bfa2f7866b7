package classify

import (
	"txlens/engine/api"
	"txlens/engine/verdict"
)

// act is what one event or one call does, as package protocol names it.
type act string

// flagActs are the acts that raise a flag, as package protocol names them.
var flagActs = func() map[act]verdict.Flag {
	m := map[act]verdict.Flag{}
	for _, f := range verdict.Flags() {
		m[act("flag:"+f.String())] = f
	}
	return m
}()

// flag is the risk flag that an act raises; NoFlag for the others.
func (x act) flag() verdict.Flag { return flagActs[x] }

// actInitialized: a contract was initialised. It is a risk under more conditions.
const actInitialized act = "flag:initialized"

// Acts that rules speak of by name. The table may name others; those are kept as
// votes of txType other with the act as sub-type.
const (
	actSwap       act = "swap"
	actNFTSale    act = "nft_sale"
	actTransfer   act = "transfer"
	actApproval   act = "approval"
	actWrap       act = "wrap"
	actUnwrap     act = "unwrap"
	actAddLiq     act = "add_liquidity"
	actRemoveLiq  act = "remove_liquidity"
	actLiquidity  act = "liquidity"
	actCollect    act = "collect_fees"
	actSupply     act = "supply"
	actWithdraw   act = "withdraw"
	actBorrow     act = "borrow"
	actRepay      act = "repay"
	actFlashLoan  act = "flash_loan"
	actLiquidate  act = "liquidation"
	actStake      act = "stake"
	actUnstake    act = "unstake"
	actClaimStake act = "claim_stake"
	actClaim      act = "claim"
	actVaultIn    act = "vault_deposit"
	actVaultOut   act = "vault_withdraw"
	actBridgeOut  act = "bridge_out"
	actBridgeIn   act = "bridge_in"
	actBridgeProv act = "bridge_prove"
	actMessageOut act = "message_out"
	actMessageIn  act = "message_in"
	actVote       act = "vote"
	actDelegate   act = "delegate_votes"
	actDeploy     act = "deploy"
	actDeployAcct act = "deploy_account"
	actCreatePool act = "create_pool"
	actOracle     act = "oracle_report"
	actBatchPost  act = "batch_post"
	actKeeper     act = "keeper"
	actSystem     act = "system"
	actName       act = "name"
	actAdmin      act = "admin"
	actMulticall  act = "multicall"
	actWalletExec act = "wallet_exec"
	actSafeExec   act = "safe_exec"
	actUserOps    act = "userops"
	actMintNFT    act = "mint_nft"
	actMint       act = "mint"
	actBurn       act = "burn"
	actNote       act = "note_sent"
	actAuthorize  act = "set_code"
)

// kind is how an act shows in a result.
type kind struct {
	txType api.TxType
	sub    string // sub-type; empty when the type says it all
	verb   string // past tense, for summaries: "Supplied"
	try    string // infinitive, for failed attempts: "supply"
}

// kinds tells the type of every act that can decide a transaction.
var kinds = map[act]kind{
	actSwap:            {api.TypeSwap, "", "Swapped", "swap"},
	actNFTSale:         {api.TypeSwap, "nft_sale", "Traded", "trade an NFT"},
	actTransfer:        {api.TypeTransfer, "", "Sent", "transfer"},
	actApproval:        {api.TypeApproval, "", "Approved", "approve"},
	actWrap:            {api.TypeOther, "wrap", "Wrapped", "wrap"},
	actUnwrap:          {api.TypeOther, "unwrap", "Unwrapped", "unwrap"},
	actAddLiq:          {api.TypeOther, "add_liquidity", "Added liquidity", "add liquidity"},
	actRemoveLiq:       {api.TypeOther, "remove_liquidity", "Removed liquidity", "remove liquidity"},
	actLiquidity:       {api.TypeOther, "add_liquidity", "Changed liquidity", "change liquidity"},
	actCollect:         {api.TypeOther, "collect_liquidity", "Collected what a liquidity position was owed", "collect what a liquidity position is owed"},
	actSupply:          {api.TypeOther, "supply", "Supplied", "supply"},
	actWithdraw:        {api.TypeOther, "withdraw", "Withdrew", "withdraw"},
	actBorrow:          {api.TypeOther, "borrow", "Borrowed", "borrow"},
	actRepay:           {api.TypeOther, "repay", "Repaid", "repay"},
	actFlashLoan:       {api.TypeOther, "flash_loan", "Took a flash loan", "take a flash loan"},
	actLiquidate:       {api.TypeLiquidation, "", "Liquidated a position", "liquidate a position"},
	actStake:           {api.TypeStake, "stake", "Staked", "stake"},
	actUnstake:         {api.TypeStake, "unstake", "Unstaked", "unstake"},
	actClaimStake:      {api.TypeStake, "claim", "Claimed staking rewards", "claim staking rewards"},
	"restake_delegate": {api.TypeStake, "delegate", "Delegated stake", "delegate stake"},
	actClaim:           {api.TypeOther, "claim", "Claimed", "claim"},
	actVaultIn:         {api.TypeOther, "vault_deposit", "Deposited into a vault", "deposit into a vault"},
	actVaultOut:        {api.TypeOther, "vault_withdraw", "Withdrew from a vault", "withdraw from a vault"},
	actBridgeOut:       {api.TypeBridge, "send", "Bridged", "bridge"},
	actBridgeIn:        {api.TypeBridge, "receive", "Received over a bridge", "receive over a bridge"},
	actBridgeProv:      {api.TypeBridge, "prove", "Proved a withdrawal", "prove a withdrawal"},
	actMessageOut:      {api.TypeBridge, "send_message", "Sent a cross-chain message", "send a cross-chain message"},
	actMessageIn:       {api.TypeBridge, "receive_message", "Delivered a cross-chain message", "deliver a cross-chain message"},
	"propose":          {api.TypeGovernance, "propose", "Made a governance proposal", "make a governance proposal"},
	actVote:            {api.TypeGovernance, "vote", "Voted on a governance proposal", "vote on a governance proposal"},
	"queue_proposal":   {api.TypeGovernance, "queue", "Queued a governance action", "queue a governance action"},
	"execute_proposal": {api.TypeGovernance, "execute", "Executed a governance action", "execute a governance action"},
	"cancel_proposal":  {api.TypeGovernance, "cancel", "Cancelled a governance proposal", "cancel a governance proposal"},
	actDelegate:        {api.TypeGovernance, "delegate", "Delegated voting power", "delegate voting power"},
	actDeploy:          {api.TypeDeployment, "", "Deployed a contract", "deploy a contract"},
	actDeployAcct:      {api.TypeDeployment, "account", "Deployed an account", "deploy an account"},
	actCreatePool:      {api.TypeDeployment, "pool", "Created a pool", "create a pool"},
	actOracle:          {api.TypeRoutineInfra, "oracle_report", "Reported oracle data", "report oracle data"},
	actBatchPost:       {api.TypeRoutineInfra, "batch_post", "Posted rollup data", "post rollup data"},
	actKeeper:          {api.TypeRoutineInfra, "keeper", "Ran an automation job", "run an automation job"},
	actSystem:          {api.TypeRoutineInfra, "system", "Updated protocol state", "update protocol state"},
	"routine":          {api.TypeRoutineInfra, "settlement", "Settled protocol accounts", "settle protocol accounts"},
	actName:            {api.TypeOther, "name", "Registered or renewed a name", "register or renew a name"},
	"name_note":        {api.TypeOther, "name", "Changed name records", "change name records"},
	"perp":             {api.TypeOther, "perp", "Traded perpetuals", "trade perpetuals"},
	"mint_py":          {api.TypeOther, "mint", "Minted principal and yield tokens", "mint principal and yield tokens"},
	"redeem_py":        {api.TypeOther, "redeem", "Redeemed principal and yield tokens", "redeem principal and yield tokens"},
	"attest":           {api.TypeOther, "attest", "Made an attestation", "make an attestation"},
	actAdmin:           {api.TypeOther, "admin", "Changed a contract's administration", "change a contract's administration"},
	actMulticall:       {api.TypeOther, "batch", "Ran a batch of calls", "run a batch of calls"},
	actWalletExec:      {api.TypeOther, "batch", "Ran calls from a smart account", "run calls from a smart account"},
	actSafeExec:        {api.TypeOther, "safe", "Ran a Safe transaction", "run a Safe transaction"},
	actUserOps:         {api.TypeOther, "batch", "Ran user operations", "run user operations"},
	actMintNFT:         {api.TypeOther, "mint_nft", "Minted", "mint an NFT"},
	actMint:            {api.TypeOther, "mint", "Minted", "mint"},
	"receive":          {api.TypeOther, "receive", "Received", "receive assets"},
	"pay":              {api.TypeOther, "payment", "Paid", "pay a contract"},
	"message":          {api.TypeOther, "message", "Sent a cross-chain message", "send a cross-chain message"},
	actArbitrage:       {api.TypeMEV, "arbitrage", "Closed an arbitrage", "arbitrage"},
	actSandwich:        {api.TypeMEV, "sandwich_leg", "Traded around somebody else's trade", "trade around somebody else's trade"},
	actJIT:             {api.TypeMEV, "jit_liquidity", "Provided liquidity for one trade", "provide liquidity for one trade"},
	actBackrun:         {api.TypeMEV, "backrun", "Traded right after a trade", "trade right after a trade"},
	actBuilder:         {api.TypeMEV, "builder_payment", "Traded for a paid place in the block", "trade for a paid place in the block"},
	"contract_call":    {api.TypeOther, "contract_call", "Called a contract", "call a contract"},
	actNote:            {api.TypeOther, "data", "Sent data", "send data"},
	actAuthorize:       {api.TypeOther, "delegation", "Asked to delegate accounts", "delegate accounts"},
	"order":            {api.TypeOther, "order", "Placed an order", "place an order"},
	"order_refund":     {api.TypeOther, "refund", "Refunded an order", "refund an order"},
	"cancel_order":     {api.TypeOther, "cancel_order", "Cancelled an order", "cancel an order"},
	actBurn:            {api.TypeOther, "burn", "Burnt", "burn"},
}
