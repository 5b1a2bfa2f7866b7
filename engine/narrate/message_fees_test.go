package narrate_test

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// Contracts of the crossings below.
var (
	crossApp      = scene.Addr(0xb01d)
	crossEndpoint = scene.Addr(0xe9d0)
)

// crossing is a call of an application that sends what is given on, with a message.
func crossing(t *testing.T, id, wei uint64) *costScene {
	s := newCostScene(t, id, crossApp, scene.Input("cross(uint256)", 1))
	s.tx.Value = new(big.Int).SetUint64(wei)
	s.root.Value.SetUint64(wei)
	return s
}

// pay sends a message for a fee.
func (s *costScene) pay(wei uint64, signature string, args ...any) *trace.Frame {
	return s.call(s.root, crossApp, crossEndpoint, wei, scene.Input(signature, args...))
}

const (
	sendV1  = "send(uint16,bytes,bytes,address,address,bytes)"
	sendV2  = "send((uint32,bytes32,bytes,bytes,bool),address)"
	ccip    = "ccipSend(uint64,(bytes,bytes,(address,uint256)[],address,bytes))"
	axelar  = "payNativeGasForContractCallWithToken(address,string,string,bytes,string,uint256,address)"
	oftSent = "OFTSent(bytes32,uint32,address,uint256,uint256)"
	step    = " paid 0.01 ETH to 0xe9d0…e9d0 for the message to the other chain."
)

// TestMessageFees: what a bridge takes for the message is told apart from what crosses, be that a
// token, native coin or nothing, over each kind of messenger.
func TestMessageFees(t *testing.T) {
	const fee = 10 * milliEther
	token := func(s *costScene) *costScene {
		s.transfer(s.root, scene.Usdc, scene.User, crossApp, 5_000_000)
		return s
	}
	sent := func(s *costScene, n any) *costScene {
		s.log(s.root, crossApp, oftSent, []any{1, scene.User}, 30110, n, n)
		return s
	}
	s := token(crossing(t, 1, fee))
	s.pay(fee, sendV2, 64, scene.User)
	sent(s, 5_000_000).want("bridge: Bridged 5 USDC over LayerZero; paid 0.01 ETH for the message", "0xb01d…b01d"+step)

	s = crossing(t, 10, 1010*milliEther)
	s.pay(fee, sendV2, 64, scene.User)
	sent(s, 1000*milliEther).want("bridge: Bridged 1 ETH over LayerZero; paid 0.01 ETH for the message", "0xb01d…b01d"+step)

	s = token(crossing(t, 1, 15*milliEther)) // the endpoint gives back what it did not need
	back := s.pay(15*milliEther, sendV1, 110, 192, 256, scene.User, 0, 320)
	s.call(back, crossEndpoint, scene.User, 5*milliEther, nil)
	sent(s, 5_000_000).want("bridge: Bridged 5 USDC over LayerZero; paid 0.01 ETH for the message",
		"0xb01d…b01d"+strings.TrimSuffix(step, ".")+"; 0.005 ETH more came back to 0xa11c…a11c.")

	s = token(crossing(t, 1, fee))
	s.pay(fee, axelar, crossApp, 224, 256, 288, 320, 5_000_000, scene.User)
	s.log(s.root, crossEndpoint, "TokenSent(address,string,string,string,uint256)", []any{scene.User}, 128, 160, 192, 5_000_000, 0, 0, 0)
	s.want("bridge: Bridged 5 USDC over Axelar; paid 0.01 ETH for the message", "0xb01d…b01d"+step)

	for _, signature := range []string{ccip, "publishMessage(uint32,bytes,uint8)", "dispatch(uint32,bytes32,bytes)", "payGas(address,string,string,bytes,uint256,bool,address,bytes)"} {
		s = token(crossing(t, 1, fee))
		s.pay(fee, signature, 5, 64, 0, 0)
		sent(s, 5_000_000).want("bridge: Bridged 5 USDC over LayerZero; paid 0.01 ETH for the message", "0xb01d…b01d"+step)
	}

	s = crossing(t, 1, fee) // nothing but a message
	s.pay(fee, sendV2, 64, scene.User)
	s.log(s.root, crossEndpoint, "PacketSent(bytes,bytes,address)", nil, 96, 128, crossApp, 0, 0)
	s.want("other: Sent a cross-chain message on LayerZero, paying 0.01 ETH", "0xb01d…b01d"+step)

	retryable := "createRetryableTicket(address,uint256,uint256,address,address,uint256,uint256,bytes)"
	s = crossing(t, 1, fee)
	s.pay(fee, retryable, crossApp, 0, 1, scene.User, scene.User, 1, 1, 256)
	s.log(s.root, crossEndpoint, "InboxMessageDelivered(uint256,bytes)", []any{7}, 32, 0)
	s.want("bridge: Sent a cross-chain message over the Arbitrum bridge; paid 0.01 ETH for the message", "0xb01d…b01d"+step)

	s = crossing(t, 1, 1010*milliEther) // a part of the value is delivered
	s.pay(1010*milliEther, retryable, crossApp, new(big.Int).SetUint64(1000*milliEther), 1, scene.User, scene.User, 1, 1, 256)
	sent(s, 1000*milliEther).want("bridge: Bridged 1 ETH over LayerZero; paid 0.01 ETH for the message", "0xb01d…b01d"+step)
}

