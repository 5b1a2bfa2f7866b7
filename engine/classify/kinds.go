package classify

import "txlens/engine/api"

// kind is the type of an act in a result.
type kind struct {
	txType api.TxType
	sub    string // sub-type; empty when the type says it all
}

// kinds tells the type of every act that can decide a transaction.
var kinds = map[act]kind{
	actSwap:            {api.TypeSwap, ""},
	actNFTSale:         {api.TypeSwap, "nft_sale"},
	actTransfer:        {api.TypeTransfer, ""},
	actApproval:        {api.TypeApproval, ""},
	actWrap:            {api.TypeOther, "wrap"},
	actUnwrap:          {api.TypeOther, "unwrap"},
	actAddLiq:          {api.TypeOther, "add_liquidity"},
	actRemoveLiq:       {api.TypeOther, "remove_liquidity"},
	actLiquidity:       {api.TypeOther, "add_liquidity"},
	actCollect:         {api.TypeOther, "collect_liquidity"},
	actSupply:          {api.TypeOther, "supply"},
	actWithdraw:        {api.TypeOther, "withdraw"},
	actBorrow:          {api.TypeOther, "borrow"},
	actRepay:           {api.TypeOther, "repay"},
	actFlashLoan:       {api.TypeOther, "flash_loan"},
	actLiquidate:       {api.TypeLiquidation, ""},
	actStake:           {api.TypeStake, "stake"},
	actUnstake:         {api.TypeStake, "unstake"},
	actClaimStake:      {api.TypeStake, "claim"},
	"restake_delegate": {api.TypeStake, "delegate"},
	actClaim:           {api.TypeOther, "claim"},
	actVaultIn:         {api.TypeOther, "vault_deposit"},
	actVaultOut:        {api.TypeOther, "vault_withdraw"},
	actBridgeOut:       {api.TypeBridge, "send"},
	actBridgeIn:        {api.TypeBridge, "receive"},
	actBridgeProv:      {api.TypeBridge, "prove"},
	actMessageOut:      {api.TypeBridge, "send_message"},
	actMessageIn:       {api.TypeBridge, "receive_message"},
	"propose":          {api.TypeGovernance, "propose"},
	actVote:            {api.TypeGovernance, "vote"},
	"queue_proposal":   {api.TypeGovernance, "queue"},
	"execute_proposal": {api.TypeGovernance, "execute"},
	"cancel_proposal":  {api.TypeGovernance, "cancel"},
	actDelegate:        {api.TypeGovernance, "delegate"},
	actDeploy:          {api.TypeDeployment, ""},
	actDeployAcct:      {api.TypeDeployment, "account"},
	actCreatePool:      {api.TypeDeployment, "pool"},
	actOracle:          {api.TypeRoutineInfra, "oracle_report"},
	actBatchPost:       {api.TypeRoutineInfra, "batch_post"},
	actKeeper:          {api.TypeRoutineInfra, "keeper"},
	actSystem:          {api.TypeRoutineInfra, "system"},
	"routine":          {api.TypeRoutineInfra, "settlement"},
	actName:            {api.TypeOther, "name"},
	"name_note":        {api.TypeOther, "name"},
	"perp":             {api.TypeOther, "perp"},
	"mint_py":          {api.TypeOther, "mint"},
	"redeem_py":        {api.TypeOther, "redeem"},
	"attest":           {api.TypeOther, "attest"},
	actAdmin:           {api.TypeOther, "admin"},
	actMulticall:       {api.TypeOther, "batch"},
	actWalletExec:      {api.TypeOther, "batch"},
	actSafeExec:        {api.TypeOther, "safe"},
	actUserOps:         {api.TypeOther, "batch"},
	actMintNFT:         {api.TypeOther, "mint_nft"},
	actMint:            {api.TypeOther, "mint"},
	"receive":          {api.TypeOther, "receive"},
	"pay":              {api.TypeOther, "payment"},
	"message":          {api.TypeOther, "message"},
	actArbitrage:       {api.TypeMEV, "arbitrage"},
	actSandwich:        {api.TypeMEV, "sandwich_leg"},
	actJIT:             {api.TypeMEV, "jit_liquidity"},
	actBackrun:         {api.TypeMEV, "backrun"},
	actBuilder:         {api.TypeMEV, "builder_payment"},
	"contract_call":    {api.TypeOther, "contract_call"},
	actNote:            {api.TypeOther, "data"},
	actAuthorize:       {api.TypeOther, "delegation"},
	"order":            {api.TypeOther, "order"},
	"order_refund":     {api.TypeOther, "refund"},
	"cancel_order":     {api.TypeOther, "cancel_order"},
	actBurn:            {api.TypeOther, "burn"},
}

// typeOf is the txType of an act.
func typeOf(x act) api.TxType {
	if k, ok := kinds[x]; ok {
		return k.txType
	}
	return api.TypeOther
}

// subTypeOf is the sub-type of an act, empty where its type says it all.
func subTypeOf(x act) string { return kinds[x].sub }

// isKind reports whether an act can decide a transaction.
func isKind(x act) bool { _, ok := kinds[x]; return ok }
