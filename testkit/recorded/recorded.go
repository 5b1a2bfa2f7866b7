// Package recorded makes evidence of the recorded transactions, for tests.
package recorded

import (
	"iter"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/ethereum/go-ethereum/common"
)

// Evidence is a recorded transaction with the tokens of the embedded tables, and
// prices made up for the native coin and the dollars.
func Evidence(tb testing.TB, b *fixture.Block, tx *fixture.Tx) *assemble.Evidence {
	tb.Helper()
	ch, _ := chain.ByID(b.ChainID)
	ev := &assemble.Evidence{
		Chain:   ch,
		Version: "0.1.0",
		Tokens:  map[common.Address]label.Token{},
		Prices:  map[common.Address]assemble.Price{},
	}
	var errs [5]error
	ev.Tx, errs[0] = ethrpc.ParseTransaction(tx.Tx)
	ev.Receipt, errs[1] = ethrpc.ParseReceipt(tx.Receipt)
	ev.Block, errs[2] = ethrpc.ParseBlock(b.Header)
	ev.Tree, errs[3] = trace.ParseCallTracerBytes(tx.Trace, trace.Limits{})
	ev.Diff, errs[4] = ethrpc.ParseStateDiff(tx.StateDiff)
	for _, err := range errs {
		if err != nil {
			tb.Fatal(err)
		}
	}
	ev.TxHash = ev.Tx.Hash.Hex()
	price := func(a common.Address, cents int64) {
		ev.Prices[a] = assemble.Price{USD: api.Decimal{Unscaled: big.NewInt(cents), Scale: 2}, Time: ev.Block.Timestamp, Source: "made up"}
	}
	price(common.Address{}, 312045)
	for i := range ev.Receipt.Logs {
		a := ev.Receipt.Logs[i].Address
		tok, ok := label.LookupToken(b.ChainID, a)
		if !ok {
			continue
		}
		ev.Tokens[a] = tok
		switch tok.Symbol {
		case "WETH":
			price(a, 312045)
		case "USDC", "USDT", "DAI":
			price(a, 100)
		}
	}
	return ev
}

// All makes the evidence of every transaction of the recorded blocks.
func All(tb testing.TB) iter.Seq[*assemble.Evidence] {
	return func(yield func(*assemble.Evidence) bool) {
		for _, b := range fixture.Blocks(tb) {
			for i := range b.Txs {
				if !yield(Evidence(tb, &b, &b.Txs[i])) {
					return
				}
			}
		}
	}
}

// Find makes the evidence of the transaction whose hash begins so.
func Find(tb testing.TB, hash string) *assemble.Evidence {
	tb.Helper()
	for _, b := range fixture.Blocks(tb) {
		for i := range b.Txs {
			if strings.HasPrefix(b.Txs[i].Hash, hash) {
				return Evidence(tb, &b, &b.Txs[i])
			}
		}
	}
	tb.Fatalf("no recorded transaction %s", hash)
	return nil
}
