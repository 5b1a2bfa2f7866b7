package classify

import "txlens/engine/explain"

// act is what one event or one call does, as named in registry.tsv.
type act string

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
	txType explain.TxType
	sub    string // sub-type; empty when the type says it all
	verb   string // past tense, for summaries: "Supplied"
	try    string // infinitive, for failed attempts: "supply"
}

// kinds tells the type of every act that can decide a transaction.
var kinds = map[act]kind{
	actSwap:            {explain.TypeSwap, "", "Swapped", "swap"},
	actNFTSale:         {explain.TypeSwap, "nft_sale", "Traded", "trade an NFT"},
	actTransfer:        {explain.TypeTransfer, "", "Sent", "transfer"},
	actApproval:        {explain.TypeApproval, "", "Approved", "approve"},
	actWrap:            {explain.TypeOther, "wrap", "Wrapped", "wrap"},
	actUnwrap:          {explain.TypeOther, "unwrap", "Unwrapped", "unwrap"},
	actAddLiq:          {explain.TypeOther, "add_liquidity", "Added liquidity", "add liquidity"},
	actRemoveLiq:       {explain.TypeOther, "remove_liquidity", "Removed liquidity", "remove liquidity"},
	actLiquidity:       {explain.TypeOther, "add_liquidity", "Changed liquidity", "change liquidity"},
	actCollect:         {explain.TypeOther, "collect_liquidity", "Collected what a liquidity position was owed", "collect what a liquidity position is owed"},
	actSupply:          {explain.TypeOther, "supply", "Supplied", "supply"},
	actWithdraw:        {explain.TypeOther, "withdraw", "Withdrew", "withdraw"},
	actBorrow:          {explain.TypeOther, "borrow", "Borrowed", "borrow"},
	actRepay:           {explain.TypeOther, "repay", "Repaid", "repay"},
	actFlashLoan:       {explain.TypeOther, "flash_loan", "Took a flash loan", "take a flash loan"},
	actLiquidate:       {explain.TypeLiquidation, "", "Liquidated a position", "liquidate a position"},
	actStake:           {explain.TypeStake, "stake", "Staked", "stake"},
	actUnstake:         {explain.TypeStake, "unstake", "Unstaked", "unstake"},
	actClaimStake:      {explain.TypeStake, "claim", "Claimed staking rewards", "claim staking rewards"},
	"restake_delegate": {explain.TypeStake, "delegate", "Delegated stake", "delegate stake"},
	actClaim:           {explain.TypeOther, "claim", "Claimed", "claim"},
	actVaultIn:         {explain.TypeOther, "vault_deposit", "Deposited into a vault", "deposit into a vault"},
	actVaultOut:        {explain.TypeOther, "vault_withdraw", "Withdrew from a vault", "withdraw from a vault"},
	actBridgeOut:       {explain.TypeBridge, "send", "Bridged", "bridge"},
	actBridgeIn:        {explain.TypeBridge, "receive", "Received over a bridge", "receive over a bridge"},
	actBridgeProv:      {explain.TypeBridge, "prove", "Proved a withdrawal", "prove a withdrawal"},
	actMessageOut:      {explain.TypeBridge, "send_message", "Sent a cross-chain message", "send a cross-chain message"},
	actMessageIn:       {explain.TypeBridge, "receive_message", "Delivered a cross-chain message", "deliver a cross-chain message"},
	"propose":          {explain.TypeGovernance, "propose", "Made a governance proposal", "make a governance proposal"},
	actVote:            {explain.TypeGovernance, "vote", "Voted on a governance proposal", "vote on a governance proposal"},
	"queue_proposal":   {explain.TypeGovernance, "queue", "Queued a governance action", "queue a governance action"},
	"execute_proposal": {explain.TypeGovernance, "execute", "Executed a governance action", "execute a governance action"},
	"cancel_proposal":  {explain.TypeGovernance, "cancel", "Cancelled a governance proposal", "cancel a governance proposal"},
	actDelegate:        {explain.TypeGovernance, "delegate", "Delegated voting power", "delegate voting power"},
	actDeploy:          {explain.TypeDeployment, "", "Deployed a contract", "deploy a contract"},
	actDeployAcct:      {explain.TypeDeployment, "account", "Deployed an account", "deploy an account"},
	actCreatePool:      {explain.TypeDeployment, "pool", "Created a pool", "create a pool"},
	actOracle:          {explain.TypeRoutineInfra, "oracle_report", "Reported oracle data", "report oracle data"},
	actBatchPost:       {explain.TypeRoutineInfra, "batch_post", "Posted rollup data", "post rollup data"},
	actKeeper:          {explain.TypeRoutineInfra, "keeper", "Ran an automation job", "run an automation job"},
	actSystem:          {explain.TypeRoutineInfra, "system", "Updated protocol state", "update protocol state"},
	"routine":          {explain.TypeRoutineInfra, "settlement", "Settled protocol accounts", "settle protocol accounts"},
	actName:            {explain.TypeOther, "name", "Registered or renewed a name", "register or renew a name"},
	"name_note":        {explain.TypeOther, "name", "Changed name records", "change name records"},
	"perp":             {explain.TypeOther, "perp", "Traded perpetuals", "trade perpetuals"},
	"mint_py":          {explain.TypeOther, "mint", "Minted principal and yield tokens", "mint principal and yield tokens"},
	"redeem_py":        {explain.TypeOther, "redeem", "Redeemed principal and yield tokens", "redeem principal and yield tokens"},
	"attest":           {explain.TypeOther, "attest", "Made an attestation", "make an attestation"},
	actAdmin:           {explain.TypeOther, "admin", "Changed a contract's administration", "change a contract's administration"},
	actMulticall:       {explain.TypeOther, "batch", "Ran a batch of calls", "run a batch of calls"},
	actWalletExec:      {explain.TypeOther, "batch", "Ran calls from a smart account", "run calls from a smart account"},
	actSafeExec:        {explain.TypeOther, "safe", "Ran a Safe transaction", "run a Safe transaction"},
	actUserOps:         {explain.TypeOther, "batch", "Ran user operations", "run user operations"},
	actMintNFT:         {explain.TypeOther, "mint_nft", "Minted", "mint an NFT"},
	actMint:            {explain.TypeOther, "mint", "Minted", "mint"},
	"receive":          {explain.TypeOther, "receive", "Received", "receive assets"},
	"pay":              {explain.TypeOther, "payment", "Paid", "pay a contract"},
	"message":          {explain.TypeOther, "message", "Sent a cross-chain message", "send a cross-chain message"},
	actArbitrage:       {explain.TypeMEV, "arbitrage", "Closed an arbitrage", "arbitrage"},
	actSandwich:        {explain.TypeMEV, "sandwich_leg", "Traded around somebody else's trade", "trade around somebody else's trade"},
	actJIT:             {explain.TypeMEV, "jit_liquidity", "Provided liquidity for one trade", "provide liquidity for one trade"},
	actBackrun:         {explain.TypeMEV, "backrun", "Traded right after a trade", "trade right after a trade"},
	actBuilder:         {explain.TypeMEV, "builder_payment", "Traded for a paid place in the block", "trade for a paid place in the block"},
	"contract_call":    {explain.TypeOther, "contract_call", "Called a contract", "call a contract"},
	actNote:            {explain.TypeOther, "data", "Sent data", "send data"},
	actAuthorize:       {explain.TypeOther, "delegation", "Asked to delegate accounts", "delegate accounts"},
	"order":            {explain.TypeOther, "order", "Placed an order", "place an order"},
	"order_refund":     {explain.TypeOther, "refund", "Refunded an order", "refund an order"},
	"cancel_order":     {explain.TypeOther, "cancel_order", "Cancelled an order", "cancel an order"},
	actBurn:            {explain.TypeOther, "burn", "Burnt", "burn"},
}
