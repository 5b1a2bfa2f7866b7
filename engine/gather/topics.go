package gather

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// topics hashes event signatures: a hash is never typed.
func topics(signatures ...string) map[common.Hash]bool {
	out := make(map[common.Hash]bool, len(signatures))
	for _, s := range signatures {
		out[crypto.Keccak256Hash([]byte(s))] = true
	}
	return out
}
