package app_test

import (
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/testkit/service"
	"txlens/testkit/stubnode"
)

// Numbers at the ends of their ranges.
const (
	max64  = "0xffffffffffffffff"
	max256 = "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
)

// TestHostileNumbers: numbers that no chain has are shown as they are or refused;
// nothing overflows, and no sum of them is a small one.
func TestHostileNumbers(t *testing.T) {
	f := func(name string, twist func(s *service.Scene), look func(r *api.Result) bool) {
		t.Run(name, func(t *testing.T) {
			s := service.NewScene(t)
			twist(s)
			r := s.Explain(t).Res
			if look != nil && !look(r) {
				t.Errorf("%s, %s; meta %+v, fee %+v, notes %q", r.Status, r.Summary, r.TxMeta, r.Fee, r.Provenance.Notes)
			}
		})
	}
	partial := func(r *api.Result) bool { return r.Partial() }
	f("value", func(s *service.Scene) { s.Tx["value"], s.Trace.(service.Object)["value"] = max256, max256 }, func(r *api.Result) bool { return r.TxMeta.ValueWei == max256 })
	f("value and price", func(s *service.Scene) {
		s.Tx["value"], s.Trace.(service.Object)["value"] = max256, max256
		s.Sources.SetPrice("coingecko:ethereum", stubnode.Price{USD: "99999999999", Symbol: "ETH"})
	}, nil)
	f("gas used", func(s *service.Scene) { s.Receipt["gasUsed"], s.Trace.(service.Object)["gasUsed"] = max64, max64 }, func(r *api.Result) bool { return r.TxMeta.GasUsed == 1<<64-1 })
	f("gas price", func(s *service.Scene) { s.Receipt["effectiveGasPrice"], s.Receipt["gasUsed"] = max256, max64 }, func(r *api.Result) bool { return len(r.Fee.TotalWei) > 90 })
	f("base fee above the price", func(s *service.Scene) { s.Block["baseFeePerGas"] = max256 }, nil)
	f("blobs", func(s *service.Scene) { s.Receipt["blobGasUsed"], s.Receipt["blobGasPrice"] = max64, max256 }, nil)
	f("block number", func(s *service.Scene) {
		s.Tx["blockNumber"], s.Receipt["blockNumber"], s.Block["number"] = max64, max64, max64
	}, func(r *api.Result) bool { return r.TxMeta.BlockNumber == 1<<64-1 })
	f("block zero", func(s *service.Scene) {
		s.Tx["blockNumber"], s.Receipt["blockNumber"], s.Block["number"] = "0x0", "0x0", "0x0"
	}, nil)
	f("time", func(s *service.Scene) { s.Block["timestamp"] = max64 }, func(r *api.Result) bool { return r.TxMeta.BlockTimestamp == 1<<64-1 })
	f("time of a far year", func(s *service.Scene) { s.Block["timestamp"] = "0x7fffffffffffffff" }, nil)
	f("index", func(s *service.Scene) { s.Tx["transactionIndex"] = max64 }, nil)
	f("type", func(s *service.Scene) { s.Tx["type"], s.Receipt["type"] = "0x55", "0x55" }, func(r *api.Result) bool { return !r.Partial() })
	f("type of 64 bits", func(s *service.Scene) { s.Tx["type"], s.Receipt["type"] = max64, max64 }, nil)
	f("negative", func(s *service.Scene) { s.Receipt["gasUsed"] = -1 }, partial)
	f("fraction", func(s *service.Scene) { s.Tx["value"] = 1.5 }, partial)
	f("beyond 256 bits", func(s *service.Scene) { s.Tx["value"] = max256 + "0" }, partial)
	f("words", func(s *service.Scene) { s.Block["timestamp"] = "yesterday" }, func(r *api.Result) bool {
		return !r.Partial() && r.Confidence != api.High && r.TxMeta.BlockTimestamp == 0 && strings.Contains(strings.Join(r.Provenance.Notes, ""), "the header of the block could not be fetched")
	})
	f("frames of all value", func(s *service.Scene) {
		var calls []any
		for range 50 {
			c := service.Frame("CALL", service.SceneTarget, service.SceneOther, nil)
			c["value"] = max256
			calls = append(calls, c)
		}
		s.Trace.(service.Object)["calls"] = calls
	}, nil)
	f("tokens of all amounts", func(s *service.Scene) {
		var logs []any
		for i := range 20 {
			l := service.TransferLog(i, service.SceneToken, service.SceneSender, service.SceneOther)
			l["data"], l["logIndex"] = max256, max64
			logs = append(logs, l)
		}
		s.Receipt["logs"] = logs
	}, func(r *api.Result) bool { return len(r.TokenTransfers) == 20 })
	f("an id of 256 bits", func(s *service.Scene) {
		l := service.TransferLog(0, service.SceneToken, service.SceneSender, service.SceneOther)
		l["topics"], l["data"] = append(l["topics"].([]string), max256), "0x"
		s.Receipt["logs"] = []any{l}
	}, nil)
	f("L1 fees", func(s *service.Scene) {
		s.Chain, s.Tx["chainId"] = 10, "0xa"
		for _, k := range []string{"l1Fee", "operatorFeeScalar", "operatorFeeConstant", "l1GasUsed"} {
			s.Receipt[k] = max256
		}
	}, nil)
	f("a deposit of an unknown kind", func(s *service.Scene) {
		s.Chain, s.Tx["chainId"], s.Tx["type"], s.Receipt["type"] = 10, "0xa", "0x7e", "0x7e"
		s.Tx["mint"], s.Tx["sourceHash"] = max256, service.SceneHash
	}, nil)
	f("an error of many words", func(s *service.Scene) {
		s.Receipt["status"] = "0x0"
		s.Trace.(service.Object)["error"] = strings.Repeat("why \x1b[2J\u202e<script> ", 50_000)
		s.Trace.(service.Object)["revertReason"] = strings.Repeat("`**](x) ", 50_000)
	}, func(r *api.Result) bool { return r.Status == api.StatusReverted && len(r.Summary) < 2000 })
}
