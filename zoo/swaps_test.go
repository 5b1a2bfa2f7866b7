package zoo

import (
	"math/big"
	"slices"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// swapSpecimens: each shape in which one asset is given for another.
var swapSpecimens = []specimen{
	{
		name: "v2 swap of an exact input",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV2Router, canon.weth)
			out := w.v2Out(ether("1"), canon.weth, canon.usdc)
			return w.call(who("alice"), canon.v2Router, "swapExactTokensForTokens", ether("1"), out, list{addrWETH, addrUSDC}, who("alice").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"alice -1 WETH +2486.30289 USDC"}},
	},
	{
		name: "v2 swap for an exact output",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV2Router, canon.weth)
			return w.call(who("alice"), canon.v2Router, "swapTokensForExactTokens", usd("1000"), ether("1"), list{addrWETH, addrUSDC}, who("alice").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"alice -0.401605216048546039 WETH +1000 USDC"}},
	},
	{
		name: "v2 swap over two pools",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV2Router, canon.link)
			out := w.v2Out(ether("100"), canon.link, canon.weth, canon.usdc)
			return w.call(who("alice"), canon.v2Router, "swapExactTokensForTokens", ether("100"), out, list{addrLINK, addrWETH, addrUSDC}, who("alice").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"alice -100 LINK +2466.596965 USDC"}},
	},
	{
		name: "v2 swap of coins",
		script: func(w *world) common.Hash {
			out := w.v2Out(ether("1"), canon.weth, canon.usdc)
			return w.pay(who("carol"), ether("1"), canon.v2Router, "swapExactETHForTokens", out, list{addrWETH, addrUSDC}, who("carol").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"carol -1 ETH +2486.30289 USDC"}},
	},
	{
		name: "v2 swap for coins",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV2Router, canon.usdc)
			return w.call(who("alice"), canon.v2Router, "swapTokensForExactETH", ether("1"), usd("2600"), list{addrUSDC, addrWETH}, who("alice").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"alice +1 ETH -2513.807086 USDC"}},
	},
	{
		name: "v2 swap to somebody else",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV2Router, canon.weth)
			out := w.v2Out(ether("1"), canon.weth, canon.usdc)
			return w.call(who("alice"), canon.v2Router, "swapExactTokensForTokens", ether("1"), out, list{addrWETH, addrUSDC}, who("carol").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"alice -1 WETH", "carol +2486.30289 USDC"}},
	},
	{
		name: "v2 swap of a token that keeps a fee",
		script: func(w *world) common.Hash {
			w.approve(who("deployer"), addrV2Router, markets.tax)
			return w.call(who("deployer"), canon.v2Router, "swapExactTokensForETHSupportingFeeOnTransferTokens", ether("100"), ether("0.09"), list{markets.tax.addr, addrWETH}, who("deployer").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"deployer -100 TAX +0.099600698103990321 ETH"}},
	},
	{
		name: "v2 swap that takes any output",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV2Router, canon.weth)
			return w.call(who("alice"), canon.v2Router, "swapExactTokensForTokens", ether("1"), 0, list{addrWETH, addrUSDC}, who("alice").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", flags: []string{"no_slippage_limit"}, moves: []string{"alice -1 WETH +2486.30289 USDC"}},
	},
	{
		name: "v2 swap that failed",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV2Router, canon.weth)
			return w.failing(who("alice"), canon.v2Router, "swapExactTokensForTokens", ether("1"), usd("2600"), list{addrWETH, addrUSDC}, who("alice").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", attempted: true, moves: []string{"alice"}},
	},
	{
		name: "v2 swap in a pair of a fork that nobody knows",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), markets.forkRouter.addr, canon.weth)
			return w.call(who("alice"), markets.forkRouter, "swapExactTokensForTokens", ether("1"), usd("2500"), list{addrWETH, addrUSDC}, who("alice").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, moves: []string{"alice -1 WETH +2585.755005 USDC"}},
	},
	{
		name: "v3 swap in one pool",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV3Router, canon.usdc)
			return w.call(who("alice"), canon.v3Router, "exactInputSingle", tuple{addrUSDC, addrWETH, 500, who("alice").addr, w.deadline(), usd("2500"), ether("0.99"), 0})
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v3", moves: []string{"alice -2500 USDC +0.997505985534915703 WETH"}},
	},
	{
		name: "v3 swap for an exact output",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV3Router, canon.usdc)
			return w.call(who("alice"), canon.v3Router, "exactOutputSingle", tuple{addrUSDC, addrWETH, 500, who("alice").addr, w.deadline(), ether("1"), usd("2600"), 0})
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v3", moves: []string{"alice -2506.263153 USDC +1 WETH"}},
	},
	{
		name: "v3 swap over two pools",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV3Router, canon.link)
			path := slices.Concat(addrLINK[:], fee3(3000), addrWETH[:], fee3(500), addrUSDC[:])
			return w.call(who("alice"), canon.v3Router, "exactInput", tuple{path, who("alice").addr, w.deadline(), ether("100"), usd("2400")})
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v3", moves: []string{"alice -100 LINK +2478.079446 USDC"}},
	},
	{
		name: "v3 swap for coins by multicall",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV3Router, canon.usdc)
			return w.call(who("alice"), canon.v3Router, "multicall", [][]byte{
				canon.v3Router.pack(w.tb, "exactInputSingle", tuple{addrUSDC, addrWETH, 500, common.Address{}, w.deadline(), usd("2500"), ether("0.99"), 0}),
				canon.v3Router.pack(w.tb, "unwrapWETH9", ether("0.99"), who("alice").addr),
			})
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v3", moves: []string{"alice -2500 USDC +0.997505985534915703 ETH"}},
	},
	{
		name: "v3 swap that takes any output",
		script: func(w *world) common.Hash {
			w.approve(who("alice"), addrV3Router, canon.usdc)
			return w.call(who("alice"), canon.v3Router, "exactInputSingle", tuple{addrUSDC, addrWETH, 500, who("alice").addr, w.deadline(), usd("2500"), 0, 0})
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v3", flags: []string{"no_slippage_limit"}, moves: []string{"alice -2500 USDC +0.997505985534915703 WETH"}},
	},
	{
		name: "Universal Router in a v2 pair and a v3 pool, with a permit",
		script: func(w *world) common.Hash {
			alice := who("alice")
			w.approve(alice, addrPermit2, canon.link)
			permit, sig := w.permit2(alice, addrLINK, addrUniversal, ether("100"))
			return w.route(alice, nil,
				command(0x0a, encode(w.tb, "(((address,uint160,uint48,uint48),address,uint256),bytes)", permit, sig)), // PERMIT2_PERMIT
				command(0x08, encode(w.tb, "(address,uint256,uint256,address[],bool)", routerItself, ether("100"), 0, list{addrLINK, addrWETH}, true)),
				command(0x00, encode(w.tb, "(address,uint256,uint256,bytes,bool)", alice.addr, contractBalance, usd("2400"), slices.Concat(addrWETH[:], fee3(500), addrUSDC[:]), false)),
			)
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap", moves: []string{"alice -100 LINK +2473.990238 USDC"}},
	},
	{
		name: "Universal Router with coins in a v3 pool",
		script: func(w *world) common.Hash {
			carol := who("carol")
			return w.route(carol, ether("1"),
				command(0x0b, encode(w.tb, "(address,uint256)", routerItself, ether("1"))), // WRAP_ETH
				command(0x00, encode(w.tb, "(address,uint256,uint256,bytes,bool)", carol.addr, ether("1"), usd("2400"), slices.Concat(addrWETH[:], fee3(500), addrUSDC[:]), false)),
			)
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v3", moves: []string{"carol -1 ETH +2493.764963 USDC"}},
	},
	{
		name: "Universal Router with coins in a v4 pool",
		script: func(w *world) common.Hash {
			return w.v4Swap(who("carol"), ether("1"), usd("2400"))
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v4", moves: []string{"carol -1 ETH +2486.30289 USDC"}},
	},
	{
		name: "Universal Router in a v4 pool that takes any output",
		script: func(w *world) common.Hash {
			return w.v4Swap(who("carol"), ether("1"), new(big.Int))
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v4", flags: []string{"no_slippage_limit"}, moves: []string{"carol -1 ETH +2486.30289 USDC"}},
	},
	{
		name: "v2 swap of coins for an exact output, the rest given back",
		script: func(w *world) common.Hash {
			return w.pay(who("carol"), ether("1"), canon.v2Router, "swapETHForExactTokens", usd("1000"), list{addrWETH, addrUSDC}, who("carol").addr, w.deadline())
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"carol -0.401605216048546039 ETH +1000 USDC"}},
	},
	{
		name: "SwapRouter02 with coins over a v3 pool and a v2 pair",
		script: func(w *world) common.Hash {
			carol := who("carol")
			t := w.calling(carol, canon.swapRouter02, "multicall0", w.deadline(), [][]byte{
				canon.swapRouter02.pack(w.tb, "exactInputSingle", tuple{addrWETH, addrUSDC, 500, carol.addr, ether("0.5"), usd("1200"), 0}),
				canon.swapRouter02.pack(w.tb, "swapExactTokensForTokens", ether("0.5"), usd("1200"), list{addrWETH, addrUSDC}, carol.addr),
			})
			t.value = ether("1")
			return w.mine(t)[0]
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap", moves: []string{"carol -1 ETH +2492.82629 USDC"}},
	},
	{
		name: "Universal Router whose minimum was not met",
		script: func(w *world) common.Hash {
			carol := who("carol")
			t := w.routing(carol, ether("1"),
				command(0x0b, encode(w.tb, "(address,uint256)", routerItself, ether("1"))),
				command(0x00, encode(w.tb, "(address,uint256,uint256,bytes,bool)", carol.addr, ether("1"), usd("2600"), slices.Concat(addrWETH[:], fee3(500), addrUSDC[:]), false)),
			)
			t.fails = true
			return w.mine(t)[0]
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap", attempted: true, moves: []string{"carol"}},
	},
	{
		name: "bid of wrapped coins taken on Seaport",
		script: func(w *world) common.Hash {
			return w.seaportBid()
		},
		want: truth{txType: api.TypeSwap, subType: "nft_sale", protocol: "seaport", moves: []string{"alice +2 WETH -1 ZPIC#7", "bob -2 WETH +1 ZPIC#7"}},
	},
	{
		name: "picture sold on Seaport",
		script: func(w *world) common.Hash {
			return w.seaportSale()
		},
		want: truth{txType: api.TypeSwap, subType: "nft_sale", protocol: "seaport", moves: []string{"carol -2 ETH +1 ZPIC#7", "alice +1.95 ETH -1 ZPIC#7", "treasury +0.05 ETH"}},
	},
	{
		name: "v2 swap by a contract of the sender's",
		script: func(w *world) common.Hash {
			s := w.searcher(canon.weth, ether("20"))
			return w.call(who("searcher"), s, "sell", markets.wethUSDC.addr, addrWETH, ether("20"))
		},
		want: truth{txType: api.TypeSwap, protocol: "uniswap_v2", moves: []string{"searcher", "searcher's -20 WETH +47482.973758 USDC"}},
	},
}

// The Universal Router's names for itself and for all that it holds.
var (
	routerItself    = common.BigToAddress(big.NewInt(2))
	contractBalance = new(big.Int).Lsh(big.NewInt(1), 255)
)

// v2Out is what Uniswap's router says that a path gives.
func (w *world) v2Out(in *big.Int, path ...contract) *big.Int {
	w.tb.Helper()
	var addrs []common.Address
	for _, c := range path {
		addrs = append(addrs, c.addr)
	}
	amounts := one[[]*big.Int](w, canon.v2Router, "getAmountsOut", in, addrs)
	return amounts[len(amounts)-1]
}

// fee3 is a fee in the path of a v3 router.
func fee3(fee int) []byte { return []byte{byte(fee >> 16), byte(fee >> 8), byte(fee)} }

// routed is a command of the Universal Router and its input.
type routed struct {
	code  byte
	input []byte
}

func command(code byte, input []byte) routed { return routed{code, input} }

// route is one call of the Universal Router.
func (w *world) route(a account, wei *big.Int, commands ...routed) common.Hash {
	w.tb.Helper()
	return w.mine(w.routing(a, wei, commands...))[0]
}

func (w *world) routing(a account, wei *big.Int, commands ...routed) tx {
	w.tb.Helper()
	var codes []byte
	var inputs [][]byte
	for _, c := range commands {
		codes, inputs = append(codes, c.code), append(inputs, c.input)
	}
	// The method has an overload without the deadline, whose name the reader of the
	// interface keeps for that one.
	t := w.calling(a, canon.universalRouter, "execute0", codes, inputs, w.deadline())
	t.value = wei
	return t
}

// v4Swap sells coins for USDC in the v4 pool.
func (w *world) v4Swap(a account, wei, least *big.Int) common.Hash {
	w.tb.Helper()
	params := [][]byte{
		encode(w.tb, "(((address,address,uint24,int24,address),bool,uint128,uint128,bytes))", tuple{v4Key, true, wei, least, []byte{}}),
		encode(w.tb, "(address,uint256)", common.Address{}, wei),
		encode(w.tb, "(address,uint256)", addrUSDC, least),
	}
	actions := []byte{0x06, 0x0c, 0x0f} // SWAP_EXACT_IN_SINGLE, SETTLE_ALL, TAKE_ALL
	return w.route(a, wei, command(0x10, encode(w.tb, "(bytes,bytes[])", actions, params)))
}

// seaportSale: Carol takes the offer that Alice signed, two coins for a picture, of
// which the treasury has a part.
func (w *world) seaportSale() common.Hash {
	w.tb.Helper()
	alice, carol, nft := who("alice"), who("carol"), w.pictures()
	w.mine(
		w.calling(alice, nft, "mint", alice.addr, 7),
		w.calling(alice, nft, "setApprovalForAll", addrSeaport, true),
	)
	const native, erc721 = uint8(0), uint8(2)
	offer := list{tuple{erc721, nft.addr, 7, 1, 1}}
	consideration := list{
		tuple{native, common.Address{}, 0, ether("1.95"), ether("1.95"), alice.addr},
		tuple{native, common.Address{}, 0, ether("0.05"), ether("0.05"), who("treasury").addr},
	}
	order := w.seaportOrder(alice, offer, consideration)
	return w.pay(carol, ether("2"), canon.seaport, "fulfillOrder", order, [32]byte{})
}

// seaportBid: Alice takes the bid that Bob signed, two wrapped coins for her picture.
func (w *world) seaportBid() common.Hash {
	w.tb.Helper()
	alice, bob, nft := who("alice"), who("bob"), w.pictures()
	w.mine(
		w.calling(alice, nft, "mint", alice.addr, 7),
		w.calling(alice, nft, "setApprovalForAll", addrSeaport, true),
		w.calling(bob, canon.weth, "approve", addrSeaport, ether("2")),
	)
	const erc20, erc721 = uint8(1), uint8(2)
	order := w.seaportOrder(bob,
		list{tuple{erc20, addrWETH, 0, ether("2"), ether("2")}},
		list{tuple{erc721, nft.addr, 7, 1, 1, bob.addr}})
	return w.call(alice, canon.seaport, "fulfillOrder", order, [32]byte{})
}

// seaportOrder is an order for an hour that anyone may take, and its signature.
func (w *world) seaportOrder(by account, offer, consideration list) tuple {
	w.tb.Helper()
	const open = uint8(0)
	order := tuple{by.addr, common.Address{}, offer, consideration, open, 0, w.deadline(), [32]byte{}, 1, [32]byte{}}
	components := append(slices.Clone(order), 0) // with the counter
	hash := one[[32]byte](w, canon.seaport, "getOrderHash", components)
	domain := w.read(canon.seaport, "information")[1].([32]byte)
	sig := by.sign(crypto.Keccak256([]byte("\x19\x01"), domain[:], hash[:]))
	return tuple{append(order, len(consideration)), sig}
}

// searcher is a contract of the searcher that holds so much of a token.
func (w *world) searcher(token contract, amount *big.Int) contract {
	w.tb.Helper()
	by := who("searcher")
	s := w.deploy(by, compiled(w.tb, "Searcher"))
	if amount.Sign() > 0 {
		w.call(by, token, "transfer", s.addr, amount)
	}
	w.name("searcher's", s.addr)
	return s
}
