package explain

// Finding is one weakness that the transaction used: what must hold and did not.
// Its first eight members are always present; nil lists marshal as [].
type Finding struct {
	BrokenInvariant      string     `json:"broken_invariant"` // one sentence: subject, rule, observed break, place
	Category             string     `json:"category"`
	Severity             string     `json:"severity"`   // critical, high, medium, low, info
	Confidence           Confidence `json:"confidence"` // that the invariant broke, and for this cause
	Victim               []Addr     `json:"victim"`
	Attacker             []Addr     `json:"attacker"`
	Evidence             []Evidence `json:"evidence"`
	MissingDataToConfirm []string   `json:"missing_data_to_confirm"`
}

// Evidence is one fact that a finding rests on, with the place in the trace, the
// receipt or the state where it can be looked up.
type Evidence struct {
	Claim    string  `json:"claim"`
	Kind     string  `json:"kind"`               // observed, derived, inferred
	Frame    string  `json:"frame,omitempty"`    // Node.Path
	LogIndex *uint64 `json:"logIndex,omitempty"` // as the receipt gives it
	Address  *Addr   `json:"address,omitempty"`
	Slot     string  `json:"slot,omitempty"` // 0x hex, of Address
	Before   string  `json:"before,omitempty"`
	After    string  `json:"after,omitempty"`
	Selector string  `json:"selector,omitempty"`
	Source   string  `json:"source"` // trace, receipt, state, code, agent ...
}
