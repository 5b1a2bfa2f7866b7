package narrate_test

import (
	"math/big"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// reserves of a Uniswap v2 pool of WETH and USDC, which keeps 0.3 % of what goes in.
type reserves struct{ weth, usdc int }

// trade is the transaction of an account that trades in the pool through a contract.
func (p *reserves) trade(hash byte, who, contract common.Address, sellsWeth bool, in int) (s *scene.Scene, got int) {
	s = scene.New(&contract, 0, opaque)
	paid, bought, rin, rout := scene.Weth, scene.Usdc, &p.weth, &p.usdc
	if !sellsWeth {
		paid, bought, rin, rout = scene.Usdc, scene.Weth, &p.usdc, &p.weth
	}
	fed := big.NewInt(int64(in) * 997)
	got = int(new(big.Int).Quo(new(big.Int).Mul(fed, big.NewInt(int64(*rout))), big.NewInt(int64(*rin)*1000+fed.Int64())).Int64())
	*rin += in
	*rout -= got
	s.Transfer(paid, contract, scene.Pool1, in).Transfer(bought, scene.Pool1, contract, got)
	s.Log(scene.Pool1, "Sync(uint112,uint112)", nil, p.weth, p.usdc)
	if sellsWeth {
		s.Log(scene.Pool1, v2SwapEvent, []any{contract, contract}, in, 0, 0, got)
	} else {
		s.Log(scene.Pool1, v2SwapEvent, []any{contract, contract}, 0, in, got, 0)
	}
	s.Tx.Hash, s.Tx.From, s.Root.From = common.Hash{hash}, who, who
	s.Rc.TxHash, s.Rc.From, s.Rc.To = &s.Tx.Hash, &who, &contract
	return s, got
}

// TestSandwichTold: who traded around whom, in which order, what the searcher gained and what the
// victim lost.
func TestSandwichTold(t *testing.T) {
	p := &reserves{weth: 1_000_000_000, usdc: 1_000_000_000}
	front, bought := p.trade(0xf1, scene.Miner, scene.Bot, true, 100_000_000)
	victim, _ := p.trade(0xf2, scene.User, scene.Router, true, 100_000_000)
	back, _ := p.trade(0xf3, scene.Miner, scene.Bot, false, bought)
	f := func(name string, s *scene.Scene, before, after []*scene.Scene, want string) {
		t.Helper()
		in := s.Facts(t)
		in.Neighbours = &ethrpc.Neighbours{}
		for _, x := range before {
			in.Neighbours.Before = append(in.Neighbours.Before, x.Rc)
		}
		for _, x := range after {
			in.Neighbours.After = append(in.Neighbours.After, x.Rc)
		}
		v := scene.Held(t, name, in)
		if got := string(*v.TxType) + " " + v.SubType + ": " + v.Summary; got != want {
			t.Errorf("%s:\n got  %s\n want %s", name, got, want)
		}
	}
	f("front leg", front, nil, []*scene.Scene{victim, back}, "mev sandwich_leg: Front leg of a sandwich around the trade of transaction 0xf2000000… in pool 0x9001…9001 (the trade got 15.0913 USDC less; both legs gained 0.00000000001737 WETH before fees): swapped 0.0000000001 WETH for 90.6611 USDC, by contract 0xb070…b070")
	f("victim", victim, []*scene.Scene{front}, []*scene.Scene{back}, "swap : Swapped 0.0000000001 WETH for 75.5698 USDC, by contract 0x4007…4007; sandwiched by 0xb070…b070, got 15.0913 USDC less")
	f("back leg", back, []*scene.Scene{front, victim}, nil, "mev sandwich_leg: Back leg of a sandwich around the trade of transaction 0xf2000000… in pool 0x9001…9001 (the trade got 15.0913 USDC less; both legs gained 0.00000000001737 WETH before fees): swapped 90.6611 USDC for 0.0000000001174 WETH, by contract 0xb070…b070")
	f("front leg without a back leg", front, nil, []*scene.Scene{victim}, "swap : Swapped 0.0000000001 WETH for 90.6611 USDC, by contract 0xb070…b070")
	f("front leg without a victim", front, nil, []*scene.Scene{back}, "swap : Swapped 0.0000000001 WETH for 90.6611 USDC, by contract 0xb070…b070")
	f("back leg without a front leg", back, []*scene.Scene{victim}, nil, "swap : Swapped 90.6611 USDC for 0.0000000001174 WETH, by contract 0xb070…b070")
	f("victim of no back leg", victim, []*scene.Scene{front}, nil, "swap : Swapped 0.0000000001 WETH for 75.5698 USDC, by contract 0x4007…4007")
}

// TestSandwichOfTwo: a sandwich may stand around several trades, which are counted.
func TestSandwichOfTwo(t *testing.T) {
	p := &reserves{weth: 1_000_000_000, usdc: 1_000_000_000}
	front, bought := p.trade(0xf1, scene.Miner, scene.Bot, true, 100_000_000)
	first, _ := p.trade(0xf2, scene.User, scene.Router, true, 100_000_000)
	second, _ := p.trade(0xf4, scene.Friend, scene.Router, true, 100_000_000)
	back, _ := p.trade(0xf3, scene.Miner, scene.Bot, false, bought)
	in := front.Facts(t)
	in.Neighbours = &ethrpc.Neighbours{After: []*ethrpc.Receipt{first.Rc, second.Rc, back.Rc}}
	const want = "Front leg of a sandwich around 2 trades in pool 0x9001…9001 (the trades got 26.7027 USDC less; both legs gained 0.0000000000366 WETH before fees): " +
		"swapped 0.0000000001 WETH for 90.6611 USDC, by contract 0xb070…b070"
	if got := scene.Held(t, "front leg", in).Summary; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
