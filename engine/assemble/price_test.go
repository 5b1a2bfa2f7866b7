package assemble

import (
	"math/big"
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/ethrpc"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// TestPriceByTrade: without a service the trade in the transaction prices the action,
// says so, and lowers the confidence; a service's price stands.
func TestPriceByTrade(t *testing.T) {
	usdc := common.HexToAddress("0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")
	weth := common.HexToAddress("0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2")
	pool := common.HexToAddress("0xb4e16d0168e52d35cacd2c6185b44281ec28c9dc")
	event := func(text string, indexed []common.Address, words ...int64) ethrpc.Log {
		l := ethrpc.Log{Address: pool, Topics: []common.Hash{crypto.Keccak256Hash([]byte(text))}}
		for _, a := range indexed {
			l.Topics = append(l.Topics, common.BytesToHash(a[:]))
		}
		for _, w := range words {
			n := common.BigToHash(big.NewInt(w))
			l.Data = append(l.Data, n[:]...)
		}
		return l
	}
	f := func(name string, prices map[common.Address]Price, usd, source, note string, medium bool) {
		t.Helper()
		ev := evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x0"}`)
		ev.Tx.Value, ev.Prices = new(big.Int), prices
		ev.Receipt.Logs = []ethrpc.Log{
			sentLog(usdc, from, pool, 2_000_000_000), sentLog(weth, pool, from, 1e18),
			event("Sync(uint112,uint112)", nil, 2e15, 1e18),
			event("Swap(address,uint256,uint256,uint256,uint256,address)", []common.Address{to, from}, 2_000_000_000, 0, 0, 1e18),
		}
		// A reserve of a million ether passes an int64.
		n := common.BigToHash(new(big.Int).Mul(big.NewInt(1e18), big.NewInt(1_000_000)))
		copy(ev.Receipt.Logs[2].Data[32:], n[:])
		ev.Tokens = map[common.Address]label.Token{}
		for _, a := range []common.Address{usdc, weth} {
			ev.Tokens[a], _ = label.LookupToken(1, a)
		}
		r := Result(ev)
		got := "null"
		if r.USDValue != nil {
			got = r.USDValue.String()
		}
		if got != usd || r.Provenance.PriceSource != source || note != "" && !slices.Contains(r.Provenance.Notes, note) {
			t.Errorf("%s: %s USD by %q, notes %q", name, got, r.Provenance.PriceSource, r.Provenance.Notes)
		}
		reason := "no service gave a price; usdValue rests on a trade inside the transaction"
		if slices.Contains(r.Provenance.Notes, reason) != medium || medium && r.Confidence == api.High {
			t.Errorf("%s: confidence %s, notes %q", name, r.Confidence, r.Provenance.Notes)
		}
		if medium && (r.Provenance.PriceTime != ev.Block.Timestamp || r.Fee.TotalUSD.String() != "0.3") {
			t.Errorf("%s: price of %d, fee %s USD", name, r.Provenance.PriceTime, r.Fee.TotalUSD)
		}
	}
	f("no service", nil, "2000", "pools in this transaction", "price of WETH: 2000 USD by a trade against USDC in pool "+pool.Hex()+" in this transaction", true)
	f("the dollar is said", nil, "2000", "pools in this transaction", "USDC taken as 1 USD", true)
	one := Price{USD: api.Decimal{Unscaled: big.NewInt(998), Scale: 3}, Time: 5, Source: "service"}
	f("a service", map[common.Address]Price{usdc: one}, "1996", "service, and pools in this transaction", "price of WETH: 1996 USD by a trade against USDC in pool "+pool.Hex()+" in this transaction", false)
}
