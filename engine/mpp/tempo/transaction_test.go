package tempo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// anvil are the first two well-known development keys: the payer and the payee.
var anvil = [2]*Secp256k1Key{
	mustKey("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"),
	mustKey("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"),
}

func mustKey(text string) *Secp256k1Key {
	k, err := ParseSecp256k1Key(text)
	if err != nil {
		panic(err)
	}
	return k
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// vector is the bytes of one recorded transaction, T1 to T6.
func vector(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/transactions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			return unhex(t, rest)
		}
	}
	t.Fatalf("no vector %s", name)
	return nil
}

func decoded(t testing.TB, name string) *Transaction {
	t.Helper()
	tx, err := DecodeTransaction(vector(t, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return tx
}

func TestTransactionVectors(t *testing.T) {
	f := func(name string, sender common.Address, hash, signHash, nonceHash string) {
		t.Helper()
		raw := vector(t, name)
		tx, err := DecodeTransaction(raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if got := tx.Encode(); !bytes.Equal(got, raw) {
			t.Errorf("%s: encoded again %x", name, got)
		}
		got, err := tx.Sender()
		if err != nil || got != sender {
			t.Errorf("%s: sender %s, %v", name, got, err)
		}
		if hash != "" && tx.Hash() != common.HexToHash(hash) {
			t.Errorf("%s: hash %s", name, tx.Hash())
		}
		if signHash != "" && tx.SignHash() != common.HexToHash(signHash) {
			t.Errorf("%s: sign hash %s", name, tx.SignHash())
		}
		if nonceHash != "" && tx.ExpiringNonceHash(sender) != common.HexToHash(nonceHash) {
			t.Errorf("%s: expiring nonce hash %s", name, tx.ExpiringNonceHash(sender))
		}
	}
	f("T1", payer, "0x58e056c96d6f2b17cbaa84574976c9337fbcdb563736d371db20dcb0da8f0d89",
		"0xb2a3173d661489fedd574cbcc6f2feab2400e2d53946fa1423c4a2e20e4fc02d",
		"0x7bbe082457174f59de5bd121cdc182155ad0fff669200a0de58bcc855ba69b09")
	const t2Sign, t2Nonce = "0x4192bcb7f097508a3116139d5ba25bfe3f2a2524e74fe9666ce9ac54e5af1d2a",
		"0x899d68607dd886c1e47e63116a5785f577a02c688da98347e873de5b3f377d16"
	f("T2", payer, "", t2Sign, t2Nonce)
	f("T3", payer, "0xaadc67880cc771dac0c2ace324a897bb3a01f822d4089535d88f318aaef7583c", t2Sign, t2Nonce)
	f("T4", payer, "0x9eeed9d381ccd1516304583d7d1d6c9a4b6f679a3f258df7bf8f1e8077a17aec", "", "")
	f("T5", payee, "0xeb705fc89601c3f54f609b14e4da4b64b36d57f40d301931311bdb818cb0b3f6", "", "")
	f("T6", payer, "0x30c824c52b73626c1c5368729ebf00cb10df6a9f1d6ef3a879473ed41e7c7774",
		"0x10203d2948a9b0874d852999c1f4b60dcc86ea968509911049aff937a42d0c4a",
		"0x1ffc450f8d3634f6ce33978c1205d9514910429fd30ad8431d2b88df880c05f1")
}

func TestT1Items(t *testing.T) {
	tx := decoded(t, "T1")
	if p := tx.SenderPreimage(); len(p) != 314 || !bytes.HasPrefix(p, []byte{0x76, 0xf9, 0x01, 0x36}) {
		t.Errorf("preimage of %d bytes: %x", len(p), p[:8])
	}
	want := Transaction{
		ChainID: 42431, MaxPriorityFeePerGas: *uint256.NewInt(0x3b9aca00), MaxFeePerGas: *uint256.NewInt(0x05d21dba00), Gas: 0x0493e0,
		NonceKey: ExpiringNonceKey, ValidBefore: 0x6b0145d4, ValidAfter: 0x2a47130f, FeeToken: pathUSD,
	}
	if tx.ChainID != want.ChainID || tx.MaxPriorityFeePerGas != want.MaxPriorityFeePerGas || tx.MaxFeePerGas != want.MaxFeePerGas ||
		tx.Gas != want.Gas || tx.NonceKey != want.NonceKey || tx.Nonce != 0 || tx.ValidBefore != want.ValidBefore ||
		tx.ValidAfter != want.ValidAfter || tx.FeeToken != want.FeeToken || tx.Sponsorship != SelfPaid ||
		len(tx.Calls) != 1 || *tx.Calls[0].To != testEscrow || !tx.Calls[0].Value.IsZero() || len(tx.AccessList) != 0 ||
		tx.AuthorizationList != nil || tx.KeyAuthorization != nil || !tx.IsExpiring() {
		t.Errorf("items: %+v", tx)
	}
}

// TestT2Preimage pins what a sender signs who waits for a sponsor.
func TestT2Preimage(t *testing.T) {
	tx := decoded(t, "T2")
	if p := tx.SenderPreimage(); len(p) != 294 || !bytes.HasPrefix(p, []byte{0x76, 0xf9, 0x01, 0x22}) {
		t.Errorf("preimage of %d bytes: %x", len(p), p[:8])
	}
	if tx.Sponsorship != HandOff || tx.ClaimedSender != payer {
		t.Errorf("sponsorship %d, sender %s", tx.Sponsorship, tx.ClaimedSender)
	}
}

// TestT3CoSigned makes T3 of T2 as a sponsor does.
func TestT3CoSigned(t *testing.T) {
	tx, want := decoded(t, "T2"), decoded(t, "T3")
	before := tx.ExpiringNonceHash(payer)
	if err := tx.CoSign(anvil[1], pathUSD); err != nil {
		t.Fatal(err)
	}
	if got := tx.FeePayerHash(payer); got != common.HexToHash("0xec56c621f0348b3ead705eb04e3dbe791f16ad8152c195a5d6c5b64b7abe1545") {
		t.Errorf("fee payer hash %s", got)
	}
	s := tx.FeePayerSignature.Bytes()
	if !bytes.Equal(s, unhex(t, "a8579f678e602c35402fe045c87090abac64d1845e517e471362d2235e92be4056391ec874a0da559d19fa07b90da32bc8af9d9ba7cfff2aac8d342de9c8d0ee1c")) {
		t.Errorf("fee payer signature %x", s)
	}
	if !bytes.Equal(tx.Encode(), want.Encode()) {
		t.Errorf("co-signed %x", tx.Encode())
	}
	if got, err := want.FeePayer(); err != nil || got != payee {
		t.Errorf("fee payer %s, %v", got, err)
	}
	if tx.ExpiringNonceHash(payer) != before {
		t.Error("the sponsor's signature changed the channel's nonce hash")
	}
	if err := tx.CoSign(anvil[1], pathUSD); !errors.Is(err, ErrNotSponsored) {
		t.Errorf("co-signed twice: %v", err)
	}
}

// TestSignReproducesVectors builds the recorded transactions from their parts:
// signatures are deterministic, so the bytes must be the same.
func TestSignReproducesVectors(t *testing.T) {
	f := func(name string, key *Secp256k1Key) {
		t.Helper()
		tx := decoded(t, name)
		tx.Signature = SenderSignature{}
		tx.ClaimedSender = common.Address{}
		if err := tx.Sign(key.Address(), key); err != nil {
			t.Fatal(err)
		}
		if want := vector(t, name); !bytes.Equal(tx.Encode(), want) {
			t.Errorf("%s: signed %x", name, tx.Encode())
		}
	}
	f("T1", anvil[0])
	f("T2", anvil[0])
	f("T4", anvil[0])
	f("T5", anvil[1])
}

// TestAccessKeySender signs for an account that owns none of the keys.
func TestAccessKeySender(t *testing.T) {
	p256, err := NewP256Key(bytes.Repeat([]byte{0x11}, 32))
	if err != nil {
		t.Fatal(err)
	}
	account := fill20(0xab)
	for _, key := range []Signer{anvil[1], p256} {
		tx := decoded(t, "T1")
		if err := tx.Sign(account, key); err != nil {
			t.Fatal(err)
		}
		back, err := DecodeTransaction(tx.Encode())
		if err != nil {
			t.Fatal(err)
		}
		sender, signer, err := back.Signature.Signer(back.SignHash())
		if err != nil || sender != account || signer != key.Address() {
			t.Errorf("sender %s, key %s, %v", sender, signer, err)
		}
		raw := back.Signature.Bytes()
		raw[0] = typeKeychain
		if _, err := ParseSenderSignature(raw); !errors.Is(err, ErrSignatureFormat) {
			t.Errorf("legacy keychain signature: %v", err)
		}
		nested := append(append([]byte{typeAccessKey}, account[:]...), back.Signature.Bytes()...)
		if _, err := ParseSenderSignature(nested); !errors.Is(err, ErrSignatureFormat) {
			t.Errorf("nested envelope: %v", err)
		}
	}
}

func TestH6SenderOfAHandOffIsRecovered(t *testing.T) {
	tx := decoded(t, "T2")
	tx.ClaimedSender = payee
	forged, err := DecodeTransaction(tx.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := forged.Sender(); !errors.Is(err, ErrClaimedSender) {
		t.Errorf("sender %s, %v", got, err)
	}
	if err := forged.CoSign(anvil[1], pathUSD); !errors.Is(err, ErrClaimedSender) {
		t.Errorf("co-signed a forged sender: %v", err)
	}
}

// TestRecoveryIDDoesNotChangeTheHash: 0/1 for 27/28 is read, and sent as 27/28.
func TestRecoveryIDDoesNotChangeTheHash(t *testing.T) {
	raw := vector(t, "T1")
	raw[len(raw)-1] -= 27
	tx, err := DecodeTransaction(raw)
	if err != nil || !bytes.Equal(tx.Encode(), vector(t, "T1")) {
		t.Errorf("decoded %v", err)
	}
}

// TestCarriedListsSurvive keeps authorizations byte for byte, in the transaction
// and in all that is signed.
func TestCarriedListsSurvive(t *testing.T) {
	tx := decoded(t, "T2")
	tx.KeyAuthorization = unhex(t, "c8c30102038301020304")[:9]
	tx.AuthorizationList = unhex(t, "c3c20102")[:4]
	tx.AccessList = []AccessTuple{{Address: payee, Keys: []common.Hash{{1}, {}}}, {Address: payer}}
	before := decoded(t, "T2").SignHash()
	if err := tx.Sign(payer, anvil[0]); err != nil {
		t.Fatal(err)
	}
	back, err := DecodeTransaction(tx.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.KeyAuthorization, tx.KeyAuthorization) || !bytes.Equal(back.AuthorizationList, tx.AuthorizationList) ||
		len(back.AccessList) != 2 || back.AccessList[0].Keys[0] != (common.Hash{1}) || back.SignHash() == before {
		t.Errorf("decoded %+v", back)
	}
	if err := back.CoSign(anvil[1], pathUSD); err != nil || !bytes.Contains(back.Encode(), tx.KeyAuthorization) {
		t.Errorf("co-signed without the key authorization: %v", err)
	}
}

// TestDecodeTransactionIsStrict damages T1 and T3, one rule at a time.
func TestDecodeTransactionIsStrict(t *testing.T) {
	f := func(name string, want error, damage func(items [][]byte) [][]byte) {
		t.Helper()
		raw := vector(t, "T3")
		items, err := rlp.SplitListValues(raw[1:])
		if err != nil {
			t.Fatal(err)
		}
		list, err := rlp.MergeListValues(damage(items))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeTransaction(append([]byte{raw[0]}, list...)); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	item := func(i int, encoded string) func([][]byte) [][]byte {
		return func(items [][]byte) [][]byte { items[i] = unhex(t, encoded); return items }
	}
	f("undamaged", nil, func(i [][]byte) [][]byte { return i })
	f("13 items", ErrTransaction, func(i [][]byte) [][]byte { return i[:13] })
	f("16 items", ErrTransaction, func(i [][]byte) [][]byte { return append(i, []byte{0xc0}, []byte{0x80}) })
	f("key authorization last", ErrTransaction, func(i [][]byte) [][]byte { return append(i, []byte{0xc0}) })
	f("leading zero", ErrTransaction, item(0, "8300a5bf"))
	f("zero as a byte", ErrTransaction, item(7, "00"))
	f("chain id above 64 bits", ErrTransaction, item(0, "89010000000000000000"))
	f("fee above 128 bits", ErrTransaction, item(2, "9101"+strings.Repeat("00", 16)))
	f("calls not a list", ErrTransaction, item(4, "80"))
	f("no call", ErrTransaction, item(4, "c0"))
	f("call of two items", ErrTransaction, item(4, "c3c28080"))
	f("call of four items", ErrTransaction, item(4, "c5c480808080"))
	f("creation", nil, item(4, "c4c3808080"))
	f("creation second", ErrTransaction, item(4, "dcd7"+"94"+strings.Repeat("11", 20)+"8080"+"c3808080"))
	f("too many calls", ErrTransactionSize, item(4, "f884"+strings.Repeat("c3808080", 33)))
	f("call target of 19 bytes", ErrTransaction, item(4, "d7d693"+strings.Repeat("11", 19)+"8080"))
	f("access key of 31 bytes", ErrTransaction, item(5, "f7f694"+strings.Repeat("11", 20)+"e09f"+strings.Repeat("22", 31)))
	f("too large an access list", ErrTransactionSize, item(5, "f9061c"+strings.Repeat("d6"+"94"+strings.Repeat("11", 20)+"c0", 68)))
	f("never valid", ErrTransaction, item(8, "842c61efc9"))
	f("fee token of zeros", ErrTransaction, item(10, "94"+strings.Repeat("00", 20)))
	f("fee token of 19 bytes", ErrTransaction, item(10, "93"+strings.Repeat("20", 19)))
	f("placeholder", nil, item(11, "00"))
	f("sender in a 0x76", ErrTransaction, item(11, "94"+strings.Repeat("11", 20)))
	f("parity 2", ErrTransaction, item(11, "c3020101"))
	f("sponsor's r zero", ErrTransaction, item(11, "c3018001"))
	f("sponsor's high s", ErrHighS, item(11, "e30101a0fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140"))
	f("sponsor signature of four items", ErrTransaction, item(11, "c401010101"))
	f("authorization list a string", ErrTransaction, item(12, "80"))
	f("authorization nested too deep", ErrTransactionSize, item(12, "d7d6d5d4d3d2d1d0cfcecdcccbcac9c8c7c6c5c4c3c2c1c0"))
	f("short signature", ErrSignatureFormat, item(13, "820102"))
	f("signature a list", ErrTransaction, item(13, "c0"))
	f("high s", ErrHighS, item(13, "b841"+strings.Repeat("11", 32)+"fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd03641401b"))
}

func TestDecodeTransactionFraming(t *testing.T) {
	f := func(name string, raw []byte, want error) {
		t.Helper()
		if _, err := DecodeTransaction(raw); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	raw := vector(t, "T1")
	f("empty", nil, ErrTransaction)
	f("type only", []byte{0x76}, ErrTransaction)
	f("another type", append([]byte{0x02}, raw[1:]...), ErrTransaction)
	f("trailing byte", append(bytes.Clone(raw), 0), ErrTransaction)
	f("cut", raw[:len(raw)-1], ErrTransaction)
	f("0x76 as hand-off", append([]byte{0x78}, raw[1:]...), ErrTransaction)
	f("too large", append(bytes.Clone(raw), make([]byte, MaxTransactionSize)...), ErrTransactionSize)
	f("long form of a short length", append([]byte{0x76, 0xfa, 0x00}, raw[2:]...), ErrTransaction)
}

// TestRequestValue: what a node is to estimate has the value of each call.
func TestRequestValue(t *testing.T) {
	tx := NewTransaction(1, 100, Call{To: &common.Address{1}, Value: *uint256.NewInt(5)}, Call{To: &common.Address{2}})
	request, err := tx.EstimateRequest(common.Address{3})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"value":"0x5"`, `"value":"0x"`} {
		if !strings.Contains(string(request), want) {
			t.Errorf("%s is not in %s", want, request)
		}
	}
}
