package facts

import (
	"bytes"
	"slices"

	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Refuses reports whether a token answered false to a call that should move or allow tokens
// and recorded nothing: EIP-20 lets a token refuse so, and its caller may go on. Tokens that
// answer false to what they did are known too; those have an event of it.
func (a *Case) Refuses(f *trace.Frame) bool {
	if f == nil || f.Status != trace.OK || f.Kind != trace.Call || !f.HasTo || len(f.Output) != 32 || !AllZero(f.Output) {
		return false
	}
	words := 2
	switch evmsig.Called(f.Input) {
	case evmsig.SelTransfer, evmsig.SelApprove, evmsig.SelIncreaseAllowance, evmsig.SelDecreaseAllowance, evmsig.SelDecreaseApproval:
	case evmsig.SelTransferFrom:
		words = 3
	default:
		return false
	}
	return len(f.Input) >= 4+32*words && !a.emitted(f.To)
}

// emitted reports whether an account has a log in the receipt.
func (a *Case) emitted(by common.Address) bool {
	if a.Receipt == nil || a.NoLogs || a.NoReceipt {
		return true // it may have
	}
	for i := range a.Receipt.Logs {
		if a.Receipt.Logs[i].Address == by {
			return true
		}
	}
	return false
}

// Refusals are the calls that tokens refused, where one passes on that of another only the
// outer one.
func (a *Case) Refusals() (frames []*trace.Frame) {
	if a.Tree == nil || !a.Succeeded {
		return nil
	}
	for _, f := range a.Tree.Frames {
		if p := f.Parent; slices.Contains(frames, p) && bytes.Equal(p.Input, f.Input) || !a.Refuses(f) {
			continue
		}
		if frames = append(frames, f); len(frames) == 20 {
			break
		}
	}
	return frames
}
