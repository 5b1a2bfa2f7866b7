package flow

import (
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// wrapEvent reads Deposit and Withdrawal of WETH9, the only events when such a token is
// minted or burnt. Wrapped coins that also emit the Transfer are counted once. See
// foreignWrap for emitters other than the chain's own.
func (c *computation) wrapEvent(t Transfer, l *ethrpc.Log) {
	holder, v, ok := holderAmount(l)
	if !ok || v.IsZero() {
		return
	}
	in := l.Topics[0] == evmsig.TopicDeposit
	t.Standard, t.Wrap = ERC20, true
	if in {
		t.To = holder
	} else {
		t.From = holder
	}
	if c.hasTransferEvent(t, &v) {
		return
	}
	if w := c.Chain.WrappedNative; w == nil || t.Token != *w {
		if !c.foreignWrap(wrapKey{t.Token, holder, v, in}) {
			return
		}
	}
	c.transfer(t, nil, &v)
}

// holderAmount reads (address,uint256) with the address indexed or not.
func holderAmount(l *ethrpc.Log) (a common.Address, v uint256.Int, ok bool) {
	data := l.Data
	switch {
	case len(l.Topics) == 2 && len(data) >= 32:
		a, ok = evmsig.Address(l.Topics[1][:])
	case len(l.Topics) == 1 && len(data) >= 64:
		a, ok = evmsig.Address(data[:32])
		data = data[32:]
	}
	if ok {
		v.SetBytes32(data[:32])
	}
	return a, v, ok
}

// hasTransferEvent looks for the Transfer from or to the zero address that some wrapped
// coins emit in the same call, one or two logs away.
func (c *computation) hasTransferEvent(t Transfer, v *uint256.Int) bool {
	logs := c.Receipt.Logs
	for i := max(0, t.Log-2); i <= t.Log+2 && i < len(logs); i++ {
		if logs[i].Address != t.Token {
			continue
		}
		from, to, amount, ok := erc20Transfer(&logs[i])
		if ok && from == t.From && to == t.To && amount == *v {
			return true
		}
	}
	return false
}

// wraps is an index that distinguishes other wrapped coins from staking contracts, vaults
// and multi-signature wallets that emit the same events.
type wraps struct {
	calls  map[wrapKey]struct{}           // calls that look like WETH9's
	tokens map[common.Address]struct{}    // emitters of an ERC-20 Transfer between holders
	supply map[[2]common.Address]struct{} // token and holder of a mint or burn with a Transfer
}

type wrapKey struct {
	token, holder common.Address
	amount        uint256.Int
	in            bool
}

// foreignWrap reports whether an emitter other than the chain's wrapped coin minted or
// burnt by this event: the frames contain WETH9's call with the amount and the account of
// the event, the emitter is a token, and it has no other mint to or burn from that account.
// The index is built only for the few transactions that need it.
func (c *computation) foreignWrap(k wrapKey) bool {
	if c.wrap == nil {
		c.wrap = c.indexWraps()
	}
	if _, ok := c.wrap.calls[k]; !ok {
		return false
	}
	if _, ok := c.wrap.supply[[2]common.Address{k.token, k.holder}]; ok {
		return false
	}
	_, ok := c.wrap.tokens[k.token]
	return ok || c.Token != nil && c.Token(k.token)
}

func (c *computation) indexWraps() *wraps {
	w := &wraps{make(map[wrapKey]struct{}), make(map[common.Address]struct{}), make(map[[2]common.Address]struct{})}
	if c.Tree != nil {
		for _, f := range c.Tree.Frames {
			w.call(f)
		}
	}
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		from, to, _, ok := erc20Transfer(l)
		switch {
		case !ok:
		case from == common.Address{}:
			w.supply[[2]common.Address{l.Address, to}] = struct{}{}
		case to == common.Address{}:
			w.supply[[2]common.Address{l.Address, from}] = struct{}{}
		default:
			w.tokens[l.Address] = struct{}{}
		}
	}
	return w
}

// call indexes deposit() with value, and the payment that withdraw(amount) makes
// to its caller. Behind a proxy the delegate pays, under the proxy's address.
func (w *wraps) call(f *trace.Frame) {
	if f.Kind != trace.Call || f.Status != trace.OK || f.Value.IsZero() {
		return
	}
	if evmsig.SelDeposit.Begins(f.Input) {
		w.calls[wrapKey{f.To, f.From, f.Value, true}] = struct{}{}
	}
	p := f.Parent
	for p != nil && p.Kind == trace.DelegateCall {
		p = p.Parent
	}
	if p == nil || p.Kind != trace.Call || p.To != f.From || p.From != f.To || !evmsig.SelWithdraw.Begins(p.Input) || len(p.Input) < 36 {
		return
	}
	var amount uint256.Int
	if amount.SetBytes32(p.Input[4:36]); amount == f.Value {
		w.calls[wrapKey{f.From, f.To, f.Value, false}] = struct{}{}
	}
}
