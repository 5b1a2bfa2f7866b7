package flow

import (
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Standard is the token standard of a transfer.
type Standard string

const (
	ERC20   Standard = "erc20"
	ERC721  Standard = "erc721"
	ERC1155 Standard = "erc1155"
	ERC6909 Standard = "erc6909"
)

// Transfer is one movement of a token, from a log of the receipt, which holds
// logs of live frames only. A wrap or unwrap of the native coin that emits no
// Transfer counts as mint from, or burn to, the zero address and has Wrap set.
type Transfer struct {
	Standard Standard
	Token    common.Address
	From, To common.Address
	Amount   *big.Int // base units; 1 for ERC-721
	ID       *big.Int // nil for ERC-20
	Last     *big.Int // of a range of ids that ID begins (ERC-2309), of which Amount is the number; nil: ID alone
	Log      int      // position in the receipt; where nobody has the logs, position in the list; NoLog for none
	Call     int      // where nobody has the logs: index of the frame that asked for it
	Sub      int      // position inside a batch log
	Wrap     bool
}

// Key names what a transfer moved.
func (t *Transfer) Key() TokenKey {
	k := TokenKey{Token: t.Token, NFT: t.Standard == ERC721}
	switch {
	case t.ID == nil:
	case t.Last != nil:
		k.ID = rangeOf(t.ID.String(), t.Last.String())
	default:
		k.ID = t.ID.String()
	}
	return k
}

// NoLog is the position of a movement that the token logged nothing of: the calls and the
// state show it.
const NoLog = -1

// MoveKind says what moved native coin.
type MoveKind string

const (
	MoveCall         MoveKind = "call"
	MoveCreate       MoveKind = "create"
	MoveSelfDestruct MoveKind = "selfdestruct"
	MoveMint         MoveKind = "mint"    // deposit transaction
	MoveFee          MoveKind = "fee"     // payer to recipient, or to nobody when burnt
	MoveBurn         MoveKind = "destroy" // coin lost with a destroyed account
	MoveToken        MoveKind = "token"   // moved by the native coin's own token contract, known from its log
)

// Move is one movement of the native coin that took effect. The net movement of
// an address is the sum of its moves: From is debited unless Kind is MoveMint,
// To is credited unless NoTo is set.
type Move struct {
	Kind     MoveKind
	From, To common.Address
	Amount   *big.Int // wei, above zero
	Frame    int      // index in trace.Tree.Frames; -1 where no single frame made the move
	NoTo     bool     // nobody is credited (burnt fee, destroyed coin), or the recipient is unknown
}

// FeeShare is one receiver of a part of the fee.
type FeeShare struct {
	Address common.Address
	Role    string // block producer, base fee vault, sequencer fee vault, L1 fee vault, operator fee vault, ...
	Amount  *big.Int
}

// Fee is the split of what the transaction cost, in wei. No amount is nil.
// Total = Execution + L1 + Operator + Blob = Burnt + Unassigned + sum of Shares.
type Fee struct {
	Payer     common.Address
	Total     *big.Int
	Execution *big.Int // gasUsed x effective gas price
	L1        *big.Int
	Operator  *big.Int
	Blob      *big.Int
	Burnt     *big.Int
	// Unassigned was credited to accounts that neither the chain's rules nor the evidence
	// name: Arbitrum's network fee account, every recipient if the block is missing. It is
	// zero if chain.FeeRule knows the recipients.
	Unassigned *big.Int
	Shares     []FeeShare // no two with the same address, none of zero
	// Rest is what the sender paid of Total beside Payer (Kaia's fee ratio); Amount nil: nothing.
	Rest FeeShare
}

// PaidBy is what an account paid of the fee.
func (f *Fee) PaidBy(who common.Address) *big.Int {
	paid := new(big.Int)
	if f.Total == nil {
		return paid
	}
	if who == f.Payer {
		paid.Set(f.Total)
	}
	if f.Rest.Amount != nil {
		switch who {
		case f.Payer:
			paid.Sub(paid, f.Rest.Amount)
		case f.Rest.Address:
			paid.Set(f.Rest.Amount)
		}
	}
	return paid
}

// TokenKey names one fungible token, or one id of a non-fungible one. The zero
// address with an empty ID is the native coin.
type TokenKey struct {
	Token common.Address
	ID    string // decimal, FIRST-LAST of a range of ids; empty for fungible tokens
	NFT   bool   // ERC-721
}

// Range is the first and the last id of a range of NFTs that one event moved.
func (k TokenKey) Range() (first, last string, ok bool) { return strings.Cut(k.ID, rangeMark) }

// rangeMark is between the first and the last id of a range.
const rangeMark = "-"

func rangeOf(first, last string) string { return first + rangeMark + last }

// Change is the net movement of one address.
type Change struct {
	Address common.Address
	Deltas  []Delta // native first, then by token address and id
	FeeOnly bool    // a fee recipient that nothing else touched
	Role    string  // fee role, when it has one
}

// Delta is the net movement of one token.
type Delta struct {
	Key    TokenKey
	Amount *big.Int // signed base units, never zero
}

// Mismatch is a difference between the computed balances and the node's state diff. Where it
// is Followed, the Changes have what the state diff says.
type Mismatch struct {
	Address  common.Address
	Ledger   *big.Int // net wei as computed
	Recorded *big.Int // net wei by the state diff
	Followed bool
}

// Flow is all movements of a transaction.
type Flow struct {
	Transfers []Transfer
	// Fakes are transfer events of emitters that are proven to have moved nothing. They
	// are neither in Transfers nor in Changes.
	Fakes      []Transfer
	Checks     []TokenCheck // tokens that were compared with the state diff, in order of appearance; one for each fake
	Moves      []Move
	Fee        *Fee     // nil when the receipt is missing or the fee was not paid in the native coin
	Changes    []Change // sender first, then by first appearance; fee recipients last
	Mismatches []Mismatch
	Reconciled bool // a state diff was available and compared
	Complete   bool // native movements come from a trace, not from the receipt alone
	Unread     bool // no event tells of a movement of tokens, but calls or the state may
	// Undecided are tokens of which no evidence says whether they move amounts or NFTs.
	Undecided map[common.Address]bool
	Notes     []string // what could not be computed, one sentence each

	approvals map[int]bool // see ApprovesAmount
}
