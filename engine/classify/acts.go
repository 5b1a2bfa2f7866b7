package classify

import (
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