// TestNoMessageFees: value that no messenger took, or that was undone, is no fee of a message.
func TestNoMessageFees(t *testing.T) {
	f := func(change func(s *costScene), want string) {
		t.Helper()
		s := crossing(t, 1, 10*milliEther)
		s.transfer(s.root, scene.Usdc, scene.User, crossApp, 5_000_000)
		change(s)
		s.log(s.root, crossApp, oftSent, []any{1, scene.User}, 30110, 5_000_000, 5_000_000)
		s.want(want)
	}
	along := "bridge: Bridged 5 USDC over LayerZero, along with 0.01 ETH"
	f(func(s *costScene) {}, along)
	f(func(s *costScene) { s.call(s.root, crossApp, crossEndpoint, 10*milliEther, []byte{1, 2, 3, 4}) }, along)
	f(func(s *costScene) { s.pay(10*milliEther, sendV2, 64, scene.User).Err = "execution reverted" }, along)
	f(func(s *costScene) { s.pay(0, sendV2, 64, scene.User) }, along)
	f(func(s *costScene) { s.flat = true }, along)
	f(func(s *costScene) { s.pay(11*milliEther, sendV2, 64, scene.User) }, along) // the application pays, out of its own
	f(func(s *costScene) {                                                        // one message that is handed on is paid for once
		first := s.pay(10*milliEther, sendV2, 64, scene.User)
		s.call(first, crossEndpoint, common.Address{7}, 10*milliEther, scene.Input(sendV1, 110, 192, 256, scene.User, 0, 320))
	}, "bridge: Bridged 5 USDC over LayerZero; paid 0.01 ETH for the message")
}

// Events of CCIP's on-ramps since 1.0, 1.5 and 1.6, and of Axelar's gas service.
const (
	ccip10 = "CCIPSendRequested((uint64,uint64,uint256,address,uint64,uint256,bool,address,bytes,(address,uint256)[],address,bytes32))"
	ccip15 = "CCIPSendRequested((uint64,address,address,uint64,uint256,bool,uint64,address,uint256,bytes,(address,uint256)[],bytes[],bytes32))"
	ccip16 = "CCIPMessageSent(uint64,uint64,((bytes32,uint64,uint64,uint64,uint64),address,bytes,bytes,bytes,address,uint256,uint256,(address,bytes,bytes,uint256,bytes)[]))"
	gasOf  = "GasPaidForContractCallWithToken(address,string,string,bytes32,string,uint256,address,uint256,address)"
)

// arbitrumSelector is the number of Arbitrum in CCIP.
var arbitrumSelector = new(big.Int).SetUint64(4949039107694359620)

// onRamp logs a message of a version of CCIP: who sent it, what it cost in which token, and how much
// of a token it carries; 0: none.
func (s *costScene) onRamp(version string, sender, feeToken common.Address, fee, carried int) {
	n, words := 0, []any{}
	if carried > 0 {
		n = 1
	}
	switch version {
	case ccip10:
		words = []any{32, 1, 1, fee, sender, 1, 0, 0, scene.User, 384, 416, feeToken, 0, 0, n, scene.Usdc, carried}
	case ccip15:
		words = []any{32, 1, sender, scene.User, 1, 0, 0, 1, feeToken, fee, 416, 448, 448 + 64*n + 32, 0, 0, n}
		if n > 0 {
			words = append(words, scene.Usdc, carried)
		}
		words = append(words, 0)
	case ccip16:
		words = []any{32, 0, 1, 2, 1, 1, sender, 416, 416, 416, feeToken, fee, fee, 448, 0, n}
		if n > 0 {
			words = append(words, 32, scene.Vault, 160, 160, carried, 160, 0)
		}
		s.log(s.root, crossEndpoint, version, []any{arbitrumSelector, 1}, words...)
		return
	}
	s.log(s.root, crossEndpoint, version, nil, words...)
}

