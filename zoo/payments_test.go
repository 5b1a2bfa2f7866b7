package zoo

import (
	"math/big"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// paymentSpecimens: coins and tokens that change hands.
var paymentSpecimens = []specimen{
	{
		name: "plain payment of coins",
		script: func(w *world) common.Hash {
			return w.transfer(who("alice"), who("bob").addr, ether("1.5"))
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -1.5 ETH", "bob +1.5 ETH"}},
	},
	{
		name: "ERC-20 transfer",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.usdc, "transfer", who("carol").addr, usd("120.5"))
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -120.5 USDC", "carol +120.5 USDC"}},
	},
	{
		name: "ERC-20 transferFrom by the one who was allowed to",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), who("bob").addr, canon.usdc)
			return w.call(who("bob"), canon.usdc, "transferFrom", who("alice").addr, who("carol").addr, usd("75"))
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -75 USDC", "carol +75 USDC"}},
	},
	{
		name: "ERC-20 minted to a user",
		script: func(w *world) common.Hash {
			return w.call(who("deployer"), canon.link, "mint", who("carol").addr, ether("10"))
		},
		want: truth{txType: api.TypeOther, subType: "mint", moves: []string{"deployer", "carol +10 LINK"}},
	},
	{
		name: "fee-on-transfer token",
		script: func(w *world) common.Hash {
			return w.call(who("deployer"), markets.tax, "transfer", who("carol").addr, ether("200"))
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"deployer -200 TAX", "carol +198 TAX"}},
	},
	{
		name: "ERC-721 minted",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), w.pictures(), "mint", who("alice").addr, 7)
		},
		want: truth{txType: api.TypeOther, subType: "mint_nft", moves: []string{"alice +1 ZPIC#7"}},
	},
	{
		name: "ERC-721 transfer",
		script: func(w *world) common.Hash {
			nft := w.pictures()
			w.call(who("alice"), nft, "mint", who("alice").addr, 7)
			return w.call(who("alice"), nft, "transferFrom", who("alice").addr, who("bob").addr, 7)
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -1 ZPIC#7", "bob +1 ZPIC#7"}},
	},
	{
		name: "ERC-721 burnt",
		script: func(w *world) common.Hash {
			nft := w.pictures()
			w.call(who("alice"), nft, "mint", who("alice").addr, 7)
			return w.call(who("alice"), nft, "burn", 7)
		},
		want: truth{txType: api.TypeOther, subType: "burn", moves: []string{"alice -1 ZPIC#7"}},
	},
	{
		name: "ERC-1155 transfer of one kind",
		script: func(w *world) common.Hash {
			cards := w.cards()
			return w.call(who("alice"), cards, "safeTransferFrom", who("alice").addr, who("bob").addr, 1, 3, []byte{})
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -3 #1", "bob +3 #1"}},
	},
	{
		name: "ERC-1155 transfer of several kinds",
		script: func(w *world) common.Hash {
			cards := w.cards()
			return w.call(who("alice"), cards, "safeBatchTransferFrom", who("alice").addr, who("bob").addr, list{1, 2}, list{3, 5}, []byte{})
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -3 #1 -5 #2", "bob +3 #1 +5 #2"}},
	},
	{
		name: "zero-value transfers by a stranger",
		script: func(w *world) common.Hash {
			p := w.deploy(who("mallory"), compiled(w.tb, "Poisoner"))
			bob := who("bob").addr
			// The first and the last bytes are those of the address that the victim knows.
			alike := bob
			for i := 3; i < 17; i++ {
				alike[i] ^= 0x5a
			}
			w.call(who("alice"), canon.usdc, "transfer", bob, usd("10"))
			return w.call(who("mallory"), p, "plant", canon.usdc.addr, list{who("alice").addr, who("victim").addr}, list{alike, alike})
		},
		want: truth{txType: api.TypeTransfer, flags: []string{"address_poisoning"}},
	},
	{
		name: "transfer that a token only claims",
		script: func(w *world) common.Hash {
			fake := w.deploy(who("mallory"), compiled(w.tb, "ClaimedToken"), "Golden Zoo", "GZOO", uint8(18))
			return w.call(who("mallory"), fake, "pretend", who("alice").addr, who("bob").addr, ether("5000"))
		},
		want: truth{txType: api.TypeOther, subType: "contract_call", flags: []string{"fake_transfer_event"}, moves: []string{"alice", "bob"}},
	},
	{
		name: "transfer that a token with a listed symbol only claims",
		script: func(w *world) common.Hash {
			fake := w.deploy(who("mallory"), compiled(w.tb, "ClaimedToken"), "USD Coin", "USDС", uint8(6)) // the last letter is Cyrillic
			return w.call(who("mallory"), fake, "pretend", who("alice").addr, who("bob").addr, usd("5000"))
		},
		want: truth{txType: api.TypeOther, subType: "contract_call", flags: []string{"address_poisoning", "fake_transfer_event"}, moves: []string{"alice", "bob"}},
	},
	{
		name: "tokens sent to their own contract",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.usdc, "transfer", addrUSDC, usd("40"))
		},
		want: truth{txType: api.TypeTransfer, flags: []string{"stuck_value"}, moves: []string{"alice -40 USDC"}},
	},
	{
		name: "call with coins to an address without code",
		script: func(w *world) common.Hash {
			nowhere := common.HexToAddress("0x1ea4f0f0c5a1b2d3e4f5061728394a5b6c7d8e9f")
			return w.mine(tx{from: who("alice"), to: &nowhere, value: ether("0.25"), data: canon.weth.pack(w.tb, "deposit")})[0]
		},
		want: truth{txType: api.TypeTransfer, flags: []string{"stuck_value"}, moves: []string{"alice -0.25 ETH"}},
	},
	{
		name: "inner failure that was caught",
		script: func(w *world) common.Hash {
			p := w.deploy(who("deployer"), compiled(w.tb, "Patient"))
			w.approve(who("alice"), p.addr, canon.usdc)
			return w.call(who("alice"), p, "payWithAny", list{addrUSDT, addrUSDC}, who("bob").addr, usd("33"))
		},
		want: truth{txType: api.TypeTransfer, flags: []string{"caught_inner_failure"}, moves: []string{"alice -33 USDC", "bob +33 USDC"}},
	},
	{
		name: "transfer that failed",
		script: func(w *world) common.Hash {
			return w.failing(who("carol"), canon.usdc, "transfer", who("bob").addr, usd("33"))
		},
		want: truth{txType: api.TypeTransfer, attempted: true, moves: []string{"carol", "bob"}},
	},
	{
		name: "payment of nothing to oneself, as one cancels a transaction",
		script: func(w *world) common.Hash {
			return w.transfer(who("alice"), who("alice").addr, new(big.Int))
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice"}},
	},
	{
		name: "one payment to each of three by one contract",
		script: func(w *world) common.Hash {
			d := w.deploy(who("deployer"), compiled(w.tb, "Disperser"))
			w.approve(who("alice"), d.addr, canon.usdc)
			return w.call(who("alice"), d, "disperse", addrUSDC, list{who("carol").addr, who("dave").addr, who("erin").addr}, list{usd("1"), usd("2"), usd("3.5")})
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -6.5 USDC", "carol +1 USDC", "dave +2 USDC", "erin +3.5 USDC"}},
	},
	{
		name: "picture taken by an operator that was let",
		script: func(w *world) common.Hash {
			nft := w.pictures()
			w.mine(
				w.calling(who("alice"), nft, "mint", who("alice").addr, 7),
				w.calling(who("alice"), nft, "setApprovalForAll", who("bob").addr, true),
			)
			return w.call(who("bob"), nft, "transferFrom", who("alice").addr, who("bob").addr, 7)
		},
		want: truth{txType: api.TypeTransfer, moves: []string{"alice -1 ZPIC#7", "bob +1 ZPIC#7"}},
	},
	{
		name: "wrapped coins sent to their own contract",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.weth, "transfer", addrWETH, ether("3"))
		},
		want: truth{txType: api.TypeTransfer, flags: []string{"stuck_value"}, moves: []string{"alice -3 WETH"}},
	},
	{
		name: "tokens sent to the zero address",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.usdc, "transfer", common.Address{}, usd("7"))
		},
		want: truth{txType: api.TypeOther, subType: "burn", flags: []string{"stuck_value"}, moves: []string{"alice -7 USDC"}},
	},
	{
		name: "coins wrapped",
		script: func(w *world) common.Hash {
			return w.pay(who("alice"), ether("2"), canon.weth, "deposit")
		},
		want: truth{txType: api.TypeOther, subType: "wrap", protocol: "weth", moves: []string{"alice -2 ETH +2 WETH"}},
	},
	{
		name: "coins unwrapped",
		script: func(w *world) common.Hash {
			return w.call(who("alice"), canon.weth, "withdraw", ether("0.75"))
		},
		want: truth{txType: api.TypeOther, subType: "unwrap", protocol: "weth", moves: []string{"alice +0.75 ETH -0.75 WETH"}},
	},
}

// pictures is a collection of its own for each world.
func (w *world) pictures() contract {
	w.tb.Helper()
	return w.once("Pictures", func() contract { return w.deploy(who("deployer"), compiled(w.tb, "Pictures")) })
}

// cards are ten of kind 1 and ten of kind 2, Alice's.
func (w *world) cards() contract {
	w.tb.Helper()
	return w.once("Cards", func() contract {
		c := w.deploy(who("deployer"), compiled(w.tb, "Cards"))
		for _, kind := range []int64{1, 2} {
			w.call(who("deployer"), c, "mint", who("alice").addr, big.NewInt(kind), 10)
		}
		return c
	})
}

// once makes a contract when it is asked for first.
func (w *world) once(name string, make func() contract) contract {
	c, ok := w.made[name]
	if !ok {
		c = make()
		w.made[name] = c
	}
	return c
}
