package sandbox

import (
	"bytes"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Addresses with built-in code.
var (
	// Reserve is the TIP-20 channel reserve, the escrow of sessions (TIP-1034).
	Reserve = common.HexToAddress("0x4d50500000000000000000000000000000000000")
	// PathUSD is the token that every sandbox has, and that pays fees by default.
	PathUSD = common.HexToAddress("0x20c0000000000000000000000000000000000000")
	// OUSD is another token that every sandbox has, with its address on the public chains.
	OUSD = common.HexToAddress("0x20c0000000000000000000006a37DA5C996874BE")
	// FeeManager collects all fees.
	FeeManager = common.HexToAddress("0xfeec000000000000000000000000000000000000")
	// Exchange swaps the sandbox's tokens one for one.
	Exchange = common.HexToAddress("0xdec0000000000000000000000000000000000000")

	keychainAddress = common.HexToAddress("0xaaaaaaaa00000000000000000000000000000000")
	verifierAddress = common.HexToAddress("0x5165300000000000000000000000000000000000")
)

// machine runs calls over a draft of the state, within one transaction or one
// simulation.
type machine struct {
	*draft
	chainID  uint64
	time     uint64 // Unix seconds of the block
	openHash common.Hash
	signer   *signerKey // the access key that signed, or nil
	tokens   map[common.Address]*token
	opened   map[common.Hash]bool // channels opened by this transaction
	logs     []*types.Log
	gas      uint64 // of calls, without the intrinsic part
}

type signerKey struct{ account, key common.Address }

// function is built-in code behind one selector. self is the address called.
type function struct {
	gas uint64
	run func(m *machine, from, self common.Address, a *arguments) ([]byte, error)
}

type functions map[selector]function

// bySelector turns signatures into selectors, once, at start.
func bySelector(bySignature map[string]function) functions {
	out := make(functions, len(bySignature))
	for signature, f := range bySignature {
		out[selectorOf(signature)] = f
	}
	return out
}

// code is what runs at an address, or nil.
func (m *machine) code(at common.Address) functions {
	switch at {
	case Reserve:
		return reserveFunctions
	case FeeManager:
		return feeFunctions
	case Exchange:
		return exchangeFunctions
	case keychainAddress:
		return keychainFunctions
	case verifierAddress:
		return verifierFunctions
	}
	if isToken(at) {
		return tokenFunctions
	}
	return nil
}

// call runs one call. A revert leaves the draft as far as it came; the caller drops
// it.
func (m *machine) call(from, to common.Address, input []byte) ([]byte, error) {
	m.gas += 2_600 // reaching an account for the first time (EIP-2929)
	code := m.code(to)
	if code == nil {
		return nil, nil
	}
	if isToken(to) && m.tokens[to] == nil {
		return nil, reverting("Uninitialized()")
	}
	if len(input) < 4 {
		return nil, errCalldata
	}
	f, known := code[selector(input)]
	if !known {
		return nil, &revert{name: "unknown function"}
	}
	m.gas += f.gas
	return f.run(m, from, to, &arguments{data: input[4:]})
}

// emit appends a log. Up to three topics follow the event's own.
func (m *machine) emit(from common.Address, event common.Hash, topics []common.Hash, data ...common.Hash) {
	m.logs = append(m.logs, &types.Log{Address: from, Topics: append([]common.Hash{event}, topics...), Data: wordsOf(data...)})
}

// isToken reports whether an address has the TIP-20 prefix.
func isToken(a common.Address) bool {
	prefix := [12]byte{0x20, 0xc0}
	return bytes.Equal(a[:12], prefix[:])
}

// virtualMaster splits a virtual address (TIP-1022): 4 bytes master id, 10 bytes of
// a mark, 6 bytes tag.
func virtualMaster(a common.Address) (id common.Hash, virtual bool) {
	mark := bytes.Repeat([]byte{0xfd}, 10)
	if !bytes.Equal(a[4:14], mark) {
		return id, false
	}
	return common.BytesToHash(a[:4]), true
}

// resolve gives the account that receives what is sent to an address.
func (m *machine) resolve(to common.Address) (common.Address, error) {
	id, virtual := virtualMaster(to)
	if !virtual {
		return to, nil
	}
	master := m.get(cell{space: masterSpace, key: id})
	if master.IsZero() {
		return to, reverting("VirtualAddressUnregistered()")
	}
	return common.Address(master.Bytes20()), nil
}

func addressWord(a common.Address) (v uint256.Int) {
	v.SetBytes20(a[:])
	return v
}
