package classify

import (
	"strings"

	"txlens/engine/decode"
	"txlens/engine/trace"
	"txlens/engine/verdict"
)

// attempt finds what a failed transaction tried: from the calldata, through the
// wrappers that carry other calls, and from what the trace shows below.
func (a *Reading) attempt() *opinion {
	if a.Tx.To == nil {
		return &opinion{act: actDeploy, frames: []int{0}}
	}
	if len(a.Tx.Input) == 0 {
		return &opinion{act: actTransfer, frames: []int{0}}
	}
	if x, f := a.attempted(a.rootFrame(), 0); x != "" {
		o := &opinion{act: x}
		if f != nil {
			o.frames = []int{f.Index}
			if c := a.reg.call(f.Input); c != nil && c.act == x {
				o.sub = kinds[x].sub
			}
			if f.Depth > 0 {
				o.unsure = verdict.AttemptInInnerCall
			}
		}
		return o
	}
	if a.call != nil {
		if _, ok := kinds[a.call.act]; ok {
			return &opinion{act: a.call.act, frames: []int{0}}
		}
	}
	if x := actOfName(a.name); x != "" {
		return &opinion{act: x, frames: []int{0}, unsure: verdict.OnlyFunctionName}
	}
	return &opinion{act: "contract_call", sub: "contract_call", unsure: verdict.AttemptUnknown}
}

// carriers are acts that only carry other calls.
var carriers = map[act]bool{actMulticall: true, actWalletExec: true, actSafeExec: true, actUserOps: true, actFlashLoan: true}

// attempted is the act of a frame, or where it only carries others, of the first of
// them that says one. Static calls read and attempt nothing.
func (a *Reading) attempted(f *trace.Frame, depth int) (act, *trace.Frame) {
	if f == nil || depth > 12 || f.Kind == trace.StaticCall {
		return "", nil
	}
	if c := a.reg.call(f.Input); c != nil && !carriers[c.act] && isKind(c.act) {
		// A transfer or approval deep inside is a step of what is being sought.
		if depth == 0 || c.act != actTransfer && c.act != actApproval && c.act != actWrap && c.act != actUnwrap {
			return c.act, f
		}
	}
	if depth == 0 {
		if x := actOfName(a.nameOfCall(f)); x != "" && !carriers[x] {
			return x, f
		}
	}
	for _, child := range f.Children {
		if x, at := a.attempted(child, depth+1); x != "" {
			return x, at
		}
	}
	return "", nil
}

// origin is the frame where the failure of the transaction began; the root when
// the receipt alone says that it failed.
func (a *Reading) origin() *trace.Frame {
	root := a.rootFrame()
	if root == nil || root.Err == "" {
		return root
	}
	return a.Tree.RevertOrigin()
}

// why says in words why a frame failed.
func (a Words) why(f *trace.Frame) string {
	if fail := a.failure(f); fail != nil && fail.Text != "" {
		return strings.TrimSuffix(sentence(fail.Text), ".")
	}
	if r := sentence(f.RevertReason); r != "" {
		return "reverted with \"" + r + "\""
	}
	if vm := sentence(decode.Explain(f.Err)); vm != "" && vm != "failed" { // "failed" is all that a receipt knows
		return vm
	}
	return "no revert reason available"
}

// sentence keeps revert text in one plain line, longer than a name may be.
func sentence(s string) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(s) {
		clean := plainWord(word)
		if clean == "" {
			continue
		}
		if n += len(clean) + 1; n > 200 {
			b.WriteString(" …")
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(clean)
	}
	return b.String()
}

func plainWord(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("*[]<>|`#~\\", r), r < 0x20, r == 0x7f:
			return -1
		}
		return r
	}, s)
	if len(s) > 120 {
		s = s[:120]
	}
	return strings.ToValidUTF8(s, "")
}

// trySummary says what was attempted.
func (a *headlineWriter) trySummary(attempt string) string {
	o := a.v.Deciding
	switch {
	case o.act == actTransfer && len(a.Tx.Input) == 0:
		s := attempt + " to send " + a.Amount(leg{}.key, a.Tx.Value)
		if a.Tx.To != nil {
			s += " to " + a.Who(*a.Tx.To)
		}
		return s
	case o.act == "contract_call" && a.Tx.To != nil:
		return attempt + " to call " + a.functionOf(a.rootFrame()) + " of " + a.Who(*a.Tx.To)
	case o.act == actTransfer || o.act == actApproval:
		if s := a.sayTransferCall(); s != "" {
			return attempt + " to " + s
		}
	}
	s := attempt + " to " + verbs[o.act].infinitive
	if o.act != actDeploy && a.Tx.To != nil {
		s += " through " + a.Who(*a.Tx.To)
	}
	return s
}

// failedSummary says what was attempted, and why it failed.
func (a *headlineWriter) failedSummary() string {
	s := a.trySummary("Failed attempt")
	f := a.origin()
	if f == nil {
		return s + ": no revert reason available"
	}
	reason := a.why(f)
	if f.Depth > 0 && f.HasTo {
		return s + ": in " + a.Who(f.To) + ", " + reason
	}
	return s + ": " + reason
}

// failedSteps tell the call, where it failed, and what that cost.
func (a *stepWriter) failedSteps() *narrative {
	n := &narrative{}
	n.add(a.opening(), Place{At: -1, Frames: []int{0}})
	if f := a.origin(); f != nil {
		if f.Depth > 0 {
			a.path(n, f)
		}
		n.add("The failure began in "+a.target(f)+": "+a.why(f)+".", Place{Frames: []int{f.Index}})
	}
	n.add("All effects were undone; nothing moved but the fee.", Place{At: AtEnd})
	if fee := a.feeStep(); fee != "" {
		n.add(fee, Place{At: AtEnd})
	}
	return n
}

// path tells the calls from the root down to a frame.
func (a *stepWriter) path(n *narrative, f *trace.Frame) {
	var chain []*trace.Frame
	for g := f; g != nil && g.Parent != nil; g = g.Parent {
		chain = append(chain, g)
	}
	for i := len(chain) - 1; i >= 0 && len(n.steps) < maxSteps-4; i-- {
		g := chain[i]
		if g.Kind == trace.DelegateCall {
			continue
		}
		s := a.Who(g.From) + " called " + a.target(g) + "."
		if isCreate(g) {
			s = a.Who(g.From) + " tried to create a contract."
		}
		n.add(s, Place{Frames: []int{g.Index}})
	}
}
