package classify

import (
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// noLog is the receipt position of a hit that a call makes, not a log.
const noLog = -1

// frameRules are the calls that only a pool, a lender or a book of orders answers.
// They stand in for the events where nobody has the logs. Routers are left out: what
// they do shows at the pools below them.
var frameRules = func() map[[4]byte]*rule4log {
	m := map[[4]byte]*rule4log{}
	add := func(act act, slug string, f flags, signatures ...string) {
		for _, s := range signatures {
			m[evmsig.Func(s)] = &rule4log{act: act, slug: slug, flags: f, signature: s}
		}
	}
	const limitOrder = "(address,address,uint128,uint128,uint128,address,address,address,address,bytes32,uint64,uint256)"
	const rfqOrder = "(address,address,uint128,uint128,address,address,address,bytes32,uint64,uint256)"
	const sig = "(uint8,uint8,bytes32,bytes32)"
	add(actSwap, "uniswap_v2", flagPool|flagFork, "swap(uint256,uint256,address,bytes)")
	add(actSwap, "uniswap_v3", flagPool|flagFork, "swap(address,bool,int256,uint160,bytes)")
	add(actSwap, "curve", flagPool|flagFork, "exchange(int128,int128,uint256,uint256)", "exchange_underlying(int128,int128,uint256,uint256)",
		"exchange(uint256,uint256,uint256,uint256)", "exchange(uint256,uint256,uint256,uint256,bool)")
	add(actSwap, "balancer_v1", flagPool|flagFork, "swapExactAmountIn(address,uint256,address,uint256,uint256)",
		"swapExactAmountOut(address,uint256,address,uint256,uint256)")
	add(actSwap, "zerox", flagOwn|flagMaker, "fillLimitOrder("+limitOrder+","+sig+",uint128)", "_fillLimitOrder("+limitOrder+","+sig+",uint128,address,address)",
		"fillRfqOrder("+rfqOrder+","+sig+",uint128)", "_fillRfqOrder("+rfqOrder+","+sig+",uint128,address,bool,address)")
	add(actLiquidate, "aave", flagOwn, "liquidationCall(address,address,address,uint256,bool)")
	add(actLiquidate, "compound_v2", flagOwn, "liquidateBorrow(address,uint256,address)", "liquidateBorrow(address,address)")
	return m
}()

// collectCalls makes hits of live calls where nobody has the logs.
func (a *analysis) collectCalls() {
	if a.Tree == nil {
		return
	}
	for _, f := range a.Tree.Frames {
		if f.Status != trace.OK || f.Kind != trace.Call || !f.HasTo || len(f.Input) < 4 {
			continue
		}
		r := frameRules[[4]byte(f.Input)]
		if r == nil || f.Parent != nil && f.Parent.Kind == trace.Call && f.Parent.To == f.From && sameCall(f.Parent, f) {
			continue
		}
		h := hit{rule: r, act: r.act, log: noLog, frame: f.Index, emitter: f.To, anyParty: true}
		if h.slug = a.protocolAt(f.To); h.slug == "" && r.flags&flagOwn != 0 {
			h.slug = r.slug
		}
		a.hits = append(a.hits, h)
		if len(a.hits) == maxScan {
			break
		}
	}
}

// sameCall: a contract passes a call on as it came.
func sameCall(outer, inner *trace.Frame) bool {
	return len(outer.Input) >= 4 && [4]byte(outer.Input) == [4]byte(inner.Input) && len(outer.Input) == len(inner.Input)
}

// callersOf are the contracts without a name that called a pool: they trade, for
// themselves or for whoever called them. Few do in one transaction.
func (a *analysis) callersOf(pools map[common.Address]bool) (who []common.Address) {
	if a.Tree == nil {
		return nil
	}
	for _, f := range a.Tree.Frames {
		if f.Kind != trace.Call || f.Status != trace.OK || !f.HasTo || len(f.Input) < 4 || !pools[f.To] || pools[f.From] {
			continue
		}
		if f.From == a.sender || a.known(f.From) || a.isToken(f.From) || contains(who, f.From) {
			continue
		}
		if who = append(who, f.From); len(who) == 4 {
			break
		}
	}
	return who
}
