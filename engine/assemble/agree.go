package assemble

import (
	"bytes"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
)

// Disagrees describes why a tree cannot be the execution of the transaction; "" if nothing
// contradicts it. A node may have answered for another transaction, or have run this one on
// another state. Some nodes write the zero address as the recipient of a creation. rc may be nil.
func Disagrees(tree *trace.Tree, tx *ethrpc.Transaction, rc *ethrpc.Receipt) string {
	root := tree.Root
	switch {
	case root.From != tx.From:
		return fmt.Sprintf("its outermost call is from %s, the transaction from %s", api.AddrOf(root.From), api.AddrOf(tx.From))
	case tx.To == nil && !root.Kind.Creates():
		return "its outermost call creates no contract, the transaction does"
	case tx.To != nil && (root.Kind.Creates() && *tx.To != common.Address{} || !root.Kind.Creates() && root.To != *tx.To):
		return fmt.Sprintf("its outermost call goes to %s, the transaction to %s", api.AddrOf(root.To), api.AddrOf(*tx.To))
	case root.Value.ToBig().Cmp(tx.Value) != 0:
		return fmt.Sprintf("its outermost call carries %s wei, the transaction %s", root.Value.Dec(), tx.Value)
	case !bytes.Equal(root.Input, tx.Input):
		return "its outermost call has other calldata than the transaction"
	case rc == nil || rc.Status == nil:
		return ""
	case *rc.Status == 1 && root.Err != "":
		return "it ends in a failure, the receipt in success"
	case *rc.Status != 1 && root.Err == "":
		return "it ends in success, the receipt in a failure"
	}
	return ""
}

// Comparable reports whether the outermost call of a trace must match the transaction. It
// must for Ethereum's own types on the known node families. Protocol transactions, bundles
// of calls, zkSync's bootloader, and chains with other addresses or units are traced
// differently.
func Comparable(ch *chain.Chain, tx *ethrpc.Transaction) bool {
	return ch.Stack.Traces() == chain.TracesMatch && tx.Type <= 4
}

// agree drops a tree that contradicts the transaction or the receipt.
func (b *builder) agree() {
	ev := b.ev
	if rc := ev.Receipt; rc != nil && Comparable(ev.Chain, ev.Tx) && ev.Tx.Gas > 0 && rc.GasUsed > ev.Tx.Gas {
		b.doubts = append(b.doubts, fmt.Sprintf("the receipt says that %d gas was used, the transaction allows %d", rc.GasUsed, ev.Tx.Gas))
	}
	if ev.Tree == nil {
		return
	}
	b.amend()
	why := Disagrees(ev.Tree, ev.Tx, ev.Receipt)
	switch {
	case why == "":
		return
	case Comparable(ev.Chain, ev.Tx):
		b.refused = true
		b.doubts = append(b.doubts, "the call trace is left out: "+why)
	case ev.Chain.Stack.Traces() != chain.TracesDiffer:
		b.doubts = append(b.doubts, "the call trace may not be of this transaction: "+why)
	}
}

// homestead is the block of Ethereum from which a creation that cannot pay for storing its
// code fails (EIP-2, EIP-606).
var homestead = params.MainnetChainConfig.HomesteadBlock.Uint64()

// amend corrects what a node's trace says of the outcome, where the rules of the block or the
// receipt say otherwise, and of who made the calls.
func (b *builder) amend() {
	ev := b.ev
	if n := ev.Tx.BlockNumber; n != nil && *n < homestead && ev.Chain.ID == 1 {
		ev.Tree.AcceptUnpaidCode()
	}
	if ev.Receipt != nil && ev.Receipt.Status != nil && *ev.Receipt.Status == 0 && ev.Tree.Root.Err == "" {
		ev.Tree.MarkReverted()
	}
	if ev.Chain.Stack.Traces() != chain.TracesDiffer && ev.Tx.Type <= 4 {
		ev.Tree.CorrectSenders()
	}
}

// diff returns the node's state diff. It is dropped with the trace, because the same node
// returned both.
func (b *builder) diff() *ethrpc.StateDiff {
	if b.refused {
		return nil
	}
	return b.ev.Diff
}
