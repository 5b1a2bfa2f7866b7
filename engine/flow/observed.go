package flow

import (
	"math/big"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// maxObserved bounds the balances that are followed.
const maxObserved = 1024

// rounding is the tolerance in base units for a token that stores shares.
const rounding = 2

// balanceKey is one holder of one token.
type balanceKey struct{ token, holder common.Address }

// balance is the last answer of a token, and what its logs moved since.
type balance struct {
	last    uint256.Int
	in, out uint384
	others  int // value of observer.others at that time
}

// observer follows the answers of balanceOf through the frames in order. Pools and routers
// ask before and after they are paid, so that the token itself reports what moved.
type observer struct {
	seen  map[balanceKey]*balance
	order []common.Address // tokens by their first comparison
	found map[common.Address][]holding
	count map[common.Address]int
	skip  map[common.Address]bool // already checked
	// others counts the logs, of tokens that have balances followed, that are neither
	// transfers nor approvals: these may change balances too.
	others map[common.Address]int
	// repeated are the positions of logs that report a movement a second time
	repeated map[int]bool
}

// observe compares, for tokens whose slots are unknown, the answers of balanceOf with what
// the logs moved in between. It requires a complete trace with placed logs.
func (c *computation) observe() {
	if c.Tree == nil || !c.Tree.HasLogs || c.Tree.Compressed() || !c.Succeeded {
		return
	}
	o := &observer{seen: map[balanceKey]*balance{}, found: map[common.Address][]holding{}, count: map[common.Address]int{},
		skip: map[common.Address]bool{}, others: map[common.Address]int{}, repeated: c.repeated}
	for i := range c.out.Checks {
		o.skip[c.out.Checks[i].Token] = true
	}
	o.walk(c.Tree.Root)
	for _, token := range o.order {
		if len(c.out.Checks) >= maxChecked {
			return
		}
		k := TokenCheck{Token: token, Match: LogsMatch, Holders: o.count[token], ByCalls: true}
		if differ := o.found[token]; len(differ) > 0 {
			k.Holder, k.ByLogs, k.ByState = differ[0].holder, differ[0].byLogs, differ[0].byState
			if k.Match = LogsDiffer; shortOnly(differ) {
				k.Match = FeeOnTransfer
			}
		}
		c.out.Checks = append(c.out.Checks, k)
	}
}

// shortOnly reports whether all holders got less, or gave more, than the logs say.
func shortOnly(differ []holding) bool {
	for i := range differ {
		if h := &differ[i]; h.byState.Cmp(h.byLogs) >= 0 || h.byState.Sign() != h.byLogs.Sign() {
			return false
		}
	}
	return true
}

func (o *observer) walk(f *trace.Frame) {
	if f.Status != trace.OK {
		return
	}
	o.call(f)
	for it := range f.Items() {
		switch {
		case it.Child != nil:
			o.walk(it.Child)
		case it.Log != nil:
			o.log(it.Log)
		}
	}
}

// call records an answer of balanceOf.
func (o *observer) call(f *trace.Frame) {
	if (f.Kind != trace.StaticCall && f.Kind != trace.Call) || len(f.Input) != 36 || [4]byte(f.Input[:4]) != evmsig.SelBalanceOf ||
		len(f.Output) != 32 ||
		o.skip[f.To] {
		return
	}
	holder, ok := evmsig.Address(f.Input[4:])
	if !ok {
		return
	}
	k := balanceKey{f.To, holder}
	b := o.seen[k]
	if b == nil {
		if len(o.seen) == maxObserved {
			return
		}
		b = &balance{}
		o.seen[k] = b
		o.others[f.To] += 0
	} else {
		o.compare(k, b, new(uint256.Int).SetBytes32(f.Output))
	}
	*b = balance{others: o.others[f.To]}
	b.last.SetBytes32(f.Output)
}

// compare compares two answers with the logs between them, if these moved anything.
func (o *observer) compare(k balanceKey, b *balance, now *uint256.Int) {
	if b.others != o.others[k.token] || b.in == b.out {
		return
	}
	if o.count[k.token] == 0 {
		o.order = append(o.order, k.token)
	}
	o.count[k.token]++
	byLogs := net(&b.in, &b.out)
	byState := signed(new(uint256.Int).Sub(now, &b.last))
	if off := new(big.Int).Sub(byLogs, byState); off.CmpAbs(big.NewInt(rounding)) > 0 || off.Sign() != 0 && byLogs.CmpAbs(fewerTokens) < 0 {
		o.found[k.token] = append(o.found[k.token], holding{k.holder, byLogs, byState})
	}
}

// log records a transfer for the holders that are followed.
func (o *observer) log(l *trace.Log) {
	if _, followed := o.others[l.Address]; !followed || len(l.Topics) == 0 || l.Topics[0] == evmsig.TopicApproval || o.repeated[l.Receipt] {
		return
	}
	from, to, v, ok := erc20Transfer(&ethrpc.Log{Address: l.Address, Topics: l.Topics, Data: l.Data})
	if !ok {
		o.others[l.Address]++
		return
	}
	if b := o.seen[balanceKey{l.Address, from}]; b != nil {
		b.out.add(&v)
	}
	if b := o.seen[balanceKey{l.Address, to}]; b != nil {
		b.in.add(&v)
	}
}
