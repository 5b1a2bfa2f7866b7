package flow

import (
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// TestOwnEvents: movements that tokens log with events of their own count, once where an
// ERC-20 Transfer stands beside them.
func TestOwnEvents(t *testing.T) {
	yes := func(a common.Address) bool { return a == token }
	f := func(want string, logs ...ethrpc.Log) {
		t.Helper()
		in := withLogs(logs...)
		in.Divisible = yes
		if got := listed(Compute(in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	zero := common.Address{}
	transfer := func(from, to common.Address, n int) ethrpc.Log {
		return logOf(token, topics(evmsig.TopicTransfer, from, to), n)
	}
	// ERC-223
	data223 := []any{5, 64, 2, []byte{1, 2}}
	f("erc20 token alice>bob 5", logOf(token, topics(evmsig.TopicTransfer223, alice, bob), data223...))
	f("erc20 token alice>bob 5", logOf(token, topics(evmsig.TopicTransfer223, alice, bob, 99), 5))
	f("erc20 token alice>bob 5", logOf(token, topics(evmsig.TopicTransfer223), alice, bob, 5, 128, 0))
	f("erc20 token alice>bob 5", transfer(alice, bob, 5), logOf(token, topics(evmsig.TopicTransfer223, alice, bob), data223...))
	f("erc20 token alice>bob 5", logOf(token, topics(evmsig.TopicTransfer223, alice, bob), data223...), transfer(alice, bob, 5))
	f("erc20 token alice>bob 5 | erc20 token alice>bob 5", logOf(token, topics(evmsig.TopicTransfer223, alice, bob), data223...), logOf(token, topics(evmsig.TopicTransfer223, alice, bob), data223...))
	f("erc20 token alice>bob 5 | erc20 token alice>bob 6", transfer(alice, bob, 5), logOf(token, topics(evmsig.TopicTransfer223, alice, bob), 6, 64, 0))
	f("", logOf(token, topics(evmsig.TopicTransfer223, alice, bob)))
	// ERC-777
	f("erc20 token alice>bob 5", logOf(token, topics(evmsig.TopicSent777, carol, alice, bob), 5, 96, 128, 0, 0), transfer(alice, bob, 5))
	f("erc20 token alice>bob 5", logOf(token, topics(evmsig.TopicSent777, carol, alice, bob), 5, 96, 128, 0, 0))
	f("erc20 token >bob 5", logOf(token, topics(evmsig.TopicMinted777, carol, bob), 5, 96, 128, 0, 0))
	f("erc20 token >bob 5", logOf(token, topics(evmsig.TopicMinted777, carol, bob), 5, 96, 128, 0, 0), transfer(zero, bob, 5))
	f("erc20 token alice> 5", logOf(token, topics(evmsig.TopicBurned777, carol, alice), 5, 96, 128, 0, 0))
	// ERC-404
	f("erc20 token alice>bob 5 | erc721 token alice>bob 1#501", logOf(token, topics(evmsig.TopicTransfer404, alice, bob), 5), logOf(token, topics(evmsig.TopicTransfer, alice, bob, 501)))
	f("erc20 token alice>bob 5 | erc721 token alice> 1#501 | erc721 token >bob 1#502", logOf(token, topics(evmsig.TopicTransfer404, alice, bob), 5),
		logOf(token, topics(evmsig.TopicTransfer, alice, zero, 501)), logOf(token, topics(evmsig.TopicTransfer, zero, bob, 502)))
	// Mint and Burn
	f("erc20 token >bob 5", logOf(token, topics(evmsig.TopicMint, bob), 5))
	f("erc20 token >bob 5", logOf(token, topics(evmsig.TopicMint), bob, 5))
	f("erc20 token >bob 5", logOf(token, topics(evmsig.TopicMint, bob), 5), transfer(zero, bob, 5))
	f("erc20 token carol>bob 5", logOf(token, topics(evmsig.TopicMint, bob), 5), transfer(carol, bob, 5))
	f("erc20 token alice> 5", logOf(token, topics(evmsig.TopicBurn, alice), 5))
	f("erc20 token alice>carol 5", logOf(token, topics(evmsig.TopicBurn, alice), 5), transfer(alice, carol, 5))
	f("", logOf(pool, topics(evmsig.TopicMint, bob), 5)) // no token
	f("", logOf(token, topics(evmsig.TopicMint, zero), 5))
	// Notes of calls
	note := func(s evmsig.Selector, guy, foo, bar any) ethrpc.Log {
		var topic common.Hash
		copy(topic[:], s[:])
		return logOf(token, topics(topic, guy, foo, bar))
	}
	f("erc20 token >alice 5", note(evmsig.SelMint128, alice, 5, 0))
	f("erc20 token >bob 5", note(evmsig.SelMint, alice, bob, 5), logOf(token, topics(evmsig.TopicMint, bob), 5))
	f("erc20 token alice> 5", note(evmsig.SelBurn, alice, 5, 0))
	f("", note(evmsig.SelApprove, alice, bob, 5))
	// ERC-4626
	f("erc20 token >bob 3", logOf(token, topics(evmsig.TopicVaultDeposit, alice, bob), 5, 3))
	f("erc20 token bob> 3", logOf(token, topics(evmsig.TopicVaultWithdraw, alice, carol, bob), 5, 3))
	f("erc20 token >bob 3", transfer(zero, bob, 3), logOf(token, topics(evmsig.TopicVaultDeposit, alice, bob), 5, 3))
	f("erc20 token >bob 4", transfer(zero, bob, 4), logOf(token, topics(evmsig.TopicVaultDeposit, alice, bob), 5, 3)) // the rest is a fee
	f("", logOf(pool, topics(evmsig.TopicVaultDeposit, alice, bob), 5, 3))
}

// TestSupplyByCall: an event that names only an amount is of the account that the call names.
func TestSupplyByCall(t *testing.T) {
	f := func(name, want string, topic common.Hash, s evmsig.Selector, args ...any) {
		t.Helper()
		root := frame(trace.Call, alice, token, 0)
		root.Input = append(s[:], logOf(token, nil, args...).Data...)
		in := made(root)
		in.Receipt.Logs = []ethrpc.Log{logOf(token, topics(topic), 5)}
		in.Token = func(common.Address) bool { return true }
		if got := listed(Compute(placed(in, root, 0))); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
	f("mint for the caller", "erc20 token >alice 5", evmsig.TopicMintAmount, evmsig.SelMintAmount, 5)
	f("mint for another", "erc20 token >bob 5", evmsig.TopicMintAmount, evmsig.SelMint, bob, 5)
	f("burn of the caller", "erc20 token alice> 5", evmsig.TopicBurnAmount, evmsig.SelBurn, 5)
	f("burn of another", "erc20 token bob> 5", evmsig.TopicBurnAmount, evmsig.SelBurnFrom, bob, 5)
	f("issue", "erc20 token >alice 5", evmsig.TopicIssueAmount, evmsig.SelIssue, 5)
	f("redeem", "erc20 token alice> 5", evmsig.TopicRedeemAmount, evmsig.SelRedeem, 5)
	f("another amount", "", evmsig.TopicMintAmount, evmsig.SelMintAmount, 6)
	f("another function", "", evmsig.TopicMintAmount, evmsig.SelBurn, 5)
}
