package label

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
)

// word is the unit of the contract ABI.
const word = 32

// maxText is how many bytes of a string are looked at, whatever length it claims.
const maxText = 4096

// text reads the return data of symbol() or name(): an ABI string, or the bytes32
// of tokens older than the standard (MKR, SAI). ok is false when it is neither.
// The result is cleaned, and may be empty although the contract did answer.
func text(data []byte) (s string, ok bool) {
	switch {
	case len(data) == word:
		return fixedText(data)
	case len(data) < 2*word:
		return "", false
	}
	text, ok := evmsig.Bytes(data, 0)
	if !ok {
		return "", false
	}
	return Clean(string(text[:min(len(text), maxText)])), true
}

// fixedText reads a bytes32 padded with zeros. A number is not taken for text.
func fixedText(data []byte) (string, bool) {
	end := bytes.IndexByte(data, 0)
	if end < 0 {
		end = word
	}
	if end == 0 || len(bytes.Trim(data[end:], "\x00")) > 0 || !utf8.Valid(data[:end]) {
		return "", false
	}
	s := Clean(string(data[:end]))
	return s, s != ""
}

// decimals reads the return data of decimals(), whose first word counts, as it
// does for a contract that calls it. What is above MaxDecimals is refused.
func decimals(data []byte) (uint8, bool) {
	n, ok := evmsig.Length(evmsig.Word(data, 0), MaxDecimals)
	return uint8(n), ok
}

var (
	// errNoMulticall: no code answered where Multicall3 should be.
	errNoMulticall = errors.New("no Multicall3 at this block")
	// errBatch: the answer of Multicall3 does not have the shape of one.
	errBatch = errors.New("answer of Multicall3 is malformed")
)

// aggregate asks all metadata of some tokens in one call. The answer of a call
// that failed is nil.
func (f *fetcher) aggregate(ctx context.Context, ask []common.Address) ([][]byte, error) {
	out, err := f.call(ctx, *f.chain.Multicall3, packAggregate(ask))
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errNoMulticall
	}
	answers, ok := unpackAggregate(out, len(metadata)*len(ask))
	if !ok {
		return nil, errBatch
	}
	return answers, nil
}

// packAggregate encodes the calls: an array of (target, allowFailure, data).
func packAggregate(ask []common.Address) []byte {
	const call = 5 * word // target, true, offset of data, length of data, data
	n := len(ask) * len(metadata)
	b := make([]byte, 0, 4+(2+n)*word+n*call)
	b = append(b, evmsig.SelAggregate3[:]...)
	b = appendWord(b, word)
	b = appendWord(b, uint64(n))
	for i := range n {
		b = appendWord(b, uint64(n*word+i*call))
	}
	for _, a := range ask {
		for _, selector := range metadata {
			b = append(b, make([]byte, word-common.AddressLength)...)
			b = append(b, a[:]...)
			b = appendWord(b, 1)
			b = appendWord(b, 3*word)
			b = appendWord(b, uint64(len(selector)))
			b = append(b, selector...)
			b = append(b, make([]byte, word-len(selector))...)
		}
	}
	return b
}

func appendWord(b []byte, v uint64) []byte {
	b = append(b, make([]byte, word-8)...)
	return binary.BigEndian.AppendUint64(b, v)
}

// unpackAggregate reads an array of n (success, returnData). The pieces point
// into data; overlapping ones are harmless.
func unpackAggregate(data []byte, n int) ([][]byte, bool) {
	array, ok := evmsig.Tail(data, 0)
	if !ok {
		return nil, false
	}
	if count, ok := evmsig.Length(array[:word], n); !ok || count != n || len(array)-word < n*word {
		return nil, false
	}
	array = array[word:]
	answers := make([][]byte, n)
	for i := range answers {
		tuple, ok := evmsig.Tail(array, i)
		if !ok {
			return nil, false
		}
		answer, ok := evmsig.Bytes(tuple, 1)
		if !ok {
			return nil, false
		}
		if success, _ := evmsig.Length(tuple[:word], 1); success == 1 {
			answers[i] = answer
		}
	}
	return answers, true
}
