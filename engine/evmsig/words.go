package evmsig

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

const wordSize = 32

// Word cuts the i-th word out of ABI data. It is nil when the data is too short or
// i is negative.
func Word(data []byte, i int) []byte {
	if i < 0 || len(data)/wordSize <= i {
		return nil
	}
	return data[wordSize*i : wordSize*i+wordSize]
}

// Uint reads the i-th word as an unsigned number, nil when there is none.
func Uint(data []byte, i int) *big.Int {
	w := Word(data, i)
	if w == nil {
		return nil
	}
	return new(big.Int).SetBytes(w)
}

// Int reads the i-th word as a number in two's complement, nil when there is none.
func Int(data []byte, i int) *big.Int {
	n := Uint(data, i)
	if n != nil && n.Bit(255) == 1 {
		n.Sub(n, new(big.Int).Lsh(common.Big1, 256))
	}
	return n
}

// Address reads a word that must be an address: twelve zero bytes first. It is
// false for anything else, and for what is no word.
func Address(word []byte) (a common.Address, ok bool) {
	if len(word) != wordSize {
		return a, false
	}
	for _, b := range word[:wordSize-common.AddressLength] {
		if b != 0 {
			return a, false
		}
	}
	copy(a[:], word[wordSize-common.AddressLength:])
	return a, true
}
