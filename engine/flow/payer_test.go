package flow

import (
	"math/big"
	"testing"

	"txlens/engine/ethrpc"

	"github.com/ethereum/go-ethereum/common"
)

// TestFeePayerFromDiff: the account that paid exactly the fee in the place of the sender
// is its payer; where several paid, or something else, nobody is.
func TestFeePayerFromDiff(t *testing.T) {
	wei := func(n int64) *ethrpc.Account { return &ethrpc.Account{Balance: big.NewInt(n)} }
	type side = map[common.Address]*ethrpc.Account
	f := func(chain uint64, pre, post side, payer common.Address, changes string, mismatches int) {
		t.Helper()
		in := paying(chain, nil)
		in.Diff = &ethrpc.StateDiff{Pre: pre, Post: post}
		got := Compute(in)
		if got.Fee.Payer != payer || told(got) != changes || len(got.Mismatches) != mismatches {
			t.Errorf("payer %s, changes %s, %d mismatches; want %s, %s, %d",
				names[got.Fee.Payer], told(got), len(got.Mismatches), names[payer], changes, mismatches)
		}
		for _, m := range got.Moves {
			if m.Kind == MoveFee && m.From != payer {
				t.Errorf("a share of the fee moved from %s", names[m.From])
			}
		}
	}
	f(8217, side{carol: wei(20000)}, side{carol: wei(10000)}, carol, "carol -10000", 0)
	f(250, side{carol: wei(20000), bob: wei(1)}, side{carol: wei(10000), bob: wei(9001)}, carol, "carol -10000 | bob* +9000", 0)
	f(8217, side{alice: wei(20000)}, side{alice: wei(10000)}, alice, "alice -10000", 0)
	f(8217, side{carol: wei(20000)}, side{carol: wei(10001)}, alice, "alice -10000", 2)                                       // not all of it
	f(8217, side{carol: wei(20000), bob: wei(20000)}, side{carol: wei(10000), bob: wei(10000)}, alice, "alice -10000", 3)     // both cannot be
	f(8217, side{alice: wei(20000), carol: wei(20000)}, side{alice: wei(10000), carol: wei(10000)}, alice, "alice -10000", 1) // it paid for something else
}

// TestFeePayerOfTransaction: a node that names the payer decides.
func TestFeePayerOfTransaction(t *testing.T) {
	in := paying(8217, func(in *Input) { in.Tx.FeePayer = &carol })
	if got := Compute(in); got.Fee.Payer != carol || told(got) != "carol -10000" {
		t.Errorf("payer %s, changes %s", names[got.Fee.Payer], told(got))
	}
}
