package check_test

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/decode"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// Guards of rules by amounts and by the outcome that other scenes leave out.

// batch is a transfer of an amount of one ID by its event.
func batch(f *trace.Frame, from, to string, n *big.Int) *trace.Frame {
	emits(f, "TransferSingle(address,address,address,uint256,uint256)", []string{"x", from, to}, 7)
	g := &f.Logs[len(f.Logs)-1]
	g.Data = append(g.Data, word(n)...)
	return f
}

// TestAbsurdGuards: which numbers are absurd, of which assets, and who asked for them.
func TestAbsurdGuards(t *testing.T) {
	f := fire(t, "absurd_argument")
	wrap := word(topBit())
	f("x", call("balancer", "batch_1(uint256)", wrap))
	f("", call("balancer", "batch_1(uint256)", wrap, take("dai", "sender", "balancer", 5000))) // something was spent
	f("x", call("token", "batch_1(uint256)", wrap, []byte{1, 2, 3}))
	f("", call("token", "batch_1(uint256)", 1, []byte{1, 2, 3}))
	f("", call("token", "batch_1(bytes)", wrap[:31]))
	words := func(n int) []byte { return append(make([]byte, 32*n), wrap...) }
	f("x", call("token", "batch_1(bytes)", words(63)))
	f("", call("token", "batch_1(bytes)", words(64)))

	f = fire(t, "absurd_amount")
	huge := new(big.Int).Lsh(common.Big1, 130)
	f("", attackBy(batch(call("apes", "x_1()"), "vault", "tool", huge)))
	coin := sends("tool", 0)
	coin.Value.SetFromBig(huge)
	f("", attackBy(call("vault", "x_1()", coin)))
	out := func(to string) *trace.Frame { return call("vault", "x_1()", payBits("mkr", to, 130)) }
	f("s", attackBy(lent(5000, 5000, out("alice")))) // nobody gained
	f("x", attackBy(lent(5000, 5000, out("tool"))))
	f("s", attackBy(call("vault", "x_1()", call("mkr", "transfer(address,uint256)", "tool", word(new(big.Int).Sub(topBit(), common.Big1))))))
	all := top(256)
	all[31]-- // one less than everything
	f("s", attackBy(call("vault", "x_1()", call("mkr", "transfer(address,uint256)", "tool", all))))

	// Whoever asked got as many as they liked, or an amount wrapped.
	g := func(want string, inside ...*trace.Frame) {
		t.Helper()
		for _, m := range judged(t, attackBy(inside...)).Triage.Matches() {
			if strings.HasPrefix(m, "absurd_amount ") && !strings.Contains(m, "category "+want) {
				t.Errorf("%s, want %s", m, want)
			}
		}
	}
	g("precision_loss", out("tool"))
	g("access_control", call("mkr", "mint(address,uint256)", "tool", 5), out("tool"))
	g("access_control", call("mkr", "free_1()"), out("tool"))
	g("precision_loss", call("usd", "mint(address,uint256)", "tool", 5), out("tool"))
	g("precision_loss", out("tool"), call("mkr", "mint(address,uint256)", "tool", 5)) // afterwards
	g("precision_loss", call("mkr", "approve(address,uint256)", "tool", 5), out("tool"))
}

// topBit is the number that doubles to zero.
func topBit() *big.Int { return new(big.Int).Lsh(common.Big1, 255) }

