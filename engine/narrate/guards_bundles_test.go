package narrate_test

import (
	"strings"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestBundlesTold: each account of a bundle is told by what it gave and got, else by what it called,
// and why its operation failed.
func TestBundlesTold(t *testing.T) {
	f := func(name, want string, failed bool, act func(s *costScene, x *trace.Frame)) {
		t.Helper()
		s := bundle(t, 1, entryV07)
		s.operation(entryV07, wallet, sponsor, failed, func(x *trace.Frame) {
			if act != nil {
				act(s, x)
			}
		}, nil)
		s.operation(entryV07, wallet2, sponsor, false, func(x *trace.Frame) {
			s.transfer(s.call(x, wallet2, scene.Usdc, 0, scene.Input("transfer(address,uint256)", payee, 7_000_000)), scene.Usdc, wallet2, payee, 7_000_000)
		}, nil)
		told := scene.Judge(s.payout(entryV07).input())
		head := "Ran 2 user operations: "
		if failed {
			head = "Ran 2 user operations, 1 of which failed: "
		}
		if want := head + "0xacc0…acc0 " + want + "; 0xacc2…acc2 sent 7 USDC to 0x9a1e…9a1e"; told.Summary != want {
			t.Errorf("%s:\n got  %s\n want %s", name, told.Summary, want)
		}
	}
	calls := func(value uint64, input []byte) func(s *costScene, x *trace.Frame) {
		return func(s *costScene, x *trace.Frame) { s.call(x, wallet, game, value, input) }
	}
	f("called", "called function 0xdeadbeef of 0x6a3e…6a3e", false, calls(0, opaque))
	f("called with nothing", "called 0x6a3e…6a3e", false, calls(0, nil))
	f("called with a few bytes", "called a function of 0x6a3e…6a3e", false, calls(0, []byte{1, 2}))
	f("called by name", "called deposit of 0x6a3e…6a3e", false, calls(0, scene.Input("deposit()")))
	f("sent coin", "sent 0.005 ETH to 0x6a3e…6a3e", false, calls(5*milliEther, nil))
	f("received", "received 9 USDC", false, func(s *costScene, x *trace.Frame) {
		s.transfer(s.call(x, wallet, game, 0, opaque), scene.Usdc, game, wallet, 9_000_000)
	})
	f("traded", "gave 0.005 ETH and got 9 USDC", false, func(s *costScene, x *trace.Frame) {
		s.transfer(s.call(x, wallet, game, 5*milliEther, opaque), scene.Usdc, game, wallet, 9_000_000)
	})
	f("burnt", "sent 9 USDC", false, func(s *costScene, x *trace.Frame) {
		s.transfer(s.call(x, wallet, game, 0, opaque), scene.Usdc, wallet, nobody, 9_000_000)
	})
	f("sent two assets", "sent 0.005 ETH and 9 USDC", false, func(s *costScene, x *trace.Frame) {
		s.transfer(s.call(x, wallet, game, 5*milliEther, opaque), scene.Usdc, wallet, game, 9_000_000)
	})
}

// TestPassagesTold: what moved between others is added up by asset, the most telling first.
func TestPassagesTold(t *testing.T) {
	f := says(t)
	friend, bot, pool, usdc := scene.Friend, scene.Bot, scene.Pool1, scene.Usdc
	asset := func(i int) common.Address { return scene.Addr(0xd100 + uint16(i)) }
	many := func(n int) *scene.Scene {
		s := made(scene.Router)
		for i := range n {
			s.Transfer(asset(i), friend, bot, 5+i)
		}
		return s
	}
	part := func(i int) string {
		return "oved " + string('5'+rune(i)) + " raw units of 0xd10" + string('0'+rune(i)) + "…d10" + string('0'+rune(i)) + " from 0xf00d…f00d to 0xb070…b070"
	}
	f("three assets", many(3), "M"+part(0)+", m"+part(1)+" and m"+part(2)+" through 0x4007…4007")
	f("four", many(4), "M"+part(0)+", m"+part(1)+", m"+part(2)+" and m"+part(3)+" through 0x4007…4007")
	f("five", many(5), "M"+part(0)+", m"+part(1)+", m"+part(2)+" and 2 more assets through 0x4007…4007")
	f("minted to two", made(scene.Router).Transfer(usdc, nobody, friend, 5_000000).Transfer(usdc, nobody, bot, 6_000000), "Minted 11 USDC to 2 addresses through 0x4007…4007")
	f("burnt of two", made(scene.Router).Transfer(usdc, friend, nobody, 5_000000).Transfer(usdc, bot, nobody, 6_000000), "Burnt 11 USDC of 2 addresses through 0x4007…4007")
	f("out of the called contract", made(scene.Router).Transfer(usdc, scene.Router, bot, 6_000000), "Moved 6 USDC from 0x4007…4007 to 0xb070…b070")
	moved := func() *scene.Scene { return made(scene.Router).Transfer(usdc, friend, bot, 6_000000) }
	f("burnt beside", moved().Transfer(usdc, friend, nobody, 1_000000), "Moved 6 USDC from 0xf00d…f00d to 0xb070…b070 (1 USDC burnt) through 0x4007…4007")
	f("minted beside", moved().Transfer(usdc, nobody, bot, 1_000000), "Moved 6 USDC from 0xf00d…f00d to 0xb070…b070 (1 USDC minted) through 0x4007…4007")
	f("wrapped coin burnt beside", made(scene.Router).Transfer(scene.Weth, friend, bot, 6_000_000_000_000).Transfer(scene.Weth, friend, nobody, 1_000_000_000_000),
		"Moved 0.000007 ETH from 0xf00d…f00d to 0xb070…b070 through 0x4007…4007")
	ids := func(n int) *scene.Scene {
		s := made(scene.Router)
		for i := range n {
			s.Log(scene.Nft, "Transfer(address,address,uint256)", []any{friend, bot, 7 + i})
		}
		return s
	}
	f("an NFT", ids(1), "Moved an NFT of 0x0721…0721 from 0xf00d…f00d to 0xb070…b070 through 0x4007…4007")
	f("NFTs", ids(2), "Moved 2 NFTs of 0x0721…0721 from 0xf00d…f00d to 0xb070…b070 through 0x4007…4007")
	f("an NFT burnt beside NFTs", ids(2).Log(scene.Nft, "Transfer(address,address,uint256)", []any{friend, nobody, 9}),
		"Moved 2 NFTs of 0x0721…0721 from 0xf00d…f00d to 0xb070…b070 (an NFT of 0x0721…0721 burnt) through 0x4007…4007")
	unwrapped := made(scene.Router).Transfer(scene.Weth, friend, pool, 5_000_000_000_000)
	unwrapped.Call(pool, friend, 5_000_000_000_000, nil)
	f("wrapped coin for coin", unwrapped, "Called function 0xdeadbeef of 0x4007…4007; nobody gained or lost tokens")
	more := made(scene.Router).Transfer(scene.Weth, friend, pool, 7_000_000_000_000)
	more.Call(pool, friend, 5_000_000_000_000, nil)
	f("more wrapped coin than coin", more, "Moved 0.000002 ETH from 0xf00d…f00d to 0x9001…9001 through 0x4007…4007")
}

// TestFeesOnTransfersTold: of a transfer of which the token took a part the payee is the one that the
// rest went to.
func TestFeesOnTransfersTold(t *testing.T) {
	f := says(t)
	user, friend, usdc := scene.User, scene.Friend, scene.Usdc
	sent := func() *scene.Scene {
		return scene.New(&usdc, 0, scene.Input("transfer(address,uint256)", friend, 100_000000)).Transfer(usdc, user, friend, 97_000000)
	}
	f("nothing taken", sent(), "Sent 97 USDC to 0xf00d…f00d")
	f("burnt", sent().Transfer(usdc, user, nobody, 3_000000), "Sent 97 USDC to 0xf00d…f00d; 3 USDC burnt by the token")
	f("to the token", sent().Transfer(usdc, user, usdc, 3_000000), "Sent 97 USDC to 0xf00d…f00d; 3 USDC went to the token as a fee")
	f("to another", sent().Transfer(usdc, user, scene.Bot, 3_000000), "Sent 97 USDC to 0xf00d…f00d; 3 USDC went to 0xb070…b070 as a fee of the token")
	three := sent().Transfer(usdc, user, scene.Bot, 1_000000).Transfer(usdc, user, usdc, 1_000000).Transfer(usdc, user, nobody, 1_000000)
	f("to three", three, "Sent 97 USDC to 0xf00d…f00d; 1 USDC went to 0xb070…b070 as a fee of the token; 1 USDC went to the token as a fee; 1 USDC burnt by the token")
	four := sent().Transfer(usdc, user, scene.Bot, 1_000000).Transfer(usdc, user, usdc, 1_000000).Transfer(usdc, user, nobody, 500000).Transfer(usdc, user, scene.Pool1, 500000)
	f("to four", four, "Sent 99.5 USDC to 4 addresses; 0.5 USDC burnt")
	f("two assets", sent().Transfer(usdc, user, nobody, 3_000000).Transfer(daiToken, user, friend, 5), "")
}

// TestDescribedArguments: the arguments of a described function are dates, amounts and accounts, within
// the bounds of those.
func TestDescribedArguments(t *testing.T) {
	f := func(until any, want string) {
		t.Helper()
		at := common.HexToAddress("0x5f3b5DfEb7B28CDbD7FAba78963EE202a494e2A2")
		s := scene.New(&at, 0, scene.Input("increase_unlock_time(uint256)", until))
		if got := scene.Judge(s.Facts(t)).Summary; !strings.Contains(got, " to lock CRV for longer (until "+want+"); no tokens moved") {
			t.Errorf("%v: %s, want %s", until, got, want)
		}
	}
	f(1800000000, "2027-01-15")
	f(0, "1970-01-01")
	f(253_402_300_799, "9999-12-31")
	f(253_402_300_800, "253402300800")
	f(-1, "115792089237316195423570985008687907853269984665640564039457584007913129639935")
}
