package assemble

import (
	"cmp"
	"encoding/binary"
	"math/big"
	"slices"
	"strconv"

	"txlens/engine/api"
	"txlens/engine/statediff"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// maxStateChanges bounds stateChanges. Slots without a name are left out first.
const maxStateChanges = 2000

// state writes stateChanges. Without a state diff there are none to write.
func (b *builder) state() {
	d := b.diff()
	if d == nil {
		return
	}
	changes := statediff.Changes(d)
	slots := b.nameSlots(changes)
	out := make([]api.StateChange, 0, len(changes))
	for i := range changes {
		c := &changes[i]
		row := stateChange(c)
		if c.Kind == statediff.Storage {
			row.Name = slots.name(c)
		}
		if row.Name != nil && row.Name.Kind.HoldsTokens() {
			row.Difference = c.Difference().String()
		}
		out = append(out, row)
	}
	b.r.StateChanges = b.boundState(out)
}

// boundState keeps the changes that tell most, in their order.
func (b *builder) boundState(all []api.StateChange) []api.StateChange {
	if len(all) <= maxStateChanges {
		return all
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(stateRank(&all[x]), stateRank(&all[y])) })
	order = order[:maxStateChanges]
	slices.Sort(order)
	kept := make([]api.StateChange, 0, len(order))
	for _, i := range order {
		kept = append(kept, all[i])
	}
	b.r.StateChangesMeta = &api.StateMeta{OriginalChanges: len(all), KeptChanges: len(kept)}
	return kept
}

func stateRank(c *api.StateChange) int {
	switch {
	case c.Kind != api.StateStorage:
		return 0
	case c.Name != nil:
		return 1
	}
	return 2
}

func stateChange(c *statediff.Change) api.StateChange {
	row := api.StateChange{Address: api.AddrOf(c.Address)}
	switch c.Kind {
	case statediff.Balance:
		row.Kind, row.Before, row.After = api.StateBalance, c.BalanceBefore.String(), c.BalanceAfter.String()
		row.Difference = new(big.Int).Sub(c.BalanceAfter, c.BalanceBefore).String()
	case statediff.Nonce:
		row.Kind, row.Before, row.After = api.StateNonce, strconv.FormatUint(c.NonceBefore, 10), strconv.FormatUint(c.NonceAfter, 10)
		before, after := new(big.Int).SetUint64(c.NonceBefore), new(big.Int).SetUint64(c.NonceAfter)
		row.Difference = after.Sub(after, before).String()
	case statediff.Code:
		row.Kind, row.Before, row.After = api.StateCode, codeText(c.CodeBefore), codeText(c.CodeAfter)
	default:
		row.Kind, row.Slot = api.StateStorage, api.Hex(c.Slot[:])
		row.Before, row.After = c.WordBefore.Hex(), c.WordAfter.Hex()
	}
	return row
}

// codeText is the hash of code; a designation of EIP-7702 stands itself, because it names
// the delegate.
func codeText(code []byte) string {
	if _, ok := types.ParseDelegation(code); ok || len(code) == 0 {
		return api.Hex(code).String()
	}
	return crypto.Keccak256Hash(code).Hex()
}

// slotNames names storage slots.
type slotNames struct {
	b      *builder
	places map[common.Hash]statediff.Place
	moved  map[holding]*big.Int // net of the transfers of each ERC-20 token
	layout map[common.Address]statediff.Layout
	nfts   map[nft]transferred
	owners map[common.Address]transferred
	grants map[grant]*big.Int // allowance that the last Approval of the token says
	spent  map[grant]*big.Int // what transferFrom took
}

type holding struct{ token, holder common.Address }

type grant struct{ token, owner, spender common.Address }

type nft struct {
	token common.Address
	id    common.Hash
}

// transferred is a right that passed from one to another.
type transferred struct{ from, to common.Address }

// nameSlots recovers the places of the slots that are hashes, and reads from the logs what
// their values must agree with.
func (b *builder) nameSlots(changes []statediff.Change) *slotNames {
	s := &slotNames{b: b}
	var hashed []common.Hash
	stored := false
	for i := range changes {
		if c := &changes[i]; c.Kind == statediff.Storage {
			if stored = true; statediff.Hashed(c.Slot) {
				hashed = append(hashed, c.Slot)
			}
		}
	}
	if !stored {
		return s
	}
	s.read()
	if len(hashed) > 0 {
		s.places = statediff.Recover(hashed, s.keys())
	}
	s.balanceLayouts(changes)
	s.oneOwner(changes)
	return s
}

// name returns what a slot holds; nil where that is not known.
func (s *slotNames) name(c *statediff.Change) *api.SlotName {
	n := s.published(c)
	if n == nil {
		n = s.byEvent(c)
	}
	if n == nil {
		n = s.recovered(c)
	}
	if n != nil {
		n.Text = n.Describe()
	}
	return n
}

func (s *slotNames) published(c *statediff.Change) *api.SlotName {
	known, ok := statediff.Published(c.Slot)
	if !ok {
		return nil
	}
	return &api.SlotName{Kind: api.SlotKind(known.Name), Basis: api.BasisPublished, Standard: known.Standard}
}

// byEvent names the variable that changed as OwnershipTransferred of its contract says.
func (s *slotNames) byEvent(c *statediff.Change) *api.SlotName {
	t, ok := s.owners[c.Address]
	if !ok || statediff.Hashed(c.Slot) || !t.passed(c) {
		return nil
	}
	return &api.SlotName{Kind: api.SlotOwner, Basis: api.BasisEvent, Standard: "OwnershipTransferred"}
}

