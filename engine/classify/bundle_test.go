package classify_test

import (
	"strings"
	"testing"
	"txlens/engine/api"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// TestFailedOfBundle: of several operations it is said how many failed, and the account
// whose operation did something is the actor.
func TestFailedOfBundle(t *testing.T) {
	f := func(first, second bool, want string, actor common.Address) {
		t.Helper()
		s := scene.New(scene.At(entryPoint), 0, nil2()).Transfer(scene.Usdc, scene.Vault, scene.Friend, 5_000000)
		v := scene.Held(t, "", userOp(userOp(s, scene.Bot, first), scene.Vault, second).Facts(t))
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
	f(false, true, "Ran 2 user operations, 1 of which failed: 0xb070…b070 failed (no revert reason available); 0x7a17…7a17 sent 5 USDC to 0xf00d…f00d", scene.Vault)
	f(true, false, "Ran 2 user operations, 1 of which failed: 0xb070…b070 ran its operation; 0x7a17…7a17 failed", scene.Bot)
	f(false, false, "Ran 2 user operations, 2 of which failed", scene.Bot)
}

// TestPrefund: what a smart account pays its entry point is no part of what it sent,
// unless it calls for a deposit.
func TestPrefund(t *testing.T) {
	f := func(data []byte, want string) {
		t.Helper()
		s := scene.New(scene.At(entryPoint), 0, nil2())
		s.Call(scene.Vault, scene.Friend, 2_000000000000000000, nil)
		s.Call(scene.Vault, entryPoint, 500000000000000000, data)
		if v := scene.Held(t, "", userOp(s, scene.Vault, true).Facts(t)); !strings.Contains(v.Summary, want) {
			t.Errorf("%s, want %s", v.Summary, want)
		}
	}
	f(nil, "Sent 2 ETH to")
	f(scene.Input("depositTo(address)", scene.Vault), "2.5 ETH")
}

// TestAdministered: nothing moved and a contract has another master.
func TestAdministered(t *testing.T) {
	f := func(s *scene.Scene, want bool) {
		t.Helper()
		v := scene.Held(t, "", s.Facts(t))
		if got := v.TxType != nil && *v.TxType == api.TypeOther && v.SubType == "admin"; got != want {
			t.Errorf("%s/%s: %s", typeName(v), v.SubType, v.Summary)
		}
	}
	handed := func() *scene.Scene {
		return scene.New(scene.At(scene.Vault), 0, nil2()).Log(scene.Vault, "OwnershipTransferred(address,address)", []any{scene.User, scene.Friend})
	}
	f(handed(), true)
	f(handed().Transfer(scene.Usdc, scene.User, scene.Friend, 7), false)
}

// TestDeployedBySender: who made a contract by a transaction of its own may initialise it
// by a later one; an address that no nonce of the sender gives is somebody else's.
func TestDeployedBySender(t *testing.T) {
	f := func(contract common.Address, want bool) {
		t.Helper()
		s := scene.New(scene.At(contract), 0, nil2()).Log(contract, "Initialized(uint64)", nil, 1)
		s.Tx.Nonce = 9
		flagged := false
		for _, r := range lines(scene.Held(t, "", s.Facts(t))) {
			flagged = flagged || strings.HasPrefix(r, "uninitialised_takeover: ")
		}
		if flagged != want {
			t.Errorf("%s: flagged %v", contract, flagged)
		}
	}
	f(crypto.CreateAddress(scene.User, 3), false)
	f(crypto.CreateAddress(scene.User, 9), true) // not made before
	f(crypto.CreateAddress(scene.Friend, 3), true)
}
