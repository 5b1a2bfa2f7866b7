package chain

// mantle is a fork of the OP-stack (mantle-xyz/op-geth).
type mantle struct{ opstack }

var _ Stack = mantle{}

const mantleArsia = 1776841200 // Unix seconds: 2026-04-22, mantle-xyz/op-geth v1.5.4

func (mantle) Name() string       { return "mantle" }
func (mantle) SharedBridge() bool { return false }

// Fee: since Arsia as the OP-stack. Before, the L1 fee was turned into gas: gasUsed
// holds it, and the receipt's l1Fee only says how much of it that was. It still
// left through the vault.
func (mantle) Fee(h Head) FeeRule {
	if h.Time < mantleArsia {
		return FeeRule{BaseFeeVault: opBaseFeeVault, Collector: opSequencerVault}
	}
	return opstack{}.Fee(Latest)
}
