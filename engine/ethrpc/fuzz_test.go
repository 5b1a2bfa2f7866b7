package ethrpc_test

import (
	"testing"

	"txlens/engine/ethrpc"
)

func FuzzParseTransaction(f *testing.F) {
	f.Add([]byte(head + `,"accessList":[{"address":"` + from + `","storageKeys":["` + hash + `"]}],"authorizationList":[{"address":"` + from + `","v":1}]}`))
	f.Add([]byte(head + `,"value":123456789012345678901234567890,"type":"0x7e","mint":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if tx, err := ethrpc.ParseTransaction(b); (tx == nil) == (err == nil) || err == nil && tx.Value == nil {
			t.Fatalf("%v, %v", tx, err)
		}
	})
}

func FuzzParseReceipt(f *testing.F) {
	f.Add([]byte(`{"gasUsed":"0x1","status":"0x1","l1Fee":7,"logs":[{"address":"` + from + `","topics":["` + hash + `"],"data":"0x01","logIndex":"0x0"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		rc, err := ethrpc.ParseReceipt(b)
		if (rc == nil) == (err == nil) {
			t.Fatalf("%v, %v", rc, err)
		}
	})
}

func FuzzParseBlock(f *testing.F) {
	f.Add([]byte(`{"number":"0x1","hash":"` + hash + `","timestamp":"0x2","extraData":"0x","transactions":["` + hash + `"],"withdrawals":[{}]}`))
	f.Add([]byte(`{"number":1,"hash":"` + hash + `","timestamp":2,"transactions":[` + head + `}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		blk, err := ethrpc.ParseBlock(b)
		if (blk == nil) == (err == nil) {
			t.Fatalf("%v, %v", blk, err)
		}
	})
}

func FuzzParseStateDiff(f *testing.F) {
	f.Add([]byte(`{"pre":{"` + from + `":{"balance":"0x1","nonce":7,"code":"0x60"}},"post":{"` + from + `":{"storage":{"` + hash + `":"` + hash + `"}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := ethrpc.ParseStateDiff(b)
		if (d == nil) == (err == nil) {
			t.Fatalf("%v, %v", d, err)
		}
	})
}
