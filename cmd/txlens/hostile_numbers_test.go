package main

import (
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/internal/testkit/stubnode"
)

// Numbers at the ends of their ranges.
const (
	max64  = "0xffffffffffffffff"
	max256 = "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
)

// TestHostileNumbers: numbers that no chain has are shown as they are or refused;
// nothing overflows, and no sum of them is a small one.
func TestHostileNumbers(t *testing.T) {
	f := func(name string, twist func(s *scene), look func(r *api.Result) bool) {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			twist(s)
			r := s.explain(t).res
			if look != nil && !look(r) {
				t.Errorf("%s, %s; meta %+v, fee %+v, notes %q", r.Status, r.Summary, r.TxMeta, r.Fee, r.Provenance.Notes)
			}
		})
	}
	partial := func(r *api.Result) bool { return r.Partial() }
	f("value", func(s *scene) { s.tx["value"], s.trace.(object)["value"] = max256, max256 }, func(r *api.Result) bool { return r.TxMeta.ValueWei == max256 })
	f("value and price", func(s *scene) {
		s.tx["value"], s.trace.(object)["value"] = max256, max256
		s.sources.SetPrice("coingecko:ethereum", stubnode.Price{USD: "99999999999", Symbol: "ETH"})
	}, nil)
	f("gas used", func(s *scene) { s.receipt["gasUsed"], s.trace.(object)["gasUsed"] = max64, max64 }, func(r *api.Result) bool { return r.TxMeta.GasUsed == 1<<64-1 })
	f("gas price", func(s *scene) { s.receipt["effectiveGasPrice"], s.receipt["gasUsed"] = max256, max64 }, func(r *api.Result) bool { return len(r.Fee.TotalWei) > 90 })
	f("base fee above the price", func(s *scene) { s.block["baseFeePerGas"] = max256 }, nil)
	f("blobs", func(s *scene) { s.receipt["blobGasUsed"], s.receipt["blobGasPrice"] = max64, max256 }, nil)
	f("block number", func(s *scene) { s.tx["blockNumber"], s.receipt["blockNumber"], s.block["number"] = max64, max64, max64 }, func(r *api.Result) bool { return r.TxMeta.BlockNumber == 1<<64-1 })
	f("block zero", func(s *scene) { s.tx["blockNumber"], s.receipt["blockNumber"], s.block["number"] = "0x0", "0x0", "0x0" }, nil)
	f("time", func(s *scene) { s.block["timestamp"] = max64 }, func(r *api.Result) bool { return r.TxMeta.BlockTimestamp == 1<<64-1 })
	f("time of a far year", func(s *scene) { s.block["timestamp"] = "0x7fffffffffffffff" }, nil)
	f("index", func(s *scene) { s.tx["transactionIndex"] = max64 }, nil)
	f("type", func(s *scene) { s.tx["type"], s.receipt["type"] = "0x55", "0x55" }, func(r *api.Result) bool { return !r.Partial() })
	f("type of 64 bits", func(s *scene) { s.tx["type"], s.receipt["type"] = max64, max64 }, nil)
	f("negative", func(s *scene) { s.receipt["gasUsed"] = -1 }, partial)
	f("fraction", func(s *scene) { s.tx["value"] = 1.5 }, partial)
	f("beyond 256 bits", func(s *scene) { s.tx["value"] = max256 + "0" }, partial)
	f("words", func(s *scene) { s.block["timestamp"] = "yesterday" }, func(r *api.Result) bool {
		return !r.Partial() && r.Confidence != api.High && r.TxMeta.BlockTimestamp == 0 && strings.Contains(strings.Join(r.Provenance.Notes, ""), "the header of the block could not be fetched")
	})
	f("frames of all value", func(s *scene) {
		var calls []any
		for range 50 {
			c := frame("CALL", sceneTarget, sceneOther, nil)
			c["value"] = max256
			calls = append(calls, c)
		}
		s.trace.(object)["calls"] = calls
	}, nil)
	f("tokens of all amounts", func(s *scene) {
		var logs []any
		for i := range 20 {
			l := transferLog(i, sceneToken, sceneSender, sceneOther)
			l["data"], l["logIndex"] = max256, max64
			logs = append(logs, l)
		}
		s.receipt["logs"] = logs
	}, func(r *api.Result) bool { return len(r.TokenTransfers) == 20 })
	f("an id of 256 bits", func(s *scene) {
		l := transferLog(0, sceneToken, sceneSender, sceneOther)
		l["topics"], l["data"] = append(l["topics"].([]string), max256), "0x"
		s.receipt["logs"] = []any{l}
	}, nil)
	f("L1 fees", func(s *scene) {
		s.chain, s.tx["chainId"] = 10, "0xa"
		for _, k := range []string{"l1Fee", "operatorFeeScalar", "operatorFeeConstant", "l1GasUsed"} {
			s.receipt[k] = max256
		}
	}, nil)
	f("a deposit of an unknown kind", func(s *scene) {
		s.chain, s.tx["chainId"], s.tx["type"], s.receipt["type"] = 10, "0xa", "0x7e", "0x7e"
		s.tx["mint"], s.tx["sourceHash"] = max256, sceneHash
	}, nil)
	f("an error of many words", func(s *scene) {
		s.receipt["status"] = "0x0"
		s.trace.(object)["error"] = strings.Repeat("why \x1b[2J\u202e<script> ", 50_000)
		s.trace.(object)["revertReason"] = strings.Repeat("`**](x) ", 50_000)
	}, func(r *api.Result) bool { return r.Status == api.StatusReverted && len(r.Summary) < 2000 })
}
