package classify

import (
	"strings"

	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

// assignRoles says what each major address did. The first role of an address stays:
// the order below is from the most telling to the least.
func (a *Reading) assignRoles(v *Verdict) {
	o := v.Deciding
	set := func(addr common.Address, role string) {
		if (addr != common.Address{}) && v.Roles[addr] == "" {
			v.Roles[addr] = role
		}
	}
	set(a.sender, a.senderRole())
	for _, x := range a.actors {
		set(x, map[disguise]string{asUserOp: "smart account", asSafe: "safe", asIntent: "trader", asFill: "recipient",
			asSigned: "signer", asDelegate: "delegated account"}[a.how])
	}
	if a.Receipt != nil && a.Receipt.ContractAddress != nil && a.Tx.To == nil {
		set(*a.Receipt.ContractAddress, "deployed contract")
	}
	for _, i := range a.created() {
		if a.Succeeded {
			set(a.Tree.Frames[i].To, "deployed contract")
		}
	}
	for i := range a.hits {
		a.hitRoles(&a.hits[i], set)
	}
	if o.benefit != nil {
		set(o.beneficiary, "recipient")
	}
	for _, g := range a.grants() {
		set(g.token, "token")
		if r := categoryRoles[a.labelOf(g.spender).Category]; r != "" {
			set(g.spender, r)
		} else if !contains(a.called(), g.spender) {
			set(g.spender, "spender")
		}
	}
	a.entryRole(o, set)
	if a.Flow != nil {
		for i := range a.Flow.Transfers {
			t := &a.Flow.Transfers[i]
			set(t.Token, "token")
			if o.act == actTransfer && t.From == a.actor {
				set(t.To, "recipient")
			}
		}
		if a.Flow.Fee != nil {
			for _, s := range a.Flow.Fee.Shares {
				set(s.Address, "fee recipient")
			}
		}
	}
}

func (a *Reading) senderRole() string {
	switch a.how {
	case asUserOp:
		return "bundler"
	case asIntent:
		return "solver"
	case asFill:
		return "relayer"
	case asSigned:
		return "relayer"
	}
	return "sender"
}

func (a *Reading) hitRoles(h *hit, set func(common.Address, string)) {
	switch h.act {
	case actLiquidate:
		if v, ok := a.liquidated(h); ok {
			set(v, "liquidated")
		}
		set(h.emitter, "lending pool")
	case actSupply, actWithdraw, actBorrow, actRepay:
		set(h.emitter, "lending pool")
	case actBridgeOut, actBridgeIn, actBridgeProv, actMessageOut, actMessageIn:
		set(h.emitter, "bridge")
	case "userop":
		set(h.emitter, "entry point")
	case actVaultIn, actVaultOut:
		if h.mine || !h.weak {
			set(h.emitter, "vault")
		}
	case actStake, actUnstake, actClaimStake:
		set(h.emitter, "staking contract")
	case actNFTSale:
		set(h.emitter, "marketplace")
	case "propose", actVote, "queue_proposal", "execute_proposal", "cancel_proposal":
		set(h.emitter, "governance")
	case actOracle:
		set(h.emitter, "oracle")
	}
	switch {
	case h.rule.flags&flagPool != 0:
		set(h.emitter, "pool")
	case h.rule.flags&flagVault != 0:
		set(h.emitter, "vault")
	case h.rule.flags&flagAggregator != 0:
		set(h.emitter, "router")
	}
}

// entryRole names the contract that the actor called, when nothing better did.
func (a *Reading) entryRole(o *opinion, set func(common.Address, string)) {
	for _, addr := range a.called() {
		if r := categoryRoles[a.labelOf(addr).Category]; r != "" {
			set(addr, r)
			continue
		}
		switch {
		case len(a.Tx.Input) == 0 && len(a.hits) == 0:
			set(addr, "recipient")
		case a.isToken(addr):
			set(addr, "token")
		case o.act == actSwap && a.keeps(addr):
			set(addr, "trading contract")
		case o.act == actSwap || o.act == actNFTSale:
			set(addr, "router")
		case o.act == "arbitrage":
			set(addr, "arbitrage contract")
		default:
			set(addr, "contract")
		}
	}
}

// keeps reports whether a contract traded for itself: it ended with one token less and
// another more, where a router passes everything on.
func (a *Reading) keeps(addr common.Address) bool {
	out, in := a.netOf(addr)
	return tokensIn(out) && len(in) > 0 || tokensIn(in) && len(out) > 0
}

// categoryRoles are the roles that follow from what a contract is labelled as.
var categoryRoles = map[string]string{
	"router": "router", "aggregator": "router", "bridge": "bridge", "nft": "marketplace", "lending": "lending pool",
	"lending_token": "lending pool", "staking": "staking contract", "restaking": "staking contract", "name_service": "name service",
	"governance": "governance", "oracle": "oracle", "dex": "pool", "yield": "vault",
}

func (a *Reading) called() (list []common.Address) {
	if a.hasTo {
		list = append(list, a.entry)
	}
	if a.Tx.To != nil {
		list = append(list, *a.Tx.To)
	}
	return distinct(list)
}

// liquidated is the owner of the position that a liquidation event names.
func (a *Reading) liquidated(h *hit) (common.Address, bool) {
	if h == nil || h.rule == nil || h.act != actLiquidate {
		return common.Address{}, false
	}
	if h.log != noLog {
		return h.rule.address(a.eventOf(h), "borrower")
	}
	word := 0 // Compound names the borrower first, Aave after both tokens
	if h.slug == "aave" || strings.HasPrefix(h.rule.signature, "liquidationCall") {
		word = 2
	}
	if w := evmsig.Word(a.Tree.Frames[h.frame].Input[4:], word); w != nil && !strings.HasSuffix(h.rule.signature, "(address,address)") {
		return evmsig.Address(w)
	}
	return common.Address{}, false
}
