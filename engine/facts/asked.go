package facts

import (
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// AskedPayee is the account that the call behind a token transfer names as the receiver of tokens
// of the same sender: transfer or transferFrom (EIP-20). A token that takes a part of what it
// moves pays others, too, in the same call.
func (a *Case) AskedPayee(t *flow.Transfer) (payee common.Address, ok bool) {
	f := a.CallBehind(t)
	if f == nil || f.To != t.Token {
		return payee, false
	}
	switch {
	case evmsig.SelTransfer.Begins(f.Input) && len(f.Input) >= 68 && f.From == t.From:
		return evmsig.Address(f.Input[4:36])
	case evmsig.SelTransferFrom.Begins(f.Input) && len(f.Input) >= 100:
		if from, is := evmsig.Address(f.Input[4:36]); is && from == t.From {
			return evmsig.Address(f.Input[36:68])
		}
	}
	return payee, false
}

// CallBehind is the call that emitted the event of a transfer, without delegation; nil if it is not
// known. Where the trace has no logs they stand at the only call of their emitter, or at the root.
func (a *Case) CallBehind(t *flow.Transfer) *trace.Frame {
	return a.logFrame(t.Log).EnclosingCall()
}

// logFrame is the frame that emitted a log of the receipt; nil where none is known.
func (a *Case) logFrame(log int) *trace.Frame {
	if a.logFrames == nil {
		a.logFrames = a.Tree.LogFrames()
	}
	return a.logFrames[log]
}

// takenByToken reports whether what was burnt of a leg is what a token took of a transfer to
// somebody else.
func (a *Case) takenByToken(l *Leg, giver common.Address) (taken bool) {
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if t.From != giver || t.To != (common.Address{}) || t.Key() != l.Key {
			continue
		}
		if payee, ok := a.AskedPayee(t); !ok || payee == (common.Address{}) {
			return false
		}
		taken = true
	}
	return taken
}
