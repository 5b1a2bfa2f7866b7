package chain

import "github.com/ethereum/go-ethereum/common"

// tempoFeeManager is the predeployed contract that takes the fees.
var tempoFeeManager = address("0xfeec000000000000000000000000000000000000")

// tempo has no native coin: every fee is paid in a token.
type tempo struct{ generic }

var _ Stack = tempo{}

func (tempo) Name() string         { return "tempo" }
func (tempo) TxType(uint64) TxType { return TxType{FeeInToken: true} }
func (tempo) TokenFeeTakers() []common.Address {
	return []common.Address{*tempoFeeManager}
}
func (tempo) Unreplayable() string { return "a chain without native coin" }
