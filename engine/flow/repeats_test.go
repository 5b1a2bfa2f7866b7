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

// placed puts the logs of the receipt into a frame.
func placed(in Input, f *trace.Frame, at ...int) Input {
	for _, i := range at {
		l := &in.Receipt.Logs[i]
		f.Logs = append(f.Logs, trace.Log{Address: l.Address, Topics: l.Topics, Data: l.Data, Receipt: i, Calls: len(f.Children)})
	}
	in.Tree.HasLogs = true
	return in
}

// slots is a state diff of the token's mapping.
func slots(l statediff.Layout, changes map[common.Address][2]*uint256.Int) *ethrpc.StateDiff {
	m := map[common.Hash][2]*uint256.Int{}
	for a, c := range changes {
		m[l.Slot(statediff.Word(a))] = c
	}
	return moved(m)
}

// TestRepeatedEvents: a movement that a token logs twice counts once where the state, or
// the amount that was asked for, says so.
func TestRepeatedEvents(t *testing.T) {
	type holders = map[common.Address][2]*uint256.Int
	f := func(name, want string, diff *ethrpc.StateDiff, logs ...ethrpc.Log) {
		t.Helper()
		in := withLogs(logs...)
		in.Diff = diff
		out := Compute(in)
		if got := listed(out); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
		for _, k := range out.Checks {
			if k.Match == Rebasing {
				t.Errorf("%s: called rebasing: %+v", name, k)
			}
		}
	}
	event := func(from, to common.Address, n int) ethrpc.Log {
		return logOf(token, topics(evmsig.TopicTransfer, from, to), n)
	}
	third, vyper := statediff.Layout{Mapping: common.Hash{31: 3}}, statediff.Layout{Mapping: common.Hash{31: 2}, Order: statediff.Vyper}
	zero := common.Address{}
	sent := event(alice, bob, 5000)
	once, twice := holders{alice: balances2(9000, 4000), bob: balances2(1, 5001)}, holders{alice: balances2(19000, 9000), bob: balances2(1, 10001)}
	const one, two = "erc20 token alice>bob 5000", "erc20 token alice>bob 5000 | erc20 token alice>bob 5000"
	f("moved once, Solidity", one, slots(third, once), sent, sent)
	f("moved once, Vyper", one, slots(vyper, once), sent, sent)
	f("moved twice", two, slots(third, twice), sent, sent)
	f("logged three times", one, slots(third, once), sent, sent, sent)
	f("two movements logged twice each", two, slots(third, twice), sent, sent, sent, sent)
	f("minted once", "erc20 token >bob 5000", slots(third, holders{bob: balances2(1, 5001)}), event(zero, bob, 5000), event(zero, bob, 5000))
	f("burnt once", "erc20 token alice> 5000", slots(third, holders{alice: balances2(9000, 4000)}), event(alice, zero, 5000), event(alice, zero, 5000))
	f("an event of another kind in between", one, slots(third, once), sent, logOf(token, topics(evmsig.TopicApproval, alice, bob), 1), sent)
	f("all repeated at the end", "erc20 token alice>bob 5000 | erc20 token alice>carol 70",
		slots(third, holders{alice: balances2(9000, 3930), bob: balances2(0, 5000), carol: balances2(0, 70)}),
		sent, event(alice, carol, 70), sent, event(alice, carol, 70))
	nowhere := moved(map[common.Hash][2]*uint256.Int{{1: 7}: balances2(9000, 4000), {1: 8}: balances2(0, 5000)})
	f("slots that are nowhere", one, nowhere, sent, sent)
	f("slots that are nowhere, moved twice", two, moved(map[common.Hash][2]*uint256.Int{{1: 7}: balances2(19000, 9000), {1: 8}: balances2(0, 10000)}), sent, sent)
	both := func(first, second common.Hash) *ethrpc.StateDiff {
		return moved(map[common.Hash][2]*uint256.Int{
			first: balances2(19000, 9000), second: balances2(0, 10000), {1: 5}: balances2(19000, 14000), {1: 6}: balances2(0, 5000)})
	}
	f("slots that are nowhere, moved twice beside others", two, both(common.Hash{1: 7}, common.Hash{1: 8}), sent, sent)
	fourth := statediff.Layout{Mapping: common.Hash{31: 4}}
	votes := slots(third, twice)
	for slot, change := range map[common.Hash][2]uint64{fourth.Slot(topicOf(alice)): {9000, 4000}, fourth.Slot(topicOf(bob)): {1, 5001}} {
		votes.Pre[token].Storage[slot] = uint256.NewInt(change[0]).Bytes32()
		votes.Post[token].Storage[slot] = uint256.NewInt(change[1]).Bytes32()
	}
	f("moved twice, beside a mapping that moved once", two, votes, sent, sent)
	f("state that says nothing", two, moved(map[common.Hash][2]*uint256.Int{{1: 7}: balances2(1, 2)}), sent, sent)
	f("no state", two, nil, sent, sent)
	item := logOf(token, topics(evmsig.TopicTransfer, alice, bob, 7))
	f("an NFT that left before", "erc721 token alice>bob 1#7", nil, item, item)
	back := logOf(token, topics(evmsig.TopicTransfer, bob, alice, 7))
	f("an NFT that came back", "erc721 token alice>bob 1#7 | erc721 token bob>alice 1#7 | erc721 token alice>bob 1#7", nil, item, back, item)
}

