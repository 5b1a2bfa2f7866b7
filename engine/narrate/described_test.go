package narrate_test

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/testkit/scene"
)

// TestDescribedCall: the headline of a call that moves nothing says what the function is for,
// where a descriptor knows the contract, and only there.
func TestDescribedCall(t *testing.T) {
	f := func(to string, want string, signature string, args ...any) {
		t.Helper()
		at := common.HexToAddress(to)
		v := scene.Held(t, "", scene.New(&at, 0, scene.Input(signature, args...)).Facts(t))
		if !strings.Contains(v.Summary, want) {
			t.Errorf("%s: %q, want %q", signature, v.Summary, want)
		}
	}
	const escrow = "0x5f3b5DfEb7B28CDbD7FAba78963EE202a494e2A2"
	f(escrow, " to lock CRV for longer (until 2027-01-15); no tokens moved", "increase_unlock_time(uint256)", 1800000000)
	f("0x889edC2eDab5f40e902b864aD4d7AdE8E412F9B1", " to claim a withdrawal (request 77)", "claimWithdrawal(uint256)", 77)
	f("0x469788fE6E9E9681C6ebF3bF78e7Fd26Fc015446", " to remove the delegate of Snapshot votes", "clearDelegate(bytes32)", 0)
	f("0x1111111111111111111111111111111111111111", "Called function 0x", "increase_unlock_time(uint256)", 1800000000)
}
