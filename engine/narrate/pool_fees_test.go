package narrate_test

import (
	"strings"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestPoolStepsOfTaxedTokens: the step of a swap tells what the trader gave and got, and what the token
// took of it, whether it burns that, keeps it or sends it elsewhere.
func TestPoolStepsOfTaxedTokens(t *testing.T) {
	none := common.Address{}
	type part struct {
		to     common.Address
		amount int
		from   common.Address // zero: who trades
	}
	// The token is sold to the pool, or bought of it; the parts are what its call moves.
	scenes := func(sold bool, payee common.Address, parts ...part) string {
		t.Helper()
		s := newCostScene(t, 1, scene.Router, scene.Input("trade(uint256)", 1))
		from, signature, args := scene.User, "transferFrom(address,address,uint256)", []any{scene.User, payee, 100_000000}
		var call *trace.Frame
		if sold {
			call = s.call(s.root, scene.Router, scene.Usdc, 0, scene.Input(signature, args...))
		} else {
			s.transfer(s.root, scene.Weth, scene.User, scene.Pool1, 7)
			from = scene.Pool1
			call = s.call(s.root, scene.Pool1, scene.Usdc, 0, scene.Input("transfer(address,uint256)", payee, 100_000000))
		}
		left := 0
		for _, p := range parts {
			giver := from
			if p.from != none {
				giver = p.from
			}
			s.transfer(call, scene.Usdc, giver, p.to, p.amount*1_000000)
			if p.to == scene.Pool1 {
				left += p.amount * 1_000000
			}
		}
		if sold {
			s.transfer(s.root, scene.Weth, scene.Pool1, scene.User, 7)
			s.log(s.root, scene.Pool1, v2Trade, []any{scene.Router, scene.User}, left, 0, 0, 7)
		} else {
			s.log(s.root, scene.Pool1, v2Trade, []any{scene.Router, scene.User}, 0, 7, 100_000000, 0)
		}
		_, _, text := s.judge()
		return strings.Join(text.Steps, "\n")
	}
	f := func(name, steps, want string, not ...string) {
		t.Helper()
		if !strings.Contains(steps, want+".") {
			t.Errorf("%s:\n%s\nwant %s", name, steps, want)
		}
		for _, x := range not {
			if strings.Contains(steps, x) {
				t.Errorf("%s: %q in\n%s", name, x, steps)
			}
		}
	}
	const (
		sale = "swapped 98 USDC into 0.000000000000000007 WETH"
		gave = "; 0xa11c…a11c gave 100 USDC, of which the token took 2 USDC as its fee"
	)
	pool := part{to: scene.Pool1, amount: 98}
	f("burnt", scenes(true, scene.Pool1, pool, part{to: none, amount: 2}), sale+gave, "burnt")
	f("kept by the token", scenes(true, scene.Pool1, part{to: scene.Usdc, amount: 2}, pool), sale+gave, " sent ")
	f("sent elsewhere, and burnt", scenes(true, scene.Pool1, part{to: scene.Bot, amount: 1}, pool, part{to: none, amount: 1}), sale+gave, " sent ", "burnt")
	f("no fee", scenes(true, scene.Pool1, part{to: scene.Pool1, amount: 100}), "swapped 100 USDC into 0.000000000000000007 WETH", "fee of the", "as its fee")
	f("a call for somebody else", scenes(true, scene.Bot, pool, part{to: scene.Bot, amount: 2}), sale, "as its fee")

	f("a call for a third one", scenes(true, scene.Friend, pool, part{to: scene.Bot, amount: 2}), sale, "as its fee")
	f("the token's own", scenes(true, scene.Pool1, pool, part{to: none, amount: 2}, part{to: scene.Bot, amount: 3, from: scene.Usdc}), sale+gave)

	const bought = "swapped 0.000000000000000007 WETH into 100 USDC"
	f("bought, burnt", scenes(false, scene.User, part{to: scene.User, amount: 98}, part{to: none, amount: 2}),
		bought+"; 0xa11c…a11c got 98 USDC, for the token took 2 USDC as its fee", "burnt")
	f("bought, kept", scenes(false, scene.User, part{to: scene.Usdc, amount: 5}, part{to: scene.User, amount: 95}),
		bought+"; 0xa11c…a11c got 95 USDC, for the token took 5 USDC as its fee", " sent ")
	f("bought in two parts", scenes(false, scene.User, part{to: scene.User, amount: 60}, part{to: scene.User, amount: 40}), bought, "as its fee")
	f("bought, no fee", scenes(false, scene.User, part{to: scene.User, amount: 100}), bought, "as its fee")
}
