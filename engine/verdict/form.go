package verdict

// Form is what a Sentence says. The words are in package narrate.
type Form uint16

const (
	noForm Form = iota
	// As was rendered before: one argument.
	AsStated

	// Risk flags.
	MayMoveAll
	UnlabelledMayMoveAll
	MaySpendAll
	UnlabelledMaySpendAll
	MaySpendMoreThanSupply
	MaySpendSeveral
	UnlabelledMaySpendSeveral
	ReportedMaySpend
	OwnReportedMaySpend
	DelegatesTo
	DelegatesToUnlabelled
	OnlyZeroTransfers
	LookalikeCounterparty
	LookalikeToken
	AirdropAdvertises
	AirdropImitates
	EventsWithoutStorage
	EventsWithoutBalance
	InnerCallFailed
	InnerCallsFailed
	OperationsFailed
	OperationFailed
	SafeCallFailed
	RelayedCallFailed
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
	TradedAroundLoss
	SentToTokenItself
	TransferredToZero
	SentToZero
	SentToIdleToken
	SentToNoCode
	SpotPriceMoved
	LostHoldings
	LostHoldingsUnpriced
	LostHoldingsOfSupply
	GainUnearned
	GainUnexplained
	GainUnclaimed
	AndBalanceFell
	AndProductFell
	MovesUnexplained
	UnusualGain
	PossibleTakeover
	ReportedBy
	ReportedByOwn
	SanctionedBy

	// Which part of a longer sequence the transaction is.
	PartAttack
	PartAttackHidden
	PartAllowances
	PartBait
	PartHidden

	// Findings: the rule that broke, and the items of evidence.
	IsCalledBy
	ControllerChanges
	StrangerSucceeds
	LeavesTo
	MintsForStranger
	OwnerIs
	ComeIntoBeing
	OpenMint
	CallsWithTarget
	CallsThatTarget
	GoTo
	UsesRightsOfOthers
	CalledWithSignature
	NoSignerRecovered
	GoesOnAndLeaves
	ActsOnNoSignature
	SignedByPayee
	AnyKeySucceeds
	AcceptsAnySigner
	CallIsRunning
	AsksRateInside
	AnswerBefore
	AnswerAfter
	PaysByRate
	PaidByUnfinishedRate
	AsksRate
	PaidByMovedRate
	ReservesBefore
	ReadsReserves
	PaysByPrice
	PaidByMovedReserves
	ReadsMovedReserves
	Pays
	PaidByMovedSpotPrice
	CreditFellBy
	WasPutIn
	CalledAndOpen
	EnteredAgain
	OuterPays
	InnerPays
	PaidBeforeBooking
	BuysShares
	GivesToVault
	PaysForShares
	SharesInflated
	TookNoShares
	PaysLast
	TakesNoSharesAgain
	PaidForNoShares
	AtFrame
	AtLog
	TookControl
	TookControlAndAssets

	// Findings by outcome: what happened, by cause.
	CauseOverflow
	CauseForgedCallback
	CauseArbitraryCall
	CausePull
	CauseForcedTrades
	CauseGrantedApproval
	CauseForeignCode
	CauseReentry
	CauseCrossReentry
	CauseFakeInput
	CauseControl
	CauseInitialised
	CauseProductFell
	CausePairBalance
	CausePairCalls
	CauseSelfTransfer
	CausePriceJump
	CauseUnbackedSale
	CauseAbandonedLoan
	CauseRoundTrip
	CauseRoundTripBetween
	CauseRobbedPool
	CauseInAndOut
	CauseFrontRunner
	CauseSelfLiquidation
	CauseRepetition
	CauseSameFunction
	CauseClones
	CauseBorrowedVotes
	CauseUnpaid
	CauseMostOfPool
	CauseSignedRight
	CauseSignedOrder
	CauseSplitTakings
	CausePaidClaim
	ExploitOf
	ExploitWithLoss
	ExploitWithGain
	ExploitWithBoth
	WithLoan
	DrainOf
	DrainOfRevoke
	PossibleDrain
	PossibleDrainRevoke
	ApprovalOf
	AndMoreAccounts
	PoisoningBatch
	BrokenAt
	DealGivesTakes
	DealGives
	DealTakes
	DealCalls
	FrameRuns
	PaysSide
	WorthAbout

	// Data that a finding lacks.
	MissingTrace
	MissingSource
	MissingNewController
	MissingWhoMayCall
	MissingWorthInPair
	MissingBookings
	MissingClaims

	// Reasons why the confidence in a classification is not high.
	AuthorizationsUnknown
	NoBridgeEvent
	NoStakeEvent
	NoMarketplaceEvent
	NoSwapEvent
	LegMintedOrBurnt
	SwapSidesUnseen
	OnlyFunctionName
	NoPoolEvent
	ShareMinted
	ShareBurnt
	PayoutUnexplained
	OnlyFunction
	PaymentUnexplained
	AlsoReadAs
	OnlySharedEvent
	OnlyMovement
	AmountOrNFT
	TradeChangedSupply
	DepositEventToo
	ActUnrecognised
	AttemptInInnerCall
	AttemptUnknown
	CostUnknown
	ProfitUnknown
	TradeAnswersUnknown
	NoReceiptConfirms
	SuccessUnknown
	NoCallTrace
	OnlyReceiptAvailable
	ReexecutedAtParent
	TracedByExplorer
	FailuresNotListed
	ContractUnrecognised
	FailureUnexplained
	ExchangeSidesUnseen
	NoApprovalEvent
	LedgerDisagrees
	ProtocolUnknown
	ProtocolUnknownOfFamily
	CalledUnidentified
	SpenderUnidentified
	DecimalsUnknown
	AssetsMovedAt
	BalancesDiffer
	PricedByTrade

	// Reasons of the results of checks.
	WhyFailed
	WhyNoTrace
	WhyNotReentered
	WhyOrderUnknown
	WhyReenteredBooked
	WhyNoFlashLoan
	WhyPriceNotMoved
	WhyNoReceipt
	WhyPriceDiffers
	WhyNoVault
	WhyPriceToldOnce
	WhyPriceDidNotFall
	WhyNoForwarding
	WhyForwardedHarmless
	WhyNoControlEvent
	WhyNoRight
	WhyNoReportedSpender
	WhyNoDelegatecall
	WhyNoSources
	WhyCodeKnown
	WhyDestroys
	WhyNothingDestroyed
	WhyNoTokenMoved
	WhySuchToken
	WhyMovedOtherwise
	WhyBalancesUnknown
	WhyBalancesMatch
	WhyNoSwap
	WhyNobodyAround
	WhyNeighboursUnknown
	WhyNoImitation
	WhyNoFakeAirdrop
	WhyNoBadDebt
	WhyPrecompileFailed
	WhyNoCallFailed
	WhyHoldingsUnknown
	WhyNotDrained
	WhyFundingOutside
	WhyStoresDiffer
	WhyNoStorage
	WhyBalancesOfTokensMatch
	WhyProductFell
	WhyNoReserves
	WhyReservesCompared
	WhyNoMinimum
	WhyMinimumCame
	WhyOutputUnknown
	WhyNobodyBorrowed
	WhyBooksUnknown

	WhyNobodyLost
	WhyGainUnexplained

	// The loss of an exploit.
	LostAssets

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
