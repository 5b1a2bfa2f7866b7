package classify

import (
	"strings"
	"testing"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// TestFailedOfBundle: of several operations it is said how many failed, and the account
// whose operation did something is the actor.
func TestFailedOfBundle(t *testing.T) {
	f := func(first, second bool, want string, actor common.Address) {
		t.Helper()
		s := newScene(at(entryPoint), 0, nil2()).transfer(usdc, vault, friend, 5_000000)
		v := judge(userOp(userOp(s, bot, first), vault, second).facts(t))
		if !strings.HasPrefix(v.Summary, want) || v.Actor != actor {
			t.Errorf("%v, %v: %s, for %s; want %s, for %s", first, second, v.Summary, v.Actor, want, actor)
		}
		told := false
		for _, r := range lines(v) {
			told = told || strings.HasPrefix(r, "inner_failure: ")
		}
		if told == (first && second) {
			t.Errorf("%v, %v: %q", first, second, lines(v))
		}
	}
	f(false, true, "1 of 2 user operations failed, the transaction itself succeeded: sent 5 USDC", vault)
	f(true, false, "1 of 2 user operations failed", bot)
	f(false, false, "Inner act failed", bot)
}

// TestPrefund: what a smart account pays its entry point is no part of what it sent,
// unless it calls for a deposit.
func TestPrefund(t *testing.T) {
	f := func(data []byte, want string) {
		t.Helper()
		s := newScene(at(entryPoint), 0, nil2())
		s.call(vault, friend, 2_000000000000000000, nil)
		s.call(vault, entryPoint, 500000000000000000, data)
		if v := judge(userOp(s, vault, true).facts(t)); !strings.Contains(v.Summary, want) {
			t.Errorf("%s, want %s", v.Summary, want)
		}
	}
	f(nil, "Sent 2 ETH to")
	f(input("depositTo(address)", vault), "2.5 ETH")
}

// TestAdministered: nothing moved and a contract has another master.
func TestAdministered(t *testing.T) {
	f := func(s *scene, want bool) {
		t.Helper()
		v := judge(s.facts(t))
		if got := v.TxType != nil && *v.TxType == api.TypeOther && v.SubType == "admin"; got != want {
			t.Errorf("%s/%s: %s", tName(v), v.SubType, v.Summary)
		}
	}
	handed := func() *scene {
		return newScene(at(vault), 0, nil2()).log(vault, "OwnershipTransferred(address,address)", []any{user, friend})
	}
	f(handed(), true)
	f(handed().transfer(usdc, user, friend, 7), false)
}

// TestDeployedBySender: who made a contract by a transaction of its own may initialise it
// by a later one; an address that no nonce of the sender gives is somebody else's.
func TestDeployedBySender(t *testing.T) {
	f := func(contract common.Address, want bool) {
		t.Helper()
		s := newScene(at(contract), 0, nil2()).log(contract, "Initialized(uint64)", nil, 1)
		s.tx.Nonce = 9
		flagged := false
		for _, r := range lines(judge(s.facts(t))) {
			flagged = flagged || strings.HasPrefix(r, "uninitialised_takeover: ")
		}
		if flagged != want {
			t.Errorf("%s: flagged %v", contract, flagged)
		}
	}
	f(crypto.CreateAddress(user, 3), false)
	f(crypto.CreateAddress(user, 9), true) // not made before
	f(crypto.CreateAddress(friend, 3), true)
}
