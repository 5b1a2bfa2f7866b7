package facts

import "txlens/engine/trace"

// OutcomeKnown reports whether anything says how the transaction ended. Without a
// receipt that is a trace that failed: then nothing moved in any case.
func (a *Case) OutcomeKnown() bool {
	if a.NoReceipt {
		return a.HasTrace() && a.Tree.Root.Err != ""
	}
	return a.Receipt != nil && a.Receipt.Status != nil || a.HasTrace()
}

// BareTransfer: coin sent without calldata for the price of a plain transfer; no code
// can have run, so the receipt tells all.
func (a *Case) BareTransfer() bool {
	return a.Succeeded && a.Tx.To != nil && len(a.Tx.Input) == 0 && a.Receipt != nil && len(a.Receipt.Logs) == 0 && a.Receipt.GasUsed == 21000
}

// FailureOrigin is the frame where the failure of the transaction began, or that of its
// act inside of it; the root when
// the receipt alone says that it failed.
func (a *Case) FailureOrigin() *trace.Frame {
	if a.ActFailed {
		return a.Undone[0].Origin
	}
	root := a.RootFrame()
	if root == nil || root.Err == "" {
		return root
	}
	return a.Tree.RevertOrigin()
}
