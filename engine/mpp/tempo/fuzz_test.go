package tempo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// FuzzParseAmount compares with the standard library's big integers.
func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{"0", "007", "18446744073709551616", maxDecimal, "79228162514264337593543950336", "-1", "+1", "1e3", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAmount(s)
		digits := s != "" && len(s) <= maxAmountText && strings.Trim(s, "0123456789") == ""
		if errors.Is(err, ErrAmountSyntax) == digits {
			t.Fatalf("%q: %v", s, err)
		}
		if !digits {
			return
		}
		want, _ := new(big.Int).SetString(s, 10)
		if fits := want.BitLen() <= 96; fits != (err == nil) || fits && (a.String() != want.String() || a.Big().Cmp(want) != 0) {
			t.Fatalf("%q: %s, %v", s, a, err)
		}
	})
}

// FuzzParseSignature holds what is accepted to one encoding, and recovers it.
func FuzzParseSignature(f *testing.F) {
	f.Add(unhexF(sig1))
	f.Add(unhexF(sig1HighS))
	f.Add(unhexF(sig1Short))
	f.Add(unhexF(sigP256))
	f.Add(append(append([]byte{typeAccessKey}, payer[:]...), unhexF(sig1)...))
	f.Add(append([]byte{typeWebAuthn}, bytes.Repeat([]byte{0x31}, 300)...))
	digest := moderato.Digest(channel1, AmountFrom(1_000_000))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := ParseSenderSignature(raw)
		if err != nil {
			return
		}
		again, err := ParseSenderSignature(s.Bytes())
		if err != nil || again != s || len(s.Bytes()) != len(raw) {
			t.Fatalf("%x is kept as %x, %v", raw, s.Bytes(), err)
		}
		account, key, err := s.Signer(digest)
		if err == nil && (key == common.Address{} || s.Account == common.Address{} && account != key) {
			t.Fatalf("%x: account %s, key %s", raw, account, key)
		}
	})
}

