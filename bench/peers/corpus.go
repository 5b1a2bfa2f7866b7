package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/fixture"
	"txlens/testkit/gethdata"
	"txlens/testkit/stubnode"
)

// one is a transaction that all programs get.
type one struct {
	chainID uint64
	hash    string
	chain   *chain.Chain
	tx      *ethrpc.Transaction
	receipt *ethrpc.Receipt
	tree    *trace.Tree
	expect  expectation
	frames  int             // calls with a selector, other than to precompiles
	logs    int             // of the receipt
	huge    bool            // with more than maxLogs
	pre     json.RawMessage // recorded state before, as prestateTracer in diff mode gives it
}

// maxLogs is the largest number of logs of a transaction that is counted as decoded: one
// recorded creation has 10,001, ten times as many as all others.
const maxLogs = 1000

// expectation is what people said of a labelled transaction.
type expectation struct{ types, protocols []string }

// corpus is a set of transactions and the nodes that know them.
type corpus struct {
	name  string
	txs   []*one
	nodes map[uint64]string // URL by chain
	stop  []func()
}

func (c *corpus) close() {
	for _, f := range c.stop {
		f()
	}
}

func (c *corpus) serve(chainID uint64, h http.Handler) {
	s := httptest.NewServer(h)
	c.nodes[chainID] = s.URL
	c.stop = append(c.stop, s.Close)
}

func (c *corpus) serveBlocks(blocks []fixture.Block) {
	of := map[uint64][]fixture.Block{}
	for _, b := range blocks {
		of[b.ChainID] = append(of[b.ChainID], b)
	}
	for id, list := range of {
		c.serve(id, stubnode.New(list, stubnode.Options{ChainID: id}))
	}
}

func (c *corpus) add(chainID uint64, t fixture.Tx, expect expectation) error {
	o := &one{chainID: chainID, hash: t.Hash, expect: expect, pre: t.StateDiff}
	o.chain, _ = chain.ByID(chainID)
	var err error
	if o.tx, err = ethrpc.ParseTransaction(t.Tx); err != nil {
		return fmt.Errorf("%s: %w", t.Hash, err)
	}
	if o.receipt, err = ethrpc.ParseReceipt(t.Receipt); err != nil {
		return fmt.Errorf("%s: %w", t.Hash, err)
	}
	if o.tree, err = trace.ParseCallTracerBytes(t.Trace, trace.Limits{}); err != nil {
		return fmt.Errorf("%s: %w", t.Hash, err)
	}
	o.tree.JoinLogs(o.receipt)
	o.logs = len(o.receipt.Logs)
	o.huge = o.logs > maxLogs
	for _, f := range o.tree.Frames {
		if !f.Kind.Creates() && f.Kind != trace.SelfDestruct && len(f.Input) >= 4 && f.HasTo && !precompile(f.To[:]) {
			o.frames++
		}
	}
	c.txs = append(c.txs, o)
	return nil
}

// precompile reports whether the address is one of the first 1,023.
func precompile(addr []byte) bool { return new(big.Int).SetBytes(addr).BitLen() <= 10 }

// recordedBlocks are all whole blocks.
func recordedBlocks(fixtures string) (*corpus, error) {
	paths, err := filepath.Glob(filepath.Join(fixtures, "blocks", "*", "*"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no recorded blocks in %s", fixtures)
	}
	sort.Strings(paths)
	c := &corpus{name: "recorded blocks", nodes: map[uint64]string{}}
	var blocks []fixture.Block
	for _, p := range paths {
		b, err := fixture.ReadBlock(p)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
		for _, t := range b.Txs {
			if err := c.add(b.ChainID, t, expectation{}); err != nil {
				return nil, err
			}
		}
	}
	c.serveBlocks(blocks)
	return c, nil
}

// labelledTxs are the transactions with a label. Their recordings have no trace but the
// internal transfers of value; a flat trace of these is what the nodes here answer.
func labelledTxs(fixtures string) (*corpus, error) {
	c := &corpus{name: "labelled transactions", nodes: map[uint64]string{}}
	var blocks []fixture.Block
	for _, id := range fixture.LabelledChains() {
		list, err := fixture.ReadLabelled(filepath.Join(fixtures, "labelled", strconv.FormatUint(id, 10)+".jsonl.gz"))
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			flat, err := flatTrace(l)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.Hash, err)
			}
			t := fixture.Tx{Hash: l.Hash, Tx: l.Tx, Receipt: l.Receipt, Trace: flat}
			if err := c.add(id, t, expectation{l.Expect.TxTypes, l.Expect.Protocols}); err != nil {
				return nil, err
			}
			number, err := blockNumber(l.Tx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.Hash, err)
			}
			blocks = append(blocks, fixture.Block{ChainID: id, Number: number, Header: l.Block, Txs: []fixture.Tx{t}})
		}
	}
	c.serveBlocks(blocks)
	return c, nil
}