// TestRepeatedEventsOfCalls: events of two calls are two movements, and half of them in the state
// is no sign of shares; without a state the call that asked for one amount decides.
func TestRepeatedEventsOfCalls(t *testing.T) {
	sent := logOf(token, topics(evmsig.TopicTransfer, alice, bob), 5000)
	input := func(s evmsig.Selector, args ...any) []byte { return append(s[:], logOf(token, nil, args...).Data...) }
	f := func(name string, want int, build func() Input) {
		t.Helper()
		out := Compute(build())
		if len(out.Transfers) != want || len(out.Checks) > 0 && out.Checks[0].Match == Rebasing {
			t.Errorf("%s: %d transfers, want %d; %+v", name, len(out.Transfers), want, out.Checks)
		}
	}
	call := func(in []byte) *trace.Frame {
		x := frame(trace.Call, alice, token, 0)
		x.Input = in
		return x
	}
	oneCall := func(in []byte) func() Input {
		return func() Input {
			made := made(call(in))
			made.Receipt.Logs = []ethrpc.Log{sent, sent}
			return placed(made, made.Tree.Root, 0, 1)
		}
	}
	f("transfer of the amount", 1, oneCall(input(evmsig.SelTransfer, bob, 5000)))
	f("transferFrom of the amount", 1, oneCall(input(evmsig.SelTransferFrom, alice, bob, 5000)))
	f("transfer of twice the amount", 2, oneCall(input(evmsig.SelTransfer, bob, 10000)))
	f("another function", 2, oneCall(input(evmsig.SelApprove, bob, 5000)))
	twoCalls := func(diff *ethrpc.StateDiff) func() Input {
		return func() Input {
			root := frame(trace.Call, alice, carol, 0, call(input(evmsig.SelTransfer, bob, 5000)), call(input(evmsig.SelTransfer, bob, 5000)))
			made := made(root)
			made.Receipt.Logs, made.Diff = []ethrpc.Log{sent, sent}, diff
			placed(made, root.Children[0], 0)
			return placed(made, root.Children[1], 1)
		}
	}
	third := statediff.Layout{Mapping: common.Hash{31: 3}}
	f("two calls", 2, twoCalls(nil))
	f("two calls of a token that stores shares", 2, twoCalls(slots(third, map[common.Address][2]*uint256.Int{alice: balances2(9000, 4000), bob: balances2(0, 5000)})))
	f("code of another contract", 1, func() Input {
		root := call(input(evmsig.SelTransfer, bob, 5000))
		root.Children = []*trace.Frame{frame(trace.DelegateCall, token, carol, 0)}
		made := made(root)
		made.Receipt.Logs = []ethrpc.Log{sent, sent}
		placed(made, root, 0)
		return placed(made, root.Children[0], 1)
	})
}
