package flow

import (
	"math/big"

	"txlens/engine/chain"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// minted records coin that arrives from L1 before the transaction runs; it stays if the
// transaction fails.
func (c *computation) minted() {
	tx := c.Tx
	switch c.txType.Mint {
	case chain.MintField:
		c.mint(tx.From, tx.Mint)
	case chain.MintValue: // the root frame moves it on
		if c.Succeeded {
			c.mint(tx.From, tx.Value)
		}
	}
}

func (c *computation) mint(to common.Address, amount *big.Int) {
	if v, ok := positive(amount); ok {
		c.move(Move{Kind: MoveMint, To: to, Frame: -1}, v)
	}
}

// positive converts an amount if it is above zero and fits into 256 bits.
func positive(n *big.Int) (*uint256.Int, bool) {
	if n == nil || n.Sign() <= 0 {
		return nil, false
	}
	v, overflow := uint256.FromBig(n)
	return v, !overflow
}

// native records what moved inside the transaction.
func (c *computation) native() {
	t := c.Tree
	if c.nativeByLogs() {
		return
	}
	c.out.Complete = t != nil && t.Source != trace.SourceReceipt
	if c.txType.OutsideFrames {
		c.out.Complete = false
		c.note("retryable tickets move coin outside the call frames: the native ledger is incomplete")
	}
	switch {
	case !c.Succeeded:
	case t == nil || t.Root == nil:
		c.topLevel()
	case t.Compressed():
		c.walk(t.Root)
	default:
		for _, f := range t.Frames {
			c.frame(f)
		}
	}
}

// topLevel records the value of the transaction, which is all that is known without a
// trace.
func (c *computation) topLevel() {
	v, ok := positive(c.Tx.Value)
	if !ok {
		return
	}
	m := Move{Kind: MoveCall, From: c.Tx.From, Frame: -1}
	switch {
	case c.Tx.To != nil:
		m.To = *c.Tx.To
	case c.Receipt != nil && c.Receipt.ContractAddress != nil:
		m.Kind, m.To = MoveCreate, *c.Receipt.ContractAddress
	default:
		m.Kind, m.NoTo = MoveCreate, true
	}
	c.move(m, v)
}

// walk visits frames and the moves of markers in execution order.
func (c *computation) walk(f *trace.Frame) {
	c.frame(f)
	next := 0
	for i, child := range f.Children {
		for ; next < len(f.Markers) && f.Markers[next].After <= i; next++ {
			c.omitted(f.Markers[next])
		}
		c.walk(child)
	}
	for ; next < len(f.Markers); next++ {
		c.omitted(f.Markers[next])
	}
}

// frame records the value of one successful frame. A failed or reverted frame moves
// nothing, and neither do CALLCODE, DELEGATECALL and STATICCALL.
func (c *computation) frame(f *trace.Frame) {
	if f.Status != trace.OK {
		return
	}
	m := Move{Kind: MoveCall, From: f.From, To: f.To, Frame: f.Index}
	switch f.Kind {
	case trace.Create, trace.Create2:
		if !f.HasTo {
			return
		}
		c.bal.account(f.To).created = true
		m.Kind = MoveCreate
	case trace.SelfDestruct:
		c.selfDestruct(m, &f.Value)
		return
	}
	if f.MovesValue() {
		c.move(m, &f.Value)
	}
}

// omitted records the sums of a marker. Their order is unknown: an account destroyed inside
// is assumed to have received its coin before, as in loops of factories and their
// short-lived children.
func (c *computation) omitted(m *trace.Marker) {
	for _, a := range m.Creates {
		c.bal.account(a).created = true
	}
	for _, destroy := range [2]bool{false, true} {
		for i := range m.Moves {
			v := &m.Moves[i]
			if (v.Kind == trace.SelfDestruct) != destroy {
				continue
			}
			mv := Move{Kind: MoveCall, From: v.From, To: v.To, Frame: -1}
			switch {
			case destroy:
				c.selfDestruct(mv, &v.Value)
				continue
			case v.Kind == trace.Create || v.Kind == trace.Create2:
				mv.Kind = MoveCreate
			}
			c.move(mv, &v.Value)
		}
	}
}

// selfDestruct records SELFDESTRUCT by m.From in favour of m.To. Before EIP-6780 every such
// account is deleted at the end of the transaction; since then only one that was created in
// the same transaction. Deletion burns what the account still holds: what it sent to itself
// here, what it receives later in lost.
func (c *computation) selfDestruct(m Move, value *uint256.Int) {
	a := c.bal.account(m.From)
	deleted := a.created || !c.Chain.Stack.EIP6780(c.head)
	m.Kind = MoveSelfDestruct
	switch {
	case m.From != m.To:
		c.move(m, value)
	case deleted:
		c.move(Move{Kind: MoveBurn, From: m.From, Frame: m.Frame, NoTo: true}, value)
	}
	if deleted {
		a = c.bal.account(m.From)
		a.destroyed, a.inAt, a.outAt = true, a.in, a.out
	}
}

// lost records coin that accounts received after their SELFDESTRUCT: it is burnt when the
// transaction ends. Fees are paid before that, so a fee recipient is no exception.
func (c *computation) lost() {
	for i := range c.bal.accounts {
		a := &c.bal.accounts[i]
		if !a.destroyed {
			continue
		}
		in, _ := a.in.sub(&a.inAt)
		out, _ := a.out.sub(&a.outAt)
		rest, negative := in.sub(&out)
		if negative || rest.isZero() {
			continue
		}
		n := rest.big()
		a.out.addWide(&rest)
		a.touched = true
		c.out.Moves = append(c.out.Moves, Move{Kind: MoveBurn, From: a.addr, Amount: n, Frame: -1, NoTo: true})
	}
}

// move records and lists one movement.
func (c *computation) move(m Move, v *uint256.Int) {
	if v.IsZero() {
		return
	}
	if m.Kind != MoveMint {
		a := c.bal.account(m.From)
		a.out.add(v)
		a.touched = true
	}
	if !m.NoTo {
		a := c.bal.account(m.To)
		a.in.add(v)
		a.touched = true
	}
	m.Amount = c.slab.of(v)
	c.out.Moves = append(c.out.Moves, m)
}
