package narrate_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/scene"
)

// TestMessageFeesToldOnce: the steps tell the fee of a message once, and apart from what crosses and
// from what came back, over each messenger and be the sender of the message the user or an application.
func TestMessageFeesToldOnce(t *testing.T) {
	const fee = 10 * milliEther
	const ticket = "createRetryableTicket(address,uint256,uint256,address,address,uint256,uint256,bytes)"
	coin := func(s *costScene, want ...string) {
		t.Helper()
		_, _, told := s.judge()
		var got []string
		for _, x := range told.Steps[:len(told.Steps)-1] { // without the fee of the transaction
			if strings.Contains(x, "ETH") {
				got = append(got, x)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	sent := func(s *costScene, n any) *costScene {
		s.log(s.root, crossApp, oftSent, []any{1, scene.User}, 30110, n, n)
		return s
	}
	const opening = "0xa11c…a11c called function 0xc39cb566 of 0xb01d…b01d with 0.01 ETH."
	const paid = "0xb01d…b01d paid 0.01 ETH to 0xe9d0…e9d0 for the message to the other chain."
	for _, signature := range []string{sendV1, sendV2, ccip, "publishMessage(uint32,bytes,uint8)", "dispatch(uint32,bytes32,bytes)",
		"dispatch(uint32,bytes32,bytes,bytes,address)", "payForGas(bytes32,uint32,uint256,address)", axelar} {
		s := crossing(t, 1, fee)
		s.transfer(s.root, scene.Usdc, scene.User, crossApp, 5_000_000)
		s.pay(fee, signature, 5, 64, 0, 0, 0, 0, 0)
		coin(sent(s, 5_000_000), opening, paid)
		s = crossing(t, 10, fee) // nothing but a message
		s.pay(fee, signature, 5, 64, 0, 0, 0, 0, 0)
		s.log(s.root, crossEndpoint, "PacketSent(bytes,bytes,address)", nil, 96, 128, crossApp, 0, 0)
		coin(s, opening, paid)
	}
	back := func(s *costScene, in *trace.Frame) { s.call(in, crossEndpoint, scene.User, 5*milliEther, nil) }
	s := crossing(t, 1, 15*milliEther)
	back(s, s.pay(15*milliEther, sendV2, 64, scene.User))
	coin(sent(s, 5_000_000), strings.Replace(opening, "0.01", "0.015", 1), strings.TrimSuffix(paid, ".")+"; 0.005 ETH more came back to 0xa11c…a11c.")
	s = crossing(t, 1, fee) // all of it came back
	s.call(s.pay(fee, sendV2, 64, scene.User), crossEndpoint, scene.User, fee, nil)
	coin(sent(s, 5_000_000), opening, "0xb01d…b01d sent 0.01 ETH to 0xe9d0…e9d0.", "0xe9d0…e9d0 sent 0.01 ETH to 0xa11c…a11c.")
	s = crossing(t, 1, 1010*milliEther) // a part is delivered
	s.pay(1010*milliEther, ticket, crossApp,
		new(big.Int).SetUint64(1000*milliEther), 1, scene.User, scene.User, 1, 1, 256)
	coin(sent(s, 1000*milliEther), strings.Replace(opening, "0.01", "1.01", 1), "0xb01d…b01d sent 1 ETH to 0xe9d0…e9d0.", paid)

	direct := func(wei uint64, signature string, args ...any) *costScene { // the user calls the messenger
		s := newCostScene(t, 1, crossEndpoint, scene.Input(signature, args...))
		s.tx.Value = new(big.Int).SetUint64(wei)
		s.root.Value.SetUint64(wei)
		s.log(s.root, crossEndpoint, "PacketSent(bytes,bytes,address)", nil, 96, 128, crossApp, 0, 0)
		return s
	}
	ends := func(s *costScene, end string) {
		t.Helper()
		_, _, told := s.judge()
		if all := strings.Join(told.Steps, "\n"); !strings.HasSuffix(told.Steps[0], end) || strings.Count(all, "for the message to the other chain") != 1 {
			t.Errorf("%s\nwant an opening that ends %s", all, end)
		}
	}
	ends(direct(1010*milliEther, ticket, crossApp, new(big.Int).SetUint64(1000*milliEther), 1, scene.User, scene.User, 1, 1, 256),
		" with 1.01 ETH, of which 0.01 ETH paid for the message to the other chain.")
	s = crossing(t, 1, 15*milliEther)
	in := s.pay(15*milliEther, sendV2, 64, scene.User)
	s.call(in, crossEndpoint, scene.User, 3*milliEther, nil)
	s.call(in, crossEndpoint, crossApp, 2*milliEther, nil)
	coin(sent(s, 5_000_000), strings.Replace(opening, "0.01", "0.015", 1), strings.TrimSuffix(paid, ".")+"; 0.005 ETH more came back.")
	s = crossing(t, 1, 7*fee) // more messages than steps tell of
	for range 7 {
		s.pay(fee, sendV2, 64, scene.User)
	}
	coin(sent(s, 5_000_000), strings.Replace(opening, "0.01", "0.07", 1), "0xb01d…b01d sent 0.01 ETH to 0xe9d0…e9d0.", strings.TrimSuffix(paid, ".")+" (6 times).")
	ends(direct(fee, sendV2, 64, scene.User), " with 0.01 ETH for the message to the other chain.")
	ends(direct(fee, ccip, 5, 64), " with 0.01 ETH for the message to the other chain.")
	s = direct(15*milliEther, sendV1, 110, 192, 256, scene.User, 0, 320)
	s.call(s.root, crossEndpoint, scene.User, 5*milliEther, nil)
	ends(s, " with 0.015 ETH, of which 0.01 ETH paid for the message to the other chain; 0.005 ETH more came back to 0xa11c…a11c.")
}