// TestRepetitionGuards: which calls count as repeated, and when they decide.
func TestRepetitionGuards(t *testing.T) {
	f := fire(t, "hammer")
	f("", attackBy(times(10, func(int) *trace.Frame { return sends("vault", 0, pay("dai", "tool", 200)) })...)) // no function
	parts := func(n int) []*trace.Frame {
		return times(n, func(i int) *trace.Frame { return creates("part" + string(rune('a'+i))) })
	}
	made := moved(call("mkr", "make_1()"), "zero", "tool", 5000)
	f("s", attackBy(lent(5000, 5000, all(parts(4), fillers(10), made)...))) // nobody lost
	f("x", attackBy(lent(5000, 5000, all(parts(4), fillers(10), made, call("vault", "give_1()", pay("dai", "tool", 500)))...)))

	f = fire(t, "flash_vote")
	win := call("vault", "give_1()", pay("dai", "tool", 5000))
	for _, x := range []*trace.Frame{
		call("council", "castVote(uint256,uint8)", 1, 1), call("council", "castVoteWithReason(uint256,uint8,string)", 1, 1, 0x60, 0),
		call("council", "vote(uint256,bool)", 1, 1),
		call("council", "propose(address[],uint256[],bytes[],string)", 0x80, 0xa0, 0xc0, 0xe0, 0, 0, 0, 0),
		call("council", "propose(address[],uint256[],string[],bytes[],string)", 0xa0, 0xc0, 0xe0, 0x100, 0x120, 0, 0, 0, 0, 0),
	} {
		f("x", attackBy(lent(5000, 5000, x, win)))
	}
	f("", attackBy(lent(5000, 5000, call("council", "delegate(address)", "tool"), win)))

	// A function that only the contract itself tells the name of.
	g := func(want, name string) {
		t.Helper()
		published, err := abi.JSON(strings.NewReader(`[{"type":"function","name":"` + name + `","inputs":[{"name":"bip","type":"uint32"}]}]`))
		if err != nil {
			t.Fatal(err)
		}
		ev := evidenceOf(attackBy(lent(5000, 5000, call("council", name+"(uint32)", 1), win)))
		ev.Contracts = map[common.Address]*decode.Contract{who("council"): {Address: who("council"), ABI: &published, Source: "sourcify"}}
		findingOf(t, assemble.Build(ev), api.GovernanceAttack, "", want)
	}
	const voted = "governance_attack probable low: lost vault; faulty council; entered council; gained sender tool"
	g(voted, "emergencyCommit")
	g(voted, "vote")
	g("", "votes")
	g("", "commit")
}

// TestDepositGuards: what belongs to a deposit and a withdrawal.
func TestDepositGuards(t *testing.T) {
	f := fire(t, "deposit_withdraw")
	put := func(n int, more ...*trace.Frame) *trace.Frame {
		x := call("vault", "put_1()", take("dai", "tool", "vault", n))
		x.Children = append(x.Children, more...)
		return x
	}
	get := func(n int) *trace.Frame { return call("vault", "get_1()", pay("dai", "tool", n)) }
	f("x", attackBy(put(1000), get(1500)))
	f("", attackBy(put(1000), put(1000), get(1500)))
	f("x", attackBy(put(1000), put(1000), get(2500)))
	f("", attackBy(put(1000), call("other", "give_1()", pay("usd", "tool", 900))))
	f("x", attackBy(creates("coin"), put(1000, take("coin", "tool", "vault", 500)), get(1500))) // a token of the party beside
	f("", attackBy(put(1000, take("usd", "tool", "vault", 500)), get(1500)))
	one := func(fn, from, to string, n int64) *trace.Frame {
		return call("vault", fn, batch(call("apes", "x_1()"), from, to, big.NewInt(n)))
	}
	f("", attackBy(one("put_1()", "tool", "vault", 1000), one("get_1()", "vault", "tool", 1500), call("other", "give_1()", pay("usd", "tool", 900))))

	// What is paid through another belongs to the call that it pays for.
	through := call("router", "pay_1()", take("weth", "tool", "vault", 1000))
	f("", attackBy(through, call("vault", "x_1()"), call("router", "get_1()", sends("tool", 1500))))
	f("x", attackBy(call("router", "pay_1()", take("weth", "tool", "router", 1000)), call("router", "get_1()", sends("tool", 1500))))

	// The first deposit and the last withdrawal are told.
	g := func(want string, inside ...*trace.Frame) {
		t.Helper()
		for _, m := range judged(t, attackBy(inside...)).Triage.Matches() {
			if strings.HasPrefix(m, "in_and_out ") && !strings.Contains(m, want) {
				t.Errorf("%s, want %s", m, want)
			}
		}
	}
	g("deals [0 2]", put(1000), put(1000), get(2500))
	g("deals [0 3]", put(1000), put(1000), get(500), get(2500))
}