// oneOwner forgets the owner of a contract in which several variables changed alike.
func (s *slotNames) oneOwner(changes []statediff.Change) {
	count := map[common.Address]int{}
	for i := range changes {
		if c := &changes[i]; c.Kind == statediff.Storage && !statediff.Hashed(c.Slot) && s.owners[c.Address].passed(c) {
			if count[c.Address]++; count[c.Address] > 1 {
				delete(s.owners, c.Address)
			}
		}
	}
}

// passed reports whether the address in a slot changed as said.
func (t transferred) passed(c *statediff.Change) bool {
	return t.from != t.to && common.BytesToAddress(c.WordBefore[12:]) == t.from && common.BytesToAddress(c.WordAfter[12:]) == t.to
}

func (s *slotNames) recovered(c *statediff.Change) *api.SlotName {
	p, ok := s.places[c.Slot]
	if !ok {
		return nil
	}
	n := &api.SlotName{Kind: api.SlotMapping, Basis: api.BasisPreimage, Mapping: slotNumber(p.Layout.Mapping), Word: p.Word}
	if len(p.Keys) == 0 {
		n.Kind = api.SlotArray
		return n
	}
	switch p.Layout.Order {
	case statediff.Vyper:
		n.Order = api.OrderVyper
	case statediff.Solady:
		n.Order, n.Mapping = api.OrderSolady, ""
	default:
		n.Order = api.OrderSolidity
	}
	for _, k := range p.Keys {
		n.Keys = append(n.Keys, keyBytes(k))
	}
	switch {
	case p.Word > 0:
	case s.isBalance(c, &p):
		n.Kind = api.SlotBalance
	case s.isAllowance(c, &p):
		n.Kind = api.SlotAllowance
	case len(p.Keys) == 1 && s.nfts[nft{c.Address, p.Keys[0]}].passed(c):
		n.Kind = api.SlotNFTOwner
	}
	return n
}

// agrees reports whether a slot changed by what the transfers of the token say.
func (s *slotNames) agrees(c *statediff.Change, p *statediff.Place) bool {
	if len(p.Keys) != 1 || p.Word > 0 {
		return false
	}
	holder, ok := addressKey(p.Keys[0])
	net := s.moved[holding{c.Address, holder}]
	return ok && net != nil && net.Sign() != 0 && net.Cmp(c.Difference()) == 0
}

// isBalance also wants the mapping to be the one that agrees with the transfers for most
// holders, because contracts keep other values by holder that change alike.
func (s *slotNames) isBalance(c *statediff.Change, p *statediff.Place) bool {
	l, ok := s.layout[c.Address]
	return ok && l == p.Layout && s.agrees(c, p)
}

// balanceLayouts finds the mapping of balances of each token; none where two fit as well.
func (s *slotNames) balanceLayouts(changes []statediff.Change) {
	type candidate struct {
		token  common.Address
		layout statediff.Layout
	}
	count := map[candidate]int{}
	for i := range changes {
		c := &changes[i]
		if p, ok := s.places[c.Slot]; ok && c.Kind == statediff.Storage && s.agrees(c, &p) {
			count[candidate{c.Address, p.Layout}]++
		}
	}
	best := map[common.Address]int{}
	for k, n := range count {
		best[k.token] = max(best[k.token], n)
	}
	s.layout = map[common.Address]statediff.Layout{}
	tied := map[common.Address]bool{}
	for k, n := range count {
		if n < best[k.token] {
			continue
		}
		_, another := s.layout[k.token]
		tied[k.token] = tied[k.token] || another
		s.layout[k.token] = k.layout
	}
	for token, t := range tied {
		if t {
			delete(s.layout, token)
		}
	}
}

// isAllowance reports whether a slot holds what the last Approval says, or fell by what
// transferFrom took.
func (s *slotNames) isAllowance(c *statediff.Change, p *statediff.Place) bool {
	if len(p.Keys) != 2 {
		return false
	}
	owner, ok := addressKey(p.Keys[0])
	spender, isAddress := addressKey(p.Keys[1])
	if !ok || !isAddress {
		return false
	}
	g := grant{c.Address, owner, spender}
	if granted := s.grants[g]; granted != nil && granted.Cmp(c.WordAfter.Big()) == 0 {
		return true
	}
	spent := s.spent[g]
	return spent != nil && spent.Sign() > 0 && new(big.Int).Neg(spent).Cmp(c.Difference()) == 0
}

// slotNumber writes the slot of a mapping: a number, or 32 bytes where it is a hash.
func slotNumber(slot common.Hash) string {
	if statediff.Hashed(slot) {
		return slot.Hex()
	}
	return strconv.FormatUint(binary.BigEndian.Uint64(slot[24:]), 10)
}

// keyBytes are the 20 bytes of an address, else the whole word.
func keyBytes(k common.Hash) api.Hex {
	if a, ok := addressKey(k); ok {
		return api.Hex(a.Bytes())
	}
	return api.Hex(k.Bytes())
}

// addressKey returns the address that a key is. Numbers of up to 64 bits are none.
func addressKey(k common.Hash) (a common.Address, ok bool) {
	if [12]byte(k[:12]) != [12]byte{} || !statediff.Hashed(k) {
		return a, false
	}
	return common.Address(k[12:]), true
}
