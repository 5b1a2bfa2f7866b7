package chain

import "time"

// FinalAfter is the age from which a block can be taken to stay in its chain. It errs on the long
// side: a caller that asks once more loses one request, one that asks too early shows a
// transaction that is in no block.
//
// Ethereum and the families that agree on blocks by votes need minutes even where votes are
// missing. A rollup takes its blocks back until its data is final on L1, for which the sequencer
// of an OP stack has twelve hours. Of the others nothing is known, and among them are chains of
// proof of work, of which attackers have replaced two days.
func (c *Chain) FinalAfter() time.Duration {
	if _, unknown := c.Stack.(generic); unknown {
		return 7 * 24 * time.Hour
	}
	if !c.Stack.PublicOrder() {
		return 24 * time.Hour
	}
	return time.Hour
}
