package evmsig

import (
	"encoding/binary"
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

// Length reads a word as a length or an offset that must not pass limit.
func Length(word []byte, limit int) (int, bool) {
	if len(word) != wordSize {
		return 0, false
	}
	for _, b := range word[:wordSize-8] {
		if b != 0 {
			return 0, false
		}
	}
	n := binary.BigEndian.Uint64(word[wordSize-8:])
	if limit < 0 || n > uint64(limit) {
		return 0, false
	}
	return int(n), true
}

// Tail follows the offset in the i-th word: what lies there and behind it, at least
// one word.
func Tail(data []byte, i int) ([]byte, bool) {
	at, ok := Length(Word(data, i), len(data)-wordSize)
	if !ok {
		return nil, false
	}
	return data[at:], true
}

// Words are the elements of the array of words that the offset in the i-th word
// points to. Its length must fit the data.
func Words(data []byte, i int) ([]byte, bool) {
	tail, ok := Tail(data, i)
	if !ok {
		return nil, false
	}
	body := tail[wordSize:]
	n, ok := Length(tail[:wordSize], len(body)/wordSize)
	return body[:n*wordSize], ok
}

// Bytes is the content of the bytes or string that the offset in the i-th word points
// to. Its length must fit the data.
func Bytes(data []byte, i int) ([]byte, bool) {
	tail, ok := Tail(data, i)
	if !ok {
		return nil, false
	}
	body := tail[wordSize:]
	n, ok := Length(tail[:wordSize], len(body))
	return body[:n], ok
}
