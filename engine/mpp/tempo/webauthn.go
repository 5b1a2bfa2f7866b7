package tempo

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// authenticatorDataLength is that of data without extensions: hash of the
// relying party's id, flags, counter.
const authenticatorDataLength = 37

// Flags of WebAuthn authenticator data.
const (
	flagUserPresent  = 0x01
	flagUserVerified = 0x04
	flagAttested     = 0x40
	flagExtensions   = 0x80
)

// webAuthnMessage checks an assertion, authenticator data ‖ client data JSON,
// for digest and returns what its key signed.
func webAuthnMessage(assertion []byte, digest common.Hash) (common.Hash, error) {
	if len(assertion) < authenticatorDataLength+32 {
		return common.Hash{}, ErrSignatureFormat
	}
	flags := assertion[32]
	if flags&(flagUserPresent|flagUserVerified) == 0 || flags&(flagAttested|flagExtensions) != 0 {
		return common.Hash{}, ErrSignatureInvalid
	}
	data, client := assertion[:authenticatorDataLength], assertion[authenticatorDataLength:]
	if err := checkClientData(client, digest); err != nil {
		return common.Hash{}, err
	}
	clientHash := sha256.Sum256(client)
	return sha256.Sum256(append(bytes.Clone(data), clientHash[:]...)), nil
}

// checkClientData reads client data as strictly as the chain: the two members
// must be there once, and plain, for the chain reads their text without escapes.
// Other members may be anything, and come twice.
func checkClientData(client []byte, digest common.Hash) error {
	dec := jsontext.NewDecoder(bytes.NewReader(client), jsontext.AllowDuplicateNames(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return ErrSignatureFormat
	}
	want := map[string]string{
		"type":      `"webauthn.get"`,
		"challenge": `"` + base64.RawURLEncoding.EncodeToString(digest[:]) + `"`,
	}
	found := 0
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return ErrSignatureFormat
		}
		key := name.String() // before the next read, which reuses the token
		value, err := dec.ReadValue()
		if err != nil {
			return ErrSignatureFormat
		}
		if text, asked := want[key]; asked {
			if string(value) != text {
				return ErrSignatureInvalid // also the second of two, once the text is spent
			}
			want[key] = ""
			found++
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return ErrSignatureFormat
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return ErrSignatureFormat
	}
	if found != len(want) {
		return ErrSignatureInvalid
	}
	return nil
}