// TestUnpaidGuards: what was paid, to whom, and what explains it.
func TestUnpaidGuards(t *testing.T) {
	f := fire(t, "fresh_unpaid")
	win := func(to ...string) *trace.Frame {
		x := call("vault", "give_1()")
		for _, name := range to {
			x.Children = append(x.Children, pay("dai", name, 5000))
		}
		return x
	}
	f("s", attackBy(creates("part"), win("part", "tool")))
	f("s", attackBy(creates("part"), win("tool", "part")))
	f("", attackBy(creates("part"), win("tool", "tool")))

	// Who leaves a pool takes both assets; a call that failed took none.
	f = fire(t, "pool_robbed")
	both := call("pool", "out_1()", pay("dai", "tool", 5000), pay("mkr", "tool", 5000))
	leave := call("pool", "burn(address)", "tool")
	f("x", attackBy(pay("dai", "pool", 500), both))
	f("", attackBy(pay("dai", "pool", 500), leave, both))
	f("x", attackBy(pay("dai", "pool", 500), failing(leave), both))

	// Three times back.
	f = fire(t, "absurd_return")
	buy := swapped("pool", "dai", 1000, "mkr", 7000)
	turn := call("vault", "turn_1()", take("mkr", "tool", "vault", 7000), pay("dai", "tool", 3100))
	f("x", attackBy(lent(5000, 5000, all(buy, turn)...)))
	f("", attackBy(lent(5000, 5000, call("vault", "put_1()", take("dai", "tool", "vault", 1000)), call("vault", "get_1()", pay("dai", "tool", 3100))))) // nothing was traded
	sell := swapped("other", "mkr", 7000, "dai", 3100)
	f("", attackBy(lent(5000, 5000, all(buy, sell)...)))
	f("", attackBy(lent(5000, 5000, all(buy, call("dai", "increaseAllowance(address,uint256)", "x", 5), sell)...))) // only functions of tokens beside
	f("x", attackBy(lent(5000, 5000, all(buy, call("x", "y_1()"), sell)...)))
	usd := call("lender", "lend_12()", pay("usd", "tool", 900000), call("tool", "onFlashLoan(address,address,uint256,uint256,bytes)", "tool", buy, turn, pay("usd", "lender", 900000)))
	usd.Children[1].Children = all(buy, turn, pay("usd", "lender", 900000))
	f("x", attackBy(usd)) // a loan of another asset counts for nothing

	// Sold by a contract that cannot have had it.
	f = fire(t, "unbacked_sale")
	free := call("mkr", "gift_1()")
	sale := swapped("pool", "mkr", 5000, "dai", 900)
	f("x", creates("tool", all(free, sale)...))
	f("x", creates("tool", all(minted("mkr", "tool", 5000), sale)...))
	f("", creates("tool", all(call("bank", "x_1()", pay("mkr", "tool", 5000)), sale)...))
	mint := func(with ...*trace.Frame) *trace.Frame {
		x := minted("mkr", "tool", 5000)
		x.Children = with
		return x
	}
	f("", creates("tool", all(mint(take("usd", "tool", "mkr", 500)), sale)...))                    // paid for
	f("x", creates("tool", all(mint(pay("usd", "tool", 500)), sale)...))                           // that is no price
	f("x", creates("tool", all(mint(moved(call("mkr", "b_1()"), "tool", "zero", 6000)), sale)...)) // nor is its own kind
	f("", creates("tool", all(creates("mkr"), sale)...))                                           // a token of the party
	wei := call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, pay("dai", "tool", 900))
	wei.Value.SetUint64(5000)
	f("", creates("tool", wei)) // the coin that it had
}

