package facts

import (
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// MessageFee is native coin that a bridge took to deliver a message on another chain. It is a part
// of what its payer gave to the bridge.
type MessageFee struct {
	Payer, Receiver common.Address
	Amount          *big.Int
	Frame           int
}

// MessageFees are the fees of the messages that the transaction sent to other chains, net of what
// came back. Without a trace none is known.
func (a *Case) MessageFees() (fees []MessageFee) {
	if !a.HasTrace() || !a.Succeeded || a.Flow == nil || !a.Has(ActBridgeOut, ActMessageOut) {
		return nil
	}
	under := map[*trace.Frame]int{} // the fee, of a frame below its call
	for _, f := range a.Tree.Frames {
		if at, below := under[f.Parent]; below {
			under[f] = at
			continue
		}
		if fee := messageFee(f); fee != nil {
			under[f] = len(fees)
			fees = append(fees, MessageFee{f.From, f.To, fee, f.Index})
		}
	}
	if len(fees) > 0 {
		a.subtractReturned(fees, under)
	}
	return fees
}

// messageFee is what a call pays for its message; nil for none.
func messageFee(f *trace.Frame) *big.Int {
	if f.Kind != trace.Call || f.Status != trace.OK || f.Value.IsZero() {
		return nil
	}
	delivered, sends := evmsig.MessageSend(f.Input)
	if !sends {
		return nil
	}
	fee := f.Value.ToBig()
	if delivered >= 0 {
		word := evmsig.Word(f.Input[4:], delivered)
		if word == nil {
			return nil
		}
		if fee.Sub(fee, new(big.Int).SetBytes(word)); fee.Sign() <= 0 {
			return nil
		}
	}
	return fee
}

// subtractReturned takes off what the calls of the fees gave back to their payer or to the actor.
func (a *Case) subtractReturned(fees []MessageFee, under map[*trace.Frame]int) {
	for i := range a.Flow.Moves {
		m := &a.Flow.Moves[i]
		if m.Frame < 0 || m.Frame >= len(a.Tree.Frames) {
			continue
		}
		at, below := under[a.Tree.Frames[m.Frame]]
		if !below || m.Frame == fees[at].Frame || m.To != fees[at].Payer && !Contains(a.Actors, m.To) {
			continue
		}
		if left := new(big.Int).Sub(fees[at].Amount, m.Amount); left.Sign() >= 0 {
			fees[at].Amount = left
		}
	}
}
