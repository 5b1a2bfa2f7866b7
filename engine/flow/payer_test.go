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
	f(8217, side{carol: wei(20000)}, side{carol: wei(10001)}, alice, "alice -10000", 2)                                                      // not all of it
	f(8217, side{carol: wei(20000), bob: wei(20000)}, side{carol: wei(10000), bob: wei(10000)}, alice, "alice -10000", 3)                    // both cannot be
	f(8217, side{alice: wei(20000), carol: wei(20000)}, side{alice: wei(10000), carol: wei(10000)}, alice, "alice -10000 | carol -10000", 1) // it paid for something else
}

// TestFeePayerOfTransaction: a node that names the payer decides.
func TestFeePayerOfTransaction(t *testing.T) {
	in := paying(8217, func(in *Input) { in.Tx.FeePayer = &carol })
	if got := Compute(in); got.Fee.Payer != carol || told(got) != "carol -10000" {
		t.Errorf("payer %s, changes %s", names[got.Fee.Payer], told(got))
	}
}

// TestFeeRatio: Kaia splits the fee between payer and sender by a percentage, which the node or
// the state diff tells.
func TestFeeRatio(t *testing.T) {
	wei := func(n int64) *ethrpc.Account { return &ethrpc.Account{Balance: big.NewInt(n)} }
	type side = map[common.Address]*ethrpc.Account
	f := func(chain uint64, change func(*Input), payer common.Address, rest int64, changes string) {
		t.Helper()
		got := Compute(paying(chain, change))
		n := int64(0)
		if got.Fee.Rest.Amount != nil {
			n = got.Fee.Rest.Amount.Int64()
		}
		if got.Fee.Payer != payer || n != rest || told(got) != changes {
			t.Errorf("payer %s, rest %d, changes %s; want %s, %d, %s", names[got.Fee.Payer], n, told(got), names[payer], rest, changes)
		}
		paid := map[common.Address]int64{}
		for _, m := range got.Moves {
			if m.Kind == MoveFee {
				paid[m.From] += m.Amount.Int64()
			}
		}
		if paid[alice] != got.Fee.PaidBy(alice).Int64() || paid[carol] != got.Fee.PaidBy(carol).Int64() || paid[alice]+paid[carol] != 10000 {
			t.Errorf("moves of the fee %v, of %d and %d", paid, got.Fee.PaidBy(alice), got.Fee.PaidBy(carol))
		}
	}
	says := func(percent uint64, payer common.Address) func(*Input) {
		return func(in *Input) { in.Tx.FeePayer, in.Tx.FeeRatio = &payer, percent }
	}
	f(8217, says(30, carol), carol, 7000, "alice -7000 | carol -3000")
	f(8217, says(99, carol), carol, 100, "alice -100 | carol -9900")
	f(8217, says(100, carol), carol, 0, "carol -10000")
	f(8217, says(0, carol), carol, 0, "carol -10000")
	f(8217, says(30, alice), alice, 0, "alice -10000") // both are one
	f(250, says(30, carol), carol, 0, "carol -10000")  // no chain with ratios
	rounded := func(in *Input) {                       // what is bought and what is left are rounded each
		says(30, carol)(in)
		in.Receipt.GasUsed, in.Receipt.EffectiveGasPrice, in.Tx.Gas = 10000, big.NewInt(1), 10001
	}
	f(8217, rounded, carol, 7000, "alice -7000 | carol -3000")
	f(8217, func(in *Input) { rounded(in); in.Tx.FeeRatio, in.Tx.Gas = 33, 10002 }, carol, 6700, "alice -6700 | carol -3300")
	diff := func(alice1, carol1 int64) func(*Input) {
		return func(in *Input) {
			in.Diff = &ethrpc.StateDiff{Pre: side{alice: wei(20000), carol: wei(20000)}, Post: side{alice: wei(20000 - alice1), carol: wei(20000 - carol1)}}
		}
	}
	f(8217, diff(7000, 3000), carol, 7000, "alice -7000 | carol -3000")
	f(8217, diff(100, 9900), carol, 100, "alice -100 | carol -9900")
	f(8217, diff(7001, 2999), alice, 0, "alice -10000") // no whole percentage
	f(8217, diff(7000, 2900), alice, 0, "alice -10000") // not all of it
	f(250, diff(7000, 3000), alice, 0, "alice -10000")  // a payment that no trace shows
}
