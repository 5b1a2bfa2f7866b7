package tempo

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Errors of signatures. Each means that the chain's verifier would refuse, too.
var (
	// ErrSignatureFormat means bytes of no accepted form: a wrong length, an
	// unknown type byte, a recovery id other than 0, 1, 27, 28.
	ErrSignatureFormat = errors.New("signature has no accepted form")
	// ErrSignatureRange means r or s of zero, or not below the curve's order.
	ErrSignatureRange = errors.New("signature number is out of range")
	// ErrHighS means the malleable twin of a signature: s above half the order.
	ErrHighS = errors.New("signature has a high s")
	// ErrSignatureInvalid means a well-formed signature that does not verify.
	ErrSignatureInvalid = errors.New("signature does not verify")
	// ErrSigner means a valid signature of somebody else.
	ErrSigner = errors.New("signature is by another signer")
)

// Kind tells the primitive signatures apart.
type Kind uint8

// The three primitive signatures of TIP-1020.
const (
	NoSignature Kind = iota
	Secp256k1
	P256
	WebAuthn
)

// String is the kind's name.
func (k Kind) String() string {
	return [...]string{"no", "secp256k1", "P-256", "WebAuthn"}[k]
}

// Lengths and type bytes of encoded signatures.
const (
	secp256k1Length   = 65
	p256Length        = 1 + 129
	minWebAuthnLength = 1 + 128
	// MaxSignatureLength is the longest primitive signature, a WebAuthn one.
	MaxSignatureLength = 1 + 2048
	// maxSenderSignatureLength adds the envelope of an access key.
	maxSenderSignatureLength = 1 + 20 + MaxSignatureLength

	typeP256      = 0x01
	typeWebAuthn  = 0x02
	typeKeychain  = 0x03 // refused by the chain since its fork T1C
	typeAccessKey = 0x04
)

