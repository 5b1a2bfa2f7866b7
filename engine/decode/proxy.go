package decode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// maxFacets bounds the facets listed for one diamond.
const maxFacets = 16

// getters are called on a proxy, in this order.
var getters = [][]byte{evmsig.SelImplementation[:], evmsig.SelGetImplementation[:], evmsig.SelComptrollerImplementation[:],
	evmsig.SelMasterCopy[:], evmsig.SelChildImplementation[:], evmsig.SelSingleton[:]}

// Prober reads the state of one block.
type Prober interface {
	Code(ctx context.Context, addr common.Address) ([]byte, error)
	Storage(ctx context.Context, addr common.Address, slot common.Hash) (common.Hash, error)
	Call(ctx context.Context, to common.Address, data []byte) ([]byte, error)
}

// TxState is what is known around one transaction: the state before and after it, and its
// evidence. Only After is required; without the others the answer is less certain.
type TxState struct {
	Before  Prober // the end of the parent block
	After   Prober // the end of the transaction's block
	Tree    *trace.Tree
	Diff    *ethrpc.StateDiff // what the transaction itself changed
	Receipt *ethrpc.Receipt
}

// Proxy is the implementation behind an address at one transaction.
type Proxy struct {
	// Kind is how the first level was found: eip7702, eip1167, clone_with_immutable_args,
	// erc7760, erc7760_beacon, sequence, trace, eip1967, beacon, zeppelinos, eip1822,
	// matic, safe, diamond or getter.
	Kind string
	// Behind is the code that ran when the transaction began, through up to three levels:
	// the direct implementation first, then its own implementation; of a diamond its
	// facets.
	Behind []common.Address
	// Upgraded is the direct implementation that the transaction set.
	Upgraded *common.Address
	Args     []byte // immutable arguments after the code of a clone
	Doubt    string // why Behind may not be what ran; empty: no doubt
}

// Implementation finds the implementation of a proxy; nil when addr is no proxy. An error
// is returned only if nothing was found. A cycle ends where it closes.
func Implementation(ctx context.Context, m TxState, addr common.Address) (*Proxy, error) {
	var first *Proxy
	self, inCode := addr, true
	seen := map[common.Address]bool{addr: true}
	for level := 0; level < maxProxies; level++ {
		found, err := (&prober{ctx: ctx, m: &m, self: self, addr: addr, inCode: inCode}).level()
		if level == 0 {
			if first = found; found == nil {
				return nil, err
			}
		} else if found != nil && !seen[found.Behind[0]] {
			first.Behind = append(first.Behind, found.Behind...)
		}
		if found == nil || len(found.Behind) > 1 || seen[found.Behind[0]] { // facets are no chain to follow
			break
		}
		addr = found.Behind[0]
		seen[addr] = true
		inCode = inCode && (found.Kind == kindDelegated || found.Kind == kindClone || found.Kind == kindArgs)
	}
	return first, nil
}

// prober inspects one address.
type prober struct {
	ctx  context.Context
	m    *TxState
	self common.Address // the outermost proxy: all code that it delegates to uses its storage
	addr common.Address // whose code is inspected
	// inCode: all levels before had their targets in their code. A target that came from
	// storage names no further one there: the same slot would be found again.
	inCode bool
	code   []byte
	doubt  string
	err    error
}

// level tries the methods from the most certain and cheapest on. Code without DELEGATECALL
// is no proxy, which saves most contracts the reads of storage.
func (q *prober) level() (*Proxy, error) {
	known := q.readCode()
	if s, ok := codeInfoOf(q.code); ok && s.target != (common.Address{}) && s.target != q.addr {
		return &Proxy{Kind: s.kind, Behind: []common.Address{s.target}, Args: s.args, Doubt: q.doubt}, nil
	}
	if p := q.traced(); p != nil {
		return p, nil
	}
	if !q.inCode || known && !delegatesCode(q.code) {
		return nil, nil
	}
	for _, try := range []func() (change, string){q.slots, q.safe} {
		if c, kind := try(); c.found() {
			return q.proxy(kind, c), nil
		}
	}
	if facets := q.diamond(); len(facets) > 0 {
		return &Proxy{Kind: "diamond", Behind: facets}, nil
	}
	if c := q.getter(); c.found() {
		return q.proxy("getter", c), nil
	}
	return nil, q.err
}

// proxy returns the result for one place that may have changed.
func (q *prober) proxy(kind string, c change) *Proxy {
	p := &Proxy{Kind: kind, Behind: []common.Address{c.before}, Doubt: q.doubt}
	if s, ok := codeInfoOf(q.code); ok {
		p.Kind, p.Args = s.kind, s.args
	}
	switch {
	case c.before == (common.Address{}): // set by this very transaction
		p.Behind[0] = c.after
	case c.after != c.before && c.after != (common.Address{}):
		p.Upgraded = &c.after
	}
	return p
}