// FuzzClientData compares with the standard library: what is accepted says to
// any reader what it should.
func FuzzClientData(f *testing.F) {
	digest := common.Hash{1, 2, 3}
	challenge := base64.RawURLEncoding.EncodeToString(digest[:])
	for _, s := range []string{
		`{"type":"webauthn.get","challenge":"` + challenge + `"}`, `{"challenge":"` + challenge + `","o":[{"a":1e9}],"type":"webauthn.get"}`,
		`{"type":"webauthn\u002eget","challenge":""}`, `{"type":"a","type":"webauthn.get"}`, `[[[[`, ``, `{"\u0074ype":"webauthn.get"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, client []byte) {
		if len(client) > MaxSignatureLength {
			return // cut off before by the signature's length
		}
		if checkClientData(client, digest) != nil {
			return
		}
		var got map[string]any
		if err := json.Unmarshal(client, &got); err != nil || got["type"] != "webauthn.get" || got["challenge"] != challenge {
			t.Fatalf("%q: %v, %v", client, got, err)
		}
	})
}

// FuzzDecodeTransaction: what decodes encodes to the same bytes, but for the
// signature's two free bytes, and its hashes do not panic.
func FuzzDecodeTransaction(f *testing.F) {
	for _, name := range []string{"T1", "T2", "T3", "T4", "T5"} {
		f.Add(vector(f, name))
	}
	tx := decoded(f, "T2")
	tx.KeyAuthorization, tx.AuthorizationList = []byte{0xc2, 0xc1, 0x01}, []byte{0xc1, 0xc0}
	tx.AccessList = []AccessTuple{{Address: payee, Keys: []common.Hash{{1}}}}
	tx.Calls = append(tx.Calls, Call{To: &payee, Data: []byte{1}})
	f.Add(tx.Encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		tx, err := DecodeTransaction(raw)
		if err != nil {
			return
		}
		again := tx.Encode()
		if !bytes.Equal(again, raw) {
			free := len(raw) - 1 // recovery id or prehash flag, the last byte of either
			if len(again) != len(raw) || !bytes.Equal(again[:free], raw[:free]) {
				t.Fatalf("%x encodes as %x", raw, again)
			}
		}
		back, err := DecodeTransaction(again)
		if err != nil || !reflect.DeepEqual(back, tx) {
			t.Fatalf("%x: %v", again, err)
		}
		if tx.ExpiringNonceHash(payer) == tx.SignHash() || tx.FeePayerHash(payer) == tx.SignHash() {
			t.Fatal("two hashes of different things agree")
		}
	})
}

// FuzzVerifyOpen feeds the whole check with transactions and signatures of
// anybody; without the payer's key nothing may pass.
func FuzzVerifyOpen(f *testing.F) {
	f.Add(vector(f, "T2"), unhexF(sig1))
	f.Add(vector(f, "T3"), unhexF(sigP256))
	f.Add(vector(f, "T4"), []byte{})
	terms, d := testTerms(), testChannel()
	id := moderato.ChannelID(d)
	f.Fuzz(func(t *testing.T, raw, signature []byte) {
		_, err := terms.VerifyOpen(OpenRequest{ChannelID: id, Descriptor: d, Transaction: raw, Signature: signature})
		var r *Rejection
		if !errors.As(err, &r) || r.Problem == "" || r.Detail == "" {
			t.Fatalf("open: %v", err)
		}
		v, err := terms.VerifyTopUp(TopUpRequest{ChannelID: id, Descriptor: d, Transaction: raw, Additional: AmountFrom(500_000)})
		if err == nil && !bytes.Equal(v.Tx.SenderPreimage(), decoded(t, "T4").SenderPreimage()) {
			t.Fatalf("another top-up than T4 passed: %x", raw)
		}
	})
}

// FuzzDecodeReserveCall: calldata has one encoding.
func FuzzDecodeReserveCall(f *testing.F) {
	for _, call := range everyCall() {
		f.Add(call.Calldata())
	}
	f.Add(TransferCalldata(payee, MaxAmount.Uint256()))
	f.Add(ApproveCalldata(DEX, MaxAmount.Uint256()))
	f.Add(BalanceOfCalldata(payee))
	f.Add(Swap{payer, *MaxAmount.Uint256()}.Calls(payee, AmountFrom(1))[1].Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if call, err := DecodeReserveCall(data); err == nil && !bytes.Equal(call.Calldata(), data) {
			t.Fatalf("%x encodes as %x", data, call.Calldata())
		}
		decodeSwapOut(data)
	})
}

// FuzzDecodeEvent: an event has one log. Topics come as one string of words.
func FuzzDecodeEvent(f *testing.F) {
	for _, e := range everyEvent() {
		topics, data := e.Log()
		f.Add(join(topics), data)
	}
	f.Fuzz(func(t *testing.T, words, data []byte) {
		var topics []common.Hash
		for ; len(words) >= 32 && len(topics) < 5; words = words[32:] {
			topics = append(topics, common.Hash(words[:32]))
		}
		if e, err := DecodeEvent(topics, data); err == nil {
			if again, d := e.Log(); !bytes.Equal(join(again), join(topics)) || !bytes.Equal(d, data) {
				t.Fatalf("%+v", e)
			}
		}
	})
}

func join(topics []common.Hash) (b []byte) {
	for _, h := range topics {
		b = append(b, h[:]...)
	}
	return b
}

// FuzzDecodeReturn reads what an eth_call may return.
func FuzzDecodeReturn(f *testing.F) {
	s := ChannelState{Settled: AmountFrom(1), Deposit: MaxAmount, CloseRequestedAt: 9}
	f.Add(s.Encode())
	f.Add(EncodeChannelStates([]ChannelState{s, {}}))
	f.Add(unhexF("1435e357"))
	f.Fuzz(func(t *testing.T, ret []byte) {
		if s, err := DecodeChannelState(ret); err == nil && (!bytes.Equal(s.Encode(), ret) || s.Settled.Cmp(s.Deposit) > 0) {
			t.Fatalf("state %+v", s)
		}
		if s, err := DecodeChannelStates(ret, 2); err == nil && !bytes.Equal(EncodeChannelStates(s), ret) {
			t.Fatalf("states %+v", s)
		}
		if e, ok := DecodeRevert(ret); ok && (len(ret) != 4 && len(ret) != 36 || e.Name() == "") {
			t.Fatalf("revert %x", ret)
		}
		_, _ = DecodeUint64(ret)
		_, _ = DecodeUint256(ret)
	})
}

// FuzzParseReceipt: a receipt that is read is within its bounds.
func FuzzParseReceipt(f *testing.F) {
	f.Add([]byte(receiptJSON))
	f.Add([]byte(`{"status":"0x0","transactionHash":null,"blockNumber":"0x1","logs":[]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseReceipt(text)
		if err == nil && (r == nil || len(r.Logs) > maxLogs) {
			t.Fatalf("%q: %+v", text, r)
		}
		if err == nil {
			_, _ = r.Settled(testEscrow, r.TxHash, Amount{})
		}
	})
}

// FuzzParseKey: a key file's error never quotes the file.
func FuzzParseKey(f *testing.F) {
	f.Add(strings.Repeat("11", 32))
	f.Add("0x" + strings.Repeat("ff", 32))
	f.Add(" \n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, err := range []error{second(ParseSecp256k1Key(text))} {
			if err != nil && err != ErrKey {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func unhexF(s string) []byte { return common.FromHex(s) }
