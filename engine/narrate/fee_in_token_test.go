package narrate_test

import (
	"testing"

	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestFeeBurntAndMinted: what a token burns before the transaction and mints after it is its fee,
// in whatever order, whoever gets it, and whether the trace has logs, none, or is missing.
func TestFeeBurntAndMinted(t *testing.T) {
	none, handler := common.Address{}, common.HexToAddress("0x4200000000000000000000000000000000000011")
	type mint struct {
		to     common.Address
		amount int
	}
	f := func(want string, burnt int, act func(s *costScene), mints ...mint) {
		t.Helper()
		for _, form := range []string{"logs", "no logs", "no trace"} {
			s := newCostScene(t, 42220, scene.Usdc, scene.Input("transfer(address,uint256)", payee, 5_000000))
			s.tx.Type, s.tx.FeeCurrency, s.bare, s.flat = 0x7b, &scene.Usdc, form == "no logs", form == "no trace"
			s.transfer(nil, scene.Usdc, scene.User, none, burnt)
			act(s)
			for _, m := range mints {
				s.transfer(nil, scene.Usdc, none, m.to, m.amount)
			}
			s.want(want, "0xa11c…a11c paid a fee of 0.0003 USDC.")
		}
	}
	sent := func(s *costScene) { s.transfer(s.root, scene.Usdc, scene.User, payee, 5_000000) }
	const told = "transfer: Sent 5 USDC to 0x9a1e…9a1e"
	f(told, 500, sent, mint{scene.User, 200}, mint{scene.Miner, 100}, mint{handler, 200})
	f(told, 500, sent, mint{scene.Miner, 100}, mint{handler, 200}, mint{scene.User, 200})
	f(told, 300, sent, mint{scene.Bot, 300})
	f("transfer: Minted 5 USDC to 0x9a1e…9a1e through USDC (0x05dc…05dc) (transfer)", 500, func(s *costScene) { s.transfer(s.root, scene.Usdc, none, payee, 5_000000) },
		mint{scene.User, 200}, mint{scene.Miner, 100}, mint{handler, 200})
	f("other: Burnt 5 USDC", 500, func(s *costScene) { s.transfer(s.root, scene.Usdc, scene.User, none, 5_000000) },
		mint{scene.User, 200}, mint{handler, 300})
}

// TestBurnsThatAreNoFee: what is minted at the end in other amounts than the first burn, or of
// another token, belongs to the transaction.
func TestBurnsThatAreNoFee(t *testing.T) {
	none := common.Address{}
	f := func(want string, minted common.Address, amount int) {
		t.Helper()
		s := newCostScene(t, 42220, scene.Router, scene.Input("convert(uint256)", 500))
		s.tx.Type, s.tx.FeeCurrency, s.flat = 0x7b, &scene.Usdc, true
		s.transfer(s.root, scene.Usdc, scene.User, none, 500)
		s.transfer(s.root, minted, none, scene.User, amount)
		s.want(want)
	}
	f("other: Deposited 0.0005 USDC for 500 raw units of 0x9a1e…9a1e", payee, 500)
	f("other: Burnt 0.0001 USDC", scene.Usdc, 400)
}
