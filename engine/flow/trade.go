package flow

import (
	"math/big"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

// trade is one swap in a pool of two tokens, as the pool's own event reports it. Only pools
// are read whose state after a swap is in the logs, so that the price impact is known.
type trade struct {
	pool   common.Address
	id     common.Hash       // of a pool inside a singleton
	token  [2]common.Address // in the order of the pool; the zero address is the native coin
	amount [2]*big.Int       // base units exchanged, above zero
	in     int               // index of the token that the pool received
	spot   [2]*big.Int       // price after the swap: units of the second token per unit of the first
}

// maxTrades bounds the swaps looked at: a trade is searched for among all transfers.
const maxTrades = 64

// trades reads the swaps of the receipt whose tokens are certain.
func (q *quoter) trades() (list []trade) {
	for i := range q.Receipt.Logs {
		l := &q.Receipt.Logs[i]
		if len(l.Topics) == 0 || len(list) == maxTrades {
			continue
		}
		var t trade
		var ok bool
		switch l.Topics[0] {
		case evmsig.TopicSwapV2, evmsig.TopicSwapSolidly:
			t, ok = q.reservesTrade(i)
		case evmsig.TopicSwapV3, evmsig.TopicSwapPancakeV3:
			t, ok = rootTrade(l, 5)
		case evmsig.TopicSwapV4:
			if t, ok = rootTrade(l, 6); ok && len(l.Topics) == 3 {
				t.id = l.Topics[1]
				t.in = 1 - t.in // its amounts are the swapper's
			}
		}
		if ok && q.identify(&t) {
			list = append(list, t)
		}
	}
	return list
}

// reservesTrade reads a swap of a pool that reports its reserves just before.
func (q *quoter) reservesTrade(at int) (t trade, ok bool) {
	l := &q.Receipt.Logs[at]
	if len(l.Data) != 4*32 || at == 0 {
		return t, false
	}
	s := &q.Receipt.Logs[at-1]
	if s.Address != l.Address || len(s.Topics) != 1 || s.Topics[0] != evmsig.TopicSync && s.Topics[0] != evmsig.TopicSyncSolidly ||
		len(s.Data) != 2*32 {
		return t, false
	}
	in0, in1, out0, out1 := evmsig.Uint(l.Data, 0), evmsig.Uint(l.Data, 1), evmsig.Uint(l.Data, 2), evmsig.Uint(l.Data, 3)
	t = trade{pool: l.Address, spot: [2]*big.Int{evmsig.Uint(s.Data, 0), evmsig.Uint(s.Data, 1)}}
	switch { // what goes both ways is a flash swap, whose amounts are no price
	case in1.Sign() == 0 && out0.Sign() == 0:
		t.amount = [2]*big.Int{in0, out1}
	case in0.Sign() == 0 && out1.Sign() == 0:
		t.amount, t.in = [2]*big.Int{out0, in1}, 1
	default:
		return t, false
	}
	return t, true
}

// rootTrade reads a swap of a pool that reports the square root of its price, with 96
// binary places.
func rootTrade(l *ethrpc.Log, words int) (t trade, ok bool) {
	if len(l.Data) < words*32 {
		return t, false
	}
	a0, a1, root := evmsig.Int(l.Data, 0), evmsig.Int(l.Data, 1), evmsig.Uint(l.Data, 2)
	t = trade{pool: l.Address, amount: [2]*big.Int{new(big.Int).Abs(a0), new(big.Int).Abs(a1)}}
	if a0.Sign() < 0 {
		t.in = 1
	}
	t.spot = [2]*big.Int{new(big.Int).Lsh(big.NewInt(1), 192), root.Mul(root, root)}
	return t, a0.Sign()*a1.Sign() < 0
}

// identify finds the two tokens: one that came in and one that went out, each by exactly
// the amount of the event. More than one match gives no result.
func (q *quoter) identify(t *trade) bool {
	var found [2][]common.Address
	add := func(side int, token common.Address) {
		for _, x := range found[side] {
			if x == token {
				return
			}
		}
		found[side] = append(found[side], token)
	}
	for i := range q.Flow.Transfers {
		x := &q.Flow.Transfers[i]
		if x.Standard != ERC20 {
			continue
		}
		if x.To == t.pool && x.Amount.Cmp(t.amount[t.in]) == 0 {
			add(t.in, x.Token)
		}
		if x.From == t.pool && x.Amount.Cmp(t.amount[1-t.in]) == 0 {
			add(1-t.in, x.Token)
		}
	}
	if t.id != (common.Hash{}) { // only singletons hold native coin
		for i := range q.Flow.Moves {
			m := &q.Flow.Moves[i]
			if !m.NoTo && m.To == t.pool && m.Amount.Cmp(t.amount[t.in]) == 0 {
				add(t.in, common.Address{})
			}
			if m.Kind != MoveMint && m.From == t.pool && m.Amount.Cmp(t.amount[1-t.in]) == 0 {
				add(1-t.in, common.Address{})
			}
		}
	}
	if len(found[0]) != 1 || len(found[1]) != 1 {
		return false
	}
	t.token = [2]common.Address{found[0][0], found[1][0]}
	return t.token[0].Cmp(t.token[1]) < 0 // pools order their tokens by address
}
