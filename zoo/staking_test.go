package zoo

import (
	"bytes"
	"math/big"
	"time"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Where the deposit contract of the beacon chain and Optimism's old bridge stand.
var (
	addrBeaconDeposit = common.HexToAddress("0x00000000219ab540356cBB839Cbe05303d7705Fa")
	addrBridge        = common.HexToAddress("0x99C9fc46f92E8a1c0deC1b1747d010903E884bE1")
	addrMessenger     = common.HexToAddress("0x25ace71c97B33Cc4729CF772ae268934F7ab5fA1")
	addrBridgeNames   = common.HexToAddress("0xdE1FCfB0851916CA5101820A69b13a4E276bd81F")
	addrQueueChain    = common.HexToAddress("0x5E4e65926BA27467555EB562121fac00D24E9dD2")
)

var beaconDeposit, rollupBridge contract

func placeBeaconDeposit(g *genesis) {
	beaconDeposit = g.construct(addrBeaconDeposit, who("deployer").addr, compiled(g.tb, "BeaconDeposit"))
}

// placeBridge lays the contracts that a deposit to Optimism went through in 2022: the
// last ones that are published with their code.
func placeBridge(g *genesis) {
	by := who("deployer").addr
	at := func(addr common.Address, path string, args ...any) contract {
		return g.construct(addr, by, published(g.tb, "@eth-optimism/contracts/artifacts/contracts/"+path), args...)
	}
	do := func(c contract, method string, args ...any) { g.run(by, c.addr, c.pack(g.tb, method, args...)) }
	names := at(addrBridgeNames, "libraries/resolver/Lib_AddressManager.sol/Lib_AddressManager.json")
	chain := at(addrQueueChain, "L1/rollup/CanonicalTransactionChain.sol/CanonicalTransactionChain.json",
		names.addr, big.NewInt(15_000_000), big.NewInt(32), big.NewInt(60_000))
	queue := at(common.BytesToAddress(crypto.Keccak256([]byte("queue"))), "L1/rollup/ChainStorageContainer.sol/ChainStorageContainer.json",
		names.addr, "CanonicalTransactionChain")
	messenger := at(addrMessenger, "L1/messaging/L1CrossDomainMessenger.sol/L1CrossDomainMessenger.json")
	rollupBridge = at(addrBridge, "L1/messaging/L1StandardBridge.sol/L1StandardBridge.json")
	do(names, "setAddress", "CanonicalTransactionChain", chain.addr)
	do(names, "setAddress", "ChainStorageContainer-CTC-queue", queue.addr)
	do(messenger, "initialize", names.addr)
	do(rollupBridge, "initialize", messenger.addr, common.HexToAddress("0x4200000000000000000000000000000000000010"))
}

var stakingSpecimens = []specimen{
	{
		name: "farm: stake",
		script: func(w *world) common.Hash {
			farm, token, _ := newFarm(w)
			w.hold("alice", token, ether("40"), farm.addr)
			return w.call(who("alice"), farm, "stake", ether("40"))
		},
		want: truth{txType: api.TypeStake, subType: "stake", moves: []string{"alice -40 TOK"}},
	},
	{
		name: "farm: withdraw",
		script: func(w *world) common.Hash {
			farm, token, _ := newFarm(w)
			w.hold("alice", token, ether("40"), farm.addr)
			w.call(who("alice"), farm, "stake", ether("40"))
			return w.call(who("alice"), farm, "withdraw", ether("15"))
		},
		want: truth{txType: api.TypeStake, subType: "unstake", moves: []string{"alice +15 TOK"}},
	},
	{
		name: "farm: rewards are claimed",
		script: func(w *world) common.Hash {
			farm, token, _ := newFarm(w)
			w.hold("alice", token, ether("40"), farm.addr)
			w.call(who("alice"), farm, "stake", ether("40"))
			w.wait(100*time.Second - slot*time.Second)
			return w.call(who("alice"), farm, "getReward")
		},
		want: truth{txType: api.TypeStake, subType: "claim", moves: []string{"alice +10 RWD"}},
	},
	{
		name: "beacon chain: the deposit of a validator",
		script: func(w *world) common.Hash {
			return w.pay(who("alice"), ether("32"), beaconDeposit, "deposit",
				bytes.Repeat([]byte{0xa1}, 48), word(who("alice").addr), bytes.Repeat([]byte{0xb2}, 96), [32]byte{})
		},
		want: truth{
			txType: api.TypeStake, subType: "stake", protocol: "beacon_deposit", moves: []string{"alice -32 ETH"},
		},
	},
	{
		name: "bridge: coins to Optimism",
		script: func(w *world) common.Hash {
			return w.pay(who("alice"), ether("3"), rollupBridge, "depositETH", uint32(200_000), []byte{})
		},
		want: truth{
			txType: api.TypeBridge, subType: "send", protocol: "optimism_bridge", moves: []string{"alice -3 ETH"},
		},
	},
	{
		name: "bridge: tokens to Optimism",
		script: func(w *world) common.Hash {
			w.hold("alice", canon.usdc, usd("700"), addrBridge)
			return w.call(who("alice"), rollupBridge, "depositERC20", addrUSDC, common.HexToAddress("0x7F5c764cBc14f9669B88837ca1490cCa17c31607"), usd("700"), uint32(200_000), []byte{})
		},
		want: truth{
			txType: api.TypeBridge, subType: "send", protocol: "optimism_bridge", moves: []string{"alice -700 USDC"},
		},
	},
	{
		name: "routine: a feed is told a price",
		script: func(w *world) common.Hash {
			feed := w.deploy(who("feeder"), compiled(w.tb, "Feed"))
			return w.call(who("feeder"), feed, "transmit", big.NewInt(1999e8))
		},
		want: truth{txType: api.TypeRoutineInfra, subType: "oracle_report"},
	},
}

// newFarm pays a tenth of a reward a second.
func newFarm(w *world) (farm, token, rewards contract) {
	by := who("deployer")
	token, rewards = w.token("TOK", 18), w.token("RWD", 18)
	farm = w.deploy(by, compiled(w.tb, "Farm"), token.addr, rewards.addr, ether("0.1"))
	w.call(by, rewards, "mint", farm.addr, ether("10000"))
	return farm, token, rewards
}
