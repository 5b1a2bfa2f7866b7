package verdict

import (
	"math/big"
	"strconv"

	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// Sentence is something to be said: a form with its arguments. The zero Sentence says
// nothing.
type Sentence struct {
	Form Form
	Args []Arg
}

// Say makes a Sentence.
func Say(f Form, args ...Arg) Sentence { return Sentence{f, args} }

// Arg is an argument of a Sentence. Its type says how it is rendered. Implementations are
// the types of this file.
type Arg interface{ isArg() }

type (
	Who         common.Address // an account by its name, else its address
	Abbreviated common.Address // an address, abbreviated
	Whole       common.Address // an address, in full with the capitals of its checksum
	Address     common.Address // an address, in full
	Symbol      common.Address // the symbol of a token
	Callee      int            // what the frame of this index calls
	Reason      int            // why the frame of this index failed
	Path        string         // the path of a frame
	Number      string         // an integer in decimal digits
	Protocol    string         // a protocol by its slug
	Family      string         // a family of events by its name
	Foreign     string         // a name that a contract gave itself
	Slot        common.Hash    // a storage slot
	BriefSlot   common.Hash    // a storage slot, abbreviated
	SlotKind    string         // a standard slot of proxies by its kind
	Did         Flag           // what an administrative flag says was done
	List        []Arg          // a list of arguments
	Stated      string         // words that were rendered before: those of a finding or a model
)

// Amount is so much of an asset.
type Amount struct {
	Key flow.TokenKey
	N   *big.Int
}

// Count is a number of things.
type Count struct {
	N  int
	Of Thing
}

// Thing is what a Count counts.
type Thing uint8

const (
	OfTransferEvents Thing = iota
	OfMoreInnerCalls
	OfCalls
	OfContracts
	OfBalances
	OfTokens
	OfChanges
	OfAccounts
	OfTimes
	OfMoreAccounts
)

func (Sentence) isArg()    {}
func (Who) isArg()         {}
func (Abbreviated) isArg() {}
func (Whole) isArg()       {}
func (Address) isArg()     {}
func (Symbol) isArg()      {}
func (Callee) isArg()      {}
func (Reason) isArg()      {}
func (Path) isArg()        {}
func (Number) isArg()      {}
func (Protocol) isArg()    {}
func (Family) isArg()      {}
func (Foreign) isArg()     {}
func (Slot) isArg()        {}
func (BriefSlot) isArg()   {}
func (SlotKind) isArg()    {}
func (Did) isArg()         {}
func (List) isArg()        {}
func (Stated) isArg()      {}
func (Amount) isArg()      {}
func (Count) isArg()       {}

// Num is an integer argument.
func Num(n *big.Int) Number { return Number(n.String()) }

// Int is a small integer argument.
func Int[T ~int | ~uint64](n T) Number { return Number(strconv.FormatInt(int64(n), 10)) }
