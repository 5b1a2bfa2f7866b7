package chain

import "github.com/ethereum/go-ethereum/common"

// scroll is Scroll (scroll-tech/go-ethereum, scroll-tech/scroll-contracts).
type scroll struct{ generic }

var _ Stack = scroll{}

// scrollVault is L2TxFeeVault: gas fee and l1Fee alike go there (params.ScrollConfig).
var scrollVault = address("0x5300000000000000000000000000000000000005")

func (scroll) Name() string         { return "scroll" }
func (scroll) Traces() Traces       { return TracesMatch }
func (scroll) Unreplayable() string { return "Scroll's L1 fees and its own precompile and opcode set" }

// TxType: L1 messages, all of them somebody's wish.
func (scroll) TxType(t uint64) TxType {
	if t == txDeposit {
		return TxType{System: true, ZeroFee: true}
	}
	return TxType{}
}

func (scroll) Fee(Head) FeeRule {
	return FeeRule{
		AddL1Fee: true, RecipientsKnown: true, CollectorIs: CollectorAll,
		BaseFeeVault: scrollVault, L1FeeVault: scrollVault, Collector: scrollVault,
	}
}

func (scroll) Builtin(a common.Address) (Builtin, bool) {
	return predeployed(0x53, scrollPredeploys, a)
}

// scrollPredeploys: scroll-tech/scroll-contracts. The prefix is 0x53.
var scrollPredeploys = map[uint32]Builtin{
	0x00: {"Scroll: L2 message queue", "bridge"}, 0x01: {"Scroll: L1 block container", "system"},
	0x02: {"Scroll: L1 gas price oracle", "system"}, 0x03: {"Scroll: Whitelist", "system"}, 0x05: {"Scroll: Fee vault", "fee_vault"},
}
