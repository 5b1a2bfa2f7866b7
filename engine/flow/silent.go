package flow

import (
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// moving are the functions that move, mint or burn tokens.
var moving = map[evmsig.Selector]bool{
	evmsig.SelTransfer: true, evmsig.SelTransferFrom: true, evmsig.SelTransferData: true, evmsig.SelTransferAndCall: true,
	evmsig.SelSend: true, evmsig.SelTransferItem: true, evmsig.SelTransferItemFrom: true, evmsig.SelSafeTransferFrom: true,
	evmsig.SelSafeTransferFromData: true, evmsig.SelSafeTransferFromItem: true, evmsig.SelSafeBatchTransfer: true,
	evmsig.SelMint: true, evmsig.SelMintTo: true, evmsig.SelBurn: true, evmsig.SelBurnOf: true, evmsig.SelBurnFrom: true,
}

// silent books the movements of tokens that log nothing: calls asked for them, and the slots
// of all holders changed by what the calls of the token add up to.
func (c *computation) silent() {
	if c.Diff == nil || c.Receipt == nil {
		return
	}
	calls := c.movingCalls()
	if len(calls) == 0 {
		return
	}
	logged := map[common.Address]bool{}
	for i := range c.Receipt.Logs {
		logged[c.Receipt.Logs[i].Address] = true
	}
	asked := map[common.Address][]movedLog{}
	var tokens []common.Address
	for _, f := range calls {
		m, ok := c.askedMove(f)
		if !ok || logged[f.To] || c.nativeToken(f.To) {
			continue
		}
		if asked[f.To] == nil {
			tokens = append(tokens, f.To)
		}
		asked[f.To] = append(asked[f.To], m)
	}
	for _, token := range tokens {
		w := writtenBy(c.Diff, token)
		if list := asked[token]; w.any() && w.agrees(netsOf(list, nil)) {
			for i := range list {
				m := &list[i]
				c.transfer(Transfer{Standard: ERC20, Token: token, From: m.from, To: m.to, Log: NoLog, Call: m.frame.Index}, nil, &m.v)
			}
		}
	}
}

// askedMove reads a call as a movement of an amount; a call that its token forwards, or
// refuses, is none.
func (c *computation) askedMove(f *trace.Frame) (m movedLog, ok bool) {
	args := f.Input[4:]
	s := evmsig.Called(f.Input)
	at, known := amountAt[s]
	w := evmsig.Word(args, at)
	if !known || w == nil || !granted(f.Output) || forwarded(f) {
		return m, false
	}
	m.frame = f
	m.v.SetBytes32(w)
	first, isAddress := evmsig.Address(evmsig.Word(args, 0))
	switch s {
	case evmsig.SelTransfer:
		m.from, m.to, ok = f.From, first, isAddress
	case evmsig.SelTransferFrom:
		m.from, m.to, ok = parties(args[:32], args[32:64])
	case evmsig.SelMint, evmsig.SelMintTo:
		m.to, ok = first, isAddress
	case evmsig.SelBurn:
		m.from, ok = f.From, true
	case evmsig.SelBurnOf, evmsig.SelBurnFrom:
		m.from, ok = first, isAddress
	}
	return m, ok && m.from != m.to && !m.v.IsZero()
}

// movingCalls lists the successful calls of functions that move tokens.
func (c *computation) movingCalls() (calls []*trace.Frame) {
	if c.Tree == nil || !c.Succeeded {
		return nil
	}
	for _, f := range c.Tree.Frames {
		if f.Kind == trace.Call && f.Status == trace.OK && f.HasTo && len(f.Input) >= 4 && moving[evmsig.Called(f.Input)] {
			calls = append(calls, f)
		}
	}
	return calls
}

// unread reports whether evidence beside the logs speaks of movements although no event
// tells of any: calls that asked for them and were not refused, or a known token whose
// storage changed. Without a trace nothing but the logs was seen.
func (c *computation) unread() bool {
	if !c.Succeeded || len(c.out.Transfers) > 0 {
		return false
	}
	if c.Tree == nil || c.Tree.Source == trace.SourceReceipt {
		return true
	}
	for _, f := range c.movingCalls() {
		if granted(f.Output) && !c.fake[f.To] && !asksForNothing(f) {
			return true
		}
	}
	if c.Diff == nil || c.Receipt == nil {
		return false
	}
	for a, acc := range c.Diff.Post {
		if len(acc.Storage) > 0 && c.knownToken(a) && !c.approvesOnly(a) {
			return true
		}
	}
	return false
}

// asksForNothing reports whether a call asks to move an amount of zero.
func asksForNothing(f *trace.Frame) bool {
	at, known := amountAt[evmsig.Called(f.Input)]
	w := evmsig.Word(f.Input[4:], at)
	return known && w != nil && new(uint256.Int).SetBytes32(w).IsZero()
}

// approvesOnly reports whether a token logged approvals, which explain that its storage
// changed.
func (c *computation) approvesOnly(token common.Address) bool {
	for i := range c.Receipt.Logs {
		if l := &c.Receipt.Logs[i]; l.Address == token && len(l.Topics) > 0 && l.Topics[0] == evmsig.TopicApproval {
			return true
		}
	}
	return false
}
