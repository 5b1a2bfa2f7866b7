package classify

import (
	"bytes"
	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// riskPoisoning: transfers of nothing alone, or of next to nothing from or to an address
// that looks like another counterparty of the same account.
func riskPoisoning(a *facts.Case) (risks []verdict.Risk) {
	if a.IsPoisoning() {
		return []verdict.Risk{flag(verdict.AddressPoisoning, verdict.OnlyZeroTransfers)}
	}
	if a.Flow == nil || len(a.Flow.Transfers) > facts.MaxStrangers {
		return nil
	}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if !tiny(a, t) {
			continue
		}
		for j := range a.Flow.Transfers {
			o := &a.Flow.Transfers[j]
			for _, pair := range [][4]common.Address{
				{t.From, t.To, o.From, o.To}, {t.To, t.From, o.To, o.From},
				{t.From, t.To, o.To, o.From}, {t.To, t.From, o.From, o.To},
			} {
				if pair[0] == pair[2] && pair[1] != pair[3] && looksLike(pair[1], pair[3]) {
					return []verdict.Risk{flag(verdict.AddressPoisoning, verdict.LookalikeCounterparty,
						verdict.Abbreviated(pair[1]), amountOf(t), verdict.Whole(pair[3]), verdict.Who(pair[0]))}
				}
			}
		}
	}
	return nil
}

func amountOf(t *flow.Transfer) verdict.Amount {
	return verdict.Amount{Key: t.Key(), N: t.Amount}
}

// tiny reports whether a transfer moved nothing, or less than a hundredth of a token.
func tiny(a *facts.Case, t *flow.Transfer) bool {
	if t.Amount.Sign() == 0 {
		return true
	}
	d, ok := a.Decimals(t.Token)
	return ok && t.ID == nil && d >= 2 && t.Amount.Cmp(api.PowerOfTen(int(d)-2)) < 0
}

// looksLike reports whether two addresses share their first and last four digits, which is
// what people compare.
func looksLike(x, y common.Address) bool {
	return x[0] == y[0] && x[1] == y[1] && x[18] == y[18] && x[19] == y[19]
}

func riskLookalike(a *facts.Case) (risks []verdict.Risk) {
	if a.Flow == nil {
		return nil
	}
	seen := map[common.Address]bool{}
	for _, list := range [][]flow.Transfer{a.Flow.Transfers, a.Flow.Fakes} {
		for i := range list {
			token := list[i].Token
			if like := a.Tokens[token].Lookalike; like != "" && !seen[token] && len(risks) < 5 {
				risks = append(risks, flag(verdict.AddressPoisoning, verdict.LookalikeToken, verdict.Abbreviated(token), verdict.Foreign(like)))
			}
			seen[token] = true
		}
	}
	return risks
}

// riskFake: transfer events of a token whose storage shows none of it.
func riskFake(a *facts.Case) (risks []verdict.Risk) {
	if a.Flow == nil {
		return nil
	}
	count := map[common.Address]int{}
	var order []common.Address
	for i := range a.Flow.Fakes {
		t := a.Flow.Fakes[i].Token
		if count[t]++; count[t] == 1 {
			order = append(order, t)
		}
	}
	for _, t := range order {
		if len(risks) == 5 {
			break
		}
		risks = append(
			risks,
			flag(
				verdict.FakeTransferEvent,
				verdict.EventsWithoutStorage,
				verdict.Abbreviated(t),
				verdict.Count{N: count[t], Of: verdict.OfTransferEvents},
			),
		)
	}
	// A token that writes something, and whose balanceOf tells the same before and after.
	for i := range a.Flow.Checks {
		c := &a.Flow.Checks[i]
		if c.ByCalls && c.Match == flow.LogsDiffer && c.ByState != nil && c.ByState.Sign() == 0 && len(risks) < 5 {
			risks = append(risks, flag(verdict.FakeTransferEvent, verdict.EventsWithoutBalance,
				verdict.Abbreviated(c.Token), verdict.Amount{Key: flow.TokenKey{Token: c.Token}, N: c.ByLogs}, verdict.Who(c.Holder)))
		}
	}
	return risks
}

// maxStuck bounds the items of a batch that are told one by one.
const maxStuck = 5

// riskStuck: value that as a rule cannot be sent on: sent to the token contract itself, to
// the zero address, or along with a function call to an address without code.
func riskStuck(a *facts.Case) (risks []verdict.Risk) {
	if a.Flow == nil {
		return nil
	}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if len(risks) == maxStuck {
			break
		}
		if t.From != a.Actor || t.Amount.Sign() == 0 || !directTransfer(a, t) {
			continue
		}
		switch t.To {
		case t.Token:
			if len(a.In) > 0 || !stays(a, t) {
				continue // a contract that takes its tokens back, and gives something for them
			}
			risks = append(risks, flag(verdict.StuckValue, verdict.SentToTokenItself, amountOf(t)))
		case common.Address{}:
			risks = append(risks, flag(verdict.StuckValue, verdict.TransferredToZero, amountOf(t)))
		}
	}
	if a.Tx.To == nil || a.Tx.Value == nil || a.Tx.Value.Sign() == 0 {
		return risks
	}
	value := verdict.Amount{N: a.Tx.Value}
	_, token := a.Tokens[*a.Tx.To]
	switch {
	case *a.Tx.To == common.Address{}:
		risks = append(risks, flag(verdict.StuckValue, verdict.SentToZero, value))
	case token && len(a.Tx.Input) == 0 && a.Unlogged() && !a.WrappedNative(*a.Tx.To) && !passedOn(a):
		risks = append(risks, flag(verdict.StuckValue, verdict.SentToIdleToken, value))
	case callsNobody(a):
		risks = append(risks, flag(verdict.StuckValue, verdict.SentToNoCode, value, verdict.Who(*a.Tx.To)))
	}
	return risks
}

// passedOn reports whether the called contract made any call itself.
func passedOn(a *facts.Case) bool {
	f := a.RootFrame()
	return f == nil || len(f.Children) > 0
}

// callsNobody: the calldata is that of a known function, and no more gas went than a plain
// transfer with these bytes costs, so that nothing can have executed it.
func callsNobody(a *facts.Case) bool {
	in := a.Tx.Input
	if len(in) < 4 || len(in)%32 != 4 || !a.Unlogged() || a.Call == nil && a.Function == "" {
		return false
	}
	if f := a.RootFrame(); f == nil || a.Tree.Source == trace.SourceReceipt || len(f.Children) > 0 || len(f.Output) > 0 {
		return false
	}
	zeros := uint64(bytes.Count(in, []byte{0}))
	ones := uint64(len(in)) - zeros
	tokens := zeros + 4*ones
	// Of EIP-2028 and EIP-7623: 21,000 and 4 a token, or the floor of 10 a token.
	return a.Receipt.GasUsed == 21000+4*tokens || a.Receipt.GasUsed == 21000+10*tokens
}
