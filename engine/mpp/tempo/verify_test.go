package tempo

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

const (
	testNow     = 1_800_000_000
	testExpires = testNow + 300
)

func testTerms() *Terms {
	return &Terms{
		Domain: moderato, Token: pathUSD, Payee: payee, Amount: AmountFrom(100_000), MinDeposit: AmountFrom(200_000),
		Sponsor: DefaultSponsorPolicy(true),
	}
}

// openDraft is an open in the making: what a test changes before it is signed,
// and after.
type openDraft struct {
	domain     *Domain
	sponsored  bool
	call       OpenCall
	tx         func(*Transaction)
	key        Signer
	account    common.Address
	voucherKey Signer
	cumulative Amount
	signed     func(*Transaction)
	request    func(*OpenRequest)
}

// open builds an open that passes unless change breaks it.
func open(t testing.TB, change func(*openDraft)) OpenRequest {
	t.Helper()
	d := openDraft{
		domain: moderato, key: anvil[0], account: payer, voucherKey: anvil[0], cumulative: AmountFrom(100_000),
		call: OpenCall{Payee: payee, Token: pathUSD, Deposit: AmountFrom(500_000), Salt: common.Hash{7}, AuthorizedSigner: payer},
	}
	if change != nil {
		change(&d)
	}
	tx := NewTransaction(d.domain.ChainID(), testNow, CallReserve(d.domain.Escrow(), d.call))
	tx.Gas, tx.MaxPriorityFeePerGas, tx.MaxFeePerGas, tx.FeeToken = 300_000, *uint256.NewInt(gwei), *uint256.NewInt(25 * gwei), pathUSD
	if d.sponsored {
		tx.Sponsorship = Unsponsored
	}
	if d.tx != nil {
		d.tx(tx)
	}
	if err := tx.Sign(d.account, d.key); err != nil {
		t.Fatal(err)
	}
	if d.signed != nil {
		d.signed(tx)
	}
	payerOf := d.account
	c := Descriptor{
		Payer: payerOf, Payee: d.call.Payee, Operator: d.call.Operator, Token: d.call.Token, Salt: d.call.Salt,
		AuthorizedSigner: d.call.AuthorizedSigner, ExpiringNonceHash: tx.ExpiringNonceHash(payerOf),
	}
	req := OpenRequest{ChannelID: moderato.ChannelID(c), Descriptor: c, Transaction: tx.Encode(), Cumulative: d.cumulative}
	voucher, err := moderato.Sign(d.voucherKey, req.ChannelID, d.cumulative)
	if err != nil {
		t.Fatal(err)
	}
	req.Signature = voucher.Bytes()
	if d.request != nil {
		d.request(&req)
	}
	return req
}

// wantRule fails unless err is a Rejection by rule; the empty rule means none.
func wantRule(t *testing.T, name string, err error, rule Rule, problem Problem) {
	t.Helper()
	var r *Rejection
	switch {
	case rule == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case rule != "" && (!errors.As(err, &r) || r.Rule != rule || r.Problem != problem):
		t.Errorf("%s: %#v, want rule %s", name, err, rule)
	}
}

func refuse(t *testing.T, name string, rule Rule, problem Problem, terms *Terms, change func(*openDraft)) {
	t.Helper()
	_, err := terms.VerifyOpen(open(t, change))
	wantRule(t, name, err, rule, problem)
}

