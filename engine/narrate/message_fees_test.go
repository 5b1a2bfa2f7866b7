package narrate_test

import (
	"math/big"
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
	sent(s, 5_000_000).want("bridge: Bridged 5 USDC over LayerZero; paid 0.01 ETH for the message", "0xb01d…b01d"+step)

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
