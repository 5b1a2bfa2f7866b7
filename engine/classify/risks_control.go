package classify

import (
	"math/big"
	"slices"
	"strings"

	"txlens/engine/decode"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// adminFlag is a flag of an administrative event.
type adminFlag struct {
	name  string
	words string // what happened
	// control: somebody or something else controls the contract from then on, or another
	// code does its work.
	control bool
}

// adminFlags is the one list of them.
var adminFlags = []adminFlag{
	{"implementation_changed", "its implementation was replaced", true},
	{"admin_changed", "its proxy admin was replaced", true},
	{"beacon_changed", "its beacon was replaced", true},
	{"owner_changed", "its owner was replaced", true},
	{"role_granted", "a role was granted", true},
	{"role_revoked", "a role was revoked", true},
	{"facets_changed", "its facets were changed", true},
	{"module_enabled", "a module was enabled, which may move everything the Safe holds", true},
	{"module_disabled", "a module was disabled", true},
	{"threshold_changed", "the number of signatures it asks for was changed", true},
	{"owner_added", "an owner was added", true},
	{"owner_removed", "an owner was removed", true},
	{"guard_changed", "its guard was replaced", true},
	{"paused", "it was paused", false},
}

var adminWords = func() map[string]string {
	words := make(map[string]string, len(adminFlags))
	for _, f := range adminFlags {
		words[f.name] = f.words
	}
	return words
}()

// flagTakeover is that of riskInitialised.
const flagTakeover = "uninitialised_takeover"

// ControlFlags are the risk flags by which the control of a contract changed, or may have.
func ControlFlags() (flags []string) {
	for _, f := range adminFlags {
		if f.control {
			flags = append(flags, f.name)
		}
	}
	return append(flags, flagTakeover)
}

// riskAdmin: changes of who controls a contract. The event is what the contract says; it
// counts as a change when its storage changed accordingly, else as a claim. A contract
// made in this very transaction is being set up, not changed.
func riskAdmin(a *analysis) (risks []string) {
	fresh := a.fresh()
	told := map[string]bool{}
	for i := range a.hits {
		h := &a.hits[i]
		flag, ok := strings.CutPrefix(string(h.act), "flag:")
		if !ok || fresh[h.emitter] || adminWords[flag] == "" {
			continue
		}
		told[flag+h.emitter.Hex()] = true
		who := a.who(h.emitter)
		switch slot, stored := a.storedChange(flag, h); {
		case stored:
			risks = append(risks, flag+": of "+who+", "+adminWords[flag]+" (event and storage, "+slot+")")
		case a.Diff == nil:
			risks = append(risks, flag+": "+who+" says that "+adminWords[flag]+" (a claim of its event: there is no state diff to check it against)")
		default:
			risks = append(risks, flag+": "+who+" says that "+adminWords[flag]+" (a claim of its event: no word of its storage changed to what the event says)")
		}
	}
	return append(risks, a.silentUpgrades(fresh, told)...)
}

// administered: nothing moved, and a contract that was there before says that somebody
// else or something else controls it from now on.
func administered(a *analysis) *opinion {
	if len(a.out)+len(a.in) > 0 {
		return nil
	}
	fresh := a.fresh()
	var hits []*hit
	for i := range a.hits {
		h := &a.hits[i]
		if flag, ok := strings.CutPrefix(string(h.act), "flag:"); ok && adminWords[flag] != "" && !fresh[h.emitter] {
			hits = append(hits, h)
		}
	}
	if len(hits) == 0 {
		return nil
	}
	return &opinion{act: actAdmin, hits: hits}
}

// fresh are the contracts that the transaction made.
func (a *analysis) fresh() map[common.Address]bool {
	fresh := map[common.Address]bool{}
	for _, i := range a.created() {
		fresh[a.Tree.Frames[i].To] = true
	}
	if a.Receipt != nil && a.Receipt.ContractAddress != nil {
		fresh[*a.Receipt.ContractAddress] = true
	}
	return fresh
}

// upgradeFlags name what the standard slots of a proxy hold.
var upgradeFlags = map[string]string{"admin": "admin_changed", "beacon": "beacon_changed"}

// silentUpgrades are changes of the standard slots that no event tells of, as those of
// ERC-7760 proxies.
func (a *analysis) silentUpgrades(fresh map[common.Address]bool, told map[string]bool) (risks []string) {
	for _, u := range decode.Upgrades(a.Diff) {
		flag := upgradeFlags[u.Kind]
		if flag == "" {
			flag = "implementation_changed"
		}
		if fresh[u.Proxy] || told[flag+u.Proxy.Hex()] || (u.Before == common.Address{}) || len(risks) == 5 {
			continue
		}
		risks = append(risks, flag+": of "+a.who(u.Proxy)+", "+adminWords[flag]+", from "+a.who(u.Before)+" to "+a.who(u.After)+" (storage; no event says so)")
	}
	return risks
}

// Storage of Safe accounts: modules and owners are linked lists in mappings, the guard has
// a slot of its own (keccak256("guard_manager.guard.address")).
var (
	safeModules   = common.BigToHash(big.NewInt(1))
	safeOwners    = common.BigToHash(big.NewInt(2))
	safeThreshold = common.BigToHash(big.NewInt(4))
	safeGuard     = common.HexToHash("0x4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8")
	// rolesOf is where OpenZeppelin's AccessControl keeps its roles from version 5.0 on in
	// upgradeable contracts (erc7201:openzeppelin.storage.AccessControl).
	rolesOf = common.HexToHash("0x02dd7bc7dec4dceedda775e58dd541e08a116c6c53815c0bd028192f7b626800")
)

// storedChange looks in the state diff for what an event says; slot says where it stands.
func (a *analysis) storedChange(flag string, h *hit) (slot string, ok bool) {
	if a.Diff == nil {
		return "", false
	}
	l := a.eventOf(h)
	at := func(topic, data int) common.Address {
		if len(l.Topics) > topic {
			return common.BytesToAddress(l.Topics[topic][12:])
		}
		if w := evmsig.Word(l.Data, data); w != nil {
			return common.BytesToAddress(w[12:])
		}
		return common.Address{}
	}
	holds := func(s common.Hash, is func(pre, post common.Hash) bool) (string, bool) {
		pre, post, changed := a.changedSlot(h.emitter, s)
		return "slot " + slotText(s), changed && is(pre, post)
	}
	turned := func(_, post common.Hash) bool { return post != (common.Hash{}) }
	cleared := func(_, post common.Hash) bool { return post == (common.Hash{}) }
	switch flag {
	case "implementation_changed", "admin_changed", "beacon_changed":
		return a.upgraded(h.emitter, flag)
	case "owner_changed":
		last := common.BytesToAddress(l.Topics[len(l.Topics)-1][12:])
		if len(l.Topics) != 3 {
			last = at(9, 1)
		}
		return a.anySlot(h.emitter, func(_, post common.Hash) bool { return common.BytesToAddress(post[12:]) == last })
	case "module_enabled":
		return holds(mappedTo(at(1, 0), safeModules), turned)
	case "module_disabled":
		return holds(mappedTo(at(1, 0), safeModules), cleared)
	case "owner_added":
		return holds(mappedTo(at(1, 0), safeOwners), turned)
	case "owner_removed":
		return holds(mappedTo(at(1, 0), safeOwners), cleared)
	case "threshold_changed":
		return holds(safeThreshold, func(_, post common.Hash) bool { return slices.Equal(post[:], evmsig.Word(l.Data, 0)) })
	case "guard_changed":
		return holds(safeGuard, func(_, post common.Hash) bool { return common.BytesToAddress(post[12:]) == at(1, 0) })
	case "role_granted", "role_revoked":
		return a.roleSlot(h.emitter, l.Topics[1], at(2, 0), flag == "role_granted")
	}
	return a.anySlot(h.emitter, func(_, _ common.Hash) bool { return true })
}

// roleSlot looks for the membership that AccessControl keeps: roles[role].members[account],
// its mapping among the first slots or in its own namespace.
func (a *analysis) roleSlot(contract common.Address, role common.Hash, account common.Address, granted bool) (string, bool) {
	for i := range 257 {
		base := common.BigToHash(big.NewInt(int64(i)))
		if i == 256 {
			base = rolesOf
		}
		s := mappedTo(account, crypto.Keccak256Hash(role[:], base[:]))
		if _, post, changed := a.changedSlot(contract, s); changed && (post.Big().Bit(0) == 1) == granted {
			return "slot " + slotText(s), true
		}
	}
	return "", false
}

func (a *analysis) upgraded(proxy common.Address, flag string) (string, bool) {
	for _, u := range decode.Upgrades(a.Diff) {
		want := upgradeFlags[u.Kind]
		if want == "" {
			want = "implementation_changed"
		}
		if u.Proxy == proxy && want == flag {
			return "the slot of kind " + u.Kind, true
		}
	}
	if flag == "implementation_changed" { // a beacon, or a proxy of its own kind
		return a.anySlot(proxy, func(_, post common.Hash) bool { return post.Big().BitLen() > 64 && post.Big().BitLen() <= 160 })
	}
	return "", false
}

// mappedTo is the slot of a key in a mapping, as Solidity computes it.
func mappedTo(key common.Address, mapping common.Hash) common.Hash {
	return crypto.Keccak256Hash(common.BytesToHash(key[:]).Bytes(), mapping[:])
}

func slotText(s common.Hash) string {
	if n := s.Big(); n.BitLen() <= 16 {
		return n.String()
	}
	return s.Hex()[:10] + "…" + s.Hex()[60:]
}

// changedSlot is the value of a slot before and after; false when it did not change.
func (a *analysis) changedSlot(addr common.Address, s common.Hash) (pre, post common.Hash, changed bool) {
	if a.Diff == nil {
		return
	}
	if x := a.Diff.Pre[addr]; x != nil {
		pre = x.Storage[s]
	}
	if x := a.Diff.Post[addr]; x != nil {
		post = x.Storage[s]
	}
	return pre, post, pre != post
}

// anySlot looks for a changed slot of a contract that a test lets through; of several, the
// lowest.
func (a *analysis) anySlot(addr common.Address, is func(pre, post common.Hash) bool) (string, bool) {
	var slots []common.Hash
	collect := func(storage map[common.Hash]common.Hash) {
		for s := range storage {
			if pre, post, changed := a.changedSlot(addr, s); changed && is(pre, post) {
				slots = append(slots, s)
			}
		}
	}
	if x := a.Diff.Pre[addr]; x != nil {
		collect(x.Storage)
	}
	if x := a.Diff.Post[addr]; x != nil {
		collect(x.Storage)
	}
	if len(slots) == 0 {
		return "", false
	}
	return "slot " + slotText(slices.MinFunc(slots, func(a, b common.Hash) int { return a.Cmp(b) })), true
}

// riskInitialised: a contract that an earlier transaction made is initialised for the first
// time. Between the two anybody could have done it; an upgrade counts on from there.
func riskInitialised(a *analysis) (risks []string) {
	fresh := a.fresh()
	for i := range a.hits {
		h := &a.hits[i]
		if h.act != "flag:initialized" || fresh[h.emitter] {
			continue
		}
		if w := evmsig.Word(a.eventOf(h).Data, 0); w == nil || new(big.Int).SetBytes(w).Cmp(common.Big1) != 0 {
			continue
		}
		if a.initialiser(h.emitter) == a.sender && a.deployedBySender(h.emitter) {
			continue
		}
		risks = append(risks, flagTakeover+": "+a.who(h.emitter)+" was initialised in another transaction than the one that made it, by "+a.who(a.initialiser(h.emitter))+"; whether that is who made it is not known here")
	}
	return risks
}

// maxDeployments is how many of an account's earlier transactions are tried as the one
// that made a contract.
const maxDeployments = 5000

// deployedBySender reports whether an earlier transaction of the sender made a contract:
// the address of such a contract follows from the account and its nonce alone.
func (a *analysis) deployedBySender(contract common.Address) bool {
	for n, tried := a.Tx.Nonce, 0; n > 0 && tried < maxDeployments; tried++ {
		n--
		if crypto.CreateAddress(a.sender, n) == contract {
			return true
		}
	}
	return false
}

// initialiser is who called a contract first.
func (a *analysis) initialiser(contract common.Address) common.Address {
	if a.Tree != nil {
		for _, f := range a.Tree.Frames {
			if f.To == contract && f.Status == trace.OK && f.Kind == trace.Call {
				return f.From
			}
		}
	}
	return a.sender
}

// riskDelegateCode: code without verified source and without a name ran on behalf of
// another account. Where no source was asked for, nothing can be said.
func riskDelegateCode(a *analysis) (risks []string) {
	if a.Tree == nil || len(a.Contracts) == 0 {
		return nil
	}
	fresh := a.fresh()
	seen := map[common.Address]bool{}
	for _, f := range a.Tree.Frames {
		if f.Kind != trace.DelegateCall && f.Kind != trace.CallCode || f.Status != trace.OK || seen[f.To] || a.known(f.To) || a.labelOf(f.To).Category == "precompile" {
			continue
		}
		seen[f.To] = true
		if c := a.Contracts[f.To]; c != nil && c.ABI != nil {
			continue
		}
		made := ""
		if fresh[f.To] {
			made = ", which was made in this transaction"
		}
		if risks = append(risks, "unverified_delegatecall: "+a.who(f.From)+" ran code of "+a.who(f.To)+made+", of which no verified source is known"); len(risks) == 3 {
			break
		}
	}
	return risks
}