// TestEmptiedGuards: what a pool said to have, of which token, and what is sold.
func TestEmptiedGuards(t *testing.T) {
	f := fire(t, "emptied_by_custom_mint")
	free := call("mkr", "gift_1()")
	sale := swapped("pool", "mkr", 5000, "dai", 900)
	asked := reserves("pool", "mkr", 90000, "dai", 1000)
	f("x", attackBy(all(free, asked, sale)...))
	f("", attackBy(all(free, reserves("other", "mkr", 90000, "dai", 1000), sale)...))
	wrong := clone(asked)
	wrong.Input = calldata("balances_1()")
	f("", attackBy(all(free, wrong, sale)...))
	f("", attackBy(all(creates("mkr"), free, asked, sale)...)) // a token of the party
	f("s", attackBy(all(call("mkr", "transferFrom(address,address,uint256)", "tool", "x", 0), asked, sale)...))

	// Sold for the coin, and the coin sold.
	for _, token := range []string{"mkr", "dai", "usd", "gno", "usdc"} {
		coins := []*trace.Frame{pay(token, "pool", 5000), call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, sends("tool", 900))}
		f("x", attackBy(all(call(token, "gift_1()"), reserves("pool", token, 90000, "weth", 1000), coins)...))
		f("", attackBy(all(call(token, "gift_1()"), reserves("pool", token, 1000, "weth", 90000), coins)...))
		other := call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, pay(token, "tool", 900))
		other.Value.SetUint64(5000)
		f("", attackBy(reserves("pool", token, 1000, "weth", 90000), other))
	}
}

// TestAbandonedGuards: what was posted, what was borrowed against it, and what was paid.
func TestAbandonedGuards(t *testing.T) {
	f := fire(t, "abandoned_collateral")
	post := func(fn string, more ...*trace.Frame) *trace.Frame {
		x := call("bank", fn, take("mkr", "tool", "bank", 9000))
		x.Children = append(x.Children, more...)
		return x
	}
	mkr := call("shop", "buy_1()", take("dai", "tool", "shop", 1000), pay("mkr", "tool", 9000))
	borrow := func(inside ...*trace.Frame) *trace.Frame {
		x := call("purse", "borrow(uint256)", 2)
		x.Children = inside
		return x
	}
	loan := borrow(pay("dai", "tool", 4000))
	scene := func(inside ...*trace.Frame) *trace.Frame { return attackBy(lent(5000, 5000, all(mkr, inside)...)) }
	f("x", scene(post("post_1()"), loan))
	f("", scene(post("post_1()"), loan, call("bank", "fee_1()", take("usd", "tool", "bank", 900))))                                   // its own is spent
	f("", scene(call("bank", "swap(uint256,uint256,address,bytes)", 0, 0, "tool", 0x80, 0, take("mkr", "tool", "bank", 9000)), loan)) // that is a trade
	f("", scene(post("post_1()", pay("gno", "tool", 5)), loan))                                                                       // something was got for it
	f("", scene(post("post_1()"), borrow(), call("purse", "x_1()", pay("dai", "tool", 4000))))                                        // it borrowed nothing
	f("", scene(post("post_1()"), borrow(take("mkr", "tool", "purse", 1), pay("dai", "tool", 4000))))
}

// TestFrontRunnerGuards: what was earned in coin, and who got most of it.
func TestFrontRunnerGuards(t *testing.T) {
	f := fire(t, "front_runner")
	theft := func(more ...*trace.Frame) *trace.Frame {
		x := call("vault", "give_1()", pay("mkr", "tool", 5000))
		x.Children = append(x.Children, more...)
		return x
	}
	sold := func(to string) []*trace.Frame {
		return []*trace.Frame{pay("mkr", "pool", 5000), call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, sends(to, 10000, view("x", "z()", 1)))}
	}
	f("x", attackBy(all(theft(), sold("tool"), sends("miner", 9000))...))
	f("", attackBy(all(theft(), sold("alice"), sends("miner", 9000))...)) // somebody else earned
	f("", attackBy(all(theft(), sold("tool"), sends("bank", 9000, call("x", "y_1()")))...))
	f("", attackBy(all(theft(), sold("tool"), sends("sender", 9000))...))
	f("", creates("tool", all(theft(), sold("tool"), sends("miner", 9000))...)) // there was no contract to copy
	through := call("router", "route_1()", call("vault", "give_1()", pay("mkr", "router", 5000)), pay("mkr", "tool", 5000))
	f("", attackBy(all(through, sold("tool"), sends("miner", 9000))...)) // it paid another
	f("", attackBy(all(theft(), put("dai", 200), sold("tool"), sends("miner", 9000))...))
	f("", attackBy(all(theft(), take("gno", "tool", "vault", 50), sold("tool"), sends("miner", 9000))...)) // dust, but paid
}
