package scene

import (
	"bytes"
	"encoding/json"
	"math/big"
	"testing"
	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Compose makes Facts of parsed evidence with the real packages and no network.
func Compose(ch *chain.Chain, tx *ethrpc.Transaction, rc *ethrpc.Receipt, blk *ethrpc.Block, tree *trace.Tree) *facts.Input {
	ok := tree.Root.Err == ""
	if rc.Status != nil {
		ok = *rc.Status == 1
	}
	tree.JoinLogs(rc)
	return composed(ch, tx, rc, blk, tree, ok, false)
}

// ComposeBare is compose where nobody has the logs.
func ComposeBare(ch *chain.Chain, tx *ethrpc.Transaction, rc *ethrpc.Receipt, blk *ethrpc.Block, tree *trace.Tree) *facts.Input {
	return composed(ch, tx, rc, blk, tree, tree.Root.Err == "", true)
}

func composed(
	ch *chain.Chain,
	tx *ethrpc.Transaction,
	rc *ethrpc.Receipt,
	blk *ethrpc.Block,
	tree *trace.Tree,
	ok, bare bool,
) *facts.Input {
	f := &facts.Input{Chain: ch, Tx: tx, Receipt: rc, Block: blk, Tree: tree, Succeeded: ok, NoLogs: bare,
		Labels: map[common.Address]label.Label{}, Tokens: map[common.Address]label.Token{}}
	f.Flow = flow.Compute(flow.Input{Chain: ch, Tx: tx, Receipt: rc, Block: blk, Tree: tree, Succeeded: ok, NoLogs: bare,
		Token: func(a common.Address) bool { t, ok := label.LookupToken(ch.ID, a); return ok && t.Listed },
		Divisible: func(a common.Address) bool {
			t, _ := label.LookupToken(ch.ID, a)
			return t.Decimals != nil && *t.Decimals > 0
		}})
	f.Decoded = decode.New(ch, decode.Sources{}).All(tree, rc)
	seen := map[common.Address]bool{}
	add := func(a common.Address) {
		if seen[a] {
			return
		}
		seen[a] = true
		if l, ok := label.Lookup(ch.ID, a); ok {
			f.Labels[a] = l
		}
		if t, ok := label.LookupToken(ch.ID, a); ok {
			f.Tokens[a] = t
		}
	}
	add(tx.From)
	for _, fr := range tree.Frames {
		add(fr.From)
		add(fr.To)
	}
	for i := range rc.Logs {
		add(rc.Logs[i].Address)
	}
	for i := range f.Flow.Transfers {
		add(f.Flow.Transfers[i].From)
		add(f.Flow.Transfers[i].To)
		add(f.Flow.Transfers[i].Token)
	}
	return f
}

// FromFixture composes one recorded transaction with its trace.
func FromFixture(tb testing.TB, b *fixture.Block, t *fixture.Tx, blk *ethrpc.Block) *facts.Input {
	tb.Helper()
	ch, ok := chain.ByID(b.ChainID)
	if !ok {
		tb.Fatalf("chain %d is not in the table", b.ChainID)
	}
	tx, err := ethrpc.ParseTransaction(t.Tx)
	if err != nil {
		tb.Fatal(err)
	}
	rc, err := ethrpc.ParseReceipt(t.Receipt)
	if err != nil {
		tb.Fatal(err)
	}
	tree, err := trace.ParseCallTracer(jsontext.NewDecoder(bytes.NewReader(t.Trace)), trace.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return Compose(ch, tx, rc, blk, tree)
}

// FromLabelled composes a recorded transaction without trace: the internal value
// transfers that an explorer recorded stand as calls below the root.
func FromLabelled(tb testing.TB, l *fixture.Labelled) *facts.Input {
	tb.Helper()
	ch, ok := chain.ByID(l.ChainID)
	if !ok {
		tb.Fatalf("chain %d is not in the table", l.ChainID)
	}
	tx, err := ethrpc.ParseTransaction(l.Tx)
	if err != nil {
		tb.Fatal(err)
	}
	rc, err := ethrpc.ParseReceipt(l.Receipt)
	if err != nil {
		tb.Fatal(err)
	}
	var blk *ethrpc.Block
	if len(l.Block) > 0 && string(l.Block) != "null" {
		if blk, err = ethrpc.ParseBlock(l.Block); err != nil {
			blk = nil
		}
	}
	tree := trace.FromReceipt(tx, rc, rc.Status == nil || *rc.Status == 1)
	addInternal(tb, tree, l.Internal)
	return Compose(ch, tx, rc, blk, tree)
}

func addInternal(tb testing.TB, tree *trace.Tree, raw json.RawMessage) {
	var list []struct{ From, To, Value, IsError, Type, ContractAddress string }
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		tb.Fatal(err)
	}
	for _, m := range list {
		v, ok := new(big.Int).SetString(m.Value, 10)
		if !ok || m.IsError == "1" || m.To == "" {
			continue
		}
		f := &trace.Frame{Kind: trace.Call, From: common.HexToAddress(m.From), To: common.HexToAddress(m.To), HasTo: true}
		n, _ := uint256.FromBig(v)
		f.Value = *n
		tree.Root.Children = append(tree.Root.Children, f)
	}
	tree.Finish()
}
