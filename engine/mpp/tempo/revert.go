package tempo

// ReserveError is a custom error of the channel reserve.
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
)

var reserveErrors = [...]string{
	"ChannelAlreadyExists", "ChannelNotFound", "NotPayer", "NotPayeeOrOperator", "InvalidPayee", "ZeroDeposit",
	"ExpiringNonceHashNotSet", "InvalidSignature", "AmountExceedsDeposit", "AmountNotIncreasing",
	"CaptureAmountInvalid", "CloseNotReady", "DepositOverflow",
}

var reserveErrorOf = func() map[selector]ReserveError {
	m := make(map[selector]ReserveError, len(reserveErrors))
	for i, name := range reserveErrors {
		m[selectorOf(name+"()")] = ReserveError(i)
	}
	return m
}()

// Name is the error's name in the contract.
func (e ReserveError) Name() string { return reserveErrors[e] }

// DecodeRevert reads the data of a revert; ok is false where it is none of the
// reserve's errors.
func DecodeRevert(data []byte) (e ReserveError, ok bool) {
	if len(data) != 4 {
		return 0, false
	}
	e, ok = reserveErrorOf[selector(data)]
	return e, ok
}
