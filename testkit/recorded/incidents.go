package recorded

import (
	"bytes"
	"errors"
	"math/big"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// Exploit makes the evidence of a recorded incident, with the tokens of the embedded
// tables.
func Exploit(tb testing.TB, x *fixture.Exploit) *assemble.Evidence {
	tb.Helper()
	ch, _ := chain.ByID(x.ChainID)
	ev := &assemble.Evidence{Chain: ch, Version: "test", TxHash: x.Hash, Triage: true}
	var errs [4]error
	ev.Tx, errs[0] = ethrpc.ParseTransaction(x.Tx)
	ev.Receipt, errs[1] = ethrpc.ParseReceipt(x.Receipt)
	ev.Block, errs[2] = ethrpc.ParseBlock(x.Block)
	ev.Tree, errs[3] = trace.ParseCallTracerBytes(x.Trace, trace.Limits{})
	for _, err := range errs {
		if err != nil {
			tb.Fatalf("%s: %v", x.Hash, err)
		}
	}
	ev.Tokens = tokensOf(x.ChainID, ev)
	return ev
}

// Benign makes the evidence of a call trace without logs. What no trace tells, such as the
// price of gas, is zero.
func Benign(tb testing.TB, b *fixture.Benign) *assemble.Evidence {
	tb.Helper()
	tree, err := trace.ParseCallTracerBytes(b.Trace, trace.Limits{})
	if err != nil {
		tb.Fatalf("%s: %v", b.Hash, err)
	}
	return OfTree(b.ChainID, b.Hash, tree)
}

// MEV makes the evidence of a searcher's recorded flat trace.
func MEV(tb testing.TB, m *fixture.MEV) *assemble.Evidence {
	tb.Helper()
	tree, err := trace.ParseParity(jsontext.NewDecoder(bytes.NewReader(m.Parity)), trace.Limits{})
	if err != nil {
		tb.Fatalf("%s: %v", m.Hash, err)
	}
	return OfTree(1, m.Hash, tree)
}

// Labelled makes the evidence of a recorded transaction without a trace.
func Labelled(tb testing.TB, x *fixture.Labelled) *assemble.Evidence {
	tb.Helper()
	ch, _ := chain.ByID(x.ChainID)
	ev := &assemble.Evidence{Chain: ch, Version: "test", TxHash: x.Hash, Triage: true}
	var errs [3]error
	ev.Tx, errs[0] = ethrpc.ParseTransaction(x.Tx)
	ev.Receipt, errs[1] = ethrpc.ParseReceipt(x.Receipt)
	ev.Block, errs[2] = ethrpc.ParseBlock(x.Block)
	if err := errors.Join(errs[:]...); err != nil {
		tb.Fatalf("%s: %v", x.Hash, err)
	}
	ev.Tokens = tokensOf(x.ChainID, ev)
	return ev
}

// OfTree makes evidence of a call tree alone: a transaction and a receipt that say what the
// tree says.
func OfTree(chainID uint64, hash string, tree *trace.Tree) *assemble.Evidence {
	ch, _ := chain.ByID(chainID)
	root, status := tree.Root, uint64(1)
	if root.Err != "" {
		status = 0
	}
	tx := &ethrpc.Transaction{
		Hash:     common.HexToHash(hash),
		From:     root.From,
		Input:    root.Input,
		Value:    root.Value.ToBig(),
		GasPrice: new(big.Int),
	}
	rc := &ethrpc.Receipt{Status: &status, EffectiveGasPrice: new(big.Int)}
	if root.Kind.Creates() {
		rc.ContractAddress = &root.To
	} else {
		tx.To = &root.To
	}
	ev := &assemble.Evidence{Chain: ch, Version: "test", TxHash: hash, Triage: true, Tree: tree, Tx: tx, Receipt: rc}
	if !tree.HasLogs {
		deriveLogs(ch, tree)
		rc.Logs = tree.LogsAsReceipt().Logs
	}
	ev.Tokens = tokensOf(chainID, ev)
	return ev
}

func tokensOf(chainID uint64, ev *assemble.Evidence) map[common.Address]label.Token {
	out := map[common.Address]label.Token{}
	for i := range ev.Receipt.Logs {
		if t, ok := label.LookupToken(chainID, ev.Receipt.Logs[i].Address); ok {
			out[t.Address] = t
		}
	}
	return out
}

// deriveLogs adds to each live call of a token the Transfer that it stands for, and to
// those of the wrapped coin its Deposit or Withdrawal. Minting and burning do not show.
func deriveLogs(ch *chain.Chain, tree *trace.Tree) {
	tree.HasLogs = true
	for _, f := range tree.Frames {
		if f.Kind != trace.Call || f.Status != trace.OK || !f.HasTo ||
			f.Parent != nil && f.Parent.Kind == trace.Call && len(f.Input) >= 68 && bytes.Equal(f.Parent.Input, f.Input) {
			continue
		}
		if topics, data := derivedLog(ch, f); topics != nil {
			f.Logs = append(f.Logs, trace.Log{Address: f.To, Topics: topics, Data: data, Calls: len(f.Children), Receipt: -1})
		}
	}
}

func derivedLog(ch *chain.Chain, f *trace.Frame) (topics []common.Hash, data []byte) {
	holder := func(a common.Address) common.Hash { return common.BytesToHash(a[:]) }
	value := common.Hash(f.Value.Bytes32())
	if w := ch.WrappedNative; w != nil && f.To == *w {
		switch {
		case !f.Value.IsZero() && (len(f.Input) == 0 || evmsig.SelDeposit.Begins(f.Input)):
			return []common.Hash{evmsig.TopicDeposit, holder(f.From)}, value[:]
		case evmsig.SelWithdraw.Begins(f.Input) && len(f.Input) >= 36:
			return []common.Hash{evmsig.TopicWithdrawal, holder(f.From)}, f.Input[4:36]
		}
	}
	if len(f.Output) >= 32 && new(big.Int).SetBytes(f.Output[:32]).Sign() == 0 {
		return nil, nil
	}
	switch {
	case evmsig.SelTransfer.Begins(f.Input) && len(f.Input) >= 68:
		return []common.Hash{evmsig.TopicTransfer, holder(f.From), common.BytesToHash(f.Input[4:36])}, f.Input[36:68]
	case evmsig.SelTransferFrom.Begins(f.Input) && len(f.Input) >= 100:
		return []common.Hash{evmsig.TopicTransfer, common.BytesToHash(f.Input[4:36]), common.BytesToHash(f.Input[36:68])}, f.Input[68:100]
	}
	return nil, nil
}
