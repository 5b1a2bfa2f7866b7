package api

// Dealings lay out what the sender and its contracts gave and took. They are there beside a finding
// by the outcome and beside a gain that nothing explains, and are what both rest on.
type Dealings struct {
	// Side is the sender, the contracts that act for it, and the accounts that they paid of
	// their own accord.
	Side []Addr `json:"side"`
	// Deals are the calls of the side to others in which something passed between them, in
	// order. What paid for a call stands in it.
	Deals     []Deal `json:"deals"`
	MoreDeals int    `json:"moreDeals,omitzero"` // how many are left out
	// Gained is what the side has more or less of, by account; Lost what others have less of
	// who got nothing for it.
	Gained []Holding `json:"gained"`
	Lost   []Holding `json:"lost"`
}

// Deal is one call of the side to somebody else.
type Deal struct {
	Frame    string        `json:"frame"` // Node.Path
	Target   Addr          `json:"target"`
	Function string        `json:"function,omitempty"` // its name, or its selector
	Given    []AssetAmount `json:"given,omitempty"`    // by the side
	Taken    []AssetAmount `json:"taken,omitempty"`    // by the side
}

// Holding is what an account has more of at the end, or less, where the amount is negative.
type Holding struct {
	Account Addr          `json:"account"`
	Assets  []AssetAmount `json:"assets"`
}
