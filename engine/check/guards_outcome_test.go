package check_test

import (
	"testing"

	"txlens/engine/trace"
)

// TestOutcomeGuards: rules by the outcome alone, each guard with its twin.
func TestOutcomeGuards(t *testing.T) {
	deposit := func(n int) *trace.Frame {
		return call("vault", "put_1(uint256)", n, take("dai", "tool", "vault", n))
	}
	withdraw := func(n int) *trace.Frame { return call("vault", "get_1(uint256)", n, pay("dai", "tool", n)) }
	spend := call("bank", "spend_1()", take("dai", "tool", "bank", 900))

	f := fire(t, "deposit_withdraw")
	f("x", attackBy(deposit(1000), withdraw(1500)))
	f("", attackBy(deposit(1000), withdraw(1010)))                                                                                                     // within rounding
	f("", attackBy(deposit(1000), withdraw(1500), spend))                                                                                              // no gain
	f("", attackBy(withdraw(1500), deposit(1000)))                                                                                                     // taken first
	f("", attackBy(call("vault", "sell(uint256)", 1, take("dai", "tool", "vault", 1000)), call("vault", "buy(uint256)", 1, pay("dai", "tool", 1500)))) // a market
	f("", attackBy(call("balancer", "put_1()", take("dai", "tool", "balancer", 1000)), call("balancer", "get_1()", pay("dai", "tool", 1500))))
	f("", attackBy(call("vault", "deposit()", take("dai", "tool", "vault", 1000)), call("vault", "withdraw(uint256)", 1, pay("dai", "tool", 1500)))) // a token that wraps
	f("x", attackBy(call("vault", "put_1()", take("dai", "tool", "vault", 1000), pay("vault", "tool", 77)), withdraw(1500)))                         // its own shares aside
	f("x", attackBy(call("vault", "put_1()", take("dai", "tool", "vault", 1000), take("mkr", "tool", "vault", 700), pay("mkr", "tool", 700)), withdraw(1500)))
	f("", attackBy(call("vault", "put_1()", take("dai", "tool", "vault", 1000), take("mkr", "tool", "vault", 700)), withdraw(1500))) // two assets
	f("", attackBy(call("vault", "put_1()", call("tool", "hand_1()", pay("dai", "vault", 1000))), withdraw(900)))
	f("", attackBy(lent(5000, 5000, call("lender", "put_1()", take("dai", "tool", "lender", 1000)), call("lender", "get_1()", pay("dai", "tool", 1500))))) // who lends keeps the accounts of many

	f = fire(t, "in_and_out")
	f("x", attackBy(deposit(1000), withdraw(1500)))
	f("s", attackBy(deposit(100000), withdraw(101000)))
	f("", attackBy(call("balancer", "put_1()", take("dai", "tool", "balancer", 1000)), call("balancer", "get_1()", pay("dai", "tool", 1500))))
	f("", attackBy(deposit(1000), call("vault", "get_1()", pay("dai", "alice", 1500))))           // to somebody else
	f("", attackBy(call("shop", "put_1()", take("dai", "alice", "vault", 1000)), withdraw(1500))) // by somebody else
	f("", attackBy(deposit(1500), withdraw(1500)))
	f("x", attackBy(deposit(100000), withdraw(102001)))
	f("s", attackBy(deposit(100000), withdraw(102000)))
	f("", attackBy(call("vault", "put_1(uint256)", take("dai", "tool", "vault", 0)), withdraw(1500))) // nothing was put in
	f("", attackBy(call("vault", "put_1(uint256)", take("mkr", "tool", "vault", 1000)), withdraw(1500)))
	f("", attackBy(withdraw(1500), deposit(1000), withdraw(900))) // the most was taken first
	f("", attackBy(call("bank", "repayBorrow(uint256)", 1), deposit(1000), withdraw(1500)))

	both := func(a, b int) *trace.Frame {
		return call("pool", "odd_1()", pay("dai", "tool", a), pay("mkr", "tool", b))
	}
	f = fire(t, "pool_robbed")
	f("x", attackBy(pay("dai", "pool", 500), both(900, 400)))
	f("", attackBy(both(900, 400)))
	f("", attackBy(pay("pool", "pool", 500), both(900, 400)))
	f("", attackBy(pay("dai", "pool", 0), both(900, 400)))
	f("", attackBy(pay("dai", "other", 500), both(900, 400)))
	f("", attackBy(call("shop", "x_1()", take("dai", "alice", "pool", 500)), both(900, 400))) // somebody else paid
	f("", attackBy(call("bank", "repayBorrow(uint256)", 1), pay("dai", "pool", 500), both(900, 400)))
	f("", attackBy(pay("dai", "pool", 500), both(900, 400), call("bank", "spend_1()", take("dai", "tool", "bank", 900), take("mkr", "tool", "bank", 900))))
	f("", attackBy(pay("dai", "pool", 500), call("pool", "odd_1()", pay("dai", "tool", 900))))                           // one asset
	f("", attackBy(pay("dai", "pool", 500), call("pool", "odd_1()", pay("dai", "tool", 900), pay("pool", "tool", 400)))) // its own shares
	f("x", attackBy(pay("dai", "pool", 500), call("other", "burn(address)", "tool"), both(900, 400)))                    // liquidity of another

	free := call("mkr", "gift_1()")
	sale := swapped("pool", "mkr", 5000, "dai", 900)
	f = fire(t, "unbacked_sale")
	f("x", creates("tool", all(free, sale)...))
	f("", attackBy(all(free, sale)...)) // it may have held them
	f("", creates("tool", all(call("bank", "buy_1()", pay("mkr", "tool", 6000), take("dai", "tool", "bank", 600)), sale)...))
	f("x", creates("tool", all(call("bank", "buy_1()", pay("mkr", "alice", 6000)), sale)...))
	f("x", creates("tool", all(call("bank", "buy_1()", pay("usd", "tool", 6000)), sale)...))
	f("", creates("tool", all(creates("mkr"), sale)...))                                                                            // a launch of its own token
	f("x", creates("tool", all(moved(call("mkr", "mint_1()", take("mkr", "tool", "vault", 7000)), "zero", "tool", 6000), sale)...)) // it gave nothing else for it
	f("x", creates("tool", all(minted("mkr", "tool", 6000), sale)...))
	paid := call("mkr", "mint_1()", take("usd", "tool", "mkr", 700))
	f("", creates("tool", all(call("usd", "x_1()"), moved(paid, "zero", "tool", 6000), sale)...)) // minted for a price

	f = fire(t, "round_trip")
	win := all(swapped("pool", "dai", 1000, "mkr", 5000), swapped("pool", "mkr", 5000, "dai", 1200))
	f("x", attackBy(win...))
	f("", attackBy(all(win, call("bank", "spend_1()", take("dai", "tool", "bank", 900)))...))
	f("x", attackBy(all(swapped("pool", "dai", 10000, "mkr", 50000), call("shop", "x_1()", pay("mkr", "tool", 3000)), swapped("pool", "mkr", 53000, "dai", 10900))...)) // more sold, and much more back

	f = fire(t, "product_fell")
	reserves := func(x int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, x, 1000)
	}
	gain := call("shop", "give_1()", pay("usd", "tool", 900))
	lost := call("pair", "odd_1()", pay("dai", "tool", 900))
	f("s", attackBy(reserves(1000), reserves(900), gain))
	f("", attackBy(reserves(1000), reserves(900)))
	f("", attackBy(reserves(1000), reserves(991), gain))
	f("s", attackBy(reserves(1000), reserves(900), lost))
	f("x", attackBy(lent(5000, 5000, reserves(1000), reserves(900), lost)))
	f("s", attackBy(lent(5000, 5000, reserves(1000), reserves(900), gain))) // the pair lost nothing
	f("x", creates("tool", reserves(1000), reserves(900), lost))
	f("", attackBy(reserves(1000), call("pair", "burn(address)", "tool"), reserves(900), gain))
	f("", attackBy(call("factory", "make_1()", creates("pair")), reserves(1000), reserves(900), gain))

	f = fire(t, "took_control")
	owned := func(of, from, to string) *trace.Frame {
		return emits(call(of, "own_1()"), "OwnershipTransferred(address,address)", []string{from, to})
	}
	f("s", attackBy(owned("vault", "owner", "tool"), withdraw(1500)))
	f("", attackBy(call("factory", "make_1()", creates("vault")), owned("vault", "owner", "tool"), withdraw(1500)))
	f("", attackBy(emits(call("vault", "own_1()"), "OwnershipTransferred(address,address)", []string{"owner"}), withdraw(1500)))
	f("", attackBy(owned("other", "owner", "tool"), withdraw(1500)))
	f("", attackBy(owned("vault", "owner", "tool"), call("vault", "get_1()", pay("dai", "tool", 1500), take("mkr", "tool", "vault", 900))))

	f = fire(t, "pair_off_stack")
	leak := func(n int) *trace.Frame {
		return call("mkr", "burn_1(address)", "pool", call("mkr", "transferFrom(address,address,uint256)", "pool", "burner", n))
	}
	trade := swapped("pool", "mkr", 1000, "dai", 9000)
	f("s", attackBy(all(leak(4000), trade)...))
	f("", attackBy(all(leak(0), trade)...))
	f("", attackBy(all(leak(4000), trade, call("bank", "spend_1()", take("dai", "tool", "bank", 9000)))...))
	f("x", creates("tool", all(leak(4000), trade)...))
	f("", attackBy(all(call("mkr", "burn_1(address)", "balancer", call("mkr", "transferFrom(address,address,uint256)", "balancer", "burner", 4000)), swapped("balancer", "mkr", 1000, "dai", 9000))...))

	f = fire(t, "front_runner")
	theft := call("vault", "give_1()", pay("mkr", "tool", 5000))
	sold := []*trace.Frame{pay("mkr", "pool", 5000), call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, sends("tool", 10000, view("x", "z()", 1)))}
	tip := sends("miner", 9000)
	f("x", attackBy(all(theft, sold, tip)...))
	f("", attackBy(all(theft, sold)...))
	f("", attackBy(all(theft, swapped("pool", "mkr", 5000, "dai", 900), tip)...))                        // no coin was earned
	f("", attackBy(all(call("vault", "x_1()", take("usd", "tool", "vault", 500)), theft, sold, tip)...)) // something was given
	f("", attackBy(all(call("router", "y_1()", call("vault", "give_1()", pay("mkr", "router", 5000)), pay("mkr", "tool", 5000)), sold, tip)...))
	f("", attackBy(all(theft, pay("mkr", "pool", 5000), call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, sends("tool", 10000, view("x", "z()", 1))), sends("tool", 9000))...))
}
