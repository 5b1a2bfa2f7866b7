package facts

import (
	"txlens/engine/decode"

	"github.com/ethereum/go-ethereum/common"
)

// AuthorizationList are those of the transaction; without a state diff the tuple alone
// says of some that they cannot have been applied.
func (a *Case) AuthorizationList() []decode.Authorization {
	if a.Authorizations == nil {
		a.Input.Authorizations = decode.Authorizations(a.Tx, a.chainID, nil)
	}
	return a.Authorizations
}

// Delegates are the code addresses that authorizations name, and how many
// authorizations name none, which asks to remove a delegation. What was skipped
// names nothing.
func (a *Case) Delegates() (list []common.Address, clears int) {
	all := a.AuthorizationList()
	for i := range all {
		switch x := &all[i]; {
		case x.Outcome == decode.Skipped:
		case x.Delegate == common.Address{}:
			clears++
		case len(list) < 64:
			list = append(list, x.Delegate)
		}
	}
	return Distinct(list), clears
}

// NoCodeRan: there was calldata for an account without code. Where nobody asked for its code,
// the gas used is to the unit what the data itself costs (Yellow Paper and EIP-2028, or the
// floor of EIP-7623): rollups add to it what they pay elsewhere, and access lists their own.
func (a *Case) NoCodeRan() bool {
	if !a.Succeeded || a.Tx.To == nil || !a.Unlogged() || len(a.Tx.Input) == 0 {
		return false
	}
	if f := a.RootFrame(); f != nil && len(f.Children)+len(f.Output) > 0 {
		return false
	}
	if a.Codeless != nil {
		return *a.Codeless
	}
	if len(a.Tx.AccessList)+len(a.Tx.Authorizations) > 0 {
		return false
	}
	zeros := uint64(0)
	for _, b := range a.Tx.Input {
		if b == 0 {
			zeros++
		}
	}
	rest := uint64(len(a.Tx.Input)) - zeros
	switch a.Receipt.GasUsed {
	case 21000 + 4*zeros + 16*rest, 21000 + 4*zeros + 68*rest, 21000 + 10*zeros + 40*rest:
		return true
	}
	return false
}
