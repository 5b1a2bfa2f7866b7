package api

// Sandwich are the trades of two transactions of one searcher and of those that stood between
// them in the block, in one pool.
type Sandwich struct {
	Pool     Addr            `json:"pool"`
	Searcher Addr            `json:"searcher"`
	Trades   []SandwichTrade `json:"trades"` // in the order of the block: front, victims, back
}

// SandwichTrade is one of these trades.
type SandwichTrade struct {
	Part   SandwichPart `json:"part"`
	TxHash string       `json:"txHash"`
	Self   bool         `json:"self"`  // it is the transaction of this result
	Given  *StepAmount  `json:"given"` // into the pool; null where its events do not tell
	Taken  *StepAmount  `json:"taken"` // out of the pool; null where its events do not tell
}

// SandwichPart is what a trade is in a sandwich.
type SandwichPart string

// The parts in the order of the block.
const (
	SandwichFront  SandwichPart = "front"
	SandwichVictim SandwichPart = "victim"
	SandwichBack   SandwichPart = "back"
)
