package narrate

import (
	"math/big"

	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// tokenFee is what a token took of a transfer to or from a pool, in the call of the transfer itself.
type tokenFee struct {
	who         common.Address // the trader
	gave        bool           // to the pool; else it got something
	key         flow.TokenKey
	rest, taken *big.Int
}

// foldTokenFee finds what the token took beside the transfer at a position, and folds it into the
// step of the pool. The call names whom the tokens were for: what goes to others is the fee.
func (a *stepWriter) foldTokenFee(f *folding, x *poolStep, at int, gave bool) {
	main := &a.Flow.Transfers[at]
	fee := tokenFee{who: main.To, gave: gave, key: main.Key(), rest: main.Amount, taken: new(big.Int)}
	if gave {
		fee.who = main.From
	}
	for _, i := range a.takenBeside(at) {
		fee.taken.Add(fee.taken, a.Flow.Transfers[i].Amount)
		f.transfers[i] = true
		x.logs = append(x.logs, a.Flow.Transfers[i].Log)
	}
	if fee.taken.Sign() > 0 {
		x.fees = append(x.fees, fee)
	}
}

// takenBeside are the positions of the transfers by which a token took a part of another one.
func (a *stepWriter) takenBeside(at int) (parts []int) {
	main := &a.Flow.Transfers[at]
	payee, ok := a.AskedPayee(main)
	if !ok || payee != main.To {
		return nil
	}
	call := a.CallBehind(main)
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		if i != at && t.From == main.From && t.To != payee && t.Key() == main.Key() && a.CallBehind(t) == call {
			parts = append(parts, i)
		}
	}
	return parts
}

// isTaxed reports whether what a pool gave is a transfer to a trader and what the token took of it.
func (a *stepWriter) isTaxed(at int, whole *big.Int) bool {
	main := &a.Flow.Transfers[at]
	if main.Amount.Cmp(whole) >= 0 {
		return false
	}
	sum := new(big.Int).Set(main.Amount)
	for _, i := range a.takenBeside(at) {
		sum.Add(sum, a.Flow.Transfers[i].Amount)
	}
	return sum.Cmp(whole) == 0
}

// sayTokenFees tells what the traders gave and got where tokens took a part of it.
func (a *stepWriter) sayTokenFees(fees []tokenFee) (s string) {
	for i := range fees {
		fee := &fees[i]
		taken := a.Amount(fee.key, fee.taken)
		if fee.gave {
			whole := a.Amount(fee.key, new(big.Int).Add(fee.rest, fee.taken))
			s += "; " + a.Who(fee.who) + " gave " + whole + ", of which the token took " + taken + " as its fee"
		} else {
			s += "; " + a.Who(fee.who) + " got " + a.Amount(fee.key, fee.rest) + ", for the token took " + taken + " as its fee"
		}
	}
	return s
}
