package zoo

import (
	"txlens/engine/explain"

	"github.com/ethereum/go-ethereum/common"
)

// paymentSpecimens: coins and tokens that change hands.
var paymentSpecimens = []specimen{
	{
		name: "plain payment of coins",
		script: func(w *world) common.Hash {
			return w.transfer(who("alice"), who("bob").addr, ether("1.5"))
		},
		want: truth{txType: explain.TypeTransfer, moves: []string{"alice -1.5 ETH", "bob +1.5 ETH"}},
	},
	{
		name: "ERC-20 transfer",
		script: func(w *world) common.Hash {
			w.call(who("deployer"), canon.usdc, "mint", who("alice").addr, usd("500"))
			return w.call(who("alice"), canon.usdc, "transfer", who("bob").addr, usd("120.5"))
		},
		want: truth{txType: explain.TypeTransfer, moves: []string{"alice -120.5 USDC", "bob +120.5 USDC"}},
	},
}
