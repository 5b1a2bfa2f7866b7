package classify

import (
	"txlens/engine/facts"

	"github.com/ethereum/go-ethereum/common"
)

// assignRoles says what each major address did. The first role of an address stays:
// the order below is from the most telling to the least.
func assignRoles(a *facts.Case, v *Verdict) {
	o := v.Deciding
	set := func(addr common.Address, role string) {
		if (addr != common.Address{}) && v.Roles[addr] == "" {
			v.Roles[addr] = role
		}
	}
	set(a.Sender, senderRole(a))
	for _, x := range a.Actors {
		set(
			x,
			map[facts.ActorKind]string{
				facts.ActorUserOp: "smart account", facts.ActorSafe: "safe", facts.ActorOrder: "trader",
				facts.ActorFill: "recipient", facts.ActorSigned: "signer", facts.ActorRelayed: "signer", facts.ActorDelegated: "delegated account",
			}[a.ActorKind],
		)
	}
	if a.Receipt != nil && a.Receipt.ContractAddress != nil && a.Tx.To == nil {
		set(*a.Receipt.ContractAddress, "deployed contract")
	}
	for _, i := range a.CreatedFrames() {
		if a.Succeeded {
			set(a.Tree.Frames[i].To, "deployed contract")
		}
	}
	for i := range a.Matches {
		hitRoles(a, &a.Matches[i], set)
	}
	if o.Benefit != nil {
		set(o.Beneficiary, "recipient")
	}
	for _, g := range a.Grants() {
		set(g.Token, "token")
		if r := categoryRoles[a.LabelOf(g.Spender).Category]; r != "" {
			set(g.Spender, r)
		} else if !facts.Contains(a.CalledContracts(), g.Spender) {
			set(g.Spender, "spender")
		}
	}
	entryRole(a, o, set)
	if a.Flow != nil {
		for i := range a.Flow.Transfers {
			t := &a.Flow.Transfers[i]
			set(t.Token, "token")
			if o.Act == facts.ActTransfer && t.From == a.Actor {
				set(t.To, "recipient")
			}
		}
		if a.Flow.Fee != nil {
			for _, s := range a.Flow.Fee.Shares {
				set(s.Address, s.Role)
			}
		}
	}
}

func senderRole(a *facts.Case) string {
	switch a.ActorKind {
	case facts.ActorUserOp:
		return "bundler"
	case facts.ActorOrder:
		return "solver"
	case facts.ActorFill:
		return "relayer"
	case facts.ActorSigned, facts.ActorRelayed:
		return "relayer"
	}
	return "sender"
}

func hitRoles(a *facts.Case, h *facts.Match, set func(common.Address, string)) {
	switch h.Act {
	case facts.ActLiquidate:
		if v, ok := a.LiquidatedAccount(h); ok {
			set(v, "liquidated")
		}
		set(h.Emitter, "lending pool")
	case facts.ActSupply, facts.ActWithdraw, facts.ActBorrow, facts.ActRepay:
		set(h.Emitter, "lending pool")
	case facts.ActBridgeOut, facts.ActBridgeIn, facts.ActBridgeProv, facts.ActMessageOut, facts.ActMessageIn:
		set(h.Emitter, "bridge")
	case "userop":
		set(h.Emitter, "entry point")
	case facts.ActVaultIn, facts.ActVaultOut:
		if h.Mine || !h.Weak {
			set(h.Emitter, "vault")
		}
	case facts.ActStake, facts.ActUnstake, facts.ActClaimStake:
		set(h.Emitter, "staking contract")
	case facts.ActNFTSale:
		set(h.Emitter, "marketplace")
	case "propose", facts.ActVote, "queue_proposal", "execute_proposal", "cancel_proposal":
		set(h.Emitter, "governance")
	case facts.ActOracle:
		set(h.Emitter, "oracle")
	}
	switch {
	case h.Rule.Flags&facts.FlagPool != 0:
		set(h.Emitter, "pool")
	case h.Rule.Flags&facts.FlagVault != 0:
		set(h.Emitter, "vault")
	case h.Rule.Flags&facts.FlagAggregator != 0:
		set(h.Emitter, "router")
	}
}

// entryRole names the contract that the actor called, when nothing better did.
func entryRole(a *facts.Case, o *Opinion, set func(common.Address, string)) {
	for _, addr := range a.CalledContracts() {
		if r := categoryRoles[a.LabelOf(addr).Category]; r != "" {
			set(addr, r)
			continue
		}
		switch {
		case len(a.Tx.Input) == 0 && len(a.Matches) == 0:
			set(addr, "recipient")
		case a.IsToken(addr):
			set(addr, "token")
		case o.Act == facts.ActSwap && a.KeepsAssets(addr):
			set(addr, "trading contract")
		case o.Act == facts.ActSwap || o.Act == facts.ActNFTSale:
			set(addr, "router")
		case o.Act == "arbitrage":
			set(addr, "arbitrage contract")
		default:
			set(addr, "contract")
		}
	}
}

// categoryRoles are the roles that follow from what a contract is labelled as.
var categoryRoles = map[string]string{
	"router": "router", "aggregator": "router", "bridge": "bridge", "nft": "marketplace", "lending": "lending pool",
	"lending_token": "lending pool", "staking": "staking contract", "restaking": "staking contract", "name_service": "name service",
	"governance": "governance", "oracle": "oracle", "dex": "pool", "yield": "vault",
}
