package decode

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// maxFacets bounds the facets named of one diamond.
const maxFacets = 16

// Storage slots of proxies, computed from the text that the standards hash.
var (
	slot1967       = minusOne("eip1967.proxy.implementation")
	slotBeacon     = minusOne("eip1967.proxy.beacon")
	slotZeppelinos = crypto.Keccak256Hash([]byte("org.zeppelinos.proxy.implementation"))
	slot1822       = crypto.Keccak256Hash([]byte("PROXIABLE"))
	slotMatic      = crypto.Keccak256Hash([]byte("matic.network.proxy.implementation"))
	slotDiamond    = crypto.Keccak256Hash([]byte("diamond.standard.diamond.storage"))
)

// minusOne is the slot rule of EIP-1967: the hash less one, so that no preimage is known.
func minusOne(text string) common.Hash {
	h := crypto.Keccak256Hash([]byte(text))
	h[31]-- // none of the hashes used ends in zero
	return h
}

// Selectors asked of a proxy or looked for in its code.
var (
	selImplementation = selectorOf("implementation()")
	selMasterCopy     = selectorOf("masterCopy()")
	selFacetAddress   = selectorOf("facetAddress(bytes4)")
	getters           = [][]byte{selImplementation, selectorOf("getImplementation()"), selectorOf("comptrollerImplementation()")}
)

func selectorOf(text string) []byte { return crypto.Keccak256([]byte(text))[:4] }

// Implementation finds what stands behind a proxy, through up to three levels: the
// direct implementation first, then what that stands for. Of a diamond it gives the
// facets that answer the selectors seen in the tree. kind is how the first level
// was found (see Contract.ProxyKind, and getter); empty when addr is no proxy. The
// prober is bound to a block. Its errors matter only when nothing was found.
func Implementation(ctx context.Context, p Prober, addr common.Address, tree *trace.Tree) (impl []common.Address, kind string, err error) {
	seen := map[common.Address]bool{addr: true}
	for level := 0; level < maxProxies; level++ {
		found, how, ferr := (&prober{ctx: ctx, p: p, addr: addr, tree: tree}).level()
		if level == 0 {
			kind, err = how, ferr
		}
		if len(found) == 0 || seen[found[0]] {
			break
		}
		impl = append(impl, found...)
		if len(found) > 1 { // facets, or several targets: no single chain to follow
			break
		}
		addr = found[0]
		seen[addr] = true
	}
	if len(impl) > 0 {
		return impl, kind, nil
	}
	return nil, "", err
}

// prober looks behind one address.
type prober struct {
	ctx  context.Context
	p    Prober
	addr common.Address
	tree *trace.Tree
	code []byte
	err  error
}

// level tries the ways from the surest and cheapest on. Code without DELEGATECALL
// is no proxy, which spares most contracts the reads of storage.
func (q *prober) level() ([]common.Address, string, error) {
	code, err := q.p.Code(q.ctx, q.addr)
	if err != nil {
		q.err = fmt.Errorf("read code of %s: %w", q.addr, err)
	}
	q.code = code
	if a, ok := delegation(code); ok {
		return one(a), "eip7702", nil
	}
	if a, ok := clone(code); ok {
		return one(a), "eip1167", nil
	}
	if seen := delegates(q.tree, q.addr); len(seen) > 0 {
		kind := "trace"
		if bytes.Contains(code, slotDiamond[:]) {
			kind = "diamond"
		}
		return seen, kind, nil
	}
	if err == nil && !delegatesCode(code) {
		return nil, "", nil
	}
	for _, try := range []func() ([]common.Address, string){q.slots, q.safe, q.diamond, q.getter} {
		if found, kind := try(); len(found) > 0 {
			return found, kind, nil
		}
	}
	return nil, "", q.err
}

func one(a common.Address) []common.Address { return []common.Address{a} }

// slots reads the standard slots. The first two are always worth a read; of the
// rest the code holds the constant.
func (q *prober) slots() ([]common.Address, string) {
	if a, ok := q.slot(slot1967); ok {
		return one(a), "eip1967"
	}
	if beacon, ok := q.slot(slotBeacon); ok {
		if a, ok := q.ask(beacon, selImplementation); ok {
			return one(a), "beacon"
		}
	}
	for _, s := range []struct {
		slot common.Hash
		kind string
	}{{slotZeppelinos, "zeppelinos"}, {slot1822, "eip1822"}, {slotMatic, "matic"}} {
		if q.code != nil && !bytes.Contains(q.code, s.slot[:]) {
			continue
		}
		if a, ok := q.slot(s.slot); ok {
			return one(a), s.kind
		}
	}
	return nil, ""
}

// safe reads slot 0 of what answers masterCopy() in its fallback, as the Safe
// proxies do from 1.0.0 on. Slot 0 of anything else may be anything.
func (q *prober) safe() ([]common.Address, string) {
	if !bytes.Contains(q.code, selMasterCopy) {
		return nil, ""
	}
	if a, ok := q.slot(common.Hash{}); ok {
		return one(a), "safe"
	}
	return nil, ""
}