func blockNumber(tx json.RawMessage) (uint64, error) {
	var at struct{ BlockNumber string }
	if err := json.Unmarshal(tx, &at); err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimPrefix(at.BlockNumber, "0x"), 16, 64)
}

type frame struct {
	Type    string  `json:"type"`
	From    string  `json:"from"`
	To      string  `json:"to,omitempty"`
	Gas     string  `json:"gas"`
	GasUsed string  `json:"gasUsed"`
	Input   string  `json:"input"`
	Output  string  `json:"output,omitempty"`
	Value   string  `json:"value"`
	Error   string  `json:"error,omitempty"`
	Calls   []frame `json:"calls,omitempty"`
}

// flatTrace has the transaction as its root and each internal transfer below it.
func flatTrace(l fixture.Labelled) (json.RawMessage, error) {
	var tx struct{ From, To, Gas, Input, Value string }
	var rc struct{ ContractAddress, GasUsed, Status string }
	var internal []struct{ From, To, Value, IsError string }
	for part, into := range map[*json.RawMessage]any{&l.Tx: &tx, &l.Receipt: &rc, &l.Internal: &internal} {
		if len(*part) == 0 {
			continue
		}
		if err := json.Unmarshal(*part, into); err != nil {
			return nil, err
		}
	}
	root := frame{Type: "CALL", From: tx.From, To: tx.To, Gas: tx.Gas, GasUsed: rc.GasUsed, Input: tx.Input, Output: "0x", Value: tx.Value}
	if tx.To == "" {
		root.Type, root.To = "CREATE", rc.ContractAddress
	}
	if rc.Status == "0x0" {
		root.Error = "execution reverted"
	}
	for _, m := range internal {
		v, ok := new(big.Int).SetString(m.Value, 10)
		if !ok || m.IsError == "1" || m.To == "" {
			continue
		}
		root.Calls = append(
			root.Calls,
			frame{Type: "CALL", From: m.From, To: m.To, Gas: "0x0", GasUsed: "0x0", Input: "0x", Output: "0x", Value: "0x" + v.Text(16)},
		)
	}
	return json.Marshal(root)
}

// executable are the transactions of mainnet that go-ethereum's tracer tests hold with
// all state that they touch, so that a program can re-execute them.
func executable() (*corpus, error) {
	names, err := gethdata.Names(gethdata.CallTracer, gethdata.CallTracerWithLog)
	if err != nil {
		return nil, err
	}
	c := &corpus{name: "executable transactions", nodes: map[uint64]string{}}
	var cases []*gethdata.Case
	seen := map[uint64]bool{}
	for _, name := range names {
		k, err := gethdata.Open(name)
		if err != nil {
			return nil, err
		}
		if !k.Mainnet() || seen[k.Block.Number] {
			continue
		}
		seen[k.Block.Number] = true
		ev, err := k.BuildEvidence()
		if err != nil {
			return nil, err
		}
		cases = append(cases, k)
		t := fixture.Tx{Hash: k.Hash().Hex(), Tx: ev.Tx, Receipt: ev.Receipt, Trace: ev.Trace}
		if err := c.add(1, t, expectation{}); err != nil {
			return nil, err
		}
	}
	node, err := gethdata.NewNode(cases...)
	if err != nil {
		return nil, err
	}
	c.serve(1, completed{node})
	return c, nil
}
