package tempo

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	ethcrypto "github.com/ethereum/go-ethereum/crypto"
)

// ErrKey means bytes that are no private key of the curve. The bytes are never
// part of the text.
var ErrKey = errors.New("private key is not valid")

// Signer signs digests with one key.
type Signer interface {
	// Address is the account of the key.
	Address() common.Address
	// SignDigest signs 32 bytes that the caller has hashed.
	SignDigest(digest common.Hash) (Signature, error)
}

var (
	_ Signer = (*Secp256k1Key)(nil)
	_ Signer = (*P256Key)(nil)
)

// masked is how keys print.
const masked = "private key (hidden)"

// Secp256k1Key signs as Ethereum accounts do, deterministically (RFC 6979). It
// prints its address only.
type Secp256k1Key struct {
	key     *ecdsa.PrivateKey
	address common.Address
}

// NewSecp256k1Key takes the 32 bytes of a private key.
func NewSecp256k1Key(secret []byte) (*Secp256k1Key, error) {
	key, err := ethcrypto.ToECDSA(secret)
	if err != nil {
		return nil, ErrKey // the cause may quote the key
	}
	return &Secp256k1Key{key: key, address: ethcrypto.PubkeyToAddress(key.PublicKey)}, nil
}

// ParseSecp256k1Key reads 64 hex digits, with or without 0x and outer blanks.
func ParseSecp256k1Key(text string) (*Secp256k1Key, error) {
	secret, err := keyBytes(text)
	if err != nil {
		return nil, err
	}
	return NewSecp256k1Key(secret)
}

// GenerateSecp256k1Key makes a new key from the system's random source and gives
// its secret, to be stored by the caller.
func GenerateSecp256k1Key() (key *Secp256k1Key, secret []byte, err error) {
	k, err := ethcrypto.GenerateKey()
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	secret = ethcrypto.FromECDSA(k)
	key, err = NewSecp256k1Key(secret)
	return key, secret, err
}

// Address is the account of the key.
func (k *Secp256k1Key) Address() common.Address { return k.address }

// SignDigest makes a 65 byte signature with a low s.
func (k *Secp256k1Key) SignDigest(digest common.Hash) (Signature, error) {
	raw, err := ethcrypto.Sign(digest[:], k.key)
	if err != nil {
		return Signature{}, fmt.Errorf("sign digest: %w", err)
	}
	return ParseSignature(raw)
}

func (k *Secp256k1Key) String() string       { return masked + " of " + k.address.Hex() }
func (k *Secp256k1Key) GoString() string     { return k.String() }
func (k *Secp256k1Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// P256Key signs as passkey accounts do, deterministically (RFC 6979). It prints
// its address only.
type P256Key struct {
	key     *ecdsa.PrivateKey
	xy      []byte
	address common.Address
}

// NewP256Key takes the 32 bytes of a private key.
func NewP256Key(secret []byte) (*P256Key, error) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret)
	if err != nil {
		return nil, ErrKey
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, ErrKey
	}
	return &P256Key{key: key, xy: point[1:], address: p256Address(point[1:])}, nil
}

// Address is the account of the key.
func (k *P256Key) Address() common.Address { return k.address }

// SignDigest makes a 130 byte signature with a low s and no prehash.
func (k *P256Key) SignDigest(digest common.Hash) (Signature, error) {
	der, err := k.key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return Signature{}, fmt.Errorf("sign digest: %w", err)
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return Signature{}, fmt.Errorf("read signature: %w", err)
	}
	if rs.S.Cmp(p256HalfOrder.Big()) > 0 {
		rs.S.Sub(p256Order.Big(), rs.S)
	}
	raw := make([]byte, p256Length)
	raw[0] = typeP256
	rs.R.FillBytes(raw[1:33])
	rs.S.FillBytes(raw[33:65])
	copy(raw[65:129], k.xy)
	return ParseSignature(raw)
}

func (k *P256Key) String() string       { return masked + " of " + k.address.Hex() }
func (k *P256Key) GoString() string     { return k.String() }
func (k *P256Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

func keyBytes(text string) ([]byte, error) {
	secret, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), "0x"))
	if err != nil || len(secret) != 32 {
		return nil, ErrKey // the decoder's error would quote a digit
	}
	return secret, nil
}
