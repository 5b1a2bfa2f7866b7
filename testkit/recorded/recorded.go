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
	"txlens/testkit/size"

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

// stride is how many recorded transactions of a kind the small size has one of. Incidents are
// not left out: no two of them are alike.
const stride = 10

// Sampled reports whether the size of the tests has the transaction number n of a kind,
// counted from 0.
func Sampled(n int) bool { return size.Full() || n%stride == 0 }

// large is from how many bytes of trace, receipt and state a transaction of a block is one of
// the few large ones, which are in each sample: one has ten thousand logs, and what is to be
// bounded is bounded there.
const large = 300_000

// Sample is All at the full size. At the small one it is every tenth transaction and the large
// ones.
func Sample(tb testing.TB) iter.Seq[*assemble.Evidence] {
	return func(yield func(*assemble.Evidence) bool) {
		n := 0
		for _, b := range fixture.Blocks(tb) {
			for i := range b.Txs {
				tx := &b.Txs[i]
				bytes := len(tx.Trace) + len(tx.Receipt) + len(tx.StateDiff)
				if (Sampled(n) || bytes >= large) && !yield(Evidence(tb, &b, tx)) {
					return
				}
				n++
			}
		}
	}
}

// SampleBenign calls f with the evidence of the traces of ordinary transactions: of all, or of
// every tenth at the small size.
func SampleBenign(tb testing.TB, f func(*assemble.Evidence)) {
	tb.Helper()
	n := 0
	fixture.EachBenign(tb, func(b *fixture.Benign) {
		if Sampled(n) {
			f(Benign(tb, b))
		}
		n++
	})
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
