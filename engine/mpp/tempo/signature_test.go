package tempo

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// verdict parses raw and recovers its signer over digest.
func verdict(raw []byte, digest common.Hash) (common.Address, error) {
	s, err := ParseSignature(raw)
	if err != nil {
		return common.Address{}, err
	}
	return s.Signer(digest)
}

func TestH1HighSVoucherIsRefused(t *testing.T) {
	if _, err := ParseSignature(unhex(t, sig1HighS)); !errors.Is(err, ErrHighS) {
		t.Errorf("high s: %v", err)
	}
	// The same twin recovers to the payer: only the rule keeps it out.
	raw := unhex(t, sig1HighS)
	raw[64] -= 27
	digest := moderato.Digest(channel1, AmountFrom(1_000_000))
	key, err := crypto.SigToPub(digest[:], raw)
	if err != nil || crypto.PubkeyToAddress(*key) != payer {
		t.Errorf("the vector is no twin: %v", err)
	}
}

func TestSecp256k1Encodings(t *testing.T) {
	digest := moderato.Digest(channel1, AmountFrom(1_000_000))
	f := func(name string, raw []byte, want error) {
		t.Helper()
		got, err := verdict(raw, digest)
		if !errors.Is(err, want) || err == nil && got != payer {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	with := func(at int, part string) []byte {
		raw := unhex(t, sig1)
		copy(raw[at:], unhex(t, part))
		return raw
	}
	f("v 28", unhex(t, sig1), nil)
	f("v 1", with(64, "01"), nil)
	for _, v := range []string{"02", "1a", "1d", "25", "26", "ff"} {
		f("v "+v, with(64, v), ErrSignatureFormat)
	}
	f("EIP-2098", unhex(t, sig1Short), ErrSignatureFormat)
	f("trailing byte", append(unhex(t, sig1), 0), ErrSignatureFormat)
	f("magic suffix", append(unhex(t, sig1), bytes.Repeat([]byte{0x77}, 32)...), ErrSignatureFormat)
	f("empty", nil, ErrSignatureFormat)
	zero, order := strings.Repeat("00", 32), secp256k1Order.Hex()
	f("r zero", with(0, zero), ErrSignatureRange)
	f("s zero", with(32, zero), ErrSignatureRange)
	f("r the order", with(0, order), ErrSignatureRange)
	f("s the order", with(32, order), ErrSignatureRange)
	above := common.BigToHash(secp256k1HalfOrder.Big().Add(secp256k1HalfOrder.Big(), common.Big1))
	f("s above half", with(32, above.Hex()), ErrHighS)
	if _, err := ParseSignature(with(32, secp256k1HalfOrder.Hex())); err != nil {
		t.Errorf("s of half the order: %v", err)
	}
	f("r on no point", with(0, strings.Repeat("00", 31)+"05"), ErrSignatureInvalid)
	f("keychain", append([]byte{typeKeychain}, bytes.Repeat([]byte{1}, 85)...), ErrSignatureFormat)
	f("access key", append(append([]byte{typeAccessKey}, payer[:]...), unhex(t, sig1)...), ErrSignatureFormat)
	f("multisig", append([]byte{5}, bytes.Repeat([]byte{1}, 129)...), ErrSignatureFormat)
}

// TestRecoveryIDsAreStoredOneWay: what is settled is what was verified.
func TestRecoveryIDsAreStoredOneWay(t *testing.T) {
	low := unhex(t, sig1)
	low[64] = 1
	a, errA := ParseSignature(low)
	b, errB := ParseSignature(unhex(t, sig1))
	if errA != nil || errB != nil || a != b || !bytes.Equal(a.Bytes(), unhex(t, sig1)) {
		t.Errorf("%x and %x, %v %v", a.Bytes(), b.Bytes(), errA, errB)
	}
}

// p256Signature signs message with a low s, by the standard library alone.
func p256Signature(t *testing.T, key *ecdsa.PrivateKey, message []byte) (rs, xy []byte) {
	t.Helper()
	r, s, err := ecdsa.Sign(nil, key, message)
	if err != nil {
		t.Fatal(err)
	}
	if s.Cmp(p256HalfOrder.Big()) > 0 {
		s.Sub(key.Params().N, s)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), point[1:]
}

func p256TestKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{0x22}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestP256Encodings(t *testing.T) {
	digest := moderato.Digest(channel1, AmountFrom(7))
	key := p256TestKey(t)
	hashed := sha256.Sum256(digest[:])
	plainRS, xy := p256Signature(t, key, digest[:])
	hashedRS, _ := p256Signature(t, key, hashed[:])
	want := p256Address(xy)
	encode := func(rs []byte, prehash byte) []byte {
		return append(append(append([]byte{typeP256}, rs...), xy...), prehash)
	}
	f := func(name string, raw []byte, wantErr error) {
		t.Helper()
		got, err := verdict(raw, digest)
		if !errors.Is(err, wantErr) || err == nil && got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	put := func(at int, part []byte) []byte {
		raw := encode(plainRS, 0)
		copy(raw[at:], part)
		return raw
	}
	f("plain", encode(plainRS, 0), nil)
	f("prehash", encode(hashedRS, 1), nil)
	f("prehash of another byte", encode(hashedRS, 2), nil)
	if s, err := ParseSignature(encode(hashedRS, 2)); err != nil || s.Bytes()[129] != 1 {
		t.Errorf("prehash is not stored one way: %v", err)
	}
	f("plain said to be hashed", encode(plainRS, 1), ErrSignatureInvalid)
	f("hashed said to be plain", encode(hashedRS, 0), ErrSignatureInvalid)
	high := common.BigToHash(p256Order.Big().Sub(p256Order.Big(), common.BytesToHash(plainRS[32:]).Big()))
	f("high s", put(33, high[:]), ErrHighS)
	f("r zero", put(1, make([]byte, 32)), ErrSignatureRange)
	f("s zero", put(33, make([]byte, 32)), ErrSignatureRange)
	f("r the order", put(1, p256Order[:]), ErrSignatureRange)
	f("off the curve", put(65, []byte{xy[0] ^ 1}), ErrSignatureInvalid)
	f("x above the field", put(65, bytes.Repeat([]byte{0xff}, 32)), ErrSignatureInvalid)
	f("129 bytes", encode(plainRS, 0)[:129], ErrSignatureFormat)
	f("131 bytes", append(encode(plainRS, 0), 0), ErrSignatureFormat)
}

// assertion builds the signature of a passkey from its parts.
func assertion(t *testing.T, flags byte, client string) []byte {
	t.Helper()
	data := make([]byte, authenticatorDataLength)
	data[32] = flags
	clientHash := sha256.Sum256([]byte(client))
	message := sha256.Sum256(append(bytes.Clone(data), clientHash[:]...))
	rs, xy := p256Signature(t, p256TestKey(t), message[:])
	raw := append([]byte{typeWebAuthn}, data...)
	raw = append(raw, client...)
	return append(append(raw, rs...), xy...)
}

func TestWebAuthnRules(t *testing.T) {
	digest := moderato.Digest(channel1, AmountFrom(7))
	challenge := base64.RawURLEncoding.EncodeToString(digest[:])
	good := `{"type":"webauthn.get","challenge":"` + challenge + `","origin":"https://example.com","crossOrigin":false}`
	key, err := p256TestKey(t).PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, flags byte, client string, want error) {
		t.Helper()
		got, err := verdict(assertion(t, flags, client), digest)
		if !errors.Is(err, want) || err == nil && got != p256Address(key[1:]) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	f("user present", 0x01, good, nil)
	f("user verified", 0x04, good, nil)
	f("both", 0x05, good, nil)
	f("neither", 0x00, good, ErrSignatureInvalid)
	f("attested data", 0x41, good, ErrSignatureInvalid)
	f("extensions", 0x81, good, ErrSignatureInvalid)
	f("other order and nesting", 1, `{"origin":{"a":[1,{"type":"x"}]},"challenge":"`+challenge+`","type":"webauthn.get"}`, nil)
	f("creation", 1, strings.Replace(good, "webauthn.get", "webauthn.create", 1), ErrSignatureInvalid)
	f("other challenge", 1, strings.Replace(good, challenge, challenge[1:]+"A", 1), ErrSignatureInvalid)
	f("padded challenge", 1, strings.Replace(good, challenge, challenge+"=", 1), ErrSignatureInvalid)
	f("escaped type", 1, strings.Replace(good, "webauthn.get", `webauthn\u002eget`, 1), ErrSignatureInvalid)
	f("type twice", 1, `{"type":"webauthn.get",`+good[1:], ErrSignatureInvalid)
	f("type for the challenge", 1, `{"type":"webauthn.get","type":"webauthn.get"}`, ErrSignatureInvalid)
	f("another member twice", 1, `{"a":1,"a":2,`+good[1:], nil)
	f("no type", 1, `{"challenge":"`+challenge+`"}`, ErrSignatureInvalid)
	f("no challenge", 1, `{"type":"webauthn.get","origin":"https://example.com"}`, ErrSignatureInvalid)
	f("an array", 1, `["webauthn.get","`+challenge+`"]`, ErrSignatureFormat)
	f("trailing text", 1, good+"x", ErrSignatureFormat)
	f("cut", 1, good[:len(good)-1], ErrSignatureFormat)
	f("invalid UTF-8", 1, strings.Replace(good, "example", "\xff", 1), ErrSignatureFormat)
	f("too short", 1, `{"type":"webauthn.get"}`, ErrSignatureFormat)
	f("the longest", 1, pad(good, 2048-128-authenticatorDataLength), nil)
	f("too long", 1, pad(good, 2048-128-authenticatorDataLength+1), ErrSignatureFormat)
	raw := assertion(t, 1, good)
	raw[len(raw)-1] ^= 1
	if _, err := verdict(raw, digest); !errors.Is(err, ErrSignatureInvalid) {
		t.Errorf("another key: %v", err)
	}
}

// pad makes client data n bytes long.
func pad(client string, n int) string {
	const member = `,"pad":""}`
	return client[:len(client)-1] + member[:len(member)-2] + strings.Repeat("x", n-len(client)-len(member)+1) + member[len(member)-2:]
}

// TestSecretsDoNotPrint: neither keys nor signatures show in logs or messages.
func TestSecretsDoNotPrint(t *testing.T) {
	p256, err := NewP256Key(bytes.Repeat([]byte{0x11}, 32))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := ParseSignature(unhex(t, sig1))
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"ac0974bec39a17e3", strings.Repeat("11", 16), "c450ec62", "1111111111"}
	for _, v := range []any{anvil[0], p256, signature, SenderSignature{Key: signature}} {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		text := fmt.Sprintf("%v %+v %#v %s %x %q %s", v, v, v, v, v, v, log.String())
		for _, secret := range secrets {
			hexed := fmt.Sprintf("%x", secret)
			if strings.Contains(strings.ToLower(text), secret) || strings.Contains(text, hexed) {
				t.Errorf("%T shows %s: %s", v, secret, text)
			}
		}
	}
	for _, bad := range []string{"", "0x12", strings.Repeat("z", 64), strings.Repeat("00", 32), strings.Repeat("ff", 32)} {
		if _, err := ParseSecp256k1Key(bad); err != ErrKey {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestGeneratedKeyIsStorable(t *testing.T) {
	key, secret, err := GenerateSecp256k1Key()
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewSecp256k1Key(secret)
	if err != nil || again.Address() != key.Address() {
		t.Errorf("%s and %s, %v", key, again, err)
	}
}
