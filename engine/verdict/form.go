package verdict

// Form is what a Sentence says. The words are in package narrate.
type Form uint16

const (
	noForm Form = iota
	// As was rendered before: one argument.
	AsStated

	// Risk flags.
	OperatorMayMoveAll
	MaySpendAll
	UnknownMaySpendAll
	MaySpendMoreThanSupply
	DelegatesToUnknown
	OnlyZeroTransfers
	LookalikeCounterparty
	LookalikeToken
	EventsWithoutStorage
	EventsWithoutBalance
	InnerCallFailed
	InnerCallsFailed
	OperationsFailed
	OperationFailed
	SafeCallFailed
	AdministeredAndStored
	AdministeredUnchecked
	AdministeredUnconfirmed
	AdministeredSilently
	AtSlot
	AtSlotOfKind
	InitialisedLater
	BookedBadDebt
	Borrowed
	LentForFrame
	AcceptsAnyOutput
	RanUnverified
	RanUnverifiedFresh
	PostOpReverted
	PrefundTooLow
	PaidProducer
	TradedAround
	SentToTokenItself
	TransferredToZero
	SentToZero
	SentToIdleToken
	SentToNoCode
	SpotPriceMoved
	LostHoldings
	LostHoldingsUnpriced
	LostHoldingsOfSupply

	formEnd
)

// Forms lists all forms.
func Forms() []Form {
	out := make([]Form, 0, formEnd-1)
	for f := noForm + 1; f < formEnd; f++ {
		out = append(out, f)
	}
	return out
}
