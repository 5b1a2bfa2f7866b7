package classify

import (
	"bytes"
	"math/big"
	"slices"
	"strings"

	"txlens/engine/evidence"
	"txlens/engine/explain"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// riskRules in the order in which their flags stand in a result. Each writes
// sentences of the form "flag: explanation".
var riskRules = []func(*analysis) []string{
	riskApprovals, riskDelegation, riskPoisoning, riskLookalike, riskCaught, riskInner, riskAdmin, riskBadDebt,
	riskFlashLoan, riskSlippage, riskPaymaster, riskCoinbase, riskStuck,
}

// assess collects the risks of a transaction that took effect.
func (a *analysis) assess() (risks []string) {
	if !a.Succeeded {
		return nil
	}
	seen := map[string]bool{}
	for _, r := range riskRules {
		for _, s := range r(a) {
			if !seen[s] && len(risks) < 40 {
				seen[s] = true
				risks = append(risks, s)
			}
		}
	}
	return risks
}

func riskApprovals(a *analysis) (risks []string) {
	for _, g := range a.grants() {
		if g.revoke || !contains(a.actors, g.owner) && g.owner != a.sender {
			continue
		}
		known := a.known(g.spender)
		doubt := ""
		if !known {
			doubt = ", which no label knows,"
		}
		switch {
		case g.operator && !known:
			risks = append(risks, "operator_approval: "+a.who(g.spender)+doubt+" may move every "+a.symbol(g.token)+" token of "+a.who(g.owner))
		case g.unlimited():
			risks = append(risks, "unlimited_approval: "+a.who(g.spender)+doubt+" may spend any amount of "+a.symbol(g.token)+" of "+a.who(g.owner))
		}
	}
	return risks
}

// riskDelegation: an EIP-7702 authorization hands an account to the code that it names.
func riskDelegation(a *analysis) (risks []string) {
	delegates, _ := a.delegates()
	for i, d := range delegates {
		if i == 5 {
			break
		}
		if !a.known(d) {
			risks = append(risks, "account_delegation: an EIP-7702 authorization names the code of "+a.who(d)+", which no label knows; code that an account runs may move all it holds")
		}
	}
	return risks
}

// known reports whether anybody vouches for who stands at an address.
func (a *analysis) known(addr common.Address) bool {
	l := a.labelOf(addr)
	// A name that the contract gave itself vouches for nothing.
	return l.Protocol != "" || l.Name != "" && l.Category != "token" && l.Category != "contract"
}

// riskPoisoning: nothing but transfers of nothing, between others than the sender;
// their only use is to put a look-alike address into somebody's history.
func riskPoisoning(a *analysis) []string {
	if a.Flow == nil || len(a.Flow.Transfers) == 0 || len(a.hits) > 0 {
		return nil
	}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.Amount.Sign() != 0 || t.From == a.sender || t.To == a.sender {
			return nil
		}
	}
	return []string{"address_poisoning: only transfers of zero tokens between addresses that did not sign; they plant look-alike addresses in histories"}
}

func riskLookalike(a *analysis) (risks []string) {
	if a.Flow == nil {
		return nil
	}
	seen := map[common.Address]bool{}
	for i := range a.Flow.Transfers {
		token := a.Flow.Transfers[i].Token
		if seen[token] {
			continue
		}
		seen[token] = true
		if like := a.Tokens[token].Lookalike; like != "" {
			risks = append(risks, "address_poisoning: token "+short(token)+" imitates "+plainText(like)+" and is another contract")
		}
		if len(risks) == 5 {
			break
		}
	}
	return risks
}

func riskCaught(a *analysis) []string {
	frames := slices.DeleteFunc(a.caught(), func(f *trace.Frame) bool { return a.labelOf(f.To).Category == "precompile" })
	if len(frames) == 0 {
		return nil // a precompile changes nothing, so its failure undid nothing
	}
	s := "caught_inner_failure: a call to " + a.target(frames[0]) + " failed and the transaction went on: " + a.why(frames[0])
	if len(frames) > 1 {
		s += "; " + explain.Count(len(frames)-1, "more inner call") + " failed too"
	}
	return []string{s}
}

func riskInner(a *analysis) []string {
	if !a.inner {
		return nil
	}
	return []string{"inner_failure: the " + string(a.how) + " failed although the transaction succeeded"}
}

// riskAdmin: changes of who controls a contract, as the contract's events claim them.
// A contract made in this very transaction is being set up, not changed.
func riskAdmin(a *analysis) (risks []string) {
	fresh := map[common.Address]bool{}
	for _, i := range a.created() {
		fresh[a.Tree.Frames[i].To] = true
	}
	if a.Receipt != nil && a.Receipt.ContractAddress != nil {
		fresh[*a.Receipt.ContractAddress] = true
	}
	for i := range a.hits {
		h := &a.hits[i]
		flag, ok := strings.CutPrefix(string(h.act), "flag:")
		if !ok || fresh[h.emitter] || adminWords[flag] == "" {
			continue
		}
		risks = append(risks, flag+": "+a.who(h.emitter)+" says that "+adminWords[flag]+" (event only, not checked against storage)")
	}
	return risks
}

