package narrate_test

import (
	"testing"

	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestMultisig: what an owner asked a wallet of several for, and that nothing moved.
func TestMultisig(t *testing.T) {
	f := func(name string, input []byte, build func(*scene.Scene), want string) {
		t.Helper()
		s := scene.New(&scene.Vault, 0, input)
		if build != nil {
			build(s)
		}
		if got := scene.Held(t, name, s.Facts(t)).Summary; got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	submit := func(to common.Address, value int, data []byte) []byte {
		return append(scene.Input("submitTransaction(address,uint256,bytes)", to, value, 96), lengthened(data)...)
	}
	pay := scene.Input("transfer(address,uint256)", scene.Friend, 9_000_000_000)
	classic := func(s *scene.Scene) {
		s.Log(scene.Vault, "Submission(uint256)", []any{12})
		s.Log(scene.Vault, "Confirmation(address,uint256)", []any{scene.User, 12})
	}
	const to = " to multisig wallet 0x7a17…7a17, to "
	f("tokens", submit(scene.Usdc, 0, pay), classic, "Submitted transaction 12"+to+"send 9,000 USDC to 0xf00d…f00d; nothing moved yet")
	f("coin", submit(scene.Friend, 2e18, nil), classic, "Submitted transaction 12"+to+"send 2 ETH to 0xf00d…f00d; nothing moved yet")
	f("a call", submit(scene.Friend, 0, []byte{1, 2, 3, 4}), classic, "Submitted transaction 12"+to+"call function 0x01020304 of 0xf00d…f00d; nothing moved yet")
	f("an approval", submit(scene.Usdc, 0, scene.Input("approve(address,uint256)", scene.Bot, 5_000_000)), classic,
		"Submitted transaction 12"+to+"allow 0xb070…b070 to spend 5 USDC; nothing moved yet")
	f("an event of another kind", submit(scene.Usdc, 0, pay), func(s *scene.Scene) {
		s.Log(scene.Vault, "SubmitTransaction(address,uint256,address,uint256,bytes)", []any{scene.User, 3, scene.Usdc}, 0, 64, 0)
	}, "Submitted transaction 3"+to+"send 9,000 USDC to 0xf00d…f00d; nothing moved yet")
	f("no event", submit(scene.Usdc, 0, pay), nil, "Submitted transaction"+to+"send 9,000 USDC to 0xf00d…f00d; nothing moved yet")
	f("confirmed", scene.Input("confirmTransaction(uint256)", 12), func(s *scene.Scene) {
		s.Log(scene.Vault, "Confirmation(address,uint256)", []any{scene.User, 12})
	}, "Confirmed transaction 12 of multisig wallet 0x7a17…7a17; nothing moved yet")
	f("revoked", scene.Input("revokeConfirmation(uint256)", 12), func(s *scene.Scene) {
		s.Log(scene.Vault, "Revocation(address,uint256)", []any{scene.User, 12})
	}, "Revoked the confirmation of transaction 12 of multisig wallet 0x7a17…7a17; nothing moved yet")
	f("too short", submit(scene.Usdc, 0, pay)[:60], classic, "Signed for a multisig wallet")
	f("made at once", scene.Input("confirmTransaction(uint256)", 12), func(s *scene.Scene) {
		s.Log(scene.Vault, "Confirmation(address,uint256)", []any{scene.User, 12})
		s.Transfer(scene.Usdc, scene.Vault, scene.Friend, 9_000_000_000)
	}, "Signed for a multisig wallet")
}
