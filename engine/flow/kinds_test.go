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

// TestAmountsAndIDs: what is known of a token, and how it was called, decide whether the
// number of its event is an amount; the number of topics does so where nothing else does.
func TestAmountsAndIDs(t *testing.T) {
	yes := func(common.Address) bool { return true }
	no := func(common.Address) bool { return false }
	const amount, id = "erc20 token alice>bob 77", "erc721 token alice>bob 1#77"
	indexed := logOf(token, topics(evmsig.TopicTransfer, alice, bob, 77))
	plain := logOf(token, topics(evmsig.TopicTransfer, alice, bob), 77)
	old := logOf(token, topics(evmsig.TopicTransfer), alice, bob, 77)
	input := func(s evmsig.Selector, args ...any) []byte { return append(s[:], logOf(token, nil, args...).Data...) }
	f := func(name, want string, l ethrpc.Log, change func(*Input, *trace.Frame)) {
		t.Helper()
		root := frame(trace.Call, alice, token, 0)
		in := made(root)
		in.Receipt.Logs = []ethrpc.Log{l}
		if change != nil {
			change(&in, root)
		}
		if got := listed(Compute(in)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
	called := func(s evmsig.Selector, output []byte, args ...any) func(*Input, *trace.Frame) {
		return func(_ *Input, x *trace.Frame) { x.Input, x.Output = input(s, args...), output }
	}
	f("four topics", id, indexed, nil)
	f("three topics", amount, plain, nil)
	f("one topic", amount, old, nil)
	f("four topics of a known token", amount, indexed, func(in *Input, _ *trace.Frame) { in.Token, in.Divisible = yes, yes })
	f("four topics with decimals", amount, indexed, func(in *Input, _ *trace.Frame) { in.Divisible = yes })
	f("four topics without decimals", id, indexed, func(in *Input, _ *trace.Frame) { in.Divisible = no })
	f("four topics of a known collection", id, indexed, func(in *Input, _ *trace.Frame) { in.NFT, in.Divisible = yes, yes })
	f("four topics, transfer returned true", amount, indexed, called(evmsig.SelTransfer, word(1), bob, 77))
	f("four topics, transferFrom returned true", amount, indexed, called(evmsig.SelTransferFrom, word(1), alice, bob, 77))
	f("four topics, transferFrom returned nothing", id, indexed, called(evmsig.SelTransferFrom, nil, alice, bob, 77))
	f("four topics, transfer of another number", id, indexed, called(evmsig.SelTransfer, word(1), bob, 78))
	f("safeTransferFrom, with decimals", id, indexed, func(in *Input, x *trace.Frame) {
		in.Divisible = yes
		x.Input = input(evmsig.SelSafeTransferFrom, alice, bob, 77)
	})
	f("safeTransferFrom with data", id, plain, called(evmsig.SelSafeTransferFromData, nil, alice, bob, 77, 128, 0))
	f("safeTransferFrom, no topics", id, old, called(evmsig.SelSafeTransferFrom, nil, alice, bob, 77))
	f("safeTransferFrom of another number", amount, plain, called(evmsig.SelSafeTransferFrom, nil, alice, bob, 78))
	f("safeTransferFrom at a known token", amount, plain, func(in *Input, x *trace.Frame) {
		in.Token, x.Input = yes, input(evmsig.SelSafeTransferFrom, alice, bob, 77)
	})
	f("the owner was asked for", id, plain, called(evmsig.SelOwnerOf, topicOf(alice).Bytes(), 77))
	f("the owner is another", amount, plain, called(evmsig.SelOwnerOf, topicOf(carol).Bytes(), 77))
	erc721 := append([]byte{0x80, 0xac, 0x58, 0xcd}, make([]byte, 28)...)
	f("ERC-165 says yes", id, plain, called(evmsig.SelSupportsERC, word(1), erc721))
	f("ERC-165 says no", amount, plain, called(evmsig.SelSupportsERC, word(0), erc721))
	second := statediff.Layout{Mapping: common.Hash{31: 2}}
	owner := func(a, b common.Address) *ethrpc.StateDiff {
		return moved(map[common.Hash][2]*uint256.Int{second.Slot(common.BytesToHash(word(77))): {new(uint256.Int).SetBytes(a[:]), new(uint256.Int).SetBytes(b[:])}})
	}
	f("the owner's slot", id, plain, func(in *Input, _ *trace.Frame) { in.Diff = owner(alice, bob) })
	f("the slot of another owner", amount, plain, func(in *Input, _ *trace.Frame) { in.Diff = owner(carol, bob) })
	balance := moved(map[common.Hash][2]*uint256.Int{second.Slot(topicOf(alice)): balances2(100, 23)})
	f("four topics and a slot that moved by the number", amount, indexed, func(in *Input, _ *trace.Frame) { in.Diff = balance })
	counter := moved(map[common.Hash][2]*uint256.Int{second.Slot(topicOf(carol)): balances2(100, 23)})
	f("four topics and another slot that moved by the number", id, indexed, func(in *Input, _ *trace.Frame) { in.Diff = counter })
	f("four topics, transfer that returned nothing, and the owner's slot", id, indexed, func(in *Input, x *trace.Frame) {
		in.Diff, x.Input = owner(alice, bob), input(evmsig.SelTransfer, bob, 77)
	})
	f("four topics, transfer that returned true, and the owner's slot", id, indexed, func(in *Input, x *trace.Frame) {
		in.Diff, x.Input, x.Output = owner(alice, bob), input(evmsig.SelTransfer, bob, 77), word(1)
	})
	f("an event of the amount beside", "erc721 token alice>bob 1#77 | erc20 token alice>bob 5", indexed, func(in *Input, _ *trace.Frame) {
		in.Divisible = yes
		in.Receipt.Logs = append(in.Receipt.Logs, logOf(token, topics(evmsig.TopicTransfer404, alice, bob), 5))
	})
	f("both layouts of one event", "erc721 token alice>bob 1#77 | erc20 token alice>bob 5", indexed, func(in *Input, _ *trace.Frame) {
		in.Divisible = yes
		in.Receipt.Logs = append(in.Receipt.Logs, logOf(token, topics(evmsig.TopicTransfer, alice, bob), 5))
	})
}

// TestApprovalsOfAmounts: the same holds of approvals.
func TestApprovalsOfAmounts(t *testing.T) {
	indexed := logOf(token, topics(evmsig.TopicApproval, alice, bob, 77))
	plain := logOf(token, topics(evmsig.TopicApproval, alice, bob), 77)
	f := func(name string, want bool, l ethrpc.Log, change func(*Input, *trace.Frame)) {
		t.Helper()
		root := frame(trace.Call, alice, token, 0)
		s := evmsig.SelApprove
		root.Input = append(s[:], logOf(token, nil, bob, 77).Data...)
		in := made(root)
		in.Receipt.Logs = []ethrpc.Log{l}
		change(&in, root)
		if got := Compute(in).ApprovesAmount(0, &in.Receipt.Logs[0]); got != want {
			t.Errorf("%s: an amount: %v", name, got)
		}
	}
	f("four topics", false, indexed, func(*Input, *trace.Frame) {})
	f("three topics", true, plain, func(*Input, *trace.Frame) {})
	f("four topics, approve returned true", true, indexed, func(_ *Input, x *trace.Frame) { x.Output = word(1) })
	f("four topics with decimals", true, indexed, func(in *Input, _ *trace.Frame) { in.Divisible = func(common.Address) bool { return true } })
	f("the oldest collection", false, logOf(cryptoKitties, topics(evmsig.TopicApproval), alice, bob, 77), func(*Input, *trace.Frame) {})
	second := statediff.Layout{Mapping: common.Hash{31: 2}}
	f("the slot of the approved account", false, plain, func(in *Input, _ *trace.Frame) {
		in.Diff = moved(map[common.Hash][2]*uint256.Int{second.Slot(common.BytesToHash(word(77))): {new(uint256.Int), new(uint256.Int).SetBytes(bob[:])}})
	})
	f("a slot with the number", true, indexed, func(in *Input, _ *trace.Frame) {
		in.Diff = moved(map[common.Hash][2]*uint256.Int{{1: 9}: balances2(0, 77)})
	})
}
