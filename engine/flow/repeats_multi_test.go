package flow

import (
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

func unitEvent(from, to common.Address, id, n int) ethrpc.Log {
	return logOf(token, topics(evmsig.TopicTransferSingle, alice, from, to), id, n)
}

func batchEventOf(from, to common.Address, ids ...int) ethrpc.Log {
	data := []any{64, 96 + 32*len(ids), len(ids)}
	for _, id := range ids {
		data = append(data, id)
	}
	data = append(data, len(ids))
	for range ids {
		data = append(data, 3)
	}
	return logOf(token, topics(evmsig.TopicTransferBatch, alice, from, to), data...)
}

// TestRepeatedUnits: units of a multi-token that one call logs twice, as two equal events or as
// units and a batch, count once where the call, or the state, says so.
func TestRepeatedUnits(t *testing.T) {
	input := func(s evmsig.Selector, args ...any) []byte { return append(s[:], logOf(token, nil, args...).Data...) }
	zero := common.Address{}
	f := func(name, want string, in []byte, diff *ethrpc.StateDiff, logs ...ethrpc.Log) {
		t.Helper()
		root := frame(trace.Call, alice, token, 0)
		root.Input = in
		made := made(root)
		made.Receipt.Logs, made.Diff = logs, diff
		for i := range logs {
			placed(made, root, i)
		}
		if got := listed(Compute(made)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
	sent, whole := unitEvent(alice, bob, 5, 3), batchEventOf(alice, bob, 5, 6)
	send := input(evmsig.SelSafeTransferFromItem, alice, bob, 5, 3, 160, 0)
	const one, two = "erc1155 token alice>bob 3#5", "erc1155 token alice>bob 3#5 | erc1155 token alice>bob 3#5"
	f("two events, asked once", one, send, nil, sent, sent)
	f("unit and batch", one, send, nil, sent, batchEventOf(alice, bob, 5))
	f("asked for twice as much", two, input(evmsig.SelSafeTransferFromItem, alice, bob, 5, 6, 160, 0), nil, sent, sent)
	f("an unknown function", two, input(evmsig.SelOwnerOf, 5, 3), nil, sent, sent)
	batch := func(ids ...int) []byte {
		args := []any{alice, bob, 160, 160 + 32 + 32*len(ids), 0, len(ids)}
		for _, id := range ids {
			args = append(args, id)
		}
		args = append(args, len(ids))
		for range ids {
			args = append(args, 3)
		}
		return input(evmsig.SelSafeBatchTransfer, args...)
	}
	both := "erc1155 token alice>bob 3#5 | erc1155 token alice>bob 3#6"
	f("a batch behind its units", both, batch(5, 6), nil, sent, unitEvent(alice, bob, 6, 3), whole)
	f("units behind their batch", both+" [1]", batch(5, 6), nil, whole, unitEvent(alice, bob, 6, 3), sent)
	f("a batch that names an id twice", two, batch(5, 5), nil, sent, sent)
	f("a batch with an id more", both+" [1] | erc1155 token alice>bob 3#5 | erc1155 token alice>bob 3#7", batch(5, 6), nil, whole, sent, unitEvent(alice, bob, 7, 3))
	minted := unitEvent(zero, bob, 5, 3)
	f("minted", "erc1155 token >bob 3#5", input(evmsig.SelMintItem, bob, 5, 3, 128, 0), nil, minted, minted)
	burnt := unitEvent(bob, zero, 5, 3)
	f("burnt", "erc1155 token bob> 3#5", input(evmsig.SelBurnItem, bob, 5, 3), nil, burnt, burnt)

	state := func(holderFirst bool, less, more [2]*uint256.Int) *ethrpc.StateDiff {
		id, slots := common.Hash{31: 5}, map[common.Hash][2]*uint256.Int{}
		for who, change := range map[common.Address][2]*uint256.Int{alice: less, bob: more} {
			outer, inner := id, topicOf(who)
			if holderFirst {
				outer, inner = inner, outer
			}
			l := statediff.Layout{Mapping: common.Hash{31: 2}}
			l.Mapping = l.Slot(outer)
			slots[l.Slot(inner)] = change
		}
		return moved(slots)
	}
	other := input(evmsig.SelOwnerOf, 1)
	for _, holderFirst := range []bool{false, true} {
		f("the state says once", one, other, state(holderFirst, balances2(9, 6), balances2(0, 3)), sent, sent)
		f("the state says twice", two, send, state(holderFirst, balances2(9, 3), balances2(0, 6)), sent, sent)
	}
	with := func(diff *ethrpc.StateDiff, less, more [2]uint64) *ethrpc.StateDiff {
		for slot, change := range map[common.Hash][2]uint64{{1: 7}: less, {1: 8}: more} {
			diff.Pre[token].Storage[slot] = uint256.NewInt(change[0]).Bytes32()
			diff.Post[token].Storage[slot] = uint256.NewInt(change[1]).Bytes32()
		}
		return diff
	}
	for _, holderFirst := range []bool{false, true} {
		f("once, beside slots that moved twice", one, other, with(state(holderFirst, balances2(9, 6), balances2(0, 3)), [2]uint64{9, 3}, [2]uint64{0, 6}), sent, sent)
		f("twice, beside slots that moved once", two, other, with(state(holderFirst, balances2(9, 3), balances2(0, 6)), [2]uint64{9, 6}, [2]uint64{0, 3}), sent, sent)
	}
	shared := state(false, balances2(9, 3), balances2(0, 6))
	for slot, v := range state(true, balances2(9, 6), balances2(0, 3)).Pre[token].Storage {
		shared.Pre[token].Storage[slot] = v
	}
	for slot, v := range state(true, balances2(9, 6), balances2(0, 3)).Post[token].Storage {
		shared.Post[token].Storage[slot] = v
	}
	f("twice, beside a mapping that moved once", two, other, shared, sent, sent)
	f("slots that are nowhere, once and twice", two, other, with(moved(map[common.Hash][2]*uint256.Int{
		{1: 5}: balances2(9, 3), {1: 6}: balances2(0, 6)}), [2]uint64{9, 6}, [2]uint64{0, 3}), sent, sent)
	f("slots that are nowhere", one, other, moved(map[common.Hash][2]*uint256.Int{{1: 7}: balances2(9, 6), {1: 8}: balances2(0, 3)}), sent, sent)
	f("a state that says nothing", two, other, moved(map[common.Hash][2]*uint256.Int{{1: 7}: balances2(1, 2)}), sent, sent)
}

// TestBurntTwice: what is burnt is logged to the zero address and to the address of burnt tokens.
func TestBurntTwice(t *testing.T) {
	third := statediff.Layout{Mapping: common.Hash{31: 3}}
	event := func(to common.Address) ethrpc.Log { return logOf(token, topics(evmsig.TopicTransfer, alice, to), 5000) }
	f := func(name string, want int, after uint64, logs ...ethrpc.Log) {
		t.Helper()
		in := withLogs(logs...)
		in.Diff = slots(third, map[common.Address][2]*uint256.Int{alice: balances2(19000, after)})
		if got := Compute(in); len(got.Transfers) != want {
			t.Errorf("%s: %s", name, listed(got))
		}
	}
	f("burnt once", 1, 14000, event(common.Address{}), event(deadAddress))
	f("the other way round", 1, 14000, event(deadAddress), event(common.Address{}))
	f("burnt twice", 2, 9000, event(common.Address{}), event(deadAddress))
}
