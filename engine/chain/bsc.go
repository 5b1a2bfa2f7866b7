package chain

import "github.com/ethereum/go-ethereum/common"

// bsc is BNB Smart Chain: Ethereum's transactions under Parlia (bnb-chain/bsc).
type bsc struct{ ethereum }

// parliaSystem collects the fees of a block and pays the validator at its end.
var parliaSystem = address("0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE")

// Fee: no base fee so far; all of it is collected, the fee for blobs included.
func (bsc) Fee(Head) FeeRule {
	return FeeRule{Collector: parliaSystem, CollectorIs: CollectorValidators, BlobFeeVault: parliaSystem, RecipientsKnown: true}
}

func (bsc) Unreplayable() string {
	return "BNB Smart Chain pays fees to a system account and has system transactions"
}

func (bsc) Builtin(a common.Address) (Builtin, bool) { return precompiled(bscSystem, a) }

// bscSystem: bnb-chain/bsc-genesis-contract.
var bscSystem = map[uint32]string{
	0x1000: "BSC: Validator set", 0x1001: "BSC: Slash indicator", 0x1002: "BSC: System reward", 0x1003: "BSC: Light client",
	0x1004: "BSC: Token hub", 0x1005: "BSC: Relayer incentivize", 0x1006: "BSC: Relayer hub", 0x1007: "BSC: Governance hub",
	0x1008: "BSC: Token manager", 0x2000: "BSC: Cross chain", 0x2001: "BSC: Staking", 0x2002: "BSC: Stake hub",
	0x2003: "BSC: Stake credit", 0x2004: "BSC: Governor", 0x2005: "BSC: Governance token", 0x2006: "BSC: Timelock",
}
