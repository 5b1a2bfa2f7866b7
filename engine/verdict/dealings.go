package verdict

import "github.com/ethereum/go-ethereum/common"

// Dealings lay out what the sender and its contracts gave and took, for a reader.
type Dealings struct {
	Side         []common.Address
	Deals        []Deal
	More         int // deals left out
	Gained, Lost []Holding
}

// Deal is one call of the side to somebody else in which something passed between them.
type Deal struct {
	Path         string
	Target       common.Address
	Function     string
	Given, Taken []Amount
}

// Holding is what an account has more or less of.
type Holding struct {
	Account common.Address
	Assets  []Amount
}
