package scene

import (
	"bytes"
	"math/big"
	"testing"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ethereum/go-ethereum/common"
)

// FromMEV composes a recorded flat trace. It has neither logs nor an envelope; what
// the transaction cost is known where the recording has the receipt's gas.
func FromMEV(tb testing.TB, m *fixture.MEV) *facts.Input {
	tb.Helper()
	ch, _ := chain.ByID(1)
	tree, err := trace.ParseParity(jsontext.NewDecoder(bytes.NewReader(m.Parity)), trace.Limits{})
	if err != nil {
		tb.Fatalf("%s: %v", m.Hash, err)
	}
	root := tree.Root
	tx := &ethrpc.Transaction{
		Hash: common.HexToHash(m.Hash), From: root.From, Input: root.Input, Value: root.Value.ToBig(), GasPrice: new(big.Int),
	}
	if root.HasTo {
		tx.To = &root.To
	}
	rc := &ethrpc.Receipt{}
	if m.Receipt != nil && m.Receipt.GasUsed > 0 {
		rc.GasUsed, rc.EffectiveGasPrice = m.Receipt.GasUsed, new(big.Int).SetUint64(m.Receipt.Price)
	}
	var blk *ethrpc.Block
	if m.Block != nil {
		blk = &ethrpc.Block{Number: m.Block.Number, Miner: common.HexToAddress(m.Block.Miner), BaseFee: new(big.Int).SetUint64(m.Block.BaseFee)}
	}
	return ComposeBare(ch, tx, rc, blk, tree)
}

// Around gives facts the receipts of the transactions beside them in their block.
func Around(tb testing.TB, f *facts.Input, b *fixture.Block, at int) {
	tb.Helper()
	n := &ethrpc.Neighbours{}
	for i := max(0, at-4); i <= min(len(b.Txs)-1, at+4); i++ {
		rc, err := ethrpc.ParseReceipt(b.Txs[i].Receipt)
		if err != nil {
			tb.Fatal(err)
		}
		switch {
		case i == at || rc.Status != nil && *rc.Status == 0:
		case i < at:
			n.Before = append(n.Before, rc)
		default:
			n.After = append(n.After, rc)
		}
	}
	f.Neighbours = n
}
