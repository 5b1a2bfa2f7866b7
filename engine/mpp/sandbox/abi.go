package sandbox

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// selector is the name of a function or error in calldata.
type selector [4]byte

func selectorOf(signature string) selector {
	return selector(crypto.Keccak256([]byte(signature))[:4])
}

// revert is the failure of a call; its data go to the caller.
type revert struct {
	name string
	data []byte
}

func (r *revert) Error() string {
	if r.name == "" {
		return "execution reverted"
	}
	return "execution reverted: " + r.name
}

// reverting makes the failure with a custom error of the given signature.
func reverting(signature string, words ...common.Hash) *revert {
	s := selectorOf(signature)
	return &revert{signature, append(s[:], wordsOf(words...)...)}
}

// errCalldata is how a call ends whose arguments do not decode: without data.
var errCalldata = &revert{name: "calldata does not decode"}

// arguments reads the words after a selector in turn. Padding must be clean; what
// follows the last argument is ignored, as Solidity and the chain's decoder do.
type arguments struct {
	data []byte
	at   int
	bad  bool
}

func (a *arguments) word() (w common.Hash) {
	if len(a.data)-a.at < 32 {
		a.bad = true
		return w
	}
	w = common.Hash(a.data[a.at:])
	a.at += 32
	return w
}

func (a *arguments) address() common.Address {
	w := a.word()
	for _, b := range w[:12] {
		a.bad = a.bad || b != 0
	}
	return common.Address(w[12:])
}

func (a *arguments) uint(bits int) (v uint256.Int) {
	w := a.word()
	v.SetBytes32(w[:])
	a.bad = a.bad || v.BitLen() > bits
	return v
}

// length is an offset or a count, which cannot exceed the calldata.
func (a *arguments) length() int {
	v := a.uint(256)
	if !v.IsUint64() || v.Uint64() > uint64(len(a.data)) {
		a.bad = true
		return 0
	}
	return int(v.Uint64())
}

// bytes reads a dynamic argument: an offset here, length and content there.
func (a *arguments) bytes() []byte {
	there := &arguments{data: a.data, at: a.length()}
	size := there.length()
	if there.bad || len(a.data)-there.at < size {
		a.bad = true
		return nil
	}
	return a.data[there.at : there.at+size]
}

// hashes reads a dynamic array of bytes32.
func (a *arguments) hashes() []common.Hash {
	there := &arguments{data: a.data, at: a.length()}
	count := there.length()
	if there.bad || (len(a.data)-there.at)/32 < count {
		a.bad = true
		return nil
	}
	out := make([]common.Hash, count)
	for i := range out {
		out[i] = there.word()
	}
	return out
}

func wordsOf(words ...common.Hash) []byte {
	out := make([]byte, 0, 32*len(words))
	for _, w := range words {
		out = append(out, w[:]...)
	}
	return out
}

func wordOf(v uint256.Int) common.Hash { return v.Bytes32() }

func wordOf64(v uint64) common.Hash { return uint256.NewInt(v).Bytes32() }

func wordOfBool(b bool) common.Hash {
	if b {
		return wordOf64(1)
	}
	return common.Hash{}
}

// returnString encodes one dynamic string as return data.
func returnString(s string) []byte {
	padded := make([]byte, (len(s)+31)/32*32)
	copy(padded, s)
	return append(wordsOf(wordOf64(32), wordOf64(uint64(len(s)))), padded...)
}
