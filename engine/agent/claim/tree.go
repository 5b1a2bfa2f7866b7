package claim

import (
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Shapes of the call tree by which code can tell causes apart where models confuse
// them.

// forwarded reports whether one of the contracts made a call whose target and calldata both
// occur in its own calldata.
func (ix *Index) forwarded(asked func(api.Addr) bool) bool {
	if ix.c.Tree == nil {
		return false
	}
	for _, f := range ix.c.Tree.Frames {
		if len(f.Input) < 4 || len(f.Children) == 0 || !asked(api.AddrOf(f.To)) {
			continue
		}
		for _, c := range f.Children {
			if c.Kind == trace.Call && len(c.Input) >= 4 && facts.Forwards(f, c) {
				return true
			}
		}
	}
	return false
}

// marketMoved reports whether the transaction contains a trade.
func (ix *Index) marketMoved() bool {
	for i := range ix.r.PrettyTrace {
		n := &ix.r.PrettyTrace[i]
		name := strings.ToLower(n.FunctionName)
		if n.Status == api.NodeOK &&
			(strings.Contains(name, "swap") || strings.Contains(name, "exchange") ||
				slices.Contains([]string{"sync", "buy", "sell", "trade"}, name)) {
			return true
		}
	}
	return slices.ContainsFunc(ix.r.Addresses, func(a api.Address) bool { return a.Role == "pool" })
}

// donated reports whether one of the sender's own addresses sent tokens to an account
// outside of any call of that account.
func (ix *Index) donated(victims []api.Addr) bool {
	if ix.c.Tree == nil || ix.c.Receipt == nil {
		return false
	}
	own, frames := ix.c.Case.PartyAndActor(), ix.c.Tree.LogFrames()
	for i := range ix.c.Flow.Transfers {
		t := &ix.c.Flow.Transfers[i]
		if t.Log == flow.NoLog || !slices.Contains(own, t.From) || !slices.Contains(victims, api.AddrOf(t.To)) {
			continue
		}
		if f := frames[t.Log]; f != nil && !inside(f, t.To) {
			return true
		}
	}
	return false
}

func inside(f *trace.Frame, a common.Address) bool {
	for ; f != nil; f = f.Parent {
		if f.To == a {
			return true
		}
	}
	return false
}

// flagged reports whether the rules raised a flag that shows an amplifier.
func (ix *Index) flagged(by api.Amplifier) bool {
	return by != "" && ix.c.Verdict != nil &&
		slices.ContainsFunc(ix.c.Verdict.Risks, func(r verdict.Risk) bool { return r.Flag.Info().Amplifier == by })
}

// has reports whether a frame of one of the kinds succeeded.
func (ix *Index) has(kinds ...trace.Kind) bool {
	return ix.c.Tree != nil && slices.ContainsFunc(ix.c.Tree.Frames, func(f *trace.Frame) bool {
		return f.Status == trace.OK && slices.Contains(kinds, f.Kind)
	})
}

// amplifies reports whether the evidence shows an amplifier. It cannot show what happened
// outside of the transaction, such as where the sender's coin came from.
func (ix *Index) amplifies(a api.Amplifier) bool {
	return ix.flagged(a) || ix.c.Triage != nil && slices.Contains(ix.c.Triage.Amplifiers, a)
}

// recategorised corrects the category if the call tree decides it. sure is false if the
// tree contradicts the category without showing another one.
func (ix *Index) recategorised(f *Finding) (cause api.Category, sure bool) {
	switch f.Category {
	case api.PriceManipulation:
		switch {
		case ix.marketMoved():
		case ix.donated(f.Victim):
			return api.ShareInflation, true
		default:
			return f.Category, false // what needs no moved market is no manipulation of one
		}
	case api.Reentrancy:
		return f.Category, !ix.c.Tree.Whole() || len(ix.c.Case.Reentries()) > 0
	case api.AccessControl, api.InsufficientValidation:
		if ix.forwarded(func(a api.Addr) bool { return slices.Contains(f.Victim, a) }) {
			return api.ArbitraryCall, true
		}
	}
	return f.Category, true
}

// onlyFlashLoan reports whether a finding describes a flash loan without a cause.
func onlyFlashLoan(f *Finding) bool {
	return f.Category == api.UnknownCause && slices.Contains(f.Amplifiers, api.FlashLoan)
}
