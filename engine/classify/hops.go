package classify

import (
	"math/big"
	"sort"
	"strings"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/protocol"

	"github.com/ethereum/go-ethereum/common"
)

// hop is what one pool took and gave for one swap.
type hop struct {
	hit        *hit
	in, out    flow.TokenKey
	took, gave *big.Int
}

// coinMarks are the addresses by which protocols write native coin among tokens.
var coinMarks = map[common.Address]bool{{}: true, common.HexToAddress("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"): true}

func keyOfAddress(token common.Address) flow.TokenKey {
	if coinMarks[token] {
		return flow.TokenKey{}
	}
	return leg20(token)
}

// hops are the swaps of pools whose both sides the evidence shows, in the order of
// their events.
func (a *Reading) hops(swaps []*hit) (list []hop) {
	for _, h := range swaps {
		if h.rule == nil || h.rule.flags&(flagPool|flagVault) == 0 {
			continue
		}
		if x, ok := a.hopOf(h); ok {
			list = append(list, x)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].hit.log < list[j].hit.log })
	return list
}

// hopOf reads the event's own words for it; amounts that name no token are looked up
// among what was paid to and by the pool just before.
func (a *Reading) hopOf(h *hit) (hop, bool) {
	l := a.eventOf(h)
	num := func(role string) *big.Int { return h.rule.number(l, role) }
	tokenIn, ok1 := h.rule.address(l, "token_in")
	tokenOut, ok2 := h.rule.address(l, "token_out")
	took, gave := num("amount_in"), num("amount_out")
	if took == nil || gave == nil {
		took, gave = pairOf(num)
	}
	if took == nil || gave == nil || took.Sign() <= 0 || gave.Sign() <= 0 {
		return hop{}, false
	}
	if ok1 && ok2 {
		return hop{h, keyOfAddress(tokenIn), keyOfAddress(tokenOut), took, gave}, true
	}
	in, ok1 := a.paid(common.Address{}, h.emitter, took, h.log)
	out, ok2 := a.paid(h.emitter, common.Address{}, gave, h.log)
	return hop{h, in, out, took, gave}, ok1 && ok2 && in != out
}

// pairOf reads the amounts of a pool of two tokens: four unsigned ones, in and out of
// each, or two signed ones of which one was taken and the other given.
func pairOf(num func(string) *big.Int) (took, gave *big.Int) {
	in0, in1, out0, out1 := num("amount0_in"), num("amount1_in"), num("amount0_out"), num("amount1_out")
	if in0 != nil && in1 != nil && out0 != nil && out1 != nil {
		switch {
		case in0.Sign() > 0 && in1.Sign() == 0 && out1.Sign() > 0 && out0.Sign() == 0:
			return in0, out1
		case in1.Sign() > 0 && in0.Sign() == 0 && out0.Sign() > 0 && out1.Sign() == 0:
			return in1, out0
		}
		return nil, nil
	}
	n0, n1 := signed(num("amount0")), signed(num("amount1"))
	if n0 == nil || n1 == nil || n0.Sign()*n1.Sign() >= 0 {
		return nil, nil
	}
	if n0.Sign() < 0 {
		n0, n1 = n1, n0
	}
	return n0, new(big.Int).Neg(n1)
}

var (
	wordTop  = new(big.Int).Lsh(big.NewInt(1), 255)
	wordSize = new(big.Int).Lsh(big.NewInt(1), 256)
)

// signed reads a word as a two's complement integer.
func signed(n *big.Int) *big.Int {
	if n != nil && n.Cmp(wordTop) >= 0 {
		return new(big.Int).Sub(n, wordSize)
	}
	return n
}

// paid finds the asset of which an address got or gave exactly an amount, by the last
// transfer before a log, or by a call with value. The zero address is anybody.
func (a *Reading) paid(from, to common.Address, amount *big.Int, before int) (flow.TokenKey, bool) {
	any := common.Address{}
	if a.Flow == nil {
		return flow.TokenKey{}, false
	}
	for i := len(a.Flow.Transfers) - 1; i >= 0; i-- {
		t := &a.Flow.Transfers[i]
		if t.Log < before && t.ID == nil && (from == any || t.From == from) && (to == any || t.To == to) && t.Amount.Cmp(amount) == 0 && t.From != t.To {
			return keyOf(t), true
		}
	}
	for i := range a.Flow.Moves {
		m := &a.Flow.Moves[i]
		if m.Kind != flow.MoveFee && (from == any || m.From == from) && (to == any || m.To == to) && m.Amount.Cmp(amount) == 0 {
			return flow.TokenKey{}, true
		}
	}
	return flow.TokenKey{}, false
}

// routeSteps tell of a swap that went over several pools as of one trade.
func (a *stepWriter) routeSteps(o *opinion) []step {
	if o.act != actSwap || len(a.actors) != 1 || len(o.hits) > maxTried {
		return nil
	}
	list := a.hops(o.hits)
	if len(list) < 2 {
		return nil
	}
	text := func() string { return a.sayRoute(list) + "." }
	return []step{{at: 2*list[len(list)-1].hit.log + 2, text: text}}
}

// maxHops bounds the pools that a route names.
const maxHops = 6

func (a *stepWriter) sayRoute(list []hop) string {
	pools := make([]common.Address, len(list))
	for i := range list {
		pools[i] = list[i].hit.emitter
	}
	over := api.Count(len(list), "trade")
	swap := "The swap" + a.frontOf(list) + " is one trade"
	if n := len(distinct(pools)); n == len(list) {
		over = api.Count(n, "pool")
	}
	if len(list) > maxHops || !chained(list) {
		if one := parallel(list); one && len(list) <= maxHops {
			var parts []string
			for i := range list {
				parts = append(parts, a.Amount(list[i].in, list[i].took)+" for "+a.Amount(list[i].out, list[i].gave))
			}
			return swap + " split over " + over + ": " + join(parts)
		}
		return swap + " over " + over
	}
	var b strings.Builder
	b.WriteString(swap + " over " + over + ": " + a.Amount(list[0].in, list[0].took))
	for i := range list {
		b.WriteString(" to " + a.Amount(list[i].out, list[i].gave))
	}
	return b.String()
}

// frontOf names the protocol that the swap went through, where it is none of the pools'.
func (a *stepWriter) frontOf(list []hop) string {
	slug := ""
	if len(a.v.Votes) > 0 {
		slug = a.v.Votes[0].Protocol
	}
	for i := range list {
		if list[i].hit.slug == slug {
			return ""
		}
	}
	return on("through", protocol.NameOf(slug))
}

// chained reports whether each pool takes what the one before gave.
func chained(list []hop) bool {
	for i := 1; i < len(list); i++ {
		if list[i].in != list[i-1].out {
			return false
		}
	}
	return true
}

// parallel reports whether all pools trade the same pair the same way.
func parallel(list []hop) bool {
	for i := range list {
		if list[i].in != list[0].in || list[i].out != list[0].out {
			return false
		}
	}
	return true
}