func TestVerifyOpenVectors(t *testing.T) {
	f := func(name string, at uint64) {
		t.Helper()
		tx := decoded(t, name)
		d, deposit, err := OpenedBy(tx, payer)
		if err != nil || deposit != AmountFrom(500_000) {
			t.Fatalf("%s: %s, %v", name, deposit, err)
		}
		id := moderato.ChannelID(d)
		voucher, err := moderato.Sign(anvil[0], id, AmountFrom(100_000))
		if err != nil {
			t.Fatal(err)
		}
		v, err := testTerms().VerifyOpen(OpenRequest{ChannelID: id, Descriptor: d, Transaction: vector(t, name), Cumulative: AmountFrom(100_000), Signature: voucher.Bytes(), AuthorizedSigner: payer})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if v.ChannelID != id || v.Paid != AmountFrom(500_000) || v.Voucher != voucher || v.Swap != nil {
			t.Errorf("%s: %+v", name, v)
		}
		if err := v.CheckTime(at, at+300); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f("T1", 0x6b0145d4-25)
	f("T2", 0x6b0145ef-25)
	f("T3", 0x6b0145ef-25) // sponsored by somebody else: no cost of ours
	f("T6", 0x6b075a1e-270)
	d, _, err := OpenedBy(decoded(t, "T1"), payer)
	if err != nil || d != testChannel() {
		t.Errorf("T1 opens %+v, %v", d, err)
	}
	d, _, err = OpenedBy(decoded(t, "T2"), payer)
	if err != nil || moderato.ChannelID(d) != common.HexToHash("0xcca2bd2b3e7b9db063a733ea263c949687824dea22d1bcf00f85689112c2275c") {
		t.Errorf("T2 opens %+v, %v", d, err)
	}
}

// TestVerifyOpen violates each static check of an open, one at a time.
func TestVerifyOpen(t *testing.T) {
	f := func(name string, rule Rule, change func(*openDraft)) {
		t.Helper()
		refuse(t, name, rule, VerificationFailed, testTerms(), change)
	}
	f("sound", "", nil)
	f("cumulative 0", "", func(d *openDraft) { d.cumulative = Amount{} })
	f("cumulative of the deposit", "", func(d *openDraft) { d.cumulative = d.call.Deposit })
	f("an ordinary nonce without an end", "", func(d *openDraft) {
		d.tx = func(tx *Transaction) { tx.NonceKey, tx.Nonce, tx.ValidBefore = uint256.Int{}, 7, 0 }
	})
	f("expiring with a nonce", "", func(d *openDraft) { d.tx = func(tx *Transaction) { tx.Nonce = 1 } })
	f("expiring with the largest nonce", "", func(d *openDraft) { d.tx = func(tx *Transaction) { tx.Nonce = math.MaxUint64 } })
	f("sponsored with a nonce", "", func(d *openDraft) { d.sponsored, d.tx = true, func(tx *Transaction) { tx.Nonce = 1 } })
	f("zero signer means the payer", "", func(d *openDraft) { d.call.AuthorizedSigner = common.Address{} })
	f("another signer's vouchers", "", func(d *openDraft) { d.call.AuthorizedSigner, d.voucherKey = payee, anvil[1] })

	f("undecodable", RuleTransaction, func(d *openDraft) {
		d.request = func(r *OpenRequest) { r.Transaction = append(r.Transaction, 0) }
	})
	f("waiting for a sponsor as 0x76", RuleUnsendable, func(d *openDraft) { d.signed = func(tx *Transaction) { tx.Sponsorship = Unsponsored } })
	f("another chain", RuleChain, func(d *openDraft) { d.domain = mainnet })
	f("expiring without an end", RuleNonce, func(d *openDraft) { d.tx = func(tx *Transaction) { tx.ValidBefore = 0 } })
	f("expiring with a nonce, without an end", RuleNonce, func(d *openDraft) { d.tx = func(tx *Transaction) { tx.Nonce, tx.ValidBefore = 1, 0 } })
	f("two calls", RuleCalls, func(d *openDraft) { d.tx = func(tx *Transaction) { tx.Calls = append(tx.Calls, tx.Calls[0]) } })
	f("four calls", RuleCalls, func(d *openDraft) {
		d.tx = func(tx *Transaction) { tx.Calls = append(tx.Calls, tx.Calls[0], tx.Calls[0], tx.Calls[0]) }
	})
	f("another target", RuleTarget, func(d *openDraft) { d.domain = NewDomain(42431, payee) })
	f("creation", RuleTarget, func(d *openDraft) { d.tx = func(tx *Transaction) { tx.Calls[0].To = nil } })
	f("native value", RuleValue, func(d *openDraft) {
		d.tx = func(tx *Transaction) { tx.Calls[0].Value = *uint256.NewInt(1) }
	})
	f("padded calldata", RuleCalldata, func(d *openDraft) {
		d.tx = func(tx *Transaction) { tx.Calls[0].Data = append(tx.Calls[0].Data, make([]byte, 32)...) }
	})
	f("dirty padding", RuleCalldata, func(d *openDraft) { d.tx = func(tx *Transaction) { tx.Calls[0].Data[4] = 1 } })
	f("another function", RuleCalldata, func(d *openDraft) {
		d.tx = func(tx *Transaction) { tx.Calls[0].Data = RequestCloseCall{testChannel()}.Calldata() }
	})
	f("another payee", RulePayee, func(d *openDraft) { d.call.Payee = payer })
	f("another payee in calldata", RulePayee, inCalldata(func(c *OpenCall) { c.Payee = payer }))
	f("operator not advertised", RuleOperator, func(d *openDraft) { d.call.Operator = payee })
	f("operator in calldata", RuleOperator, inCalldata(func(c *OpenCall) { c.Operator = payer }))
	f("another token", RuleToken, func(d *openDraft) { d.call.Token = fill20(0x20) })
	f("token in calldata", RuleToken, inCalldata(func(c *OpenCall) { c.Token = fill20(0x20) }))
	f("signer in calldata", RuleSigner, inCalldata(func(c *OpenCall) { c.AuthorizedSigner = payee }))
	f("signer in the payload", RuleSigner, func(d *openDraft) { d.request = func(r *OpenRequest) { r.AuthorizedSigner = payee } })
	f("salt in calldata", RuleDescriptor, inCalldata(func(c *OpenCall) { c.Salt = common.Hash{8} }))
	f("channel id", RuleChannelID, func(d *openDraft) { d.request = func(r *OpenRequest) { r.ChannelID[0] ^= 1 } })
	f("deposit zero", RuleAmount, func(d *openDraft) { d.call.Deposit = Amount{} })
	f("deposit below the price", RuleDeposit, func(d *openDraft) { d.call.Deposit = AmountFrom(99_999) })
	f("deposit below the minimum", RuleMinDeposit, func(d *openDraft) { d.call.Deposit = AmountFrom(199_999) })
	f("signed by another", RuleSender, func(d *openDraft) { d.signed = func(tx *Transaction) { _ = tx.Sign(payee, anvil[1]) } })
	f("nonce hash of another transaction", RuleNonceHash, func(d *openDraft) {
		d.request = func(r *OpenRequest) {
			r.Descriptor.ExpiringNonceHash[0] ^= 1
			r.ChannelID = moderato.ChannelID(r.Descriptor)
		}
	})
	refuse(t, "cumulative above the deposit", RuleCumulative, ExceedsDeposit, testTerms(), func(d *openDraft) { d.cumulative = AmountFrom(500_001) })
	refuse(t, "operator advertised", "", "", &Terms{Domain: moderato, Token: pathUSD, Payee: payee, Operator: payer}, func(d *openDraft) { d.call.Operator = payer })
	refuse(t, "advertised operator left out", "", "", &Terms{Domain: moderato, Token: pathUSD, Payee: payee, Operator: payer}, nil)
}

// inCalldata changes the transaction's arguments and leaves the descriptor.
func inCalldata(change func(*OpenCall)) func(*openDraft) {
	return func(d *openDraft) {
		d.tx = func(tx *Transaction) {
			c := d.call
			change(&c)
			tx.Calls[0].Data = c.Calldata()
		}
	}
}

func TestVerifyOpenVoucher(t *testing.T) {
	f := func(name string, change func(*openDraft)) {
		t.Helper()
		refuse(t, name, RuleVoucher, InvalidVoucher, testTerms(), change)
	}
	f("another key", func(d *openDraft) { d.voucherKey = anvil[1] })
	f("another amount", func(d *openDraft) { d.request = func(r *OpenRequest) { r.Cumulative = AmountFrom(100_001) } })
	f("corrupted", func(d *openDraft) { d.request = func(r *OpenRequest) { r.Signature[3] ^= 1 } })
	f("empty", func(d *openDraft) { d.request = func(r *OpenRequest) { r.Signature = nil } })
	f("high s", func(d *openDraft) { d.request = func(r *OpenRequest) { r.Signature = flip(r.Signature) } })
	f("the payer's, where another signs", func(d *openDraft) { d.call.AuthorizedSigner = payee })
}

// flip makes the malleable twin of a secp256k1 signature.
func flip(sig []byte) []byte {
	s := common.BigToHash(secp256k1Order.Big().Sub(secp256k1Order.Big(), common.BytesToHash(sig[32:64]).Big()))
	out := append(append([]byte{}, sig[:32]...), s[:]...)
	return append(out, sig[64]^7) // 27 <-> 28
}

// TestVerifyOpenOfAccessKey: the account pays, its key signs both.
func TestVerifyOpenOfAccessKey(t *testing.T) {
	account := fill20(0xab)
	key, err := NewP256Key(bytes.Repeat([]byte{0x11}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, signer := range []Signer{anvil[1], key} {
		change := func(d *openDraft) {
			d.account, d.key, d.voucherKey, d.call.AuthorizedSigner = account, signer, signer, signer.Address()
		}
		refuse(t, "access key", "", "", testTerms(), change)
		refuse(t, "sponsored access key", "", "", testTerms(), func(d *openDraft) { change(d); d.sponsored = true })
	}
}

// TestH16VoucherIsCheckedBeforeCoSigning: no verified open, no co-signature.
func TestH16VoucherIsCheckedBeforeCoSigning(t *testing.T) {
	refuse(t, "sponsored with a bad voucher", RuleVoucher, InvalidVoucher, testTerms(), func(d *openDraft) {
		d.sponsored, d.voucherKey = true, anvil[1]
	})
	refuse(t, "sponsored with a low deposit", RuleDeposit, VerificationFailed, testTerms(), func(d *openDraft) {
		d.sponsored, d.call.Deposit = true, AmountFrom(1)
	})
}

func TestLegacyOpenIsRefusedStatically(t *testing.T) {
	refuse(t, "approve and open of version 1", RuleLegacy, VerificationFailed, testTerms(), func(d *openDraft) {
		d.tx = func(tx *Transaction) {
			token, escrow := pathUSD, testEscrow
			tx.Calls = []Call{
				{To: &token, Data: ApproveCalldata(testEscrow, uint256.NewInt(500_000))},
				{To: &escrow, Data: append(selectorLegacyOpen[:], make([]byte, 160)...)},
			}
		}
	})
}

func TestSponsorship(t *testing.T) {
	unsponsored := testTerms()
	unsponsored.Sponsor = nil
	refuse(t, "0x78 unsolicited", RuleType, BadRequest, unsponsored, func(d *openDraft) { d.sponsored = true })
	refuse(t, "self-paid though sponsorship was offered", "", "", testTerms(), nil)
	refuse(t, "forged sender", RuleSender, VerificationFailed, testTerms(), func(d *openDraft) {
		d.sponsored, d.signed = true, func(tx *Transaction) { tx.ClaimedSender = payee }
	})
	refuse(t, "claimed payer", RuleSender, VerificationFailed, testTerms(), func(d *openDraft) {
		d.sponsored = true
		d.signed = func(tx *Transaction) { _ = tx.Sign(payee, anvil[1]); tx.ClaimedSender = payer }
	})
	v, err := testTerms().VerifyOpen(open(t, func(d *openDraft) { d.sponsored = true }))
	if err != nil {
		t.Fatal(err)
	}
	wantRule(t, "another fee token", v.CoSign(anvil[1], payee, testNow, testExpires), RuleFeeToken, BadRequest)
	wantRule(t, "too late", v.CoSign(anvil[1], pathUSD, testNow+23, testExpires), RuleValidBefore, VerificationFailed)
	if err := v.CoSign(anvil[1], pathUSD, testNow, testExpires); err != nil {
		t.Fatal(err)
	}
	back, err := DecodeTransaction(v.Tx.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if by, err := back.FeePayer(); err != nil || by != payee {
		t.Errorf("fee payer %s, %v", by, err)
	}
	refuse(t, "a foreign sponsor's signature of nobody", RuleFeePayer, VerificationFailed, testTerms(), func(d *openDraft) {
		d.sponsored = true
		d.signed = func(tx *Transaction) {
			raw := unhex(t, sig1)
			copy(raw, common.HexToHash("0x05").Bytes()) // no point of the curve has this r
			nobody, err := ParseSignature(raw)
			if err != nil {
				t.Fatal(err)
			}
			tx.Sponsorship, tx.ClaimedSender, tx.FeePayerSignature = Sponsored, common.Address{}, nobody
		}
	})
}

// TestSponsorPolicy walks each limit of the sponsor: at it, and one beyond.
func TestSponsorPolicy(t *testing.T) {
	f := func(name string, rule Rule, terms *Terms, change func(*Transaction)) {
		t.Helper()
		refuse(t, name, rule, BadRequest, terms, func(d *openDraft) { d.sponsored, d.tx = true, change })
	}
	terms := testTerms()
	set := func(gas, fee, priority uint64) func(*Transaction) {
		return func(tx *Transaction) {
			tx.Gas, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = gas, *uint256.NewInt(fee), *uint256.NewInt(priority)
		}
	}
	f("gas 0", RuleGas, terms, set(0, gwei, 0))
	f("gas 1", "", terms, set(1, gwei, 0))
	f("gas at the limit", "", terms, set(2_000_000, 25*gwei, 0))
	f("gas beyond", RuleGas, terms, set(2_000_001, gwei, 0))
	f("fee 0", RuleFee, terms, set(1, 0, 0))
	f("fee at the limit", "", terms, set(500_000, 100*gwei, 0))
	f("fee beyond", RuleFee, terms, set(1, 100*gwei+1, 0))
	f("priority of the fee", "", terms, set(1, gwei, gwei))
	f("priority beyond the fee", RulePriority, terms, set(1, gwei, gwei+1))
	f("priority at the testnet's limit", "", terms, set(1, 100*gwei, 50*gwei))
	f("priority beyond", RulePriority, terms, set(1, 100*gwei, 50*gwei+1))
	f("cost at the limit", "", terms, set(500_000, 100*gwei, 0))
	f("cost beyond", RuleCost, terms, set(500_001, 100*gwei, 0))
	f("access list", RuleAccessList, terms, func(tx *Transaction) { tx.AccessList = []AccessTuple{{Address: payee}} })
	f("authorization list", RuleAuthorized, terms, func(tx *Transaction) { tx.AuthorizationList = []byte{0xc1, 0xc0} })
	f("key authorization", "", terms, func(tx *Transaction) { tx.KeyAuthorization = []byte{0xc1, 0x01} })
	f("ordinary nonce", RuleExpiring, terms, func(tx *Transaction) { tx.NonceKey = uint256.Int{} })

	strict := testTerms()
	strict.Sponsor = DefaultSponsorPolicy(false)
	strict.Sponsor.AllowKeyAuthorization = false
	f("key authorization by policy", RuleAuthorized, strict, func(tx *Transaction) { tx.KeyAuthorization = []byte{0xc1, 0x01} })
	f("priority at the mainnet's limit", "", strict, set(1, 100*gwei, 10*gwei))
	f("priority beyond on mainnet", RulePriority, strict, set(1, 100*gwei, 10*gwei+1))
	refuse(t, "native value", RuleValue, VerificationFailed, terms, func(d *openDraft) {
		d.sponsored, d.tx = true, func(tx *Transaction) { tx.Calls[0].Value = *uint256.NewInt(1) }
	})
	refuse(t, "fee token that was not offered", RuleFeeToken, BadRequest, terms, func(d *openDraft) {
		d.sponsored, d.signed = true, func(tx *Transaction) { tx.FeeToken = fill20(0x20) }
	})
	refuse(t, "fee token that was advertised", "", "", &Terms{Domain: moderato, Token: pathUSD, Payee: payee, Sponsor: &SponsorPolicy{
		MaxGas: 1 << 40, MaxFeePerGas: ExpiringNonceKey, MaxPriorityFee: ExpiringNonceKey, Total: ExpiringNonceKey, FeeToken: fill20(0x20),
	}}, func(d *openDraft) {
		d.sponsored, d.signed = true, func(tx *Transaction) { tx.FeeToken = fill20(0x20) }
	})
}

func TestCheckTime(t *testing.T) {
	f := func(name string, sponsored bool, before, after uint64, rule Rule) {
		t.Helper()
		v, err := testTerms().VerifyOpen(open(t, func(d *openDraft) {
			d.sponsored, d.tx = sponsored, func(tx *Transaction) { tx.ValidBefore, tx.ValidAfter = before, after }
		}))
		if err != nil {
			t.Fatal(err)
		}
		problem := VerificationFailed
		if rule == RuleExpiring {
			problem = BadRequest
		}
		wantRule(t, name, v.CheckTime(testNow, testExpires), rule, problem)
	}
	f("3 s left", false, testNow+3, 0, "")
	f("2 s left", false, testNow+2, 0, RuleValidBefore)
	f("over", false, testNow-1, 0, RuleValidBefore)
	f("valid from now", false, testNow+25, testNow, "")
	f("valid from the next second", false, testNow+25, testNow+1, RuleValidAfter)
	f("sponsored until a minute after the challenge", true, testExpires+60, 0, "")
	f("sponsored for longer", true, testExpires+61, 0, RuleExpiring)
	f("self-paid for longer", false, testExpires+61, 0, "")
	v, err := testTerms().VerifyOpen(open(t, func(d *openDraft) {
		d.sponsored, d.tx = true, func(tx *Transaction) { tx.ValidBefore = testNow + 15*60 + 1 }
	}))
	if err != nil {
		t.Fatal(err)
	}
	wantRule(t, "sponsored for more than 15 minutes", v.CheckTime(testNow, testNow+10_000), RuleExpiring, BadRequest)
	wantRule(t, "sponsored for 15 minutes", v.CheckTime(testNow+1, testNow+10_000), "", "")
}

// TestSwapPrefix varies the two calls that may come before an open.
func TestSwapPrefix(t *testing.T) {
	tokenIn := common.HexToAddress("0x20c0000000000000000000000000000000000001")
	swapped := func(s Swap, out uint64, change func(calls []Call)) func(*openDraft) {
		return func(d *openDraft) {
			d.tx = func(tx *Transaction) {
				calls := s.Calls(pathUSD, AmountFrom(out))
				if change != nil {
					change(calls)
				}
				tx.Calls = append(calls, tx.Calls...)
			}
		}
	}
	good := Swap{TokenIn: tokenIn, MaxIn: *uint256.NewInt(510_000)}
	f := func(name string, rule Rule, change func(*openDraft)) {
		t.Helper()
		refuse(t, name, rule, VerificationFailed, testTerms(), change)
	}
	v, err := testTerms().VerifyOpen(open(t, swapped(good, 500_000, nil)))
	if err != nil || v.Swap == nil || *v.Swap != good {
		t.Fatalf("swap: %+v, %v", v, err)
	}
	f("another amount out", RuleSwap, swapped(good, 499_999, nil))
	f("from the token itself", RuleSwap, swapped(Swap{pathUSD, good.MaxIn}, 500_000, nil))
	f("from no token", RuleSwap, swapped(Swap{payer, good.MaxIn}, 500_000, nil))
	f("maximum above 128 bits", RuleSwap, swapped(Swap{tokenIn, ExpiringNonceKey}, 500_000, nil))
	f("another spender", RuleSwap, swapped(good, 500_000, func(c []Call) { c[0].Data = ApproveCalldata(payer, &good.MaxIn) }))
	f("a higher approval", RuleSwap, swapped(good, 500_000, func(c []Call) { c[0].Data = ApproveCalldata(DEX, uint256.NewInt(510_001)) }))
	f("approval of another token", RuleSwap, swapped(good, 500_000, func(c []Call) { *c[0].To = pathUSD }))
	f("transfer for approve", RuleSwap, swapped(good, 500_000, func(c []Call) { c[0].Data = TransferCalldata(DEX, &good.MaxIn) }))
	f("another exchange", RuleSwap, swapped(good, 500_000, func(c []Call) { *c[1].To = payer }))
	f("approve by creation", RuleSwap, swapped(good, 500_000, func(c []Call) { c[0].To = nil }))
	f("trailing byte in approve", RuleSwap, swapped(good, 500_000, func(c []Call) { c[0].Data = append(c[0].Data, 0) }))
	f("trailing byte in swap", RuleSwap, swapped(good, 500_000, func(c []Call) { c[1].Data = append(c[1].Data, 0) }))
	f("native value", RuleValue, swapped(good, 500_000, func(c []Call) { c[0].Value = *uint256.NewInt(1) }))
	f("into another token", RuleSwap, func(d *openDraft) {
		d.tx = func(tx *Transaction) { tx.Calls = append(good.Calls(fill20(0x20), AmountFrom(500_000)), tx.Calls...) }
	})
	f("out of order", RuleSwap, swapped(good, 500_000, func(c []Call) { c[0], c[1] = c[1], c[0] }))
}

func TestVerifyTopUp(t *testing.T) {
	d := testChannel()
	request := func(change func(*TopUpRequest)) TopUpRequest {
		r := TopUpRequest{ChannelID: moderato.ChannelID(d), Descriptor: d, Transaction: vector(t, "T4"), Additional: AmountFrom(500_000)}
		if change != nil {
			change(&r)
		}
		return r
	}
	rebuilt := func(key *Secp256k1Key, call ReserveCall) func(*TopUpRequest) {
		return func(r *TopUpRequest) {
			tx := NewTransaction(42431, testNow, CallReserve(testEscrow, call))
			if err := tx.Sign(key.Address(), key); err != nil {
				t.Fatal(err)
			}
			r.Transaction = tx.Encode()
		}
	}
	f := func(name string, rule Rule, change func(*TopUpRequest)) {
		t.Helper()
		_, err := testTerms().VerifyTopUp(request(change))
		wantRule(t, name, err, rule, VerificationFailed)
	}
	f("T4", "", nil)
	f("another amount than said", RuleAmount, func(r *TopUpRequest) { r.Additional = AmountFrom(500_001) })
	f("zero", RuleAmount, func(r *TopUpRequest) {
		rebuilt(anvil[0], TopUpCall{d, Amount{}})(r)
		r.Additional = Amount{}
	})
	f("foreign payer", RuleSender, rebuilt(anvil[1], TopUpCall{d, AmountFrom(500_000)}))
	other := d
	other.Salt = common.Hash{1}
	f("another channel", RuleDescriptor, rebuilt(anvil[0], TopUpCall{other, AmountFrom(500_000)}))
	f("another function", RuleCalldata, rebuilt(anvil[0], WithdrawCall{d}))
	f("an open", RuleCalldata, func(r *TopUpRequest) { r.Transaction = vector(t, "T1") })
	f("channel id", RuleChannelID, func(r *TopUpRequest) { r.ChannelID[5] ^= 1 })
	f("undecodable", RuleTransaction, func(r *TopUpRequest) { r.Transaction = r.Transaction[1:] })
	f("channel of another payee", RulePayee, func(r *TopUpRequest) {
		r.Descriptor.Payee = payer
		r.ChannelID = moderato.ChannelID(r.Descriptor)
	})
	f("with a swap", "", func(r *TopUpRequest) {
		s := Swap{common.HexToAddress("0x20c0000000000000000000000000000000000001"), *uint256.NewInt(600_000)}
		tx := NewTransaction(42431, testNow, append(s.Calls(pathUSD, AmountFrom(500_000)), CallReserve(testEscrow, TopUpCall{d, AmountFrom(500_000)}))...)
		if err := tx.Sign(payer, anvil[0]); err != nil {
			t.Fatal(err)
		}
		r.Transaction = tx.Encode()
	})
}

// TestCheckDescriptor: a voucher of another route's channel goes no further.
func TestCheckDescriptor(t *testing.T) {
	f := func(name string, rule Rule, change func(*Descriptor)) {
		t.Helper()
		d := testChannel()
		change(&d)
		wantRule(t, name, testTerms().CheckDescriptor(d, moderato.ChannelID(d)), rule, VerificationFailed)
	}
	f("sound", "", func(*Descriptor) {})
	f("payee", RulePayee, func(d *Descriptor) { d.Payee = payer })
	f("token", RuleToken, func(d *Descriptor) { d.Token = payer })
	f("operator", RuleOperator, func(d *Descriptor) { d.Operator = payer })
	wantRule(t, "id", testTerms().CheckDescriptor(testChannel(), common.Hash{1}), RuleChannelID, VerificationFailed)
}

// TestMaySettle: a settlement from the wrong account would only cost gas.
func TestMaySettle(t *testing.T) {
	d := testChannel()
	if !d.MaySettle(payee) || d.MaySettle(payer) || d.MaySettle(common.Address{}) {
		t.Error("without an operator the payee alone settles")
	}
	d.Operator = fill20(9)
	if !d.MaySettle(payee) || !d.MaySettle(fill20(9)) {
		t.Error("payee and operator settle")
	}
}

// TestDefaultSponsorPolicy: the limits of a sponsored transaction.
func TestDefaultSponsorPolicy(t *testing.T) {
	for testnet, priority := range map[bool]uint64{false: 10_000_000_000, true: 50_000_000_000} {
		p := DefaultSponsorPolicy(testnet)
		if p.MaxGas != 2_000_000 || p.MaxFeePerGas.Uint64() != 100_000_000_000 || p.MaxPriorityFee.Uint64() != priority ||
			p.Total.Uint64() != 50_000_000_000_000_000 || !p.AllowKeyAuthorization || p.FeeToken != (common.Address{}) {
			t.Errorf("testnet %t: %+v", testnet, p)
		}
	}
}

// TestTokensOfTerms: a channel is in one of the tokens that the terms name.
func TestTokensOfTerms(t *testing.T) {
	f := func(token common.Address, want bool) {
		t.Helper()
		terms := testTerms()
		terms.OtherTokens = []common.Address{{2}, {3}}
		d := Descriptor{Payer: common.Address{8}, Payee: terms.Payee, Token: token}
		if err := terms.CheckDescriptor(d, terms.Domain.ChannelID(d)); (err == nil) != want {
			t.Errorf("%s: %v", token, err)
		}
	}
	f(pathUSD, true)
	f(common.Address{2}, true)
	f(common.Address{3}, true)
	f(common.Address{4}, false)
	f(common.Address{}, false)
}
