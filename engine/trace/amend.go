package trace

import (
	"bytes"
)

// revertedError is the error of a frame whose failure the node left out of its trace.
const revertedError = "execution reverted"

// codeUnpaid is the error of a creation that could not pay for storing its code.
const codeUnpaid = "contract creation code storage out of gas"

// MarkReverted marks the frames of a transaction that is known to have failed where the node
// left it out: some give the revert data as output and nothing else. It changes nothing
// and returns false if a frame has an error, or if the output of the outermost one is no
// revert data: a selector and words, which no return value is. What a creation returns may be code.
func (t *Tree) MarkReverted() bool {
	if t.Root == nil || t.Failed > 0 || len(t.Root.Output)%32 != 4 || t.Root.Kind.Creates() {
		return false
	}
	for f := t.Root; f != nil; {
		f.Err = revertedError
		var cause *Frame
		for _, c := range f.Children {
			if bytes.Equal(c.Output, t.Root.Output) {
				cause = c
			}
		}
		f = cause
	}
	t.Finish()
	return true
}

// AcceptUnpaidCode makes creations that could not pay for storing their code succeed with no
// code, as they did until Homestead (EIP-2).
func (t *Tree) AcceptUnpaidCode() {
	changed := false
	for _, f := range t.Frames {
		if f.Kind.Creates() && f.Err == codeUnpaid {
			f.Err, f.RevertReason, f.Output, changed = "", "", nil, true
		}
	}
	if changed {
		t.Finish()
	}
}
