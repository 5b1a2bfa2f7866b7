package classify

import (
	"math/big"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
)

// Minimum is the least output that the call for the actor asks for, where it is a known
// function of a router; false when it names none.
func Minimum(a *facts.Case) (*big.Int, bool) {
	if a.Call == nil || a.Call.MinOut < 0 || a.Frame == nil || len(a.Frame.Input) < 4 {
		return nil, false
	}
	b := evmsig.Word(a.Frame.Input[4:], a.Call.MinOut)
	if b == nil {
		return nil, false
	}
	return new(big.Int).SetBytes(b), true
}
