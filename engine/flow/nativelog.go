package flow

import (
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// nativeByLogs records native moves that appear only in the logs of the coin's own token
// contract. It reports whether those logs are complete.
func (c *computation) nativeByLogs() bool {
	if c.Receipt == nil {
		return false
	}
	switch c.Chain.Stack.NativeLogs() {
	case chain.NativeLogsAll:
		c.allByLogs()
		c.out.Complete = true
		return true
	case chain.NativeLogsAdd:
		c.addByLogs()
	}
	return c.movesByLogs()
}

// movesByLogs reads the native moves of a transaction without a trace from the logs of
// EIP-7708, which are complete: it reports whether there are any. Logs that lack the value of
// the transaction itself, which comes first, are something else.
func (c *computation) movesByLogs() bool {
	if c.Tree != nil && c.Tree.Root != nil && c.Tree.Source != trace.SourceReceipt || !c.Succeeded || c.txType.OutsideFrames {
		return false
	}
	type native struct {
		from, to common.Address
		amount   uint256.Int
	}
	var list []native
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if l.Address != evmsig.NativeLogger {
			continue
		}
		from, to, v, ok := erc20Transfer(l)
		if !ok {
			return false
		}
		list = append(list, native{from, to, v})
	}
	to, created := c.target()
	v, paid := positive(c.Tx.Value)
	paid = paid && to != c.Tx.From
	if paid && (len(list) == 0 || list[0].from != c.Tx.From || list[0].to != to || !list[0].amount.Eq(v)) {
		return false
	}
	for i := range list {
		m := Move{Kind: MoveCall, From: list[i].from, To: list[i].to, Frame: -1}
		if paid && i == 0 {
			if c.Tree != nil && c.Tree.Root != nil {
				m.Frame = c.Tree.Root.Index
			}
			if created {
				m.Kind = MoveCreate
			}
		}
		c.move(m, &list[i].amount)
	}
	c.out.Complete = len(list) > 0
	return len(list) > 0
}

// target is the account that the transaction calls or creates.
func (c *computation) target() (to common.Address, created bool) {
	switch {
	case c.Tx.To != nil:
		return *c.Tx.To, false
	case c.Receipt.ContractAddress != nil:
		return *c.Receipt.ContractAddress, true
	}
	return common.Address{}, true
}

// addByLogs records the moves made through the coin's token interface, which carry no call
// value.
func (c *computation) addByLogs() {
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if !c.nativeToken(l.Address) {
			continue
		}
		if from, to, v, ok := erc20Transfer(l); ok {
			m := Move{Kind: MoveToken, From: from, To: to, Frame: -1}
			if from == (common.Address{}) {
				m.Kind = MoveMint
			}
			c.move(m, &v)
		}
	}
}

// allByLogs reads all native moves from the logs of the coin's token (ZKsync's
// L2BaseToken): one Transfer for every move, fee prepayment and refund included. The latter
// two are the fee, not transfers of the user.
func (c *computation) allByLogs() {
	var paid, refunded uint384
	prepaid := func(a common.Address) bool { return c.fee.Prepaid != nil && a == *c.fee.Prepaid }
	payer := c.Tx.From
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if !c.nativeToken(l.Address) || len(l.Topics) == 0 {
			continue
		}
		if c.zkSupply(l) {
			continue
		}
		from, to, v, ok := erc20Transfer(l)
		switch {
		case !ok:
		case prepaid(to): // from the account, or from its paymaster
			payer = from
			paid.add(&v)
		case prepaid(from) && to == payer:
			refunded.add(&v)
		default:
			c.move(Move{Kind: MoveToken, From: from, To: to, Frame: -1}, &v)
		}
	}
	if paid.isZero() {
		return // paid on L1: the receipt decides
	}
	f := newFee(payer)
	if n := net(&paid, &refunded); n != nil && n.Sign() > 0 {
		f.Total.Set(n)
		f.Execution.Set(n)
		f.pay(c.fee.Prepaid, roleBootloader, n)
	}
	c.out.Fee = f
	c.bookFee(f)
}

// zkSupply records coin that arrives from L1 or leaves to it.
func (c *computation) zkSupply(l *ethrpc.Log) bool {
	switch {
	case l.Topics[0] == evmsig.TopicMint && len(l.Topics) == 2 && len(l.Data) >= 32:
		if to, ok := evmsig.Address(l.Topics[1][:]); ok {
			c.mint(to, evmsig.Uint(l.Data, 0))
		}
		return true
	case l.Topics[0] == evmsig.TopicBaseWithdrawal && len(l.Topics) == 3 && len(l.Data) >= 32:
		var v uint256.Int
		v.SetBytes32(l.Data[:32])
		c.move(Move{Kind: MoveBurn, From: l.Address, Frame: -1, NoTo: true}, &v)
		return true
	}
	return false
}
