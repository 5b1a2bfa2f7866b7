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

// TestSilentMovements: what calls asked for and the slots confirm took place without a log;
// where only one of them says so, nothing is booked and nothing is ruled out.
func TestSilentMovements(t *testing.T) {
	type holders = map[common.Address][2]*uint256.Int
	third := statediff.Layout{Mapping: common.Hash{31: 3}}
	f := func(name, want string, unread bool, diff *ethrpc.StateDiff, s evmsig.Selector, output []byte, args ...any) {
		t.Helper()
		root := frame(trace.Call, alice, token, 0)
		root.Input, root.Output = append(s[:], logOf(token, nil, args...).Data...), output
		in := made(root)
		in.Diff = diff
		out := Compute(in)
		if got := listed(out); got != want || out.Unread != unread {
			t.Errorf("%s\ngot  %s, unread %v\nwant %s", name, got, out.Unread, want)
		}
	}
	sent := slots(third, holders{alice: balances2(9, 4), bob: balances2(0, 5)})
	f("transfer", "erc20 token alice>bob 5", false, sent, evmsig.SelTransfer, word(1), bob, 5)
	f("transferFrom", "erc20 token carol>bob 5", false, slots(third, holders{carol: balances2(9, 4), bob: balances2(0, 5)}), evmsig.SelTransferFrom, nil, carol, bob, 5)
	f("mint", "erc20 token >bob 5", false, slots(third, holders{bob: balances2(0, 5)}), evmsig.SelMint, nil, bob, 5)
	f("burn", "erc20 token alice> 5", false, slots(third, holders{alice: balances2(9, 4)}), evmsig.SelBurn, nil, 5)
	f("burnFrom", "erc20 token bob> 5", false, slots(third, holders{bob: balances2(9, 4)}), evmsig.SelBurnFrom, nil, bob, 5)
	f("another amount", "", true, sent, evmsig.SelTransfer, word(1), bob, 4)
	f("no state", "", true, nil, evmsig.SelTransfer, word(1), bob, 5)
	f("refused", "", false, nil, evmsig.SelTransfer, word(0), bob, 5)
	f("nothing asked for", "", false, nil, evmsig.SelTransfer, word(1), bob, 0)
	f("another function", "", false, nil, evmsig.SelApprove, word(1), bob, 5)
	f("batch", "", true, nil, evmsig.SelSafeBatchTransfer, nil, alice, bob, 160, 160)
}

// TestUnread: without a trace the logs alone rule nothing out, nor do they where a token's
// storage changed.
func TestUnread(t *testing.T) {
	f := func(name string, want bool, change func(*Input)) {
		t.Helper()
		in := made(frame(trace.Call, alice, pool, 0))
		change(&in)
		if got := Compute(in).Unread; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	yes := func(a common.Address) bool { return a == token }
	changed := moved(map[common.Hash][2]*uint256.Int{{1: 9}: balances2(0, 77)})
	f("logs and calls", false, func(*Input) {})
	f("logs alone", true, func(in *Input) { in.Tree = nil })
	f("a token's storage", true, func(in *Input) { in.Diff, in.Token = changed, yes })
	f("another contract's storage", false, func(in *Input) { in.Diff = changed })
	f("an approval", false, func(in *Input) {
		in.Diff, in.Token = changed, yes
		in.Receipt.Logs = []ethrpc.Log{logOf(token, topics(evmsig.TopicApproval, alice, bob), 77)}
	})
	f("a transfer", false, func(in *Input) {
		in.Tree = nil
		in.Receipt.Logs = []ethrpc.Log{logOf(token, topics(evmsig.TopicTransfer, alice, bob), 77)}
	})
	f("a failed transaction", false, func(in *Input) { in.Tree, in.Succeeded = nil, false })
}

// TestUndecidedTokens: a function that ERC-721 has not, and four topics.
func TestUndecidedTokens(t *testing.T) {
	f := func(name string, want bool, s evmsig.Selector, output []byte, args ...any) {
		t.Helper()
		root := frame(trace.Call, alice, token, 0)
		root.Input, root.Output = append(s[:], logOf(token, nil, args...).Data...), output
		in := made(root)
		in.Receipt.Logs = []ethrpc.Log{logOf(token, topics(evmsig.TopicTransfer, alice, bob, 77))}
		if got := Compute(in).Undecided[token]; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	f("transfer that returns nothing", true, evmsig.SelTransfer, nil, bob, 77)
	f("transfer that returns true", false, evmsig.SelTransfer, word(1), bob, 77)
	f("transferFrom", false, evmsig.SelTransferFrom, nil, alice, bob, 77)
	f("transfer of another number", false, evmsig.SelTransfer, nil, bob, 78)
}
