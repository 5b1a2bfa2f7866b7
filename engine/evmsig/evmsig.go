// Package evmsig declares the events and functions that the engine knows by
// signature, each of them once, and reads 32-byte words of ABI data with bounds.
//
// Topics and selectors are computed from the text of the signature when the program
// starts; none is typed as a number. Tables of rules whose signatures are data hash
// them with Hash and Func.
package evmsig

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// NativeLogger is no contract: from EIP-7708 on the chain itself writes a Transfer log of this
// address for every move of native coin to another account, the fee excepted.
var NativeLogger = common.HexToAddress("0xfffffffffffffffffffffffffffffffffffffffe")

// Selector is the first four bytes of the hash of a function's signature.
type Selector [4]byte

// Hash is keccak256 of a canonical signature, such as "Transfer(address,address,uint256)":
// topic 0 of an event.
func Hash[T ~string | ~[]byte](signature T) common.Hash {
	return crypto.Keccak256Hash([]byte(signature))
}

// Func is the selector of a function or error with a canonical signature.
func Func[T ~string | ~[]byte](signature T) Selector {
	h := Hash(signature)
	return Selector(h[:4])
}

// Called is the selector that calldata begins with; zero when it is shorter.
func Called(input []byte) (s Selector) {
	if len(input) >= len(s) {
		copy(s[:], input)
	}
	return s
}

// Begins reports whether calldata begins with the selector.
func (s Selector) Begins(input []byte) bool {
	return len(input) >= len(s) && Selector(input[:len(s)]) == s
}
