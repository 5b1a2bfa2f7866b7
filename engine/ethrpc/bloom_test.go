package ethrpc_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"txlens/engine/ethrpc"
	"txlens/testkit/fixture"
)

// TestLacksLogs: no recorded receipt lacks logs; without its logs, each that has a bloom filter
// does, and its own logs complete it, but no others.
func TestLacksLogs(t *testing.T) {
	receipts, bare := 0, 0
	check := func(raw []byte) {
		t.Helper()
		rc, err := ethrpc.ParseReceipt(raw)
		if err != nil {
			t.Fatal(err)
		}
		receipts++
		if rc.LacksLogs() {
			t.Errorf("%s lacks logs", rc.TxHash)
		}
		if rc.Bloom == nil || *rc.Bloom == (types.Bloom{}) {
			return
		}
		bare++
		logs := rc.Logs
		rc.Logs = nil
		if !rc.LacksLogs() {
			t.Errorf("%s without logs lacks none", rc.TxHash)
		}
		if whole := rc.WithLogs(logs); whole == nil || whole.LacksLogs() || len(whole.Logs) != len(logs) || rc.Logs != nil {
			t.Errorf("%s is not completed by its logs", rc.TxHash)
		}
		other := ethrpc.Log{Address: common.HexToAddress("0xdeadbeef00000000000000000000000000000001")}
		if len(logs) > 1000 {
			return // they set nearly all bits, so that another one sets none
		}
		if rc.WithLogs(append(logs[:len(logs):len(logs)], other)) != nil || rc.WithLogs(nil) != nil {
			t.Errorf("%s is completed by logs that are not its own", rc.TxHash)
		}
	}
	for _, b := range fixture.Blocks(t) {
		for _, x := range b.Txs {
			check(x.Receipt)
		}
	}
	for _, c := range fixture.LabelledChains() {
		for _, l := range fixture.LabelledOf(t, c) {
			check(l.Receipt)
		}
	}
	if receipts < 900 || bare < 200 {
		t.Errorf("%d receipts, %d with a bloom filter", receipts, bare)
	}
	// A filter of another length says nothing; none at all neither.
	for _, bloom := range []string{`"0x"`, `"0x01"`, `null`} {
		rc, err := ethrpc.ParseReceipt([]byte(`{"gasUsed":"0x1","logs":[],"logsBloom":` + bloom + `}`))
		if err != nil || rc.LacksLogs() || rc.WithLogs(nil) != nil {
			t.Errorf("%s: %v, %v", bloom, rc, err)
		}
	}
}
