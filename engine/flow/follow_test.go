package flow

import (
	"math/big"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// TestBalancesFollowState: where the state diff contradicts what the trace claims, native balances
// are those of the state; where it disagrees about the fee alone they are not.
func TestBalancesFollowState(t *testing.T) {
	wei := func(n int64) *ethrpc.Account { return &ethrpc.Account{Balance: big.NewInt(n)} }
	type side = map[common.Address]*ethrpc.Account
	f := func(id uint64, change func(*Input), pre, post side, want string, followed int) {
		t.Helper()
		in := paying(id, func(in *Input) {
			// bob gives carol 7 for the 5 that alice pays, says the trace
			in.Tree.Root.Value.SetUint64(5)
			in.Tx.Value = big.NewInt(5)
			in.Tree = tree(frame(trace.Call, alice, bob, 5, frame(trace.Call, bob, carol, 7)))
			in.Diff = &ethrpc.StateDiff{Pre: pre, Post: post}
			if change != nil {
				change(in)
			}
		})
		got := Compute(in)
		n := 0
		for _, m := range got.Mismatches {
			if m.Followed {
				n++
			}
		}
		if s := told(got); s != want || n != followed {
			t.Errorf("%d followed of %d, %s; want %d, %s", n, len(got.Mismatches), s, followed, want)
		}
		for i := range got.Moves {
			if m := &got.Moves[i]; m.From == bob && m.Amount.Int64() != 7 {
				t.Errorf("the claim became %s", m.Amount)
			}
		}
	}
	vault := func(last byte) common.Address { return common.Address{0: 0x42, 19: last} }
	names[vault(0x11)], names[vault(0x19)] = "tips", "base"
	scroll := *chainOf(534352).Stack.Fee(headOf(nil)).Collector
	names[scroll] = "scroll"
	before := side{alice: wei(20000), bob: wei(9), miner: wei(0)}
	after := func(alice1, bob1, carol1, miner1 int64) side {
		return side{alice: wei(alice1), bob: wei(bob1), carol: wei(carol1), miner: wei(miner1)}
	}
	const claimed = "alice -10005 | bob -2 | carol +7 | miner* +3000" // the fee is 10000, of which 7000 are burnt
	f(1, nil, before, after(9995, 7, 7, 3000), claimed, 0)

	// What accounts got and gave.
	f(1, nil, before, after(9995, 12, 2, 3000), "alice -10005 | bob +3 | carol +2 | miner* +3000", 2)
	f(1, nil, before, after(9995, 14, 0, 3000), "alice -10005 | bob +5 | miner* +3000", 2)
	f(1, nil, before, after(9999, 3, 7, 3000), "alice -10001 | bob -6 | carol +7 | miner* +3000", 2)
	f(1, nil, before, after(9995, 7, 2, 3005), "alice -10005 | bob -2 | carol +2 | miner* +3005", 2)
	f(1, nil, before, side{alice: wei(9995), bob: wei(12), miner: wei(3000), pool: wei(2)}, "alice -10005 | bob +3 | pool +2 | miner* +3000", 3)
	f(250, nil, before, after(9995, 12, 2, 0), "alice -10005 | bob +3 | carol +2", 2)
	f(10, nil, before, side{alice: wei(9995), bob: wei(12), carol: wei(2), vault(0x11): wei(3000), vault(0x19): wei(7000)},
		"alice -10005 | bob +3 | carol +2 | tips* +3000 | base* +7000", 2)

	// Tracers that run the transaction outside of its rollup credit no vault, or the producer.
	f(10, nil, before, after(9995, 12, 2, 0), "alice -10005 | bob +3 | carol +2 | tips* +3000 | base* +7000", 2)
	f(534352, nil, before, after(9995, 12, 2, 3000), "alice -10005 | bob +3 | carol +2 | scroll* +10000", 2)
	f(534352, nil, before, after(9995, 12, 2, 10001), "alice -10005 | bob +3 | carol +2 | miner +10001 | scroll* +10000", 3)

	f(534352, nil, before, after(9995, 12, 2, 10000), "alice -10005 | bob +3 | carol +2 | scroll* +10000", 2)
	noTip := func(in *Input) { in.Block.BaseFee = big.NewInt(10) }
	f(1, noTip, before, after(9995, 7, 2, 5), "alice -10005 | bob -2 | carol +2 | miner +5", 2)
	toMiner := func(in *Input) { in.Tree = tree(frame(trace.Call, alice, bob, 5, frame(trace.Call, bob, miner, 7))) }
	f(1, toMiner, before, after(9995, 7, 0, 3002), "alice -10005 | bob -2 | miner +3002", 1)

	// The fee alone is in question.
	f(534352, nil, before, after(9993, 7, 7, 3000), "alice -10005 | bob -2 | carol +7 | scroll* +10000", 0)
	f(1, nil, before, after(19995, 7, 7, 3000), claimed, 0)
	f(1, nil, before, after(19995, 7, 1, 3000), claimed, 0)
	f(1, nil, before, after(9995, 7, 7, 3001), claimed, 0)
	f(1, nil, before, after(9993, 7, 7, 3000), claimed, 0)
	f(534352, nil, before, after(9995, 7, 7, 3000), "alice -10005 | bob -2 | carol +7 | scroll* +10000", 0)

	// Nothing to follow.
	f(1, nil, side{bob: wei(9)}, side{bob: wei(12), carol: wei(2)}, claimed, 0)
	f(1, func(in *Input) { in.LogsOnly = true }, before, after(9995, 12, 2, 3000), "alice -5 | bob -2 | carol +7", 0)
	f(1, func(in *Input) { in.Receipt = nil }, before, after(9995, 12, 2, 3000), "alice -5 | bob -2 | carol +7", 0)
}