// diamond asks the loupe for the facet of each selector that the tree shows.
func (q *prober) diamond() ([]common.Address, string) {
	if q.tree == nil || !bytes.Contains(q.code, slotDiamond[:]) {
		return nil, ""
	}
	var out []common.Address
	asked := map[[4]byte]bool{}
	for _, f := range q.tree.Frames {
		if f.To != q.addr || len(f.Input) < 4 || asked[[4]byte(f.Input[:4])] || len(asked) >= maxFacets {
			continue
		}
		sel := [4]byte(f.Input[:4])
		asked[sel] = true
		arg := make([]byte, 32)
		copy(arg, sel[:])
		if a, ok := q.ask(q.addr, slices.Concat(selFacetAddress, arg)); ok && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out, "diamond"
}

// getter asks the functions that proxies of their own make offer, where the code
// holds the selector.
func (q *prober) getter() ([]common.Address, string) {
	for _, sel := range getters {
		if !bytes.Contains(q.code, sel) {
			continue
		}
		if a, ok := q.ask(q.addr, sel); ok {
			return one(a), "getter"
		}
	}
	return nil, ""
}

func (q *prober) slot(slot common.Hash) (common.Address, bool) {
	w, err := q.p.Storage(q.ctx, q.addr, slot)
	if err != nil {
		q.note(fmt.Errorf("read slot %s of %s: %w", slot, q.addr, err))
		return common.Address{}, false
	}
	return q.target(w[:])
}

func (q *prober) ask(to common.Address, data []byte) (common.Address, bool) {
	out, err := q.p.Call(q.ctx, to, data)
	if err != nil {
		q.note(fmt.Errorf("call %s: %w", to, err))
		return common.Address{}, false
	}
	if len(out) != 32 {
		return common.Address{}, false
	}
	return q.target(out)
}

// target reads a word as the address of other code.
func (q *prober) target(w []byte) (common.Address, bool) {
	a := common.Address(w[12:])
	_, small := smallAddress(a)
	return a, zero(w[:12]) && !small && a != q.addr
}

// note keeps the first error, and cancellation before all others.
func (q *prober) note(err error) {
	if q.err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		q.err = err
	}
}

// delegates are the targets to which addr passed its own input on, in order of
// appearance. More than one speaks for a diamond.
func delegates(tree *trace.Tree, addr common.Address) []common.Address {
	if tree == nil {
		return nil
	}
	var out []common.Address
	for _, f := range tree.Frames {
		if f.To != addr || f.Kind == trace.Create || f.Kind == trace.Create2 || f.Kind == trace.SelfDestruct {
			continue
		}
		if g := delegate(f); g != nil && len(g.Input) >= 4 && !slices.Contains(out, g.To) && len(out) < maxFacets {
			out = append(out, g.To)
		}
	}
	return out
}

// delegation reads the code of an account that delegates (EIP-7702).
func delegation(code []byte) (common.Address, bool) {
	if len(code) != 23 || !bytes.HasPrefix(code, []byte{0xef, 0x01, 0x00}) {
		return common.Address{}, false
	}
	return common.Address(code[3:]), true
}

// Instructions looked for in code.
const (
	opSLoad        = 0x54
	opGas          = 0x5a
	opPush1        = 0x60
	opPush32       = 0x7f
	opCall         = 0xf1
	opDelegateCall = 0xf4
	opStaticCall   = 0xfa
)

// maxClone is how far into the code of a clone its target may stand.
const maxClone = 160

// clone reads the target of a minimal proxy: EIP-1167, its variants with PUSH0
// (EIP-7511, Solady), with a short address, with a receive event or with immutable
// arguments behind, and Vyper's. What they share: the code pushes an address and
// at once does GAS DELEGATECALL, without having read storage or called before.
func clone(code []byte) (common.Address, bool) {
	for pc := 0; pc < len(code) && pc < maxClone; pc++ {
		op := code[pc]
		if op == opSLoad || op == opCall || op == opStaticCall || op == opDelegateCall {
			break
		}
		if op < opPush1 || op > opPush32 {
			continue
		}
		n := int(op - opPush1 + 1)
		end := pc + 1 + n
		if n >= 12 && n <= 20 && end+2 <= len(code) && code[end] == opGas && code[end+1] == opDelegateCall {
			return common.BytesToAddress(code[pc+1 : end]), true
		}
		pc += n
	}
	return common.Address{}, false
}

// delegatesCode reports whether the instruction DELEGATECALL occurs in the code.
func delegatesCode(code []byte) bool {
	for pc := 0; pc < len(code); pc++ {
		op := code[pc]
		if op == opDelegateCall {
			return true
		}
		if op >= opPush1 && op <= opPush32 {
			pc += int(op - opPush1 + 1)
		}
	}
	return false
}

// smallAddress gives the number of an address that fits eight bytes: precompiles
// and the zero address, never a contract.
func smallAddress(a common.Address) (uint64, bool) {
	if !zero(a[:12]) {
		return 0, false
	}
	return binary.BigEndian.Uint64(a[12:]), true
}
