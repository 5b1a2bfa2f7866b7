package check_test

import (
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/trace"
	"txlens/testkit/recorded"
)

// lent has a lender call back with so much of a token; the last call inside repays it.
func lent(amount, back int, inside ...*trace.Frame) *trace.Frame {
	cb := call("tool", "onFlashLoan(address,address,uint256,uint256,bytes)", "tool")
	cb.Children = append(inside, pay("dai", "lender", back))
	return call("lender", "lend_11()", pay("dai", "tool", amount), cb)
}

// pool is an exchange with a pool: paid before, taken in the call.
func swapped(pool, in string, paid int, out string, got int) []*trace.Frame {
	return []*trace.Frame{pay(in, pool, paid), call(pool, "swap(uint256,uint256,address,bytes)", 0, got, "tool", 0x80, 0, pay(out, "tool", got))}
}

func all(lists ...any) (out []*trace.Frame) {
	for _, l := range lists {
		switch v := l.(type) {
		case *trace.Frame:
			out = append(out, v)
		case []*trace.Frame:
			out = append(out, v...)
		}
	}
	return out
}

// times repeats a call.
func times(n int, f func(i int) *trace.Frame) (out []*trace.Frame) {
	for i := range n {
		out = append(out, f(i))
	}
	return out
}

// TestRules: each rule fires on what it is about, not on its honest twin, and each of its
// guards is what keeps the twin apart.
func TestRules(t *testing.T) {
	f := func(want string, root *trace.Frame) {
		t.Helper()
		if got := fired(t, root); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	deposit := func(n int) *trace.Frame {
		return call("vault", "put_1(uint256)", n, take("dai", "tool", "vault", n))
	}
	withdraw := func(n int) *trace.Frame { return call("vault", "get_1(uint256)", n, pay("dai", "tool", n)) }

	// More comes out than went in.
	f("in_and_out! deposit_withdraw!", attackBy(deposit(1000), withdraw(1500)))
	f("in_and_out", attackBy(deposit(100000), withdraw(101000)))                                                           // within rounding
	f("", attackBy(withdraw(1500), deposit(1000)))                                                                         // rewards taken first, then put to work
	f("", attackBy(deposit(1000), withdraw(1000)))                                                                         // nothing gained
	f("", call("vault", "get_1(uint256)", pay("dai", "sender", 1500)))                                                     // the sender collects what is due
	f("", attackBy(deposit(1000), call("vault", "get_1()", pay("dai", "tool", 1500), take("mkr", "tool", "vault", 1000)))) // another asset was given
	f("in_and_out! deposit_withdraw!", attackBy(deposit(1000), withdraw(1500), call("lender", "repay_1()")))
	f("", attackBy(call("lender", "repayBorrow(uint256)", 1), deposit(1000), withdraw(1500)))                                                                    // an old debt was settled
	f("in_and_out! deposit_withdraw!", attackBy(call("lender", "borrow(uint256)", 1), call("lender", "repayBorrow(uint256)", 1), deposit(1000), withdraw(1500))) // one of its own

	// Flash loans.
	f("in_and_out! deposit_withdraw! flash_unpaid", attackBy(lent(5000, 5005, deposit(1000), withdraw(1500))))
	f("flash_unpaid", attackBy(lent(5000, 5000, withdraw(1500), call("x", "y_1()"))))
	f("", attackBy(lent(5000, 5000, call("x", "y_1()"))))
	f("", attackBy(call("lender", "lend_11()", pay("dai", "tool", 5000), call("tool", "back_1()", pay("mkr", "lender", 100))), pay("mkr", "lender", 1), call("x", "y_1()"))) // a trade

	// Both ways through one pool.
	f("round_trip! in_and_out!", attackBy(all(swapped("pool", "dai", 1000, "mkr", 5000), swapped("pool", "mkr", 5000, "dai", 1200))...))
	f("", attackBy(all(swapped("pool", "dai", 1000, "mkr", 5000), swapped("other", "mkr", 5000, "dai", 1200))...)) // arbitrage
	f("", attackBy(all(swapped("pool", "dai", 1000, "mkr", 5000), swapped("pool", "mkr", 5000, "dai", 900))...))   // a loss
	f("", attackBy(all(swapped("balancer", "dai", 1000, "mkr", 5000), swapped("balancer", "mkr", 5000, "dai", 1200))...))
	f("round_trip", attackBy(all(swapped("pool", "dai", 10000, "mkr", 5000), swapped("pool", "mkr", 5200, "dai", 10450), swapped("other", "usd", 10, "mkr", 600))...))
	f("", attackBy(all(swapped("pool", "dai", 10000, "mkr", 5000), swapped("pool", "mkr", 5500, "dai", 10200), swapped("other", "usd", 10, "mkr", 600))...)) // more was sold, at a worse rate

	// A pool that loses both.
	both := call("pool", "odd_1()", pay("dai", "tool", 900), pay("mkr", "tool", 400))
	f("pool_robbed! in_and_out!", attackBy(pay("dai", "pool", 500), both))
	f("", attackBy(both))                           // nothing was given
	f("", attackBy(pay("pool", "pool", 500), both)) // its own shares
	f("in_and_out!", attackBy(pay("dai", "pool", 500), call("pool", "burn(address)", "tool", pay("dai", "tool", 900), pay("mkr", "tool", 400))))

	// Somebody else's tokens.
	args := calldata("transferFrom(address,address,uint256)", "alice", "sender", 700)
	pull := func(extra ...*trace.Frame) *trace.Frame {
		return call("router", "run_9(bytes)", args[4:], all(take("dai", "alice", "sender", 700), extra)[0])
	}
	f("pull_embedded!", attackBy(pull()))
	f("", attackBy(pull(), pay("mkr", "alice", 300)))                                                                        // she is paid
	f("", attackBy(call("router", "run_9(bytes)", args[4:], view("signer", "x()", 1), take("dai", "alice", "sender", 700)))) // she signed
	f("pull_named!", attackBy(call("router", "run_9(address)", "alice", take("dai", "alice", "sender", 700))))
	f("", attackBy(call("router", "run_9()", take("dai", "alice", "sender", 700))))                                           // nobody named her
	f("", attackBy(call("router", "run_9(address)", "alice", call("tool", "back_1()", take("dai", "alice", "sender", 700))))) // by the tool's own right
	f("", attackBy(call("router", "run_9(address)", "alice", take("dai", "alice", "sender", 0))))
	f("", call("router", "run_9(address)", "alice", take("dai", "alice", "bob", 700))) // no contract of the sender's own
	f("", attackBy(take("dai", "alice", "sender", 700)))                               // the tool's own right
	trade := func(name string) *trace.Frame {
		return call("router", "trade_9(address)", name, take("dai", name, "pool", 700), call("pool", "sold_1()", pay("mkr", name, 700)))
	}
	against := swapped("pool", "mkr", 1000, "dai", 1000)
	f("forced_trades!", attackBy(all(trade("alice"), trade("bob"), trade("carol"), against)...))
	f("", attackBy(all(trade("alice"), trade("bob"), against)...))
	f("", attackBy(all(trade("alice"), trade("bob"), trade("carol"))...))

	// Calls that only others may make.
	stolen := pay("dai", "tool", 700)
	forged := func(on string) *trace.Frame {
		return call(on, "uniswapV3SwapCallback(int256,int256,bytes)", 1, 2, stolen)
	}
	f("forged_callback!", attackBy(forged("router")))
	f("", attackBy(call("router", "swap_3()", call("tool", "x_1()", forged("router"), pay("mkr", "router", 5000)))))
	approve := func(by string) *trace.Frame {
		return call(by, "z_1()", call("dai", "approve(address,uint256)", "tool", 9))
	}
	f("granted_approval!", attackBy(approve("a"), approve("b"), approve("c")))
	f("", attackBy(approve("a"), approve("b")))
	f("", attackBy(call("a", "z_1()", call("dai", "approve(address,uint256)", "router", 9)), approve("b"), approve("c")))
	hostile := calldata("transfer(address,uint256)", "tool", 700)
	f("arbitrary_call!", attackBy(call("vault", "exec_1(address,bytes)", "dai", hostile, pay("dai", "tool", 700)), call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()")))
	f("", attackBy(call("vault", "exec_1(address)", "dai", pay("dai", "tool", 700)))) // the vault chose the bytes
	delegate := call("tool", "code_1()", pay("dai", "tool", 700))
	delegate.Kind = trace.DelegateCall
	f("foreign_delegate!", attackBy(call("vault", "exec_1(address)", "tool", delegate)))

	// Re-entry.
	again := func(cb func(...*trace.Frame) *trace.Frame) *trace.Frame {
		return call("vault", "leave_1()", cb(call("vault", "leave_1()", pay("dai", "tool", 500))), pay("dai", "tool", 500))
	}
	f("reenter!", attackBy(again(func(in ...*trace.Frame) *trace.Frame { return sends("tool", 5, in...) })))
	f("", attackBy(call("vault", "leave_1()", sends("tool", 5, call("other", "enter_1()")), pay("dai", "tool", 50))))
	f("", attackBy(call("vault", "leave_1()", sends("tool", 5, call("vault", "leave_1()"))))) // no gain but the coin

	// Inputs.
	fake := func(passed string, gain *trace.Frame) *trace.Frame {
		return attackBy(call("vault", "swap_9(address)", passed, view("tool", "balanceOf(address)", 5, "vault"), gain))
	}
	f("fake_input!", fake("tool", pay("dai", "tool", 900)))
	f("", fake("dai", pay("dai", "tool", 900)))
	f("", attackBy(call("vault", "swap_9(address)", "tool", view("tool", "price_1()", 5), pay("dai", "tool", 900))))                            // what no token answers
	f("", attackBy(call("vault", "swap_9(address)", "tool", failing(view("tool", "balanceOf(address)", 5, "vault")), pay("dai", "tool", 900)))) // it did not answer

	// Views that jump.
	price := func(n int) *trace.Frame { return call("vault", "use_1()", view("oracle", "price_1()", n)) }
	gain := all(deposit(100000), withdraw(100500))
	f("price_jump! in_and_out", attackBy(all(price(10000), price(16000), gain)...))
	f("in_and_out", attackBy(all(price(10000), price(14000), gain)...))
	f("in_and_out", attackBy(all(price(100), price(1600), gain)...))                                                // a counter
	f("in_and_out", attackBy(all(view("oracle", "price_1()", 10000), view("oracle", "price_1()", 16000), gain)...)) // asked by the party alone
	balance := func(n int) *trace.Frame { return call("vault", "use_1()", view("oracle", "totalSupply()", n)) }
	f("in_and_out", attackBy(all(balance(10000), balance(16000), gain)...))

	// Pairs.
	skim := func(int) *trace.Frame { return call("pair", "skim(address)", "tool", pay("mkr", "tool", 200)) }
	f("skim_loop!", attackBy(all(times(3, skim), call("x", "y_1()"))...))
	f("", attackBy(times(2, skim)...))
	win := all(swapped("pool", "dai", 1000, "mkr", 5000))
	f("sync_trade!", attackBy(all(win, call("pool", "sync()"))...))
	f("", attackBy(all(win, call("other", "sync()"))...))
	f("self_transfer!", attackBy(all(win, pay("mkr", "tool", 5), pay("mkr", "tool", 6))...))
	f("", attackBy(all(win, pay("mkr", "tool", 5))...))

	// Repetition.
	claim := func(int) *trace.Frame { return call("vault", "claim_1(uint256)", 7, pay("dai", "tool", 200)) }
	f("same_call!", attackBy(times(4, claim)...))
	f("", attackBy(times(3, claim)...))
	f("", attackBy(times(4, func(i int) *trace.Frame { return call("vault", "claim_1(uint256)", i, pay("dai", "tool", 200)) })...))
	f("hammer", attackBy(times(10, func(i int) *trace.Frame { return call("vault", "claim_1(uint256)", i, pay("dai", "tool", 200)) })...))

	// Contracts made here.
	fresh := func(inside ...*trace.Frame) *trace.Frame { return creates("tool", inside...) }
	f("in_and_out! deposit_withdraw! fresh_unpaid!", fresh(deposit(1000), withdraw(1500)))
	f("fresh_unpaid", fresh(withdraw(1500)))
	f("unbacked_sale!", fresh(all(call("mkr", "gift_1()"), swapped("pool", "mkr", 5000, "dai", 900))...))
	f("", fresh(all(call("bank", "buy_1()", pay("mkr", "tool", 6000), take("dai", "tool", "bank", 600)), swapped("pool", "mkr", 5000, "dai", 900))...))

	// Arguments that wrap.
	var top [32]byte
	top[0] = 0x80
	f("absurd_argument!", call("token", "batch_1(uint256)", top[:]))
	top[31] = 1
	f("", call("token", "batch_1(uint256)", top[:]))

	// Events.
	owned := func(from, to string) *trace.Frame {
		return emits(call("vault", "own_1()"), "OwnershipTransferred(address,address)", []string{from, to})
	}
	match := func(named, owner string, id int, paid ...*trace.Frame) *trace.Frame {
		inside := []any{named, nft("apes", owner, "tool", id)}
		for _, p := range paid {
			inside = append(inside, p)
		}
		return call("market", "match_1(address)", inside...)
	}
	f("pull_named!", attackBy(match("alice", "alice", 1), match("bob", "bob", 2)))                              // NFTs of strangers
	f("pull_named", attackBy(match("alice", "alice", 1)))                                                       // of one, and no gain otherwise
	f("", attackBy(match("alice", "alice", 1, sends("alice", 500)), match("bob", "bob", 2, sends("bob", 500)))) // who are paid
	f("", attackBy(match("carol", "alice", 1), match("carol", "bob", 2)))                                       // whom the caller did not name
	setUp := func(function string) *trace.Frame { return call("vault", function, "tool") }
	f("initialised_anew!", attackBy(setUp("initialize(address)"), withdraw(1500)))
	f("initialised_anew!", attackBy(setUp("init(address)"), withdraw(1500), withdraw(200)))
	f("initialised_anew!", attackBy(setUp("initialize(address)"), setUp("initialize(address)"), withdraw(1500)))
	f("", attackBy(withdraw(1500), setUp("initialize(address)")))                                             // paid before
	f("", attackBy(setUp("initiateWithdrawal(address)"), withdraw(1500)))                                     // no initialiser
	f("", attackBy(creates("vault"), setUp("initialize(address)"), withdraw(1500)))                           // made here
	f("", attackBy(call("helper", "run_1()", setUp("initialize(address)")), withdraw(1500)))                  // by somebody else
	f("", attackBy(view("vault", "initialize(address)", 1, "tool"), withdraw(1500)))                          // a question
	f("in_and_out! deposit_withdraw!", attackBy(setUp("initialize(address)"), deposit(1000), withdraw(1500))) // something was paid in
	f("took_control", attackBy(owned("owner", "tool"), withdraw(1500)))
	f("", attackBy(owned("sender", "tool"), withdraw(1500))) // it was the sender's before
	f("", attackBy(owned("owner", "alice"), withdraw(1500))) // it is somebody else's now
	f("", attackBy(owned("owner", "tool")))                  // and nothing was paid
	reserves := func(x, y int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, x, y)
	}
	f("product_fell in_and_out", attackBy(all(reserves(1000, 1000), reserves(900, 1000), gain)...))
	f("in_and_out", attackBy(all(reserves(1000, 1000), reserves(999, 1000), gain)...))
	f("in_and_out", attackBy(all(reserves(1000, 1000), emits(call("pair", "exit_1()"), "Burn(address,uint256,uint256,address)", []string{"sender", "sender"}, 1, 1), reserves(900, 1000), gain)...))
}

// TestInitialisedAnewIsSaid: the headline names the contract, the loss and the cause.
func TestInitialisedAnewIsSaid(t *testing.T) {
	root := attackBy(call("vault", "initialize(address)", "tool"), call("vault", "get_1(uint256)", 1500, pay("dai", "tool", 1500)))
	c := assemble.Build(recorded.OfTree(1, "0x"+strings.Repeat("12", 32), treeOf(root)))
	if len(c.Result.Findings) != 1 || c.Result.Findings[0].Category != api.AccessControl {
		t.Fatalf("findings %+v", c.Result.Findings)
	}
	for _, want := range []string{"the attacker could initialise ", "loss: 1,500 raw units of "} {
		if !strings.Contains(c.Result.Summary, want) {
			t.Errorf("headline %q lacks %q", c.Result.Summary, want)
		}
	}
}