// TestMessageFeesInTokens: a fee that a messenger took in a token is told apart from what crosses,
// be it paid by the actor or by the application, in another token or in the one that crosses.
func TestMessageFeesInTokens(t *testing.T) {
	link := scene.Vault
	f := func(name, version string, payer common.Address, act func(s *costScene), want string, steps ...string) {
		t.Helper()
		s := newCostScene(t, 1, crossApp, scene.Input("cross(uint256)", 1))
		s.transfer(s.root, link, scene.User, crossApp, 1_500_000)
		if payer == scene.User {
			s.rc.Logs, s.root.Logs = nil, nil
		}
		s.transfer(s.root, link, payer, crossEndpoint, 1_500_000)
		act(s)
		s.want(want, steps...)
	}
	carries := func(version string, sender common.Address) func(s *costScene) {
		return func(s *costScene) {
			s.transfer(s.root, scene.Usdc, scene.User, crossApp, 5_000_000)
			s.transfer(s.root, scene.Usdc, crossApp, scene.Pool1, 5_000_000)
			s.onRamp(version, sender, link, 1_500_000, 5_000_000)
		}
	}
	const bridged = "bridge: Bridged 5 USDC over CCIP; paid 1.5M raw units of 0x7a17…7a17 for the message"
	for _, version := range []string{ccip10, ccip15, ccip16} {
		f(version, version, crossApp, carries(version, crossApp), bridged,
			"0xb01d…b01d paid 1.5M raw units of 0x7a17…7a17 to 0xe9d0…e9d0 for the message to the other chain.")
		f(version, version, scene.User, carries(version, scene.User), bridged,
			"0xa11c…a11c paid 1.5M raw units of 0x7a17…7a17 to 0xe9d0…e9d0 for the message to the other chain.")
	}
	const other = "Sent a cross-chain message on CCIP, paying 1.5M raw units of 0x7a17…7a17"
	f("a message alone", ccip15, scene.User, func(s *costScene) { s.onRamp(ccip15, scene.User, link, 1_500_000, 0) }, "other: "+other,
		"0xa11c…a11c paid 1.5M raw units of 0x7a17…7a17 to 0xe9d0…e9d0 for the message to the other chain.")
	f("fee in what crosses", ccip15, scene.User, func(s *costScene) {
		s.transfer(s.root, link, scene.User, scene.Pool1, 8_500_000)
		s.onRamp(ccip15, scene.User, link, 1_500_000, 8_500_000)
	}, "bridge: Bridged 8.5M raw units of 0x7a17…7a17 over CCIP; paid 1.5M raw units of 0x7a17…7a17 for the message")
	f("Axelar", gasOf, crossApp, func(s *costScene) {
		s.transfer(s.root, scene.Usdc, scene.User, crossApp, 5_000_000)
		s.log(s.root, crossEndpoint, gasOf, []any{crossApp, 9}, 224, 256, 288, 5_000_000, link, 1_500_000, scene.User, 0, 0, 0)
		s.log(s.root, scene.Pool2, "TokenSent(address,string,string,string,uint256)", []any{scene.User}, 128, 160, 192, 5_000_000, 0, 0, 0)
	}, "bridge: Bridged 5 USDC over Axelar; paid 1.5M raw units of 0x7a17…7a17 for the message")
	along := "bridge: Bridged 5 USDC and 1.5M raw units of 0x7a17…7a17 over CCIP"
	f("another sender's fee", ccip15, crossApp, carries(ccip15, scene.Bot), along)
	f("another amount", ccip15, crossApp, func(s *costScene) {
		s.transfer(s.root, scene.Usdc, scene.User, crossApp, 5_000_000)
		s.onRamp(ccip15, crossApp, link, 1_400_000, 5_000_000)
	}, along)
}

// TestTokensThatPayNoMessage: what goes to others than the messenger is no fee of it, and a fee is one
// step.
func TestTokensThatPayNoMessage(t *testing.T) {
	f := func(payee common.Address, want string, moves int) {
		t.Helper()
		s := newCostScene(t, 1, crossApp, scene.Input("cross(uint256)", 1))
		s.transfer(s.root, scene.Vault, scene.User, payee, 1_500_000)
		s.transfer(s.root, scene.Usdc, scene.User, scene.Pool1, 5_000_000)
		s.onRamp(ccip15, scene.User, scene.Vault, 1_500_000, 5_000_000)
		_, _, text := s.judge()
		if n := strings.Count(strings.Join(text.Steps, "\n"), "1.5M raw units of 0x7a17…7a17 to "); text.Summary != want || n != moves {
			t.Errorf("%s: %d movements in\n%s\nwant %s, %d", text.Summary, n, strings.Join(text.Steps, "\n"), want, moves)
		}
	}
	f(crossEndpoint, "Bridged 5 USDC over CCIP; paid 1.5M raw units of 0x7a17…7a17 for the message", 1)
	f(crossApp, "Bridged 5 USDC and 1.5M raw units of 0x7a17…7a17 over CCIP", 1)
}

// TestMessageDestinations: where a message goes is told by the name of the chain, from the event or
// from the call of the messenger's router.
func TestMessageDestinations(t *testing.T) {
	f := func(version string, called bool, want string) {
		t.Helper()
		s := newCostScene(t, 1, crossApp, scene.Input("cross(uint256)", 1))
		if called {
			s.tx.Input = scene.Input(ccip, arbitrumSelector, 64, 0, 0)
			s.root.Input = s.tx.Input
		}
		s.transfer(s.root, scene.Usdc, scene.User, scene.Pool1, 5_000_000)
		s.onRamp(version, scene.User, scene.Vault, 1, 5_000_000)
		_, _, text := s.judge()
		if got := strings.Join(text.Steps, "\n"); strings.Contains(got, "The crossing goes to "+want+" over CCIP") != (want != "") ||
			want == "" && strings.Contains(got, "The crossing goes") {
			t.Errorf("%.20s: %s\nwant %q", version, got, want)
		}
	}
	f(ccip16, false, "Arbitrum One")
	f(ccip15, true, "Arbitrum One")
	f(ccip10, true, "Arbitrum One")
	f(ccip15, false, "")
}
