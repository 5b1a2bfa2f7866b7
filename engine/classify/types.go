package classify

import (
	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Vote is one rule's opinion.
type Vote struct {
	Rule     string
	TxType   api.TxType
	SubType  string
	Protocol string // snake-case slug, empty when not known
	Family   string // what the events alone tell, "uniswap-v2", where the emitter does not tell the protocol
	Logs     []int  // receipt positions that made it fire
	Frames   []int
	Evidence Strength // the strongest kind
}

// Verdict is what the rules say.
type Verdict struct {
	TxType     *api.TxType
	SubType    string
	Protocol   *string
	Protocols  []string       // all that took part, in the order of the transaction
	Actor      common.Address // on whose behalf the transaction acted
	Attempted  bool
	Sandwich   *facts.Sandwich // nil: none, or not looked for
	Risks      []verdict.Risk
	Confidence api.Confidence
	Reasons    []verdict.Sentence        // why confidence is not high
	Deciding   *Opinion                  // of the first vote
	Evidence   Strength                  // the strongest of the first vote
	Votes      []Vote                    // all, the deciding one first
	Roles      map[common.Address]string // pool, router, token, recipient, victim ...
	Primary    *flow.Delta               // the primary action as one of the actor's net movements, for usdValue
	Seizures   []facts.Liquidation       // what each liquidation paid and took
	Besides    []flow.Delta              // further movements that make up the action's value: both sides of a liquidity pair
}

// RunnerUp is the best vote for another type than that of the verdict; nil for none.
func (v *Verdict) RunnerUp() *Vote {
	for i := range v.Votes {
		if v.TxType != nil && v.Votes[i].TxType != *v.TxType {
			return &v.Votes[i]
		}
	}
	return nil
}
