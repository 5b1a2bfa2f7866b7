package sandbox

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/go-json-experiment/json/jsontext"

	"crypto/elliptic"
)

// ErrSignature: the bytes are no signature that the chain accepts for this digest.
var ErrSignature = errors.New("signature is not valid")

// keyKind is the kind of a key, numbered as the account keychain numbers it.
type keyKind uint8

const (
	secp256k1Key keyKind = iota
	p256Key
	webAuthnKey
)

// Sizes and marks of the primitive encodings (TIP-1020).
const (
	secp256k1Size = 65
	p256Size      = 130
	p256Mark      = 0x01
	webAuthnMark  = 0x02
	webAuthnTail  = 128 // r, s, x, y
	webAuthnMax   = 1 + 2048
	authDataSize  = 37
)

// primitive is a signature of one key that was found to be good.
type primitive struct {
	signer    common.Address
	kind      keyKind
	canonical []byte // how the chain writes it: recovery id 27 or 28, flag 0 or 1
}

// RecoverSigner tells whose primitive signature over digest this is: 65 bytes of
// secp256k1, 0x01 with a P-256 key, 0x02 with a WebAuthn assertion (TIP-1020). Access
// key and multisig envelopes are not primitive and give ErrSignature.
func RecoverSigner(digest common.Hash, sig []byte) (common.Address, error) {
	p, err := readPrimitive(digest, sig)
	return p.signer, err
}

func readPrimitive(digest common.Hash, sig []byte) (primitive, error) {
	switch {
	case len(sig) == secp256k1Size: // has no mark; any first byte may be part of r
		return recoverSecp256k1(digest, sig)
	case len(sig) == p256Size && sig[0] == p256Mark:
		message, canonical := digest, append([]byte(nil), sig...)
		if flag := sig[p256Size-1]; flag != 0 {
			message, canonical[p256Size-1] = sha256.Sum256(digest[:]), 1
		}
		signer, err := verifyP256(message, sig[1:p256Size-1])
		return primitive{signer, p256Key, canonical}, err
	case len(sig) > webAuthnTail && len(sig) <= webAuthnMax && sig[0] == webAuthnMark:
		said, tail := sig[1:len(sig)-webAuthnTail], sig[len(sig)-webAuthnTail:]
		message, err := webAuthnMessage(digest, said)
		if err != nil {
			return primitive{}, err
		}
		signer, err := verifyP256(message, tail)
		return primitive{signer, webAuthnKey, append([]byte(nil), sig...)}, err
	}
	return primitive{}, fmt.Errorf("%w: %d bytes of no known form", ErrSignature, len(sig))
}

// recoverSecp256k1 solves Q = (s·R − e·G) / r. Half of all solutions, those with a
// high s, are refused: otherwise each signature would have a twin.
func recoverSecp256k1(digest common.Hash, sig []byte) (primitive, error) {
	var r, s, e secp256k1.ModNScalar
	if r.SetByteSlice(sig[:32]) || s.SetByteSlice(sig[32:64]) || r.IsZero() || s.IsZero() {
		return primitive{}, fmt.Errorf("%w: r or s out of range", ErrSignature)
	}
	if s.IsOverHalfOrder() {
		return primitive{}, fmt.Errorf("%w: high s", ErrSignature)
	}
	v := sig[64]
	if v >= 27 {
		v -= 27
	}
	if v > 1 {
		return primitive{}, fmt.Errorf("%w: recovery id %d", ErrSignature, sig[64])
	}
	var rx, ry secp256k1.FieldVal
	if rx.SetByteSlice(sig[:32]) || !secp256k1.DecompressY(&rx, v == 1, &ry) {
		return primitive{}, fmt.Errorf("%w: r is no point of the curve", ErrSignature)
	}
	ry.Normalize()
	e.SetByteSlice(digest[:])
	inverse := new(secp256k1.ModNScalar).InverseValNonConst(&r)
	fromR := new(secp256k1.ModNScalar).Mul2(&s, inverse)
	fromG := e.Negate().Mul(inverse)
	one := new(secp256k1.FieldVal).SetInt(1)
	point := secp256k1.MakeJacobianPoint(&rx, &ry, one)
	var a, b, q secp256k1.JacobianPoint
	secp256k1.ScalarMultNonConst(fromR, &point, &a)
	secp256k1.ScalarBaseMultNonConst(fromG, &b)
	secp256k1.AddNonConst(&a, &b, &q)
	if q.Z.Normalize().IsZero() {
		return primitive{}, fmt.Errorf("%w: key at infinity", ErrSignature)
	}
	q.ToAffine()
	key := secp256k1.NewPublicKey(&q.X, &q.Y).SerializeUncompressed()
	canonical := append(append([]byte(nil), sig[:64]...), 27+v)
	return primitive{addressOf(key[1:]), secp256k1Key, canonical}, nil
}

