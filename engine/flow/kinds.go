package flow

import (
	"slices"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// tokenKinds decides whether the number in an event of a token is an amount or the id of an
// NFT. ERC-20 and ERC-721 have the same events and differ in what is indexed, which not all
// tokens keep to: the rest of the evidence is asked before the number of topics.
type tokenKinds struct {
	indexed   map[common.Address]bool // tokens whose fourth topic is an amount
	unindexed map[common.Address]bool // tokens whose data is an id
	hybrid    map[common.Address]bool // tokens with events of amounts and of ids (ERC-404)
	items     map[common.Address][]*trace.Frame
	amounts   map[common.Address][]*trace.Frame
}

// readsID reports whether the number of a Transfer or Approval event is an id.
func (c *computation) readsID(l *ethrpc.Log) bool {
	if len(l.Topics) == 4 {
		return !c.indexesAmounts(l)
	}
	return c.movesIDs(l)
}

// indexesAmounts reports whether the fourth topic of a token's event is an amount.
func (c *computation) indexesAmounts(l *ethrpc.Log) bool {
	k := &c.kinds
	if amounts, ok := k.indexed[l.Address]; ok {
		return amounts
	}
	n := eventOf(l)
	amounts := !c.isHybrid(l.Address) && c.amountIndexed(l, &n)
	if k.indexed == nil {
		k.indexed = map[common.Address]bool{}
	}
	k.indexed[l.Address] = amounts
	return amounts
}

func (c *computation) amountIndexed(l *ethrpc.Log, n *numbered) bool {
	switch {
	case c.NFT != nil && c.NFT(l.Address):
		return false
	case c.Token != nil && c.Token(l.Address) && c.Divisible != nil && c.Divisible(l.Address):
		return true
	case c.calledForItem(n):
		return false
	case c.Divisible != nil && c.Divisible(l.Address):
		return true
	case c.owns(n):
		return false
	case c.calledForAmount(n), c.slotOfAmount(n):
		return true
	}
	c.undecided(n)
	return false
}

// movesIDs reports whether a token whose events index no number has ids in their data, as
// tokens older than ERC-721 do.
func (c *computation) movesIDs(l *ethrpc.Log) bool {
	k := &c.kinds
	if ids, ok := k.unindexed[l.Address]; ok {
		return ids
	}
	n := eventOf(l)
	ids := !c.isHybrid(l.Address) && c.idUnindexed(l, &n)
	if k.unindexed == nil {
		k.unindexed = map[common.Address]bool{}
	}
	k.unindexed[l.Address] = ids
	return ids
}

func (c *computation) idUnindexed(l *ethrpc.Log, n *numbered) bool {
	switch {
	case c.Chain.ID == 1 && l.Address == cryptoKitties, c.NFT != nil && c.NFT(l.Address):
		return true
	case c.Token != nil && c.Token(l.Address):
		return false
	case c.calledForItem(n):
		return true
	case c.Divisible != nil && c.Divisible(l.Address):
		return false
	}
	return c.owns(n) && !c.slotOfAmount(n)
}

// undecided notes a token whose fourth topic was taken for an id although its function
// transfer(address,uint256) was called with the number: ERC-721 has no such function, and
// nothing else says which of the two it moves.
func (c *computation) undecided(n *numbered) {
	moved := func(f *trace.Frame) bool {
		w := evmsig.Word(f.Input[4:], 1)
		return evmsig.SelTransfer.Begins(f.Input) && w != nil && n.v.Eq(new(uint256.Int).SetBytes32(w))
	}
	if n.approval || !slices.ContainsFunc(c.kinds.amounts[n.token], moved) {
		return
	}
	if c.out.Undecided == nil {
		c.out.Undecided = map[common.Address]bool{}
	}
	c.out.Undecided[n.token] = true
}

// isHybrid reports whether a token logs amounts and ids with events of their own.
func (c *computation) isHybrid(token common.Address) bool {
	k := &c.kinds
	if k.hybrid == nil {
		k.hybrid = map[common.Address]bool{}
		layouts := map[common.Address]int{}
		for i := range c.Receipt.Logs {
			l := &c.Receipt.Logs[i]
			switch {
			case len(l.Topics) == 0:
			case l.Topics[0] == evmsig.TopicTransfer404:
				k.hybrid[l.Address] = true
			case l.Topics[0] == evmsig.TopicTransfer && (len(l.Topics) == 3 || len(l.Topics) == 4):
				if layouts[l.Address] |= 1 << len(l.Topics); layouts[l.Address] == 1<<3|1<<4 {
					k.hybrid[l.Address] = true
				}
			}
		}
	}
	return k.hybrid[token]
}

// numbered is an event with two accounts and a number.
type numbered struct {
	token    common.Address
	from, to common.Address // owner and spender of an approval
	approval bool
	v        uint256.Int
}

func eventOf(l *ethrpc.Log) numbered {
	n := numbered{token: l.Address, approval: l.Topics[0] == evmsig.TopicApproval}
	transfer := *l
	if n.approval {
		transfer.Topics = append([]common.Hash{evmsig.TopicTransfer}, l.Topics[1:]...)
	}
	n.from, n.to, n.v, _ = readTransfer(&transfer)
	return n
}

// readTransfer reads a Transfer event with whatever is indexed of it.
func readTransfer(l *ethrpc.Log) (from, to common.Address, v uint256.Int, ok bool) {
	if len(l.Topics) != 4 {
		return erc20Transfer(l)
	}
	from, to, ok = parties(l.Topics[1][:], l.Topics[2][:])
	v.SetBytes32(l.Topics[3][:])
	return from, to, v, ok && l.Topics[0] == evmsig.TopicTransfer
}

// amountMoved reads the Transfer event of a fungible amount.
func (c *computation) amountMoved(l *ethrpc.Log) (from, to common.Address, v uint256.Int, ok bool) {
	if len(l.Topics) == 0 || l.Topics[0] != evmsig.TopicTransfer {
		return from, to, v, false
	}
	if from, to, v, ok = readTransfer(l); ok && c.readsID(l) {
		return from, to, v, false
	}
	return from, to, v, ok
}

// calledForItem reports whether a call that only NFT contracts answer concerned the token:
// its safeTransferFrom, the owner of the id, or its interfaces (ERC-165).
func (c *computation) calledForItem(n *numbered) bool {
	k := &c.kinds
	if k.items == nil {
		k.items = c.callsTo(itemCalls)
	}
	for _, f := range k.items[n.token] {
		args := f.Input[4:]
		switch evmsig.Called(f.Input) {
		case evmsig.SelSafeTransferFrom, evmsig.SelSafeTransferFromData:
			if id := evmsig.Word(args, 2); id != nil && n.v.Eq(new(uint256.Int).SetBytes32(id)) {
				return true
			}
		case evmsig.SelOwnerOf:
			id := evmsig.Word(args, 0)
			owner, ok := evmsig.Address(evmsig.Word(f.Output, 0))
			if ok && id != nil && n.v.Eq(new(uint256.Int).SetBytes32(id)) && owner != (common.Address{}) && (owner == n.from || owner == n.to) {
				return true
			}
		case evmsig.SelSupportsERC:
			if len(args) >= 4 && evmsig.Selector(args[:4]) == evmsig.InterfaceERC721 && answeredTrue(f.Output) {
				return true
			}
		}
	}
	return false
}

// calledForAmount reports whether the token was called with a function of EIP-20 and the
// number, and returned what EIP-20 says: the functions of ERC-721 with the same parameters
// return nothing.
func (c *computation) calledForAmount(n *numbered) bool {
	k := &c.kinds
	if k.amounts == nil {
		k.amounts = c.callsTo(amountCalls)
	}
	for _, f := range k.amounts[n.token] {
		at, s := 1, evmsig.Called(f.Input)
		if (s == evmsig.SelApprove) != n.approval {
			continue
		}
		if s == evmsig.SelTransferFrom {
			at = 2
		}
		if w := evmsig.Word(f.Input[4:], at); w != nil && n.v.Eq(new(uint256.Int).SetBytes32(w)) && answeredTrue(f.Output) {
			return true
		}
	}
	return false
}

// answeredTrue reports whether a call returned true and nothing else.
func answeredTrue(output []byte) bool {
	return len(output) == 32 && new(uint256.Int).SetBytes32(output).CmpUint64(1) == 0
}

var (
	itemCalls = map[evmsig.Selector]bool{
		evmsig.SelSafeTransferFrom: true, evmsig.SelSafeTransferFromData: true, evmsig.SelOwnerOf: true, evmsig.SelSupportsERC: true,
	}
	amountCalls = map[evmsig.Selector]bool{evmsig.SelTransfer: true, evmsig.SelTransferFrom: true, evmsig.SelApprove: true}
)

// callsTo lists the successful calls with certain functions by the contract called.
func (c *computation) callsTo(functions map[evmsig.Selector]bool) map[common.Address][]*trace.Frame {
	calls := map[common.Address][]*trace.Frame{}
	if c.Tree == nil {
		return calls
	}
	for _, f := range c.Tree.Frames {
		called := (f.Kind == trace.Call || f.Kind == trace.StaticCall) && f.Status == trace.OK && len(f.Input) >= 4
		if called && functions[evmsig.Called(f.Input)] {
			calls[f.To] = append(calls[f.To], f)
		}
	}
	return calls
}

// owns reports whether the state shows that the number is the id of an item: its slot
// changed from one account to the other, or to the account that may now move it.
func (c *computation) owns(n *numbered) bool {
	if c.Diff == nil {
		return false
	}
	w := writtenBy(c.Diff, n.token)
	if !w.any() {
		return false
	}
	id := common.Hash(n.v.Bytes32())
	layouts := statediff.Layouts()
	for i := range layouts {
		slot := layouts[i].Slot(id)
		before, was := w.pre[slot]
		after, is := w.post[slot]
		if !was && !is {
			continue
		}
		if common.BytesToAddress(after[:]) == n.to && (n.approval || common.BytesToAddress(before[:]) == n.from) {
			return true
		}
	}
	return false
}

// slotOfAmount reports whether a slot of the token changed by the number, or was set to the
// number approved. A change by one is no sign: NFT contracts count the items of a holder.
func (c *computation) slotOfAmount(n *numbered) bool {
	if c.Diff == nil || n.v.CmpUint64(1) <= 0 {
		return false
	}
	w := writtenBy(c.Diff, n.token)
	if !n.approval && n.v.CmpUint64(commonNumber) < 0 {
		return w.balanceChanged(n)
	}
	if !n.approval {
		return w.changedBy(&n.v) || w.changedBy(new(uint256.Int).Neg(&n.v))
	}
	want := common.Hash(n.v.Bytes32())
	for _, now := range w.post {
		if now == want {
			return true
		}
	}
	return false
}

// commonNumber is the number below which a slot that is no balance changes by chance: ids,
// counters and times are so small.
const commonNumber = 1 << 40

// balanceChanged reports whether the balance of a party, in a known layout, changed by the number.
func (w *written) balanceChanged(n *numbered) bool {
	layouts, less := statediff.Layouts(), new(uint256.Int).Neg(&n.v)
	for i := range layouts {
		for _, who := range []common.Address{n.from, n.to} {
			slot := layouts[i].Slot(common.BytesToHash(who[:]))
			if d, ok := w.change(slot); ok && (sameAmount(&n.v, d) || sameAmount(less, d)) {
				return true
			}
		}
	}
	return false
}

// approvals notes the approvals whose number is not what their topics suggest.
func (c *computation) approvals() {
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if len(l.Topics) == 0 || l.Topics[0] != evmsig.TopicApproval {
			continue
		}
		switch {
		case len(l.Topics) == 4 && c.indexesAmounts(l):
			c.out.noteApproval(i, true)
		case len(l.Topics) != 4 && c.movesIDs(l):
			c.out.noteApproval(i, false)
		}
	}
}

func (f *Flow) noteApproval(log int, amount bool) {
	if f.approvals == nil {
		f.approvals = map[int]bool{}
	}
	f.approvals[log] = amount
}

// ApprovesAmount reports whether the Approval event at a position of the receipt is of an
// amount; else it is of one NFT.
func (f *Flow) ApprovesAmount(log int, l *ethrpc.Log) bool {
	if amount, ok := f.approvals[log]; ok {
		return amount
	}
	return len(l.Topics) != 4
}
