package check_test

import (
	"testing"

	"txlens/engine/trace"
)

// TestCallGuards: rules about calls that a contract of others should not have made or
// taken, each guard with its twin.
func TestCallGuards(t *testing.T) {
	embed := func(owner, to string, n int, more ...*trace.Frame) *trace.Frame {
		f := call("router", "run_9(bytes)", calldata("transferFrom(address,address,uint256)", owner, to, n)[4:], take("dai", owner, to, n))
		f.Children = append(f.Children, more...)
		return f
	}
	awake := call("alice", "y_1()", view("x", "z()", 1))
	win := call("vault", "give_1()", pay("mkr", "tool", 5000))

	f := fire(t, "pull_embedded")
	f("x", attackBy(embed("alice", "sender", 700)))
	f("", attackBy(embed("tool", "sender", 700))) // the cluster's own
	f("", attackBy(sends("router", 5, take("dai", "alice", "sender", 700))))
	f("x", call("balancer", "run_9(bytes)", calldata("transferFrom(address,address,uint256)", "alice", "balancer", 700)[4:], take("dai", "alice", "balancer", 700)))
	f("", call("balancer", "run_9(bytes)", calldata("transferFrom(address,address,uint256)", "alice", "carol", 700)[4:], take("dai", "alice", "carol", 700)))
	f("", attackBy(embed("alice", "sender", 700), awake)) // she took part
	f("", attackBy(embed("router", "sender", 700)))       // the router's own
	f("", attackBy(embed("zero", "sender", 700)))         // nobody's: they are minted
	f("", attackBy(embed("alice", "sender", 0)))          // nothing moved
	f("", attackBy(call("forwarder", "check_1()", recovers("alice")), embed("alice", "sender", 700)))
	f("", attackBy(embed("alice", "carol", 700)))       // to somebody else, and no gain
	f("x", attackBy(embed("alice", "carol", 700), win)) // with a gain
	f("x", attackBy(embed("alice", "tool", 700)))
	signed := view("alice", "isValidSignature(bytes32,bytes)", 1, 1, 2)
	f("", attackBy(embed("alice", "sender", 700, signed)))

	named := func(owner, to string) *trace.Frame {
		return call("router", "run_9(address)", owner, take("dai", owner, to, 700))
	}
	f = fire(t, "pull_named")
	f("s", attackBy(named("alice", "carol")))
	f("x", attackBy(named("alice", "carol"), named("bob", "carol")))
	f("x", attackBy(named("alice", "sender")))
	f("", attackBy(call("router", "run_9(address)", "bob", take("dai", "alice", "sender", 700)))) // another was named

	trade := func(name string, more ...*trace.Frame) *trace.Frame {
		f := call("router", "trade_9(address)", name, take("dai", name, "pool", 700), call("pool", "sold_1()", pay("mkr", name, 700)))
		f.Children = append(f.Children, more...)
		return f
	}
	against := swapped("pool", "mkr", 1000, "dai", 1000)
	f = fire(t, "forced_trades")
	f("x", attackBy(all(trade("alice"), trade("bob"), trade("carol"), against)...))
	f("", attackBy(all(trade("alice", recovers("alice")), trade("bob", recovers("bob")), trade("carol", recovers("carol")), against)...))
	f("", attackBy(all(trade("alice", recovers("thief")), trade("bob", recovers("thief")), trade("carol", recovers("thief")), against)...))
	f("", attackBy(all(trade("alice"), trade("bob"), trade("carol"), swapped("other", "usd", 1000, "gno", 1000))...)) // it trades in something else
	f("", attackBy(all(trade("alice"), trade("alice"), trade("alice"), against)...))                                  // one owner
	f("", attackBy(all(trade("alice"), trade("bob"), trade("carol"), against, call("bank", "spend_1()", take("dai", "tool", "bank", 1000)))...))

	bytes := calldata("transfer(address,uint256)", "tool", 700)
	f = fire(t, "arbitrary_call")
	exec := func(to string, more ...*trace.Frame) *trace.Frame {
		b := calldata("transfer(address,uint256)", to, 700)
		f := call("vault", "exec_1(address,bytes)", "dai", b, pay("dai", to, 700))
		f.Children = append(f.Children, more...)
		return f
	}
	f("x", attackBy(exec("tool")))
	f("", attackBy(exec("alice"), win))                                             // to somebody else
	f("", attackBy(call("vault", "exec_1(bytes)", bytes, pay("dai", "tool", 700)))) // the vault chose the token
	f("", attackBy(exec("tool"), pay("mkr", "vault", 700)))                         // the vault is paid
	grant := calldata("approve(address,uint256)", "tool", 900)
	f("x", attackBy(call("vault", "exec_1(address,bytes)", "dai", grant, call("dai", "approve(address,uint256)", "tool", 900)), take("dai", "vault", "tool", 900)))
	f("", attackBy(call("vault", "exec_1(address,bytes)", "dai", calldata("burn_1(address,uint256)", "tool", 9), call("dai", "burn_1(address,uint256)", "tool", 9)), take("dai", "vault", "tool", 900)))
	raise := calldata("increaseAllowance(address,uint256)", "tool", 900)
	f("x", attackBy(call("vault", "exec_1(address,bytes)", "dai", raise, call("dai", "increaseAllowance(address,uint256)", "tool", 900)), take("dai", "vault", "tool", 900)))

	forged := func(inside ...*trace.Frame) *trace.Frame {
		f := call("router", "uniswapV3SwapCallback(int256,int256,bytes)", 1, 2)
		f.Children = inside
		return f
	}
	f = fire(t, "forged_callback")
	f("x", attackBy(forged(pay("dai", "tool", 700))))
	f("x", attackBy(forged(take("dai", "alice", "tool", 700))))
	f("", attackBy(forged(take("dai", "alice", "tool", 700)), pay("mkr", "alice", 900)))                // she is paid
	f("", attackBy(forged(take("dai", "tool", "router", 700))))                                         // the cluster's own
	f("", attackBy(forged(take("dai", "alice", "tool", 0))))                                            // nothing moved
	f("", attackBy(forged(take("dai", "alice", "tool", 700)), pay("dai", "alice", 700)))                // given back
	f("", attackBy(creates("dai"), forged(take("dai", "alice", "tool", 700))))                          // a token of the party's own
	f("", attackBy(call("router", "swap_3()", call("tool", "x_1()", forged(pay("dai", "tool", 700)))))) // it was waiting
	f("", attackBy(call("router", "swap_3()", pay("dai", "tool", 700))))                                // no callback

	approve := func(by string, n int) *trace.Frame {
		return call(by, "z_1()", call("dai", "approve(address,uint256)", "tool", n))
	}
	f = fire(t, "granted_approval")
	f("x", attackBy(approve("a", 9), approve("b", 9), approve("c", 9)))
	f("", attackBy(approve("a", 9), approve("b", 9), approve("c", 0)))
	f("", attackBy(approve("a", 9), approve("a", 9), approve("a", 9)))
	f("x", attackBy(approve("a", 900), call("a", "q_1()", view("x", "z()", 1)), take("dai", "a", "tool", 900)))
	f("", attackBy(call("x", "y_1()", approve("a", 9)), call("x", "y_1()", approve("b", 9)), call("x", "y_1()", approve("c", 9)))) // others called them
	f("", attackBy(call("factory", "make_1()", creates("a"), creates("b"), creates("c")), approve("a", 9), approve("b", 9), approve("c", 9)))

	delegate := func(code string, inside ...*trace.Frame) *trace.Frame {
		f := call(code, "code_1()")
		f.Kind, f.Children = trace.DelegateCall, inside
		return call("vault", "exec_1(address)", code, f)
	}
	f = fire(t, "foreign_delegate")
	f("x", attackBy(delegate("tool", pay("dai", "tool", 700))))
	f("s", attackBy(delegate("tool")))
	f("", attackBy(delegate("library", pay("dai", "tool", 700))))
	broken := delegate("tool", pay("dai", "tool", 700))
	broken.Children[0].Err = "execution reverted"
	f("", attackBy(broken))
	f("", attackBy(call("factory", "make_1()", creates("vault")), delegate("tool", pay("dai", "tool", 700))))
}

