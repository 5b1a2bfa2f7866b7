package decode

import (
	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// Provenance is the source of a name, most trusted first.
type Provenance string

const (
	FromVerified     Provenance = "verified_abi"            // verified source of that very address
	FromVerifiedImpl Provenance = "verified_implementation" // of the implementation the proxy ran
	FromCurated      Provenance = "curated"                 // hand-kept tables of Txlens
	FromOwn          Provenance = "own"                     // files of the user
	FromPackages     Provenance = "npm_abi"                 // ABIs harvested from published packages
	FromSignatures   Provenance = "signature_database"      // Sourcify 4byte: text only, argument names unknown
	FromFourByte     Provenance = "fourbyte"                // go-ethereum's table: spam-prone, low trust
	FromBuiltin      Provenance = "builtin"                 // precompiles, Error(string), Panic(uint256)
)

// Contract is what is known about the code at an address. Maps of contracts are
// keyed by the address that was asked for.
type Contract struct {
	Address        common.Address
	Name           string
	ABI            *abi.ABI        // nil when not verified
	Source         string          // sourcify, etherscan, blockscout
	Match          string          // exact_match, match, or empty
	Implementation *common.Address // the last one behind a proxy, when the transaction began
	Upgraded       *common.Address // what the transaction put in the place of the proxy's own
	ProxyKind      string          // as Proxy.Kind; what a source service says may be other words
	ProxyArgs      []byte          // immutable arguments of a clone
	ProxyDoubt     string          // why Implementation may not be what ran
}

// Call is a decoded call frame.
type Call struct {
	Selector    [4]byte
	HasSelector bool
	Name        string // transfer; "constructor", "receive", "fallback", or a precompile's name
	Signature   string // transfer(address,uint256)
	Args        []api.Arg
	Outputs     []api.Arg
	Provenance  Provenance // empty when nothing was found: Name is empty then
	Source      string     // who gave the signature: sourcify, a package's name ...; may be empty
	Note        string     // one of the notes below, empty for a plain encoding
}

// NonCanonical reports whether no encoder writes the calldata, and only the ABI of the
// contract that was called says which function it means.
func (c *Call) NonCanonical() bool {
	return c != nil && (c.Note == NotePadded || c.Note == NoteUnreadable)
}

// Notes say in what a decode departs from "the same bytes come back".
const (
	NoteTrailing = "trailing bytes"        // a complete encoding, and then more bytes
	NoteOffsets  = "non-canonical offsets" // verified ABI only: readable, but not as an encoder writes it
	// Of a verified ABI only: too short, or bits set that the type does not have. The
	// arguments are what the EVM and compilers before Solidity 0.5 read.
	NotePadded = "non-canonical calldata"
	// Of a verified ABI only: nothing but the selector is known.
	NoteUnreadable = "non-canonical calldata, arguments not decoded"
	NoteLayout     = "inferred layout" // which arguments of the event are indexed was inferred from the bytes
)

// Event is a decoded log.
type Event struct {
	Name       string
	Signature  string
	Args       []api.Arg // nil when the layout is not certain
	Provenance Provenance
	Source     string
	Note       string // as in Call, or NoteLayout
}

// Failure is decoded revert data.
type Failure struct {
	Name       string // Error, Panic, or the custom error's name
	Signature  string
	Args       []api.Arg
	Text       string   // one sentence a person can read
	Nested     *Failure // FailedOp, WrappedError, ExecutionFailed and the like carry another error
	Provenance Provenance
}

// Set is everything decoded of one transaction.
type Set struct {
	Calls    []*Call    // by frame index; nil when the frame has nothing to decode
	Failures []*Failure // by frame index; nil unless the frame failed with data
	Events   []*Event   // by receipt log position; nil when unknown
}
