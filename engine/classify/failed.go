package classify

import (
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// attempt finds what a failed transaction tried: from the calldata, through the
// wrappers that carry other calls, and from what the trace shows below.
func attempt(a *facts.Case) *Opinion {
	if a.Tx.To == nil {
		return &Opinion{Act: facts.ActDeploy, Frames: []int{0}}
	}
	if len(a.Tx.Input) == 0 {
		return &Opinion{Act: facts.ActTransfer, Frames: []int{0}}
	}
	if x, f := attempted(a, a.RootFrame(), 0); x != "" {
		o := &Opinion{Act: x}
		if f != nil {
			o.Frames = []int{f.Index}
			if c := a.Registry.Call(f.Input); c != nil && c.Act == x {
				o.SubType = kinds[x].sub
			}
			if f.Depth > 0 {
				o.doubt = verdict.AttemptInInnerCall
			}
		}
		return o
	}
	if a.Call != nil && a.HasTo && wrapsElsewhere(a, a.Call.Act, a.Entry) {
		return &Opinion{Act: "contract_call", SubType: "contract_call", doubt: verdict.AttemptUnknown}
	}
	if a.Call != nil {
		if _, ok := kinds[a.Call.Act]; ok {
			return &Opinion{Act: a.Call.Act, Frames: []int{0}}
		}
	}
	if x := actOfName(a.Function); x != "" {
		return &Opinion{Act: x, Frames: []int{0}, doubt: verdict.OnlyFunctionName}
	}
	return &Opinion{Act: "contract_call", SubType: "contract_call", doubt: verdict.AttemptUnknown}
}

// AttemptOf is what an account tried and could not do.
func AttemptOf(a *facts.Case, u *facts.Undone) *Opinion {
	o := &Opinion{}
	if u.Frame != nil {
		o.Frames = []int{u.Frame.Index}
	} else if u.Origin != nil {
		o.Frames = []int{u.Origin.Index}
	}
	c := a.Registry.Call(u.Call.Input)
	x, at := attempted(a, u.Frame, 0)
	switch {
	case !u.Call.HasTo:
	case len(u.Call.Input) == 0:
		o.Act = facts.ActTransfer
		return o
	case x != "":
		o.Act = x
		if at.Depth > u.Frame.Depth {
			o.doubt = verdict.AttemptInInnerCall
		}
		return o
	case c != nil && IsKind(c.Act) && !carriers[c.Act] && !wrapsElsewhere(a, c.Act, u.Call.To):
		o.Act = c.Act
		return o
	}
	o.Act, o.SubType, o.doubt = "contract_call", "contract_call", verdict.AttemptUnknown
	return o
}

// wrapsElsewhere reports whether a function is named as those of wrapped coins are, and its
// contract is not known to be one.
func wrapsElsewhere(a *facts.Case, x facts.Act, at common.Address) bool {
	return (x == facts.ActWrap || x == facts.ActUnwrap) && !a.WrapsCoin(at)
}

// carriers are acts that only carry other calls.
var carriers = map[facts.Act]bool{
	facts.ActMulticall:  true,
	facts.ActWalletExec: true,
	facts.ActSafeExec:   true,
	facts.ActUserOps:    true,
	facts.ActFlashLoan:  true,
}

// attempted is the act of a frame, or where it only carries others, of the first of
// them that says one. Static calls read and attempt nothing.
func attempted(a *facts.Case, f *trace.Frame, depth int) (facts.Act, *trace.Frame) {
	if f == nil || depth > 12 || f.Kind == trace.StaticCall {
		return "", nil
	}
	c := a.Registry.Call(f.Input)
	if c != nil && wrapsElsewhere(a, c.Act, f.To) {
		return "", nil // deposit() and withdraw(uint256) say nothing of other contracts
	}
	if c != nil && !carriers[c.Act] && IsKind(c.Act) {
		// A transfer or approval deep inside is a step of what is being sought.
		if depth == 0 || c.Act != facts.ActTransfer && c.Act != facts.ActApproval && c.Act != facts.ActWrap && c.Act != facts.ActUnwrap {
			return c.Act, f
		}
	}
	if depth == 0 {
		if x := actOfName(a.NameOfCall(f)); x != "" && !carriers[x] {
			return x, f
		}
	}
	for _, child := range f.Children {
		if x, at := attempted(a, child, depth+1); x != "" {
			return x, at
		}
	}
	return "", nil
}
