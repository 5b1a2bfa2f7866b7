package ethrpc

import "testing"

// TestFeeRatio: Kaia's nodes write the percentage as a number.
func TestFeeRatio(t *testing.T) {
	const head = `{"hash":"0x0000000000000000000000000000000000000000000000000000000000000001","from":"0x0000000000000000000000000000000000000002"`
	f := func(member string, want uint64) {
		t.Helper()
		tx, err := ParseTransaction([]byte(head + member + "}"))
		if err != nil || tx.FeeRatio != want {
			t.Errorf("%s: %v, %v", member, tx, err)
		}
	}
	f(`,"feeRatio":30`, 30)
	f(`,"feeRatio":"0x1e"`, 30)
	f(`,"feeRatio":"30"`, 30)
	f(`,"feeRatio":null`, 0)
	f("", 0)
}