// readCode reads the code that ran at the address; false when it is not available. EIP-7702
// authorizations are applied before anything runs, so the code at the end of the block is
// preferred; an account deleted by then had the earlier code.
func (q *prober) readCode() bool {
	if d := q.m.Diff; d != nil {
		_, delegated := q.before()
		if post := d.Post[q.addr]; post != nil && (len(post.Code) > 0 || post.Code != nil && delegated) {
			q.code = post.Code
			return true
		}
		if pre := d.Pre[q.addr]; pre != nil && len(pre.Code) > 0 && !delegated {
			q.code = pre.Code
			return true
		}
	}
	code, err := q.m.After.Code(q.ctx, q.addr)
	if err != nil {
		q.note(fmt.Errorf("read code of %s: %w", q.addr, err))
		return false
	}
	if len(code) == 0 && q.m.Before != nil {
		if code, err = q.m.Before.Code(q.ctx, q.addr); err != nil {
			code = nil
		}
	}
	q.code = code
	return true
}

// before returns the delegation that the account had, by the state diff.
func (q *prober) before() (common.Address, bool) {
	if pre := q.m.Diff.Pre[q.addr]; pre != nil {
		return delegation(pre.Code)
	}
	return common.Address{}, false
}

// traced uses the frames: a DELEGATECALL with exactly the proxy's input. The code tells
// which kind of proxy it is. A second target is an upgrade if the state diff, a log or a
// beacon confirms it, and a facet otherwise.
func (q *prober) traced() *Proxy {
	seen, asked := delegates(q.m.Tree, q.self, q.addr)
	if len(seen) == 0 {
		return nil
	}
	p := &Proxy{Kind: "trace", Behind: seen}
	if s, ok := codeInfoOf(q.code); ok {
		p.Kind, p.Args = s.kind, s.args
	} else if kind := kindByConstant(q.code); kind != "" {
		p.Kind = kind
	} else if asked {
		p.Kind = kindBeacon
	}
	for _, s := range proxySlots {
		c, changed := q.inDiff(s.slot) // a beacon's slot names no target
		if changed && q.inCode && s.kind != kindAdmin && c.before != (common.Address{}) && c.after != (common.Address{}) &&
			(slices.Contains(seen, c.before) || slices.Contains(seen, c.after)) {
			p.Behind, p.Upgraded = []common.Address{c.before}, &c.after
			return p
		}
	}
	if len(seen) == 2 && (p.Kind == kindBeacon || p.Kind == kind7760b || q.announced(q.self, seen[1])) {
		p.Behind, p.Upgraded = seen[:1], &seen[1]
	}
	return p
}

// change is an address before and after the transaction; zero: none.
type change struct{ before, after common.Address }

func (c change) found() bool { return c != change{} }

// slots reads the standard slots. The first two are always read; the others only if the
// code contains the constant.
func (q *prober) slots() (change, string) {
	if s, ok := codeInfoOf(q.code); ok && s.kind == kindSequence {
		return q.slot(common.BytesToHash(q.self[:])), kindSequence
	}
	for _, s := range proxySlots {
		if s.kind == kindAdmin || s.kind != kind1967 && s.kind != kindBeacon && q.code != nil && !bytes.Contains(q.code, s.slot[:]) {
			continue
		}
		c := q.slot(s.slot)
		if s.kind == kindBeacon && c.found() {
			c = q.beacon(c)
		}
		if c.found() {
			return c, s.kind
		}
	}
	return change{}, ""
}

// beacon asks the beacons for their implementation.
func (q *prober) beacon(c change) change {
	was := c.before
	if was == (common.Address{}) {
		was = c.after
	}
	out := q.ask(was, evmsig.SelImplementation[:])
	if c.after != was && c.after != (common.Address{}) {
		out.after = q.ask(c.after, evmsig.SelImplementation[:]).after
	}
	return out
}

// safe reads slot 0 of contracts whose fallback answers masterCopy(), as the Safe proxies
// do since 1.0.0. Slot 0 of other contracts may be anything.
func (q *prober) safe() (change, string) {
	if !bytes.Contains(q.code, evmsig.SelMasterCopy[:]) {
		return change{}, ""
	}
	return q.slot(common.Hash{}), "safe"
}

