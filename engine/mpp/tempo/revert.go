package tempo

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// ReserveError is a custom error that the channel reserve reverts with.
type ReserveError uint8

// The reserve's errors.
const (
	ChannelAlreadyExists ReserveError = iota
	ChannelNotFound
	NotPayer
	NotPayeeOrOperator
	InvalidPayee
	ZeroDeposit
	ExpiringNonceHashNotSet
	InvalidSignature
	AmountExceedsDeposit
	AmountNotIncreasing
	CaptureAmountInvalid
	CloseNotReady
	DepositOverflow
	// PolicyForbids comes from the token: its policy, or the receive policy of the account
	// that is paid or refunded, rejects the transfer.
	PolicyForbids
	// RootKeyRetired has the account whose root key signs no vouchers any more.
	RootKeyRetired
)

// reserveErrors are the signatures. The only arguments are addresses.
var reserveErrors = [...]string{
	"ChannelAlreadyExists()", "ChannelNotFound()", "NotPayer()", "NotPayeeOrOperator()", "InvalidPayee()", "ZeroDeposit()",
	"ExpiringNonceHashNotSet()", "InvalidSignature()", "AmountExceedsDeposit()", "AmountNotIncreasing()",
	"CaptureAmountInvalid()", "CloseNotReady()", "DepositOverflow()", "PolicyForbids()", "RootKeyRetired(address)",
}

var reserveErrorOf = func() map[selector]ReserveError {
	m := make(map[selector]ReserveError, len(reserveErrors))
	for i, signature := range reserveErrors {
		m[selectorOf(signature)] = ReserveError(i)
	}
	return m
}()

// Name is the error's name in the contract.
func (e ReserveError) Name() string {
	name, _, _ := strings.Cut(reserveErrors[e], "(")
	return name
}

// arguments is the number of arguments.
func (e ReserveError) arguments() int { return strings.Count(reserveErrors[e], "address") }

// Revert is the data of a revert, decoded.
type Revert struct {
	ReserveError
	// Account is the argument of an error that has one.
	Account common.Address
}

// String is the error's name, with its argument.
func (r Revert) String() string {
	if r.arguments() == 0 {
		return r.Name()
	}
	return fmt.Sprintf("%s(%s)", r.Name(), r.Account.Hex())
}

// DecodeRevert reads the data of a revert; ok is false where it is none of the
// reserve's errors in its one encoding.
func DecodeRevert(data []byte) (r Revert, ok bool) {
	if len(data) < 4 {
		return r, false
	}
	r.ReserveError, ok = reserveErrorOf[selector(data[:4])]
	if !ok || len(data) != 4+32*r.arguments() {
		return Revert{}, false
	}
	if r.arguments() == 1 {
		word := common.BytesToHash(data[4:])
		r.Account = common.BytesToAddress(word[12:])
		if word != common.BytesToHash(r.Account[:]) { // the padding is not zero
			return Revert{}, false
		}
	}
	return r, true
}