// TestInputGuards: fakes, views that jump, re-entry and pairs.
func TestInputGuards(t *testing.T) {
	win := pay("dai", "tool", 5000)
	fake := func(passed string, inside ...*trace.Frame) *trace.Frame {
		f := call("vault", "swap_9(address)", passed)
		f.Children = inside
		return f
	}
	asks := view("tool", "balanceOf(address)", 5, "vault")
	f := fire(t, "fake_input")
	f("x", attackBy(fake("tool", asks, win)))
	f("", attackBy(fake("tool", view("tool", "other_1()", 5), win)))                               // no question for a token
	f("", attackBy(fake("tool", asks)))                                                            // nobody lost
	f("", attackBy(fake("tool", asks, win, take("mkr", "tool", "vault", 900))))                    // the vault is paid
	f("x", attackBy(lent(5000, 5000, fake("tool", asks, win, take("mkr", "tool", "vault", 900))))) // with a loan and a gain
	f("x", attackBy(fake("tool", asks, win, take("mkr", "tool", "vault", 900)), call("other", "give_1()", pay("usd", "tool", 900))))
	broken := view("tool", "balanceOf(address)", 5, "vault")
	broken.Err = "execution reverted"
	f("", attackBy(fake("tool", broken, win)))
	f("", attackBy(fake("alice", view("alice", "balanceOf(address)", 5, "vault"), win))) // no tool
	coin2 := fake("coin", view("coin", "balanceOf(address)", 5, "vault"), win)
	f("x", attackBy(creates("coin"), coin2))
	f("", attackBy(creates("coin"), coin2, call("pool", "buy_1()", take("coin", "tool", "pool", 700), pay("usd", "tool", 900)))) // a token that trades

	gain := call("shop", "give_1()", pay("usd", "tool", 900))
	price := func(oracle string, n int, args ...any) *trace.Frame {
		return call("vault", "use_1()", view(oracle, "price_1(uint256)", n, args...))
	}
	jump := func(a, b *trace.Frame, more ...*trace.Frame) *trace.Frame { return attackBy(all(a, b, more)...) }
	f = fire(t, "price_jump")
	f("x", jump(price("oracle", 10000, 1), price("oracle", 16000, 1), gain))
	f("", jump(price("oracle", 10000, 1), price("oracle", 15000, 1), gain))
	f("", jump(price("oracle", 10000, 1), price("oracle", 16000, 2), gain)) // another question
	f("", jump(price("oracle", 10000, 1), price("other", 16000, 1), gain))  // another oracle
	f("", jump(price("oracle", 10000, 1), price("oracle", 16000, 1)))       // no gain
	f("", jump(price("tool", 10000, 1), price("tool", 16000, 1), gain))     // the party's own
	f("", jump(price("oracle", 999, 1), price("oracle", 1600, 1), gain))    // a counter
	f("", jump(call("bank", "repayBorrow(uint256)", 1), price("oracle", 10000, 1), price("oracle", 16000, 1), gain))
	f("s", jump(price("oracle", 10000, 1), price("oracle", 16000, 1), call("shop", "give_1()", pay("usd", "tool", 900), take("mkr", "tool", "shop", 900))))
	changes := func(n int) *trace.Frame {
		v := view("oracle", "price_1(uint256)", n, 1)
		v.Kind, v.Children = trace.Call, []*trace.Frame{pay("mkr", "x", 5)}
		return call("vault", "use_1()", v)
	}
	f("", jump(changes(10000), changes(16000), gain)) // a call that moves something is no view

	again := func(fn string, cb func(...*trace.Frame) *trace.Frame, inside ...*trace.Frame) *trace.Frame {
		inner := call("vault", fn, pay("dai", "tool", 500))
		inner.Children = append(inner.Children, inside...)
		return attackBy(call("vault", "leave_1()", cb(inner), pay("dai", "tool", 500)))
	}
	coin := func(in ...*trace.Frame) *trace.Frame { return sends("tool", 5, in...) }
	named := func(fn string) func(in ...*trace.Frame) *trace.Frame {
		return func(in ...*trace.Frame) *trace.Frame {
			f := call("tool", fn, 1, 2, 3)
			f.Children = in
			return f
		}
	}
	f = fire(t, "reenter")
	f("x", again("leave_1()", coin))
	f("x", again("leave_1()", named("tokensReceived(address,address,address,uint256,bytes,bytes)")))
	f("x", again("leave_1()", named("transfer(address,uint256)")))
	f("x", again("leave_1()", named("odd_1()")))                                                                        // the vault loses
	f("", again("leave_1()", named("odd_1()"), take("mkr", "tool", "vault", 900)))                                      // and here it does not
	f("", again("leave_1()", named("uniswapV2Call(address,uint256,uint256,bytes)"), take("mkr", "tool", "vault", 900))) // it asked for a payment
	f("x", again("leave_1()", coin, take("mkr", "tool", "vault", 900)))
	f("", again("approve(address,uint256)", coin)) // a token's own business
	f("", attackBy(call("balancer", "leave_1()", coin(call("balancer", "leave_1()", pay("dai", "tool", 500))))))
	f("", attackBy(call("vault", "approve(address,uint256)", "x", 1, coin(call("vault", "leave_1()", pay("dai", "tool", 500))))))
	f("", attackBy(call("vault", "leave_1()", call("helper", "odd_1()", call("vault", "leave_1()", pay("dai", "tool", 500))))))

	trip := swapped("pool", "dai", 1000, "mkr", 5000)
	skim := func(pair string) func(int) *trace.Frame {
		return func(int) *trace.Frame { return call(pair, "skim(address)", "tool", pay("mkr", "tool", 200)) }
	}
	f = fire(t, "skim_loop")
	f("x", attackBy(times(3, skim("pair"))...))
	f("", attackBy(all(skim("pair")(0), skim("pair")(0), skim("other")(0))...))
	f("", attackBy(times(3, func(int) *trace.Frame { return call("pair", "skim(address)", "tool") })...)) // nothing gained
	f = fire(t, "sync_trade")
	f("x", attackBy(all(trip, call("pool", "sync()"))...))
	f("", attackBy(all(trip, call("pool", "sync()"), call("bank", "spend_1()", take("mkr", "tool", "bank", 5000)))...))
	f = fire(t, "self_transfer")
	self := pay("mkr", "tool", 5)
	f("x", attackBy(all(trip, self, self)...))
	f("", attackBy(all(trip, self, pay("usd", "tool", 5))...)) // two tokens
	f("", attackBy(all(trip, pay("mkr", "tool", 0), pay("mkr", "tool", 0))...))
	f("", attackBy(all(trip, call("x", "y_1()", pay("mkr", "x", 5)), call("x", "y_1()", pay("mkr", "x", 5)))...)) // somebody else
	f("", attackBy(self, self))
}
