package tempo

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Parts of the EIP-712 hash of a proof that never change. Its domain has no verifying
// contract.
var (
	proofDomainType    = crypto.Keccak256Hash([]byte("EIP712Domain(string name,string version,uint256 chainId)"))
	proofDomainName    = crypto.Keccak256Hash([]byte("MPP"))
	proofDomainVersion = crypto.Keccak256Hash([]byte("3"))
	proofType          = crypto.Keccak256Hash([]byte("Proof(address account,string challengeId,string realm)"))
)

// ProofDigest is what an account signs to prove that it asks, without paying: the
// answer to a challenge of amount zero.
func ProofDigest(chainID uint64, account common.Address, challengeID, realm string) common.Hash {
	var domain [4 * 32]byte
	copy(domain[0:], proofDomainType[:])
	copy(domain[32:], proofDomainName[:])
	copy(domain[64:], proofDomainVersion[:])
	binary.BigEndian.PutUint64(domain[4*32-8:], chainID)
	separator := crypto.Keccak256(domain[:])

	var message [4 * 32]byte
	copy(message[0:], proofType[:])
	copy(message[32+12:], account[:])
	copy(message[64:], crypto.Keccak256([]byte(challengeID)))
	copy(message[96:], crypto.Keccak256([]byte(realm)))
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, separator, crypto.Keccak256(message[:]))
}
