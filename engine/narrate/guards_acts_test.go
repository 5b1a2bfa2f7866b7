package narrate_test

import (
	"testing"

	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// nft adds the transfer of an NFT.
func nft(s *scene.Scene, from, to common.Address, id int) *scene.Scene {
	return s.Log(scene.Nft, moved, []any{from, to, id})
}

// TestSalesOfNFTs: who gave the item sold it, who got it bought it, for what went the other way;
// who did neither settled the sale.
func TestSalesOfNFTs(t *testing.T) {
	f := says(t)
	user, friend := scene.User, scene.Friend
	sale := func(buyer common.Address) *scene.Scene {
		return made(scene.Vault).Log(scene.Vault, "BuyPriceAccepted(address,uint256,address,address,uint256,uint256,uint256)", []any{scene.Nft, 7, friend}, buyer, 0, 0, 5_000000)
	}
	f("bought", nft(sale(user), friend, user, 7).Transfer(scene.Usdc, user, friend, 5_000000), "Bought NFT 7 of 0x0721…0721 for 5 USDC on Foundation",
		"0xa11c…a11c bought NFT 7 of 0x0721…0721 from 0xf00d…f00d for 5 USDC.")
	f("sold", nft(sale(friend), user, friend, 7).Transfer(scene.Usdc, friend, user, 5_000000), "Sold NFT 7 of 0x0721…0721 for 5 USDC on Foundation",
		"0xf00d…f00d bought NFT 7 of 0x0721…0721 from 0xa11c…a11c for 5 USDC.")
	f("sold, with a fee", nft(sale(friend), user, friend, 7).Transfer(scene.Usdc, friend, user, 5_000000).Transfer(scene.Usdc, friend, scene.Vault, 1_000000),
		"Sold NFT 7 of 0x0721…0721 for 5 USDC on Foundation",
		"0xf00d…f00d bought NFT 7 of 0x0721…0721 from 0xa11c…a11c for 6 USDC, of which 1 USDC did not reach the seller (fees).")
	f("sold for nothing that shows", nft(sale(friend), user, friend, 7), "Sold NFT 7 of 0x0721…0721 on Foundation", "no bought NFT")
	f("got for nothing", nft(sale(user), friend, user, 7), "Settled an NFT sale on Foundation", "no bought NFT")
	f("paid", sale(friend).Transfer(scene.Usdc, user, friend, 5_000000), "Settled an NFT sale on Foundation, paying 5 USDC")
	f("of others", nft(sale(scene.Bot), friend, scene.Bot, 7).Transfer(scene.Usdc, scene.Bot, friend, 5_000000), "Settled an NFT sale on Foundation",
		"0xb070…b070 bought NFT 7 of 0x0721…0721 from 0xf00d…f00d for 5 USDC.")
}

// TestStakes: what went in or came out, what stands for it, and where.
func TestStakes(t *testing.T) {
	f := says(t)
	user, vault := scene.User, scene.Vault
	in := func() *scene.Scene {
		return made(vault).Log(vault, "Deposit(address,uint256,uint256)", []any{user, 1}, 5_000000).Known(vault, "Place", "defi", "aave_v3")
	}
	out := func() *scene.Scene {
		return made(vault).Log(vault, "EmergencyWithdraw(address,uint256,uint256)", []any{user, 1}, 5_000000).Known(vault, "Place", "defi", "aave_v3")
	}
	f("in", in().Transfer(scene.Usdc, user, vault, 5_000000), "Staked 5 USDC with Aave v3")
	f("in for a share", in().Transfer(scene.Usdc, user, vault, 5_000000).Transfer(daiToken, nobody, user, 9), "Staked 5 USDC for 0.000000000000000009 DAI with Aave v3")
	f("in, nothing", in(), "Staked on Aave v3")
	f("out", out().Transfer(scene.Usdc, vault, user, 5_000000), "Unstaked 5 USDC from Aave v3")
	f("out for a share", out().Transfer(daiToken, user, nobody, 9).Transfer(scene.Usdc, vault, user, 5_000000), "Unstaked 0.000000000000000009 DAI for 5 USDC from Aave v3")
	f("out, a share alone", out().Transfer(daiToken, user, nobody, 9), "Unstaked 0.000000000000000009 DAI from Aave v3")
	f("out, nothing", out(), "Unstaked on Aave v3")
}

// TestSeizures: what was repaid, what was taken, whose it was, and what stayed unpaid.
func TestSeizures(t *testing.T) {
	f := says(t)
	const call, absorbed, blue = "LiquidationCall(address,address,address,uint256,uint256,address,bool)", "AbsorbCollateral(address,address,address,uint256,uint256)",
		"Liquidate(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)"
	seize := func(who common.Address, debt, collateral int) *scene.Scene {
		return made(scene.Vault).Known(scene.Vault, "Aave Pool", "lending", "aave_v3").
			Log(scene.Vault, call, []any{daiToken, scene.Usdc, who}, debt, collateral, scene.User, false)
	}
	f("debt alone", seize(scene.Friend, 5_000000, 0), "Liquidated the position of 0xf00d…f00d on Aave v3, repaying 5 USDC of debt", "A debt of 0xf00d…f00d of 5 USDC was repaid.")
	f("collateral alone", seize(scene.Friend, 0, 900), "Liquidated the position of 0xf00d…f00d on Aave v3, seizing 0.0000000000000009 DAI of collateral",
		"0.0000000000000009 DAI of the collateral of 0xf00d…f00d was taken.")
	f("of nobody", seize(nobody, 5_000000, 900), "", "A debt of 5 USDC was repaid, and 0.0000000000000009 DAI of the collateral taken for it.")
	f("neither", seize(scene.Friend, 0, 0).Transfer(scene.Usdc, scene.User, scene.Vault, 3_000000), "Liquidated the position of 0xf00d…f00d on Aave v3, paying 3 USDC", "no was repaid", "no was taken")
	f("absorbed", made(scene.Vault).Log(scene.Vault, absorbed, []any{scene.Bot, scene.Friend, daiToken}, 900, 1), "",
		"0.0000000000000009 DAI of the collateral of 0xf00d…f00d was taken.")
	market := func(bad int) *scene.Scene {
		return made(scene.Vault).Transfer(daiToken, scene.Vault, scene.User, 900).
			Log(scene.Vault, blue, []any{1, scene.User, scene.Friend}, 5_000000, 1, 900, bad, bad).Transfer(scene.Usdc, scene.User, scene.Vault, 5_000000)
	}
	const repaid = "A debt of 0xf00d…f00d of 5 USDC was repaid, and 0.0000000000000009 DAI of the collateral taken for it"
	f("all paid", market(0), "", repaid+".")
	f("bad debt", market(3), "", repaid+"; a part of the debt stayed with the lender.")
}

// TestHalfSwaps: a swap of which the sender shows one side or none is told by whose it is, else by
// what is known of it.
func TestHalfSwaps(t *testing.T) {
	f := says(t)
	user, friend, bot, pool, usdc := scene.User, scene.Friend, scene.Bot, scene.Pool1, scene.Usdc
	event := func(s *scene.Scene, to common.Address) *scene.Scene {
		return s.Log(pool, v2SwapEvent, []any{scene.Router, to}, 3_000000, 0, 0, 500).Known(scene.Router, "Router", "router", "uniswap_v2")
	}
	trade := func(who common.Address) *scene.Scene {
		return made(scene.Router).Transfer(usdc, who, pool, 3_000000).Transfer(daiToken, pool, who, 500)
	}
	const sold = "Swapped 3 USDC for 0.0000000000000005 DAI on Uniswap v2, for "
	f("of another", event(trade(friend), friend), sold+"0xf00d…f00d")
	f("of another, by movements alone", event(trade(friend), scene.Router), sold+"0xf00d…f00d")
	f("of a labelled account", event(trade(friend), friend).Known(friend, "Exchange", "exchange", ""),
		"Executed a trade for other accounts on Uniswap v2: moved 3 USDC from Exchange to 0x9001…9001 and moved 0.0000000000000005 DAI from 0x9001…9001 to Exchange through Router")
	two := func(to common.Address) *scene.Scene {
		return event(trade(friend).Transfer(usdc, bot, scene.Vault, 1_000000).Transfer(daiToken, scene.Vault, bot, 100), to)
	}
	named := two(scene.Router).Log(scene.Vault, "ExecuteTrade(address,address,address,uint256,uint256)", []any{friend}, usdc, daiToken, 3_000000, 500)
	f("of two, one of them named", named, "Swapped 3 USDC for 0.0000000000000005 DAI on Uniswap v2, for 0xf00d…f00d")
	f("of two", two(scene.Router), "Executed a trade for other accounts on Uniswap v2: "+
		"moved 4 USDC from 2 addresses to 2 addresses and moved 0.0000000000000006 DAI from 2 addresses to 2 addresses through Router")
	f("one gave and another got", event(made(scene.Router).Transfer(usdc, bot, pool, 3_000000).Transfer(daiToken, pool, friend, 500), friend),
		"Executed a trade for other accounts on Uniswap v2: moved 3 USDC from 0xb070…b070 to 0x9001…9001 and moved 0.0000000000000005 DAI from 0x9001…9001 to 0xf00d…f00d through Router")
	paid := func() *scene.Scene { return event(made(scene.Router).Transfer(usdc, user, pool, 3_000000), pool) }
	f("paid alone", paid(), "Swapped 3 USDC on Uniswap v2; what it bought went to others")
	bare := paid()
	bare.Source = trace.SourceReceipt
	f("paid alone, by the receipt", bare, "Swapped 3 USDC on Uniswap v2; what it bought is not known without a call trace")
	f("got alone", event(made(scene.Router).Transfer(daiToken, pool, user, 500), user), "Received 0.0000000000000005 DAI from a swap on Uniswap v2")
	f("nothing", event(made(scene.Router), pool), "Called function 0xdeadbeef of Router; no tokens moved")
}