// diamond asks the loupe for the facet of each selector in the tree. If the code does not
// show that it is a diamond, only one question is asked.
func (q *prober) diamond() (out []common.Address) {
	if q.m.Tree == nil {
		return nil
	}
	most, question, err := 1, evmsig.SelFacetAddress[:], q.err
	switch {
	case bytes.Contains(q.code, slotDiamond[:]):
		most = maxFacets
	case bytes.Contains(q.code, evmsig.SelFunctionImplementation[:]):
		most, question = maxFacets, evmsig.SelFunctionImplementation[:]
	}
	asked := map[[4]byte]bool{}
	for _, f := range q.m.Tree.Frames {
		if f.To != q.self || len(f.Input) < 4 || asked[[4]byte(f.Input[:4])] || len(asked) >= most {
			continue
		}
		sel := [4]byte(f.Input[:4])
		asked[sel] = true
		arg := make([]byte, 32)
		copy(arg, sel[:])
		c := q.ask(q.self, slices.Concat(question, arg))
		if a := c.first(); a != (common.Address{}) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	if most == 1 {
		q.err = err // that it refused to answer is no news
	}
	return out
}

func (c change) first() common.Address {
	if c.before == (common.Address{}) {
		return c.after
	}
	return c.before
}

// getter calls the functions that custom proxies offer, if the code contains the selector.
func (q *prober) getter() change {
	for _, sel := range getters {
		if !bytes.Contains(q.code, sel) {
			continue
		}
		if c := q.ask(q.self, sel); c.found() {
			return c
		}
	}
	return change{}
}

// slot reads a slot of the proxy at the transaction. The state diff is exact; without it,
// the end of the block is used, and the end of the parent block if they differ.
func (q *prober) slot(slot common.Hash) change {
	if c, ok := q.inDiff(slot); ok {
		return c
	}
	read := func(p Prober) (common.Address, error) {
		w, err := p.Storage(q.ctx, q.self, slot)
		if err != nil {
			return common.Address{}, fmt.Errorf("read slot %s of %s: %w", slot, q.self, err)
		}
		return q.target(w[:]), nil
	}
	return q.both(q.self, false, read)
}

// ask calls a view function at both ends of the block.
func (q *prober) ask(to common.Address, data []byte) change {
	read := func(p Prober) (common.Address, error) {
		out, err := p.Call(q.ctx, to, data)
		if err != nil {
			return common.Address{}, fmt.Errorf("call %s: %w", to, err)
		}
		if len(out) != 32 {
			return common.Address{}, nil
		}
		return q.target(out), nil
	}
	return q.both(to, q.wrote(to), read)
}

// both reads at the end of the block and, if something is there, at its beginning. mine
// says that the transaction wrote to what is read, so that a difference is its own.
func (q *prober) both(at common.Address, mine bool, read func(Prober) (common.Address, error)) change {
	after, err := read(q.m.After)
	if err != nil {
		q.note(err)
		return change{}
	}
	if after == (common.Address{}) || q.m.Before == nil {
		return change{after, after}
	}
	before, err := read(q.m.Before)
	switch {
	case err != nil || before == after || before == (common.Address{}):
		return change{after, after}
	case mine || q.m.Diff == nil && q.announced(at, after):
		return change{before, after}
	}
	q.doubt = "it was changed in the same block, before or after this transaction"
	return change{before, before}
}

// wrote reports whether the transaction changed storage of a contract.
func (q *prober) wrote(a common.Address) bool {
	d := q.m.Diff
	return d != nil && (d.Pre[a] != nil && len(d.Pre[a].Storage) > 0 || d.Post[a] != nil && len(d.Post[a].Storage) > 0)
}

// inDiff returns a slot of the proxy that the transaction changed.
func (q *prober) inDiff(slot common.Hash) (change, bool) {
	before, after, ok := changedSlot(q.m.Diff, q.self, slot)
	return change{q.target(before[:]), q.target(after[:])}, ok
}

// announced reports whether a log of the contract names its new implementation.
func (q *prober) announced(by, next common.Address) bool {
	if q.m.Receipt == nil {
		return false
	}
	for i := range q.m.Receipt.Logs {
		l := &q.m.Receipt.Logs[i]
		if l.Address == by && len(l.Topics) == 2 && l.Topics[0] == evmsig.TopicUpgraded && common.Address(l.Topics[1][12:]) == next {
			return true
		}
	}
	return false
}

// target converts a word to the address of other code; zero if it is none.
func (q *prober) target(w []byte) common.Address {
	a := common.Address(w[12:])
	if _, small := smallAddress(a); small || !zero(w[:12]) || a == q.addr || a == q.self {
		return common.Address{}
	}
	return a
}

// note keeps the first error, and cancellation before all others.
func (q *prober) note(err error) {
	if q.err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		q.err = err
	}
}

// delegates returns the targets to which the code of addr, running as self, passed its own
// input, in order of appearance; asked reports that a beacon named the first.
func delegates(tree *trace.Tree, self, addr common.Address) (out []common.Address, asked bool) {
	if tree == nil {
		return nil, false
	}
	for _, f := range tree.Frames {
		if f.To != addr || f.Kind == trace.Create || f.Kind == trace.Create2 || f.Kind == trace.SelfDestruct ||
			self != addr && (f.Kind != trace.DelegateCall || f.From != self) {
			continue
		}
		g := delegate(f)
		if g == nil || len(g.Input) < 4 || slices.Contains(out, g.To) || len(out) == maxFacets {
			continue
		}
		if _, small := smallAddress(g.To); small {
			continue // a slot that was never set
		}
		if len(out) == 0 {
			asked = askedBeacon(f, g)
		}
		out = append(out, g.To)
	}
	return out, asked
}

// askedBeacon reports whether a frame asked a beacon for an implementation and then
// delegated to it.
func askedBeacon(f, to *trace.Frame) bool {
	for _, c := range f.Children {
		if c == to {
			return false
		}
		if c.Kind == trace.StaticCall && bytes.Equal(c.Input, evmsig.SelImplementation[:]) && len(c.Output) == 32 &&
			common.Address(c.Output[12:]) == to.To {
			return true
		}
	}
	return false
}
