package report

import (
	"math/big"
	"strings"

	"txlens/engine/api"
)

// Directions of an amount of a pool event.
const (
	anyWay = iota // says nothing about a movement
	into
	outOf
	bySign // positive: into the pool
)

// poolArg is an argument of a pool event: an amount of the first or second token.
type poolArg struct{ at, side, way int }

// poolEvents are the events of Uniswap v2 and v3, and of pools like them, that name amounts
// of both tokens.
var poolEvents = map[string][]poolArg{
	"Swap(address,uint256,uint256,uint256,uint256,address)":                     {{1, 0, into}, {2, 1, into}, {3, 0, outOf}, {4, 1, outOf}},
	"Mint(address,uint256,uint256)":                                             {{1, 0, into}, {2, 1, into}},
	"Burn(address,uint256,uint256,address)":                                     {{1, 0, outOf}, {2, 1, outOf}},
	"Sync(uint112,uint112)":                                                     {{0, 0, anyWay}, {1, 1, anyWay}},
	"Swap(address,address,int256,int256,uint160,uint128,int24)":                 {{2, 0, bySign}, {3, 1, bySign}},
	"Mint(address,address,int24,int24,uint128,uint256,uint256)":                 {{5, 0, into}, {6, 1, into}},
	"Collect(address,address,int24,int24,uint128,uint128)":                      {{4, 0, outOf}, {5, 1, outOf}},
	"Swap(address,address,int256,int256,uint160,uint128,int24,uint128,uint128)": {{2, 0, bySign}, {3, 1, bySign}},
}

// passage is an amount that went into a pool or out of it.
type passage struct {
	pool   api.Addr
	out    bool
	amount string
}

// poolTokens finds the two tokens of each pool: the amounts of its events went into or out of
// it as transfers of one token each. A pool whose events fit several tokens is left out.
func poolTokens(r *api.Result) map[api.Addr][2]api.Addr {
	moved := map[passage]api.Addr{}
	several := map[passage]bool{}
	note := func(p passage, token api.Addr) {
		first, seen := moved[p]
		several[p] = several[p] || seen && first != token
		moved[p] = token
	}
	for i := range r.TokenTransfers {
		t := &r.TokenTransfers[i]
		if t.Type == "erc20" {
			note(passage{t.To, false, t.Total}, t.TokenAddress)
			note(passage{t.From, true, t.Total}, t.TokenAddress)
		}
	}
	pools, refused := map[api.Addr][2]api.Addr{}, map[api.Addr]bool{}
	for i := range r.PrettyTrace {
		node := &r.PrettyTrace[i]
		for _, a := range poolEvents[signature(node)] {
			p, ok := passageOf(node, a)
			token, known := moved[p]
			if !ok || !known || several[p] || node.Type != "LOG" || node.Status != api.NodeOK {
				continue
			}
			pair := pools[node.From]
			if pair[a.side] != (api.Addr{}) && pair[a.side] != token || pair[1-a.side] == token {
				refused[node.From] = true
			}
			pair[a.side] = token
			pools[node.From] = pair
		}
	}
	for pool := range refused {
		delete(pools, pool)
	}
	return pools
}

// passageOf is the movement that an argument of a pool event speaks of.
func passageOf(node *api.Node, a poolArg) (p passage, ok bool) {
	if a.way == anyWay || a.at >= len(node.DecodedArgs) {
		return p, false
	}
	text, _ := node.DecodedArgs[a.at].Value.(string)
	n := integer(text)
	if n == nil || n.Sign() == 0 {
		return p, false
	}
	out := a.way == outOf || a.way == bySign && n.Sign() < 0
	return passage{node.From, out, new(big.Int).Abs(n).String()}, true
}

// poolAmount writes an amount of a pool event in whole tokens; empty where the token is not
// known.
func (n *names) poolAmount(node *api.Node, i int, raw string) string {
	for _, a := range poolEvents[signature(node)] {
		if token := n.pools[node.From][a.side]; a.at == i && node.Type == "LOG" && token != (api.Addr{}) {
			digits, negative := strings.CutPrefix(raw, "-")
			text := n.inTokens(token, digits)
			if negative && text != "" {
				text = "-" + text
			}
			return text
		}
	}
	return ""
}
