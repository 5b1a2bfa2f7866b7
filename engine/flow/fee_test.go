package flow

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// paying is a transaction of alice that moves nothing but its fee: 1000 gas at 10 wei.
func paying(id uint64, change func(*Input)) Input {
	in := made(frame(trace.Call, alice, bob, 0))
	in.Chain = chainOf(id)
	in.Receipt.GasUsed, in.Receipt.EffectiveGasPrice = 1000, big.NewInt(10)
	if change != nil {
		change(&in)
	}
	return in
}

// split writes a fee: total = recipients, burnt, unassigned.
func split(f *Fee) string {
	if f == nil {
		return "none"
	}
	parts := []string{}
	for _, s := range f.Shares {
		name := names[s.Address]
		if name == "" {
			hex := strings.ToLower(s.Address.Hex())
			name = hex[2:4] + ".." + hex[len(hex)-2:]
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", name, s.Amount, s.Role))
	}
	if f.Burnt.Sign() != 0 {
		parts = append(parts, fmt.Sprintf("burnt %s", f.Burnt))
	}
	if f.Unassigned.Sign() != 0 {
		parts = append(parts, fmt.Sprintf("unassigned %s", f.Unassigned))
	}
	return f.Total.String() + " = " + strings.Join(parts, ", ")
}

func TestFeeSplit(t *testing.T) {
	f := func(in Input, want string) {
		t.Helper()
		if got := split(Compute(in).Fee); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	u64 := func(n uint64) *uint64 { return &n }

	// Ethereum before and after London, and with blobs.
	f(paying(1, func(in *Input) { in.Block.BaseFee = nil }), "10000 = miner 10000 (block producer)")
	f(paying(1, nil), "10000 = miner 3000 (block producer), burnt 7000")
	f(paying(1, func(in *Input) { in.Receipt.EffectiveGasPrice = big.NewInt(7) }), "7000 = burnt 7000")
	f(paying(1, func(in *Input) {
		in.Tx.BlobHashes, in.Receipt.BlobGasUsed, in.Receipt.BlobGasPrice = make([]common.Hash, 1), 131072, big.NewInt(2)
	}), "272144 = miner 3000 (block producer), burnt 269144")
	f(paying(1, func(in *Input) { in.Receipt.BlobGasUsed, in.Receipt.BlobGasPrice = 99, big.NewInt(2) }),
		"10000 = miner 3000 (block producer), burnt 7000") // not a blob transaction

	// Old nodes leave the effective price out.
	f(paying(1, func(in *Input) { in.Receipt.EffectiveGasPrice, in.Tx.GasPrice = nil, big.NewInt(8) }),
		"8000 = miner 1000 (block producer), burnt 7000")
	f(paying(1, func(in *Input) {
		in.Receipt.EffectiveGasPrice, in.Tx.MaxFee, in.Tx.MaxTip = nil, big.NewInt(9), big.NewInt(1)
	}), "8000 = miner 1000 (block producer), burnt 7000")
	f(paying(1, func(in *Input) {
		in.Receipt.EffectiveGasPrice, in.Tx.MaxFee, in.Tx.MaxTip = nil, big.NewInt(9), big.NewInt(5)
	}), "9000 = miner 2000 (block producer), burnt 7000")
	f(paying(1, func(in *Input) { in.Receipt.EffectiveGasPrice = nil }), "0 = ")

	// OP-stack: Bedrock, Isthmus, Jovian, and the chain before Bedrock.
	l1 := func(in *Input) { in.Receipt.L1Fee = big.NewInt(500) }
	f(paying(10, l1), "10500 = 42..11 3000 (sequencer fee vault), 42..19 7000 (base fee vault), 42..1a 500 (L1 fee vault)")
	f(paying(10, func(in *Input) {
		l1(in)
		in.Receipt.OperatorFeeScalar, in.Receipt.OperatorFeeConstant = big.NewInt(20000), big.NewInt(4)
	}), "10524 = 42..11 3000 (sequencer fee vault), 42..19 7000 (base fee vault), 42..1a 500 (L1 fee vault), 42..1b 24 (operator fee vault)")
	f(paying(8453, func(in *Input) {
		in.Receipt.OperatorFeeScalar, in.Receipt.OperatorFeeConstant = big.NewInt(2), big.NewInt(4)
		in.Block.ExtraData = append([]byte{1}, make([]byte, 16)...)
		in.Receipt.BlobGasUsed = 40000 // the data footprint, no blobs
	}), "210004 = 42..11 3000 (sequencer fee vault), 42..19 7000 (base fee vault), 42..1b 200004 (operator fee vault)")
	f(paying(10, func(in *Input) { l1(in); in.Block.BaseFee = nil }), "10500 = 42..11 10500 (sequencer fee vault)")
	f(paying(10, func(in *Input) { l1(in); in.Block.BaseFee = nil; in.Receipt.EffectiveGasPrice = new(big.Int) }), "0 = ")
	f(paying(10, func(in *Input) { l1(in); in.Tx.Type = 0x7e }), "0 = ")

	// Other stacks.
	f(paying(534352, l1), "10500 = 53..05 10500 (fee vault)")
	f(paying(5000, l1), "10000 = 42..11 3000 (sequencer fee vault), 42..19 7000 (base fee vault)") // gas holds the L1 fee before Arsia
	f(paying(100, nil), "10000 = miner 3000 (block producer), 6b..92 7000 (base fee vault)")
	f(paying(56, func(in *Input) { in.Block.BaseFee = new(big.Int) }), "10000 = ff..fe 10000 (validator fee pool)")
	f(paying(43114, nil), "10000 = miner 10000 (block producer)")
	f(paying(42161, func(in *Input) { in.Receipt.GasUsedForL1 = u64(300) }), "10000 = a4..f6 3000 (L1 pricer funds pool), unassigned 7000")
	f(paying(42161, func(in *Input) { in.Receipt.GasUsedForL1 = u64(5000) }), "10000 = a4..f6 10000 (L1 pricer funds pool)")
	f(paying(250, nil), "10000 = unassigned 10000")
	f(paying(4217, nil), "none")
	f(paying(42220, func(in *Input) { in.Tx.Type = 0x7b }), "none")

	// Blob fees that are not burnt.
	blob := func(in *Input) {
		in.Tx.BlobHashes, in.Receipt.BlobGasUsed, in.Receipt.BlobGasPrice = make([]common.Hash, 1), 100, big.NewInt(1)
	}
	f(paying(56, func(in *Input) { blob(in); in.Block.BaseFee = nil }), "10100 = ff..fe 10100 (validator fee pool)")
	f(paying(100, blob), "10100 = miner 3000 (block producer), 6b..92 7000 (base fee vault), burnt 100")
	f(paying(100, func(in *Input) { blob(in); in.Block.Timestamp = 1746021820 }), "10100 = miner 3000 (block producer), 6b..92 7100 (base fee vault)")

	// Evidence that is missing.
	f(paying(1, func(in *Input) { in.Receipt = nil }), "none")
	f(paying(1, func(in *Input) { in.Block = nil }), "10000 = unassigned 10000")
}

func TestFeeInTheLedger(t *testing.T) {
	f := func(in Input, want string) {
		t.Helper()
		if got := told(Compute(in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	with := func(root *trace.Frame, change func(*Input)) Input {
		in := made(root)
		in.Receipt.GasUsed, in.Receipt.EffectiveGasPrice = 1000, big.NewInt(10)
		if change != nil {
			change(&in)
		}
		return in
	}
	f(with(frame(trace.Call, alice, bob, 5), nil), "alice -10005 | bob +5 | miner* +3000")
	f(with(failed(frame(trace.Call, alice, bob, 5)), nil), "alice -10000 | miner* +3000")
	// The miner pays himself the tip; he is not paid by others only.
	f(with(frame(trace.Call, alice, bob, 5), func(in *Input) { in.Block.Miner = alice }), "alice -7005 | bob +5")
	// A bribe beside the tip makes the producer more than a fee recipient.
	f(with(frame(trace.Call, alice, pool, 0, frame(trace.Call, pool, miner, 50)), nil), "alice -10000 | pool -50 | miner +3050")
	// A producer that self-destructed in the transaction loses its tip with it.
	f(beforeCancun(with(frame(trace.Call, alice, miner, 0, frame(trace.SelfDestruct, miner, bob, 1)), nil)), "alice -10000 | miner -1 | bob +1")

	c := Compute(with(frame(trace.Call, alice, pool, 0, frame(trace.Call, pool, miner, 50)), nil)).Changes
	if last := c[len(c)-1]; last.Role != "block producer" || last.FeeOnly {
		t.Errorf("the producer is %+v", last)
	}
}

func TestBorTipComesFromTheFeeLog(t *testing.T) {
	log := func(payer common.Address, tip int64) ethrpc.Log {
		native := *chainOf(137).Stack.NativeToken()
		data := append(common.BigToHash(big.NewInt(tip)).Bytes(), make([]byte, 128)...)
		return ethrpc.Log{Address: native, Data: data, Topics: []common.Hash{evmsig.TopicLogFeeTransfer,
			common.BytesToHash(native[:]), common.BytesToHash(payer[:]), common.BytesToHash(miner[:])}}
	}
	f := func(want string, logs ...ethrpc.Log) {
		t.Helper()
		in := paying(137, func(in *Input) { in.Receipt.Logs = logs; in.Block.Miner = common.Address{} })
		if got := split(Compute(in).Fee); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f("10000 = miner 3000 (block producer), unassigned 7000", log(alice, 3000))
	f("10000 = unassigned 10000")
	f("10000 = unassigned 10000", log(bob, 3000))
	f("10000 = unassigned 10000", log(alice, 30000)) // more than was paid
}

func TestZkSyncLedgerComesFromLogs(t *testing.T) {
	native, zkBootloader := *chainOf(324).Stack.NativeToken(), *chainOf(324).Stack.Fee(chain.Latest).Prepaid
	move := func(from, to common.Address, n int64) ethrpc.Log {
		return ethrpc.Log{Address: native, Data: common.BigToHash(big.NewInt(n)).Bytes(),
			Topics: []common.Hash{evmsig.TopicTransfer, common.BytesToHash(from[:]), common.BytesToHash(to[:])}}
	}
	mint := ethrpc.Log{Address: native, Data: common.BigToHash(big.NewInt(40)).Bytes(), Topics: []common.Hash{evmsig.TopicMint, common.BytesToHash(bob[:])}}
	burn := ethrpc.Log{Address: native, Data: common.BigToHash(big.NewInt(6)).Bytes(), Topics: []common.Hash{evmsig.TopicBaseWithdrawal, common.BytesToHash(alice[:]), common.BytesToHash(bob[:])}}
	f := func(want, fee string, logs ...ethrpc.Log) {
		t.Helper()
		in := made(frame(trace.Call, alice, bob, 5)) // the frames are not asked
		in.Chain, in.Receipt.Logs = chainOf(324), logs
		got := Compute(in)
		if told(got) != want || split(got.Fee) != fee || len(got.Transfers) != 0 || !got.Complete {
			t.Errorf("got  %s, fee %s, %d transfers\nwant %s, fee %s", told(got), split(got.Fee), len(got.Transfers), want, fee)
		}
	}
	boot := "0x0000000000000000000000000000000000008001* +70"
	f("alice -75 | bob +5 | "+boot, "70 = 00..01 70 (bootloader)", move(alice, zkBootloader, 100), move(alice, bob, 5), move(zkBootloader, alice, 30))
	f("alice -5 | bob +5 | carol -70 | "+boot, "70 = 00..01 70 (bootloader)", move(carol, zkBootloader, 100), move(alice, bob, 5), move(zkBootloader, carol, 30))
	f("bob +40", "0 = ", mint)
	f("alice -6", "0 = ", move(alice, native, 6), burn)
}

func TestReconcile(t *testing.T) {
	wei := func(n int64) *ethrpc.Account { return &ethrpc.Account{Balance: big.NewInt(n)} }
	type side = map[common.Address]*ethrpc.Account
	f := func(in Input, pre, post side, want string) *Flow {
		t.Helper()
		in.Diff = &ethrpc.StateDiff{Pre: pre, Post: post}
		got := Compute(in)
		var parts []string
		for _, m := range got.Mismatches {
			parts = append(parts, fmt.Sprintf("%s %s/%s", names[m.Address], m.Ledger, m.Recorded))
		}
		if s := strings.Join(parts, " "); s != want || !got.Reconciled {
			t.Errorf("got %q, want %q; reconciled %v", s, want, got.Reconciled)
		}
		return got
	}
	in := made(frame(trace.Call, alice, bob, 5))
	f(in, side{alice: wei(10)}, side{alice: wei(5), bob: wei(5)}, "")
	f(in, side{alice: wei(5)}, side{bob: wei(5)}, "")                                             // deleted: had five, has none
	f(in, side{alice: wei(10), bob: wei(0)}, side{alice: wei(4), bob: {}}, "alice -5/-6 bob 5/0") // post without balance: unchanged
	f(in, side{alice: wei(10), pool: wei(1), carol: wei(1)}, side{alice: wei(5), bob: wei(5), carol: wei(2), pool: wei(3)}, "carol 0/1 pool 0/2")
	f(in, side{}, side{}, "alice -5/0 bob 5/0")

	// Where the rules do not know the recipients, the diff names them.
	arb := paying(250, nil)
	got := f(arb, side{alice: wei(20000), carol: wei(1)}, side{alice: wei(10000), carol: wei(9001)}, "")
	if s := split(got.Fee); s != "10000 = carol 9000 (fee recipient), unassigned 1000" {
		t.Errorf("fee %s", s)
	}
	if s := told(got); s != "alice -10000 | carol* +9000" {
		t.Errorf("changes %s", s)
	}
	sum := new(big.Int)
	for _, m := range got.Moves {
		sum.Add(sum, m.Amount)
	}
	if sum.Int64() != 10000 {
		t.Errorf("moves %+v do not add up to the fee", got.Moves)
	}
	got = f(arb, side{alice: wei(20000)}, side{alice: wei(10000), carol: wei(10001)}, "carol 0/10001") // more than was paid
	if s := split(got.Fee); s != "10000 = unassigned 10000" {
		t.Errorf("fee %s", s)
	}
	got = f(arb, side{alice: wei(20000), bob: wei(9)}, side{alice: wei(10000), bob: wei(4), carol: wei(9000)}, "bob 0/-5 carol 0/9000") // a loss is no share
	if s := split(got.Fee); s != "10000 = unassigned 10000" {
		t.Errorf("fee %s", s)
	}
	got = f(arb, side{alice: wei(20000)}, side{alice: wei(10000), carol: wei(10000)}, "")
	if s := split(got.Fee); s != "10000 = carol 10000 (fee recipient)" || len(got.Moves) != 1 {
		t.Errorf("fee %s, moves %+v", s, got.Moves)
	}
}
