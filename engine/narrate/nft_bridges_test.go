package narrate_test

import (
	"testing"

	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestBridgedNFTs: an NFT that leaves with a message is bridged, and what the message cost is told
// apart: of LayerZero's ONFTs by their events, else where it was burnt or the contract that sent
// the message keeps it.
func TestBridgedNFTs(t *testing.T) {
	const fee = 10 * milliEther
	zero := common.Address{}
	f := func(id uint64, build func(s *costScene), want string) {
		t.Helper()
		s := crossing(t, id, fee)
		build(s)
		s.want(want)
	}
	gave := func(s *costScene, to common.Address) {
		s.log(s.root, crossApp, "Transfer(address,address,uint256)", []any{scene.User, to, 77})
	}
	v1 := func(s *costScene) {
		s.log(s.pay(fee, sendV1, 110, 192, 256, scene.User, 0, 320), crossEndpoint, "Packet(bytes)", nil, 32, 0)
	}
	v2 := func(s *costScene) {
		s.log(s.pay(fee, sendV2, 64, scene.User), crossEndpoint, "PacketSent(bytes,bytes,address)", nil, 96, 128, crossApp, 0, 0)
	}
	ids := []any{110, scene.User, 9}
	const bridged = "bridge: Bridged NFT 77 of 0xb01d…b01d over LayerZero; paid 0.01 ETH for the message"
	f(1, func(s *costScene) {
		gave(s, crossApp)
		s.pay(fee, sendV1, 110, 192, 256, scene.User, 0, 320)
		s.log(s.root, crossApp, "SendToChain(uint16,address,bytes,uint256[])", ids, 32, 1, 77)
	}, bridged)
	f(10, func(s *costScene) { // what the messenger did not need comes back
		gave(s, crossApp)
		s.call(s.pay(fee, sendV1, 110, 192, 256, scene.User, 0, 320), crossEndpoint, scene.User, fee/2, nil)
		s.log(s.root, crossApp, "SendToChain(uint16,address,bytes,uint256[])", ids, 32, 1, 77)
	}, "bridge: Bridged NFT 77 of 0xb01d…b01d over LayerZero; paid 0.005 ETH for the message")
	f(8453, func(s *costScene) {
		gave(s, crossApp)
		s.pay(fee, sendV2, 64, scene.User)
		s.log(s.root, crossApp, "ONFTSent(bytes32,uint32,address,uint256)", []any{1, scene.User}, 30110, 77)
	}, bridged)
	f(1, func(s *costScene) {
		s.log(s.root, crossApp, "TransferSingle(address,address,address,uint256,uint256)", []any{scene.User, scene.User, crossApp}, 5, 3)
		s.pay(fee, sendV1, 110, 192, 256, scene.User, 0, 320)
		s.log(s.root, crossApp, "SendToChain(uint16,address,bytes,uint256,uint256)", ids, 5, 3)
	}, "bridge: Bridged 3 of 0xb01d…b01d id 5 over LayerZero; paid 0.01 ETH for the message")
	f(1, func(s *costScene) {
		s.log(s.root, crossApp, "TransferBatch(address,address,address,uint256[],uint256[])", []any{scene.User, scene.User, zero}, 64, 128, 1, 5, 1, 3)
		s.pay(fee, sendV1, 110, 192, 256, scene.User, 0, 320)
		s.log(s.root, crossApp, "SendBatchToChain(uint16,address,bytes,uint256[],uint256[])", ids, 64, 128, 1, 5, 1, 3)
	}, "bridge: Bridged 3 of 0xb01d…b01d id 5 over LayerZero; paid 0.01 ETH for the message")

	// By their messages alone.
	f(1, func(s *costScene) { gave(s, crossApp); v1(s) }, bridged)
	f(8453, func(s *costScene) { gave(s, crossApp); v2(s) }, bridged)
	f(1, func(s *costScene) {
		s.log(s.root, crossApp, "TransferSingle(address,address,address,uint256,uint256)", []any{scene.User, scene.User, crossApp}, 5, 3)
		v1(s)
	}, "bridge: Bridged 3 of 0xb01d…b01d id 5 over LayerZero; paid 0.01 ETH for the message")
	f(10, func(s *costScene) { gave(s, zero); v2(s) }, bridged)
	f(1, func(s *costScene) {
		gave(s, crossApp)
		s.pay(fee, "dispatch(uint32,bytes32,bytes)", 5, 64, 0, 0)
		s.log(s.root, crossEndpoint, "Dispatch(address,uint32,bytes32,bytes)", []any{crossApp, 5, 7}, 32, 0)
	}, "bridge: Bridged NFT 77 of 0xb01d…b01d over Hyperlane; paid 0.01 ETH for the message")

	// A message about something else, or an NFT that was given for something.
	const message = "other: Sent a cross-chain message on LayerZero, paying 0.01 ETH and "
	f(1, func(s *costScene) { gave(s, scene.Friend); v1(s) }, message+"NFT 77 of 0xb01d…b01d")
	f(1, func(s *costScene) { s.transfer(s.root, scene.Usdc, scene.User, crossApp, 5_000_000); v1(s) }, message+"5 USDC")
	f(1, func(s *costScene) {
		gave(s, crossApp)
		v1(s)
		s.transfer(s.root, scene.Usdc, crossApp, scene.User, 5_000_000)
	}, "swap: Sold 0.01 ETH and NFT 77 of 0xb01d…b01d for 5 USDC")
	f(1, func(s *costScene) {
		gave(s, crossApp)
		v1(s)
		s.log(s.root, crossApp, "Staked(address,uint256)", []any{scene.User}, 77)
	}, "stake: Staked 0.01 ETH and NFT 77 of 0xb01d…b01d")
}
