package tempo

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// passkey signs by WebAuthn assertions, as an authenticator would.
type passkey struct {
	key     *P256Key
	address common.Address
}

func newPasskey(t testing.TB) passkey {
	t.Helper()
	k, err := NewP256Key(bytes.Repeat([]byte{0x33}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return passkey{k, k.Address()}
}

func (p passkey) Address() common.Address { return p.address }

func (p passkey) SignDigest(digest common.Hash) (Signature, error) {
	client := `{"type":"webauthn.get","challenge":"` + base64.RawURLEncoding.EncodeToString(digest[:]) + `","origin":"https://example.com"}`
	data := make([]byte, authenticatorDataLength)
	data[32] = flagUserPresent | flagUserVerified
	clientHash := sha256.Sum256([]byte(client))
	s, err := p.key.SignDigest(sha256.Sum256(append(bytes.Clone(data), clientHash[:]...)))
	if err != nil {
		return Signature{}, err
	}
	raw := append([]byte{typeWebAuthn}, data...)
	raw = append(raw, client...)
	return ParseSignature(append(raw, s.Bytes()[1:129]...))
}

// TestAccountsOfEveryKind opens a channel with each kind of account and signer.
func TestAccountsOfEveryKind(t *testing.T) {
	p256, err := NewP256Key(bytes.Repeat([]byte{0x11}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []Signer{anvil[1], p256, newPasskey(t)} {
		for _, sponsored := range []bool{false, true} {
			refuse(t, fmt.Sprintf("%T", key), "", "", testTerms(), func(d *openDraft) {
				d.sponsored, d.account, d.key, d.voucherKey, d.call.AuthorizedSigner = sponsored, key.Address(), key, key, key.Address()
			})
		}
	}
	// An account behind an access key alone cannot leave the signer to be itself.
	refuse(t, "zero signer of an access key's account", RuleVoucher, InvalidVoucher, testTerms(), func(d *openDraft) {
		d.account, d.key, d.voucherKey, d.call.AuthorizedSigner = fill20(0xab), p256, p256, common.Address{}
	})
}

// TestH13ClientMistakesAreNoServerErrors: whatever a client sends is answered by
// a typed rejection, and what it can mend by signing again is no 400.
func TestH13ClientMistakesAreNoServerErrors(t *testing.T) {
	f := func(name string, problem Problem, change func(*openDraft)) {
		t.Helper()
		_, err := testTerms().VerifyOpen(open(t, change))
		var r *Rejection
		if !errors.As(err, &r) || r.Problem != problem || r.Detail == "" {
			t.Errorf("%s: %#v", name, err)
		}
	}
	data := func(change func([]byte) []byte) func(*openDraft) {
		return func(d *openDraft) {
			d.tx = func(tx *Transaction) { tx.Calls[0].Data = change(tx.Calls[0].Data) }
		}
	}
	f("calldata that does not decode", VerificationFailed, data(func(b []byte) []byte { return b[:7] }))
	f("no calldata", VerificationFailed, data(func([]byte) []byte { return nil }))
	f("amount above 96 bits", VerificationFailed, data(func(b []byte) []byte { b[4+3*32+19] = 1; return b }))
	f("wrong payee", VerificationFailed, inCalldata(func(c *OpenCall) { c.Payee = payer }))
	f("wrong token", VerificationFailed, inCalldata(func(c *OpenCall) { c.Token = payer }))
	f("sponsor's policy", BadRequest, func(d *openDraft) { d.sponsored, d.tx = true, func(tx *Transaction) { tx.Gas = 0 } })
}

// TestAdvisories has one case for each fault that other implementations had to
// mend, and that is decided here.
func TestAdvisories(t *testing.T) {
	run := func(name string, f func(t *testing.T)) { t.Helper(); t.Run(name, f) }
	voucher := func(rule Rule, signature func(sig []byte) []byte) func(*testing.T) {
		return func(t *testing.T) {
			refuse(t, "voucher", rule, InvalidVoucher, testTerms(), func(d *openDraft) {
				d.request = func(r *OpenRequest) { r.Signature = signature(r.Signature) }
			})
		}
	}
	run("mppx 0.2.3 keychain signature passed by its address alone", voucher(RuleVoucher, func(sig []byte) []byte {
		return append(append([]byte{typeAccessKey}, payer[:]...), sig...)
	}))
	run("mppx 0.2.3 foreign signature types", voucher(RuleVoucher, func(sig []byte) []byte {
		return append([]byte{0x05}, sig...)
	}))
	run("mpp-rs magic suffix stripped", voucher(RuleVoucher, func(sig []byte) []byte {
		return append(sig, bytes.Repeat([]byte{0x77}, 32)...)
	}))
	run("mppx 0.3.10 sponsored top-up approved arbitrary contracts", testSponsoredTopUpTargets)
	run("mppx 0.4.4 field order of getChannel", TestChannelStateOrder)
	run("mppx 0.4.12 settled from the wrong account", TestMaySettle)
	run("mppx 0.5.14 calls smuggled beside the allowed one", func(t *testing.T) {
		smuggle := func(at int) func(*Transaction) {
			return func(tx *Transaction) {
				token := pathUSD
				extra := Call{To: &token, Data: TransferCalldata(payee, uint256.NewInt(1))}
				tx.Calls = append(tx.Calls[:at:at], append([]Call{extra}, tx.Calls[at:]...)...)
			}
		}
		refuse(t, "before", RuleCalls, VerificationFailed, testTerms(), func(d *openDraft) { d.sponsored, d.tx = true, smuggle(0) })
		refuse(t, "after", RuleCalls, VerificationFailed, testTerms(), func(d *openDraft) { d.sponsored, d.tx = true, smuggle(1) })
	})
	run("mppx 0.5.14 limits of a sponsored open", TestSponsorPolicy)
	run("mppx 0.6.29 stored channel's chain ignored", func(t *testing.T) {
		d := testChannel()
		wantRule(t, "mainnet's id", testTerms().CheckDescriptor(d, mainnet.ChannelID(d)), RuleChannelID, VerificationFailed)
	})
	run("mppx 0.6.29 sponsored without an expiring nonce", func(t *testing.T) {
		refuse(t, "ordinary nonce", RuleExpiring, BadRequest, testTerms(), func(d *openDraft) {
			d.sponsored, d.tx = true, func(tx *Transaction) { tx.NonceKey = *uint256.NewInt(1) }
		})
	})
	run("mppx 0.8.1 sponsor's gas burnt by a bad voucher or deposit", TestH16VoucherIsCheckedBeforeCoSigning)
	run("mppx 0.8.2 non-canonical calldata", TestCalldataIsCanonical)
	run("mppx 0.8.18 recovery id changed the hash", TestRecoveryIDDoesNotChangeTheHash)
	run("mpp-rs 0.8.4 payee and currency unchecked", TestCheckDescriptor)
	run("mpp-go 0.1.1 chain id mismatch", func(t *testing.T) {
		refuse(t, "another chain", RuleChain, VerificationFailed, testTerms(), func(d *openDraft) { d.domain = mainnet })
	})
	run("mpp-go 0.2.0 and pympp 0.9.1 trailing calldata", func(t *testing.T) {
		refuse(t, "a byte", RuleCalldata, VerificationFailed, testTerms(), func(d *openDraft) {
			d.tx = func(tx *Transaction) { tx.Calls[0].Data = append(tx.Calls[0].Data, 0) }
		})
	})
	run("pympp 0.9.0 co-signer dropped authorizations", TestCarriedListsSurvive)
}

func testSponsoredTopUpTargets(t *testing.T) {
	d := testChannel()
	f := func(name string, rule Rule, calls ...Call) {
		t.Helper()
		tx := NewTransaction(42431, testNow, append(calls, CallReserve(testEscrow, TopUpCall{d, AmountFrom(500_000)}))...)
		tx.Gas, tx.MaxFeePerGas, tx.Sponsorship = 300_000, *uint256.NewInt(gwei), Unsponsored
		if err := tx.Sign(payer, anvil[0]); err != nil {
			t.Fatal(err)
		}
		_, err := testTerms().VerifyTopUp(TopUpRequest{ChannelID: moderato.ChannelID(d), Descriptor: d, Transaction: tx.Encode(), Additional: AmountFrom(500_000)})
		wantRule(t, name, err, rule, VerificationFailed)
	}
	swap := Swap{common.HexToAddress("0x20c0000000000000000000000000000000000001"), *uint256.NewInt(600_000)}
	f("alone", "")
	f("with a swap", "", swap.Calls(pathUSD, AmountFrom(500_000))...)
	calls := swap.Calls(pathUSD, AmountFrom(500_000))
	calls[0].Data = ApproveCalldata(payee, &swap.MaxIn)
	f("approval of another spender", RuleSwap, calls...)
	contract := Swap{fill20(0x99), swap.MaxIn}
	f("approval at another contract", RuleSwap, contract.Calls(pathUSD, AmountFrom(500_000))...)
	f("swap of another amount", RuleSwap, swap.Calls(pathUSD, AmountFrom(500_001))...)
}
