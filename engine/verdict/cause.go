package verdict

// Cause is the pattern by which assets left without payment. It is finer than the
// category of a finding, and decides which sentence tells of it.
type Cause uint8

// The causes, in the order in which the first of several is the one that is told.
const (
	NoCause Cause = iota
	ByOverflow
	ByForgedCallback
	ByArbitraryCall
	BySignedDrain
	BySplitTakings
	ByPaidClaim
	ByPull
	ByGrantedApproval
	ByReentry
	ByFakeInput
	ByControl
	ByPairAbuse
	ByPriceJump
	ByUnbackedSale
	ByAbandonedLoan
	ByRoundTrip
	ByRobbedPool
	ByInAndOut
	ByFrontRunner
	BySelfLiquidation
	ByRepetition
	ByBorrowedVotes
	ByUnpaid
	causeEnd
)

// Causes lists all causes.
func Causes() []Cause {
	out := make([]Cause, 0, causeEnd-1)
	for c := NoCause + 1; c < causeEnd; c++ {
		out = append(out, c)
	}
	return out
}
