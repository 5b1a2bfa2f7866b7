package narrate

import (
	"math/big"

	"txlens/engine/api"
	"txlens/engine/classify"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"
)

// multisigHeadline tells what an owner did at a wallet of several: what was submitted, or which
// transaction was confirmed. It is empty for other functions, and where the wallet went on to
// make the call.
func (a *headlineWriter) multisigHeadline(o *classify.Opinion) string {
	in := a.Tx.Input
	if a.Frame != nil {
		in = a.Frame.Input
	}
	if a.Tx.To == nil || len(in) < 4 || !a.untouched() {
		return ""
	}
	args := in[4:]
	var s string
	switch evmsig.Called(in) {
	case evmsig.SelSubmitTransaction:
		c, ok := submitted(args)
		if !ok {
			return ""
		}
		s = "Submitted transaction" + a.submission(o) + " to multisig wallet " + a.callee() + ", to " + a.sayAsked(a.Entry, &c)
	case evmsig.SelConfirmTransaction:
		s = "Confirmed transaction" + number(evmsig.Uint(args, 0)) + " of multisig wallet " + a.callee()
	case evmsig.SelRevokeConfirmation:
		s = "Revoked the confirmation of transaction" + number(evmsig.Uint(args, 0)) + " of multisig wallet " + a.callee()
	default:
		return ""
	}
	return s + "; nothing moved yet"
}

// untouched reports whether nothing moved but the fee.
func (a *headlineWriter) untouched() bool {
	if a.Flow == nil || len(a.Flow.Transfers) > 0 {
		return false
	}
	for i := range a.Flow.Moves {
		if a.Flow.Moves[i].Kind != flow.MoveFee {
			return false
		}
	}
	return true
}

// submitted reads the arguments of submitTransaction.
func submitted(args []byte) (c facts.InnerCall, ok bool) {
	if c.To, c.HasTo = evmsig.Address(evmsig.Word(args, 0)); !c.HasTo {
		return c, false
	}
	c.Value = evmsig.Uint(args, 1)
	c.Input, ok = evmsig.Bytes(args, 2)
	return c, ok && c.Value != nil
}

// submission is the number that the wallet gave to what was submitted, as its event tells it.
func (a *headlineWriter) submission(o *classify.Opinion) string {
	for _, h := range o.Matches {
		switch l := a.EventOf(h); { // a call has none
		case len(l.Topics) == 2:
			return number(l.Topics[1].Big())
		case len(l.Topics) > 2:
			return number(l.Topics[2].Big())
		}
	}
	return ""
}

func number(n *big.Int) string {
	if n == nil {
		return ""
	}
	return " " + clip(api.Thousands(n.String()))
}
