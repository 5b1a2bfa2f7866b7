package narrate_test

import (
	"strings"
	"testing"

	"txlens/testkit/scene"
)

// TestWrapNames: deposit() and withdraw(uint256) are wrapping only at a contract that is
// known to wrap, and so are the events of these names.
func TestWrapNames(t *testing.T) {
	deposit, withdraw := scene.Input("deposit()"), scene.Input("withdraw(uint256)", 9)
	failed := func(s *scene.Scene, want string) {
		t.Helper()
		if got := scene.Held(t, "", s.Fail("execution reverted").Facts(t)).Summary; !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	failed(scene.New(&scene.Vault, 5, deposit), "Failed attempt to call deposit of 0x7a17…7a17")
	failed(scene.New(&scene.Vault, 0, withdraw), "Failed attempt to call withdraw of 0x7a17…7a17")
	failed(scene.New(&scene.Weth, 5, deposit), "Failed attempt to wrap through ")
	failed(scene.New(&scene.Weth, 0, withdraw), "Failed attempt to unwrap through ")
	failed(scene.New(&scene.Usdc, 0, withdraw), "Failed attempt to unwrap through ") // a token that is listed
	failed(scene.New(&scene.Vault, 0, withdraw).Known(scene.Vault, "Bridged WETH", "token", ""), "Failed attempt to unwrap through ")

	event := func(signature, want string) {
		t.Helper()
		s := scene.New(&scene.Vault, 0, scene.Input("enter(uint256)", 5)).Log(scene.Vault, signature, []any{scene.User}, 5)
		if got := scene.Held(t, "", s.Facts(t)).Summary; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", signature, got, want)
		}
	}
	event("Deposit(address,uint256)", "Called ")
	event("Withdrawal(address,uint256)", "Called ")
}