// addressOf is the address of an uncompressed public key, x before y.
func addressOf(xy []byte) common.Address {
	return common.BytesToAddress(crypto.Keccak256(xy)[12:])
}

var p256Half = new(big.Int).Rsh(elliptic.P256().Params().N, 1)

// verifyP256 checks r, s, x, y over a message of 32 bytes.
func verifyP256(message common.Hash, tail []byte) (common.Address, error) {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, tail[64:128]...))
	if err != nil {
		return common.Address{}, fmt.Errorf("%w: P-256 key is no point of the curve", ErrSignature)
	}
	r, s := new(big.Int).SetBytes(tail[:32]), new(big.Int).SetBytes(tail[32:64])
	if s.Cmp(p256Half) > 0 {
		return common.Address{}, fmt.Errorf("%w: high s", ErrSignature)
	}
	if !ecdsa.Verify(key, message[:], r, s) {
		return common.Address{}, fmt.Errorf("%w: P-256", ErrSignature)
	}
	return addressOf(tail[64:128]), nil
}

// webAuthnMessage is what the authenticator signed, when it was asked for digest:
// said is the authenticator data, then the client data in JSON.
func webAuthnMessage(digest common.Hash, said []byte) (common.Hash, error) {
	const present, verified, attested, extended = 0x01, 0x04, 0x40, 0x80
	if len(said) < authDataSize+32 {
		return common.Hash{}, fmt.Errorf("%w: WebAuthn data is too short", ErrSignature)
	}
	if flags := said[32]; flags&(present|verified) == 0 || flags&(attested|extended) != 0 {
		return common.Hash{}, fmt.Errorf("%w: WebAuthn flags %#x", ErrSignature, flags)
	}
	kind, challenge, err := clientData(said[authDataSize:])
	if err != nil {
		return common.Hash{}, err
	}
	if kind != "webauthn.get" || challenge != base64.RawURLEncoding.EncodeToString(digest[:]) {
		return common.Hash{}, fmt.Errorf("%w: WebAuthn assertion of something else", ErrSignature)
	}
	client := sha256.Sum256(said[authDataSize:])
	return sha256.Sum256(append(append([]byte(nil), said[:authDataSize]...), client[:]...)), nil
}

// clientData reads the two members of the client data that count. The chain borrows
// them from the text, so an escape within them, or a second one of the same name,
// is no valid client data there.
func clientData(text []byte) (kind, challenge string, err error) {
	bad := fmt.Errorf("%w: client data is not the expected JSON", ErrSignature)
	dec := jsontext.NewDecoder(strings.NewReader(string(text)), jsontext.AllowDuplicateNames(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return "", "", bad
	}
	seen := map[string]bool{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", "", bad
		}
		member := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return "", "", bad
		}
		if member != "type" && member != "challenge" {
			continue
		}
		if seen[member] || value.Kind() != '"' || strings.ContainsRune(string(value), '\\') {
			return "", "", bad
		}
		seen[member] = true
		if plain := string(value[1 : len(value)-1]); member == "type" {
			kind = plain
		} else {
			challenge = plain
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return "", "", bad
	}
	if len(strings.TrimSpace(string(text[dec.InputOffset():]))) != 0 {
		return "", "", bad
	}
	return kind, challenge, nil
}