var adminWords = map[string]string{
	"implementation_changed": "its implementation was replaced",
	"admin_changed":          "its proxy admin was replaced",
	"beacon_changed":         "its beacon was replaced",
	"owner_changed":          "its owner was replaced",
	"role_granted":           "a role was granted",
	"role_revoked":           "a role was revoked",
	"facets_changed":         "its facets were changed",
	"module_enabled":         "a module was enabled, which may move everything the Safe holds",
	"threshold_changed":      "the number of signatures it asks for was changed",
	"owner_added":            "an owner was added",
	"owner_removed":          "an owner was removed",
	"guard_changed":          "its guard was replaced",
	"paused":                 "it was paused",
}

func riskBadDebt(a *analysis) (risks []string) {
	for i := range a.hits {
		h := &a.hits[i]
		bad := h.act == "flag:bad_debt"
		if h.act == actLiquidate && h.slug == "morpho_blue" {
			// repaid assets, repaid shares, seized, bad debt assets, bad debt shares
			w := dataWord(a.Receipt.Logs[h.log].Data, 3)
			bad = w != nil && !allZero(w)
		}
		if bad {
			risks = append(risks, "bad_debt: "+a.who(h.emitter)+" booked debt that nobody will repay")
		}
	}
	return risks
}

// riskFlashLoan: a known event of a loan inside the transaction, or a callback that
// only lenders make.
func riskFlashLoan(a *analysis) []string {
	for i := range a.hits {
		h := &a.hits[i]
		if h.act == actFlashLoan {
			from := a.who(h.emitter)
			if h.slug != "" {
				from = protocolName(h.slug)
			}
			return []string{"flash_loan: assets were borrowed from " + from + " and repaid inside the transaction"}
		}
	}
	return nil
}

// riskSlippage: a router call by the actor that accepts any output.
func riskSlippage(a *analysis) []string {
	if a.call == nil || a.call.minOut < 0 || a.frame == nil || a.frame.Status != trace.OK {
		return nil
	}
	w := dataWord(a.frame.Input[4:], a.call.minOut)
	if w == nil || new(big.Int).SetBytes(w).Cmp(big.NewInt(1)) > 0 {
		return nil
	}
	return []string{"no_slippage_limit: the swap accepted any output, so anyone could move the price against it"}
}

func riskPaymaster(a *analysis) (risks []string) {
	for i := range a.hits {
		switch a.hits[i].act {
		case "userop_postop":
			risks = append(risks, "paymaster_or_postop_failure: the paymaster's work after the operation reverted")
		case "userop_prefund":
			risks = append(risks, "paymaster_or_postop_failure: the prefund did not cover the gas of the operation")
		}
	}
	return risks
}

// riskCoinbase: the block's producer was paid inside the transaction, the usual way to
// buy a place in the block.
func riskCoinbase(a *analysis) []string {
	if a.Flow == nil || a.Block == nil || (a.Block.Miner == common.Address{}) || a.Tx.To != nil && *a.Tx.To == a.Block.Miner {
		return nil
	}
	sum := new(big.Int)
	for i := range a.Flow.Moves {
		m := &a.Flow.Moves[i]
		if m.Kind == flow.MoveCall && m.To == a.Block.Miner && m.From != m.To {
			sum.Add(sum, m.Amount)
		}
	}
	if sum.Sign() == 0 {
		return nil
	}
	return []string{"coinbase_payment: " + a.amount(flow.TokenKey{}, sum) + " was paid to the block producer inside the transaction"}
}

// riskStuck: tokens sent to their own contract, which as a rule cannot send them on.
func riskStuck(a *analysis) (risks []string) {
	if a.Flow == nil {
		return nil
	}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.To != t.Token || t.From != a.actor || t.Amount.Sign() == 0 || !directTransfer(a.Tx, t) {
			continue
		}
		risks = append(risks, "stuck_value: "+a.amount(keyOf(t), t.Amount)+" was sent to the token contract itself")
	}
	return risks
}

var transferSelector = theRegistryTopic("transfer(address,uint256)")

// directTransfer: the sender itself called transfer on the token.
func directTransfer(tx *evidence.Transaction, t *flow.Transfer) bool {
	return tx.To != nil && *tx.To == t.Token && len(tx.Input) >= 4 && bytes.Equal(tx.Input[:4], transferSelector[:4])
}