// Orders of the curves and their halves, big-endian.
var (
	secp256k1Order     = common.HexToHash("0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
	secp256k1HalfOrder = common.HexToHash("0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0")
	p256Order          = common.HexToHash("0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
	p256HalfOrder      = common.HexToHash("0x7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8")
)

// Signature is a primitive signature whose numbers are in range and whose s is
// low, in the one encoding that is stored and sent to the chain: recovery ids 0
// and 1 have become 27 and 28, a set prehash flag 1. The zero value is none.
// Signatures are compared with ==; they print as their kind only, because a
// voucher's signature is money.
type Signature struct {
	kind Kind
	b    string
}

// ParseSignature reads a primitive signature as the chain's verifier does. The
// 64 byte form of EIP-2098, envelopes of access keys, multisig and wrapped
// forms are refused.
func ParseSignature(raw []byte) (Signature, error) {
	switch {
	case len(raw) == secp256k1Length:
		return parseSecp256k1(raw)
	case len(raw) == p256Length && raw[0] == typeP256:
		return parseP256(raw)
	case len(raw) >= minWebAuthnLength && len(raw) <= MaxSignatureLength && raw[0] == typeWebAuthn:
		rs := raw[len(raw)-128:]
		if err := checkRange(rs[:32], rs[32:64], &p256Order, &p256HalfOrder); err != nil {
			return Signature{}, err
		}
		return Signature{kind: WebAuthn, b: string(raw)}, nil
	}
	return Signature{}, ErrSignatureFormat
}

func parseSecp256k1(raw []byte) (Signature, error) {
	b := [secp256k1Length]byte(raw)
	switch b[64] {
	case 0, 1:
		b[64] += 27
	case 27, 28:
	default:
		return Signature{}, ErrSignatureFormat
	}
	if err := checkRange(b[:32], b[32:64], &secp256k1Order, &secp256k1HalfOrder); err != nil {
		return Signature{}, err
	}
	return Signature{kind: Secp256k1, b: string(b[:])}, nil
}

func parseP256(raw []byte) (Signature, error) {
	b := [p256Length]byte(raw)
	if err := checkRange(b[1:33], b[33:65], &p256Order, &p256HalfOrder); err != nil {
		return Signature{}, err
	}
	// The chain takes any byte but zero for "the message is hashed once more".
	if b[129] != 0 {
		b[129] = 1
	}
	return Signature{kind: P256, b: string(b[:])}, nil
}

// checkRange holds r to 1..order-1 and s to 1..half.
func checkRange(r, s []byte, order, half *common.Hash) error {
	var zero common.Hash
	switch {
	case bytes.Equal(r, zero[:]) || bytes.Equal(s, zero[:]):
		return ErrSignatureRange
	case bytes.Compare(r, order[:]) >= 0 || bytes.Compare(s, order[:]) >= 0:
		return ErrSignatureRange
	case bytes.Compare(s, half[:]) > 0:
		return ErrHighS
	}
	return nil
}

// Kind is the kind of s.
func (s Signature) Kind() Kind { return s.kind }

// Bytes is the encoding that is stored and sent, as a new slice.
func (s Signature) Bytes() []byte { return []byte(s.b) }

// String names the kind and hides the rest.
func (s Signature) String() string { return s.kind.String() + " signature" }

// GoString hides as String does.
func (s Signature) GoString() string { return s.String() }

// LogValue hides as String does.
func (s Signature) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Signer is the address whose key made s over digest. The error is
// ErrSignatureInvalid, or ErrSignatureFormat for the zero Signature and for
// client data that is none.
func (s Signature) Signer(digest common.Hash) (common.Address, error) {
	switch s.kind {
	case Secp256k1:
		return s.recover(digest)
	case P256:
		message := digest
		if s.b[129] != 0 {
			message = sha256.Sum256(digest[:])
		}
		return verifyP256([]byte(s.b[1:129]), message)
	case WebAuthn:
		split := len(s.b) - 128
		message, err := webAuthnMessage([]byte(s.b[1:split]), digest)
		if err != nil {
			return common.Address{}, err
		}
		return verifyP256([]byte(s.b[split:]), message)
	}
	return common.Address{}, ErrSignatureFormat
}

// recover finds the signer of a secp256k1 signature, by libsecp256k1 with cgo and by
// decred's library without. ECDSA's own verification against a known key would not do:
// it does not look at the recovery id, and the chain refuses a wrong one. The buffers
// come from the pool because the call into C would move them to the heap.
func (s Signature) recover(digest common.Hash) (common.Address, error) {
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	copy(w.sig[:], s.b)
	w.sig[64] -= 27
	w.hash = digest
	key, err := crypto.Ecrecover(w.hash[:], w.sig[:])
	if err != nil {
		return common.Address{}, ErrSignatureInvalid
	}
	hash := w.sum(key[1:])
	return common.Address(hash[12:]), nil
}

// verifyP256 checks r‖s‖x‖y over message and returns the key's address.
func verifyP256(rsxy []byte, message common.Hash) (common.Address, error) {
	point := append([]byte{4}, rsxy[64:]...)
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return common.Address{}, ErrSignatureInvalid
	}
	r, s := new(big.Int).SetBytes(rsxy[:32]), new(big.Int).SetBytes(rsxy[32:64])
	if !ecdsa.Verify(key, message[:], r, s) {
		return common.Address{}, ErrSignatureInvalid
	}
	return p256Address(rsxy[64:]), nil
}

// p256Address is the account of a P-256 key: the hash of x‖y, without a type.
func p256Address(xy []byte) common.Address {
	return common.Address(crypto.Keccak256(xy)[12:])
}

// SenderSignature is the signature under a transaction: a primitive one, or
// that of an access key for the account that authorised it.
type SenderSignature struct {
	Key Signature
	// Account is whose access key signed; zero means that Key is its own account.
	Account common.Address
}

// ParseSenderSignature reads the last item of a transaction.
func ParseSenderSignature(raw []byte) (SenderSignature, error) {
	if len(raw) == secp256k1Length || len(raw) < 1+20 || raw[0] != typeAccessKey {
		s, err := ParseSignature(raw)
		return SenderSignature{Key: s}, err
	}
	s := SenderSignature{Account: common.Address(raw[1:21])}
	if s.Account == (common.Address{}) {
		return SenderSignature{}, ErrSignatureFormat
	}
	var err error
	if s.Key, err = ParseSignature(raw[21:]); err != nil {
		return SenderSignature{}, fmt.Errorf("read access key signature: %w", err)
	}
	return s, nil
}

// Bytes undoes ParseSenderSignature.
func (s SenderSignature) Bytes() []byte {
	if s.Account == (common.Address{}) {
		return s.Key.Bytes()
	}
	b := append([]byte{typeAccessKey}, s.Account[:]...)
	return append(b, s.Key.b...)
}

// Signer gives the account that sends the transaction of signHash, and the
// address of the key that signed; they differ for an access key, of which only
// the chain knows whether the account authorised it.
func (s SenderSignature) Signer(signHash common.Hash) (account, key common.Address, err error) {
	if s.Account != (common.Address{}) {
		signHash = accessKeyHash(signHash, s.Account)
	}
	if key, err = s.Key.Signer(signHash); err != nil {
		return common.Address{}, common.Address{}, err
	}
	if s.Account != (common.Address{}) {
		return s.Account, key, nil
	}
	return key, key, nil
}

// accessKeyHash is what an access key signs: it binds the account.
func accessKeyHash(signHash common.Hash, account common.Address) common.Hash {
	return crypto.Keccak256Hash([]byte{typeAccessKey}, signHash[:], account[:])
}
