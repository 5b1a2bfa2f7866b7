package classify_test

import (
	"strings"
	"testing"

	"txlens/engine/flow"
	"txlens/testkit/scene"
)

// TestWorth: the movement whose value is that of the act, with its sign, and what counts beside it.
func TestWorth(t *testing.T) {
	names := map[string]string{scene.Usdc.Hex(): "USDC", scene.Weth.Hex(): "WETH", dai.Hex(): "DAI", zero.Hex(): "ETH", scene.Pool1.Hex(): "LP"}
	said := func(d *flow.Delta) string { return d.Amount.String() + " " + names[d.Key.Token.Hex()] }
	f := func(name string, s *scene.Scene, want string) {
		t.Helper()
		v := scene.Held(t, name, s.Facts(t))
		var got []string
		if v.Primary != nil {
			got = append(got, said(v.Primary))
		}
		for i := range v.Besides {
			got = append(got, said(&v.Besides[i]))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: worth %q, want %q (%s)", name, got, want, v.Summary)
		}
	}
	user, friend, vault, pool := scene.User, scene.Friend, scene.Vault, scene.Pool1
	at := func() *scene.Scene {
		return scene.New(scene.At(vault), 0, nil2()).Known(vault, "Aave Pool", "lending", "aave_v3")
	}
	f("coin", scene.New(scene.At(friend), 50, nil), "-50 ETH")
	f("sent", called(scene.Usdc, "transfer(address,uint256)", friend, 5).Transfer(scene.Usdc, user, friend, 5), "-5 USDC")
	f("received", called(scene.Router, "foo()").Transfer(scene.Usdc, friend, user, 5), "5 USDC")
	f("swapped", usdcForWeth(scene.New(scene.At(scene.Router), 0, nil2()), user), "-2500000000 USDC")
	f("an unlisted token for a listed one", called(scene.Router, "foo()").Transfer(dai, user, pool, 7).Transfer(scene.Usdc, pool, user, 5).
		Log(pool, v2Swap, []any{user, user}, 7, 0, 0, 5), "5 USDC")
	f("as much of two tokens", called(scene.Router, "foo()").Transfer(scene.Weth, user, pool, 5).Transfer(scene.Usdc, pool, user, 5).
		Log(pool, v2Swap, []any{user, user}, 5, 0, 0, 5), "-5 WETH")
	f("supplied", at().Transfer(scene.Usdc, user, vault, 5).Log(vault, supplyEvent, []any{scene.Usdc, user, 0}, user, 5), "-5 USDC")
	f("withdrawn", at().Transfer(scene.Usdc, vault, user, 5).Log(vault, withdrawEvent, []any{scene.Usdc, user, user}, 5), "5 USDC")
	f("borrowed against a payment", at().Transfer(scene.Weth, user, vault, 9).Transfer(scene.Usdc, vault, user, 5).Log(vault, borrowEvent, []any{scene.Usdc, user, 0}, user, 5, 2, 1), "5 USDC")
	f("repaid for collateral", at().Transfer(scene.Usdc, user, vault, 5).Transfer(scene.Weth, vault, user, 9).Log(vault, repayEvent, []any{scene.Usdc, user, user}, 5, false), "-5 USDC")
	add := called(scene.Router, "foo()").Transfer(scene.Usdc, user, pool, 5).Transfer(scene.Weth, user, pool, 9).Transfer(pool, zero, user, 3).Log(pool, v2Mint, []any{scene.Router}, 5, 9)
	f("liquidity added", add, "-5 USDC, -9 WETH")
	remove := called(scene.Router, "foo()").Transfer(pool, user, zero, 3).Transfer(scene.Usdc, pool, user, 5).Transfer(scene.Weth, pool, user, 9).Log(pool, v2Burn, []any{scene.Router, user}, 5, 9)
	f("liquidity removed", remove, "5 USDC, 9 WETH")
	f("collected", called(scene.Router, "foo()").Transfer(scene.Usdc, pool, user, 5).Transfer(scene.Weth, pool, user, 9).
		Log(pool, "Collect(address,address,int24,int24,uint128,uint128)", []any{user, -100, 100}, user, 5, 9), "5 USDC, 9 WETH")
	f("two tokens sent", called(scene.Router, "foo()").Transfer(scene.Usdc, user, friend, 5).Transfer(scene.Weth, user, friend, 9), "-5 USDC")
	f("failed", called(scene.Usdc, "transfer(address,uint256)", friend, 5).Fail("out of gas"), "")
}
