package narrate_test

import (
	"strings"
	"testing"

	"txlens/testkit/scene"
)

// TestLoweredAllowance: an allowance that was lowered is told by how much, and to what;
// one that was set or raised by what it is.
func TestLoweredAllowance(t *testing.T) {
	f := func(function string, amount, left int, want string) {
		t.Helper()
		s := scene.New(&scene.Usdc, 0, scene.Input(function, scene.Friend, amount))
		s.Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.User, scene.Friend}, left)
		if got := scene.Held(t, "", s.Facts(t)).Summary; got != want {
			t.Errorf("%s: %s, want %s", function, got, want)
		}
	}
	f("decreaseAllowance(address,uint256)", 50e6, 100e6, "Reduced the allowance of 0xf00d…f00d by 50 USDC to 100 USDC")
	f("decreaseApproval(address,uint256)", 50e6, 100e6, "Reduced the allowance of 0xf00d…f00d by 50 USDC to 100 USDC")
	f("decreaseAllowance(address,uint256)", 50e6, -51, "Reduced the USDC allowance of 0xf00d…f00d, which stays unlimited")
	f("decreaseAllowance(address,uint256)", 50e6, 0, "Revoked the USDC allowance of 0xf00d…f00d")
	f("decreaseAllowance(address,uint256)", 0, 100e6, "Left the allowance of 0xf00d…f00d at 100 USDC")
	f("decreaseApproval(address,uint256)", 0, 1, "Left the allowance of 0xf00d…f00d at 0.000001 USDC")
	f("increaseAllowance(address,uint256)", 0, 100e6, "Allowed 0xf00d…f00d to spend 100 USDC")
	f("increaseAllowance(address,uint256)", 50e6, 150e6, "Allowed 0xf00d…f00d to spend 150 USDC")
	f("approve(address,uint256)", 50e6, 50e6, "Allowed 0xf00d…f00d to spend 50 USDC")
}

// TestAllowanceWithoutEvent: a call that should change an allowance and logged nothing, or failed, is
// told by what it asked for.
func TestAllowanceWithoutEvent(t *testing.T) {
	f := func(function string, amount int, failed string) {
		t.Helper()
		s := scene.New(&scene.Usdc, 0, scene.Input(function, scene.Friend, amount))
		if got := scene.Held(t, "", s.Facts(t)).Summary; !strings.HasSuffix(got, " of USDC (0x05dc…05dc); no approval event was read") {
			t.Errorf("%s: %s", function, got)
		}
		if got := scene.Held(t, "", s.Fail("execution reverted").Facts(t)).Summary; got != failed {
			t.Errorf("%s: %s, want %s", function, got, failed)
		}
	}
	f("decreaseAllowance(address,uint256)", 50e6, "Failed attempt to reduce the allowance of 0xf00d…f00d by 50 USDC: reverted without a reason")
	f("decreaseApproval(address,uint256)", 1, "Failed attempt to reduce the allowance of 0xf00d…f00d by 0.000001 USDC: reverted without a reason")
	f("increaseAllowance(address,uint256)", 3e6, "Failed attempt to raise the allowance of 0xf00d…f00d by 3 USDC: reverted without a reason")
	f("approve(address,uint256)", 3e6, "Failed attempt to allow 0xf00d…f00d to spend 3 USDC: reverted without a reason")
}

// TestLoweredOfSeveral: a call of somebody else, for another spender, or beside another call
// for the same one says nothing of an event.
func TestLoweredOfSeveral(t *testing.T) {
	f := func(change func(*scene.Scene), want string) {
		t.Helper()
		s := scene.New(&scene.Router, 0, scene.Input("run()"))
		s.Log(scene.Usdc, "Approval(address,address,uint256)", []any{scene.Router, scene.Friend}, int(100e6))
		change(s)
		if got := scene.Held(t, "", s.Facts(t)).Summary; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	lower := scene.Input("decreaseAllowance(address,uint256)", scene.Friend, int(50e6))
	f(func(s *scene.Scene) { s.Call(scene.Router, scene.Usdc, 0, lower) }, "0x4007…4007 reduced the allowance of 0xf00d…f00d by 50 USDC to 100 USDC")
	plain := "0x4007…4007 allowed 0xf00d…f00d to spend 100 USDC"
	f(func(s *scene.Scene) { s.Call(scene.Bot, scene.Usdc, 0, lower) }, plain)
	f(func(s *scene.Scene) { s.Call(scene.Router, scene.Weth, 0, lower) }, plain)
	f(func(s *scene.Scene) { s.Call(scene.Router, scene.Usdc, 0, lower).Err = "execution reverted" }, plain)
	f(func(s *scene.Scene) {
		s.Call(scene.Router, scene.Usdc, 0, scene.Input("decreaseAllowance(address,uint256)", scene.Bot, int(50e6)))
	}, plain)
	f(func(s *scene.Scene) {
		s.Call(scene.Router, scene.Usdc, 0, lower)
		s.Call(scene.Router, scene.Usdc, 0, lower)
	}, plain)
	f(func(s *scene.Scene) {
		s.Call(scene.Router, scene.Usdc, 0, lower)
		s.Call(scene.Router, scene.Usdc, 0, scene.Input("approve(address,uint256)", scene.Friend, int(100e6)))
	}, plain)
}
