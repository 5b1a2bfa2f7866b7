package tempo

import (
	"bytes"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// minValidity is how many seconds a transaction must still be valid to be worth
// sending.
const minValidity = 3

// Terms are what a challenge offered, and the server's own policy. A transaction
// is held to them before anything is broadcast. Read-only while in use.
type Terms struct {
	// Domain has the challenge's chain and escrow.
	Domain *Domain
	// Token and Payee are the request's currency and recipient; Operator is the
	// advertised one, or zero.
	Token, Payee, Operator common.Address
	// OtherTokens are the currencies of further challenges.
	OtherTokens []common.Address
	// Amount is the request's price of one unit.
	Amount Amount
	// MinDeposit is the least deposit that the server opens a channel for.
	MinDeposit Amount
	// Sponsor is set when the challenge offered to pay fees.
	Sponsor *SponsorPolicy
}

// OpenRequest is the payload of an open.
type OpenRequest struct {
	ChannelID   common.Hash
	Descriptor  Descriptor
	Transaction []byte
	// Cumulative and Signature are the first voucher; zero is usual.
	Cumulative Amount
	Signature  []byte
	// AuthorizedSigner repeats the descriptor's; zero when it was left out.
	AuthorizedSigner common.Address
}

// TopUpRequest is the payload of a top-up.
type TopUpRequest struct {
	ChannelID   common.Hash
	Descriptor  Descriptor
	Transaction []byte
	Additional  Amount
}

// Verified is a transaction that does exactly what was allowed. It has yet to
// pass CheckTime when it is sent.
type Verified struct {
	ChannelID  common.Hash
	Descriptor Descriptor
	Tx         *Transaction
	// Paid is the deposit, or what is added to it.
	Paid Amount
	// Swap is how the payer buys Paid, or nil.
	Swap  *Swap
	terms *Terms
}

// VerifiedOpen is an open, with its first voucher.
type VerifiedOpen struct {
	Verified
	Cumulative Amount
	Voucher    Signature
}

// VerifyOpen applies every check of an open that needs neither the chain nor a
// clock, cheap ones first. The error is a *Rejection.
func (t *Terms) VerifyOpen(req OpenRequest) (*VerifiedOpen, error) {
	if r := t.checkDescriptor(&req.Descriptor, req.ChannelID); r != nil {
		return nil, r
	}
	if s := req.AuthorizedSigner; s != (common.Address{}) && s != req.Descriptor.AuthorizedSigner {
		return nil, reject(RuleSigner, "authorized signer differs from the descriptor's", nil)
	}
	v, call, r := t.readTransaction(req.Transaction)
	if r != nil {
		return nil, r
	}
	open, ok := call.(OpenCall)
	if !ok {
		return nil, reject(RuleCalldata, "transaction does not open a channel", nil)
	}
	v.Descriptor, v.ChannelID = req.Descriptor, req.ChannelID
	if r := v.checkOpenCall(open, req); r != nil {
		return nil, r
	}
	if v.Swap, r = v.checkSwap(open.Deposit); r != nil {
		return nil, r
	}
	voucher, err := ParseSignature(req.Signature)
	if err != nil {
		return nil, reject(RuleVoucher, "voucher is not accepted", err)
	}
	if r := v.checkSender(); r != nil {
		return nil, r
	}
	if v.Tx.ExpiringNonceHash(req.Descriptor.Payer) != req.Descriptor.ExpiringNonceHash {
		return nil, reject(RuleNonceHash, "descriptor is not of this transaction", nil)
	}
	if err := t.Domain.Verify(req.ChannelID, req.Cumulative, voucher, req.Descriptor.Signer()); err != nil {
		return nil, reject(RuleVoucher, "voucher is not accepted", err)
	}
	return &VerifiedOpen{Verified: *v, Cumulative: req.Cumulative, Voucher: voucher}, nil
}

// VerifyTopUp is VerifyOpen for a top-up. That the channel is known, with this
// descriptor, and not closed is the caller's to check.
func (t *Terms) VerifyTopUp(req TopUpRequest) (*Verified, error) {
	if r := t.checkDescriptor(&req.Descriptor, req.ChannelID); r != nil {
		return nil, r
	}
	v, call, r := t.readTransaction(req.Transaction)
	if r != nil {
		return nil, r
	}
	topUp, ok := call.(TopUpCall)
	switch {
	case !ok:
		return nil, reject(RuleCalldata, "transaction does not top up a channel", nil)
	case topUp.Descriptor != req.Descriptor:
		return nil, reject(RuleDescriptor, "transaction tops up another channel", nil)
	case topUp.Additional.IsZero() || topUp.Additional != req.Additional:
		return nil, reject(RuleAmount, "transaction adds another amount than was said", nil)
	}
	v.Descriptor, v.ChannelID, v.Paid = req.Descriptor, req.ChannelID, topUp.Additional
	if v.Swap, r = v.checkSwap(topUp.Additional); r != nil {
		return nil, r
	}
	if r := v.checkSender(); r != nil {
		return nil, r
	}
	return v, nil
}

// CheckDescriptor holds the descriptor of any payload to its id and to the
// terms: what a voucher or a close has to pass first. The error is a *Rejection.
func (t *Terms) CheckDescriptor(d Descriptor, channelID common.Hash) error {
	if r := t.checkDescriptor(&d, channelID); r != nil {
		return r
	}
	return nil
}

func (t *Terms) checkDescriptor(d *Descriptor, channelID common.Hash) *Rejection {
	switch {
	case t.Domain.ChannelID(*d) != channelID:
		return reject(RuleChannelID, "descriptor does not hash to the channel id", nil)
	case d.Payee != t.Payee:
		return reject(RulePayee, "channel pays somebody else", nil)
	case d.Operator != t.Operator && d.Operator != (common.Address{}):
		return reject(RuleOperator, "channel has an operator that was not advertised", nil)
	case d.Token != t.Token && !slices.Contains(t.OtherTokens, d.Token):
		return reject(RuleToken, "channel is in another token", nil)
	}
	return nil
}

// readTransaction decodes the envelope, checks all that does not depend on the
// function, and reads the last call.
func (t *Terms) readTransaction(raw []byte) (*Verified, ReserveCall, *Rejection) {
	tx, err := DecodeTransaction(raw)
	if err != nil {
		return nil, nil, reject(RuleTransaction, "transaction is not accepted", err)
	}
	switch {
	case tx.Sponsorship == HandOff && t.Sponsor == nil:
		return nil, nil, reject(RuleType, "fee sponsorship was not offered", nil)
	case tx.Sponsorship == Unsponsored:
		return nil, nil, reject(RuleUnsendable, "transaction waits for a fee payer", nil)
	case tx.ChainID != t.Domain.ChainID():
		return nil, nil, reject(RuleChain, "transaction is for another chain", nil)
	case tx.IsExpiring() && tx.ValidBefore == 0: // the nonce may be any (TIP-1106)
		return nil, nil, reject(RuleNonce, "expiring transaction needs an end", nil)
	}
	call, r := t.lastCall(tx)
	if r != nil {
		return nil, nil, r
	}
	if tx.Sponsorship == HandOff {
		if r := t.Sponsor.check(tx, t.Token); r != nil {
			return nil, nil, r
		}
	}
	return &Verified{Tx: tx, terms: t}, call, nil
}

// Selectors of the protocol's version 1, which paid in by approve and open.
var (
	selectorLegacyOpen  = selectorOf("open(address,address,uint128,bytes32,address)")
	selectorLegacyTopUp = selectorOf("topUp(bytes32,uint256)")
)

func (t *Terms) lastCall(tx *Transaction) (ReserveCall, *Rejection) {
	last := &tx.Calls[len(tx.Calls)-1]
	if bytes.HasPrefix(last.Data, selectorLegacyOpen[:]) || bytes.HasPrefix(last.Data, selectorLegacyTopUp[:]) {
		return nil, reject(RuleLegacy, "transaction is of protocol version 1; the channel reserve takes no approve", nil)
	}
	if n := len(tx.Calls); n != 1 && n != 3 {
		return nil, reject(RuleCalls, "transaction makes other calls than allowed", nil)
	}
	if last.To == nil || *last.To != t.Domain.Escrow() {
		return nil, reject(RuleTarget, "transaction does not call the escrow", nil)
	}
	for i := range tx.Calls {
		if !tx.Calls[i].Value.IsZero() {
			return nil, reject(RuleValue, "call carries native value", nil)
		}
	}
	call, err := DecodeReserveCall(last.Data)
	if err != nil {
		return nil, reject(RuleCalldata, "calldata is not accepted", err)
	}
	return call, nil
}

// checkOpenCall holds the arguments of open to the descriptor, which has been
// held to the terms, and its deposit to the price.
func (v *Verified) checkOpenCall(open OpenCall, req OpenRequest) *Rejection {
	d, t := &v.Descriptor, v.terms
	v.Paid = open.Deposit
	switch {
	case open.Payee != d.Payee:
		return reject(RulePayee, "transaction names another payee than the descriptor", nil)
	case open.Operator != d.Operator:
		return reject(RuleOperator, "transaction names another operator than the descriptor", nil)
	case open.Token != d.Token:
		return reject(RuleToken, "transaction names another token than the descriptor", nil)
	case open.AuthorizedSigner != d.AuthorizedSigner:
		return reject(RuleSigner, "transaction names another signer than the descriptor", nil)
	case open.Salt != d.Salt:
		return reject(RuleDescriptor, "transaction names another salt than the descriptor", nil)
	case open.Deposit.IsZero():
		return reject(RuleAmount, "deposit is zero", nil)
	case open.Deposit.Cmp(t.Amount) < 0:
		return reject(RuleDeposit, "deposit is below the price of one unit", nil)
	case open.Deposit.Cmp(t.MinDeposit) < 0:
		return reject(RuleMinDeposit, "deposit is below the minimum", nil)
	case req.Cumulative.Cmp(open.Deposit) > 0:
		return reject(RuleCumulative, "voucher exceeds the deposit", nil)
	}
	return nil
}

// checkSwap holds the first two of three calls to the one encoding of a swap
// that buys exactly what is paid in. Every target is pinned: the token bought
// with must be a token, so that no other contract runs at a sponsor's cost.
func (v *Verified) checkSwap(paid Amount) (*Swap, *Rejection) {
	if len(v.Tx.Calls) == 1 {
		return nil, nil
	}
	swap, ok := decodeSwapOut(v.Tx.Calls[1].Data)
	if !ok || !IsToken(swap.TokenIn) || swap.TokenIn == v.Descriptor.Token {
		return nil, reject(RuleSwap, "second call is no swap into the channel's token", nil)
	}
	for i, want := range swap.Calls(v.Descriptor.Token, paid) {
		got := &v.Tx.Calls[i]
		if got.To == nil || *got.To != *want.To || !bytes.Equal(got.Data, want.Data) {
			return nil, reject(RuleSwap, "calls before the last are not the swap of what is paid in", nil)
		}
	}
	return &swap, nil
}

// checkSender recovers who signed: what a hand-off claims is never believed.
func (v *Verified) checkSender() *Rejection {
	sender, err := v.Tx.Sender()
	if err != nil {
		return reject(RuleSender, "sender is not proven", err)
	}
	if sender != v.Descriptor.Payer {
		return reject(RuleSender, "transaction is signed by another than the payer", nil)
	}
	if v.Tx.Sponsorship == Sponsored {
		if _, err := v.Tx.FeePayer(); err != nil {
			return reject(RuleFeePayer, "fee payer is not proven", err)
		}
	}
	return nil
}

// CheckTime holds the validity window to now, in Unix seconds; expires is the
// end of the challenge. Check it last before sending: the answer to a stale
// transaction is a new challenge, unless the chain has it already. The error is
// a *Rejection.
func (v *Verified) CheckTime(now, expires uint64) error {
	tx := v.Tx
	switch {
	case tx.ValidBefore != 0 && tx.ValidBefore < now+minValidity:
		return reject(RuleValidBefore, "transaction expires before it can be sent", nil)
	case tx.ValidAfter > now:
		return reject(RuleValidAfter, "transaction is not valid yet", nil)
	case tx.Sponsorship == HandOff && tx.ValidBefore > min(now+maxSponsoredValidity, expires+sponsoredGrace):
		return reject(RuleExpiring, "sponsored transaction is valid for too long", nil)
	}
	return nil
}

// CoSign makes a verified hand-off ready to send, paying its fee in feeToken.
// The window is checked once more, for a sponsor's signature is worth gas.
func (v *Verified) CoSign(sponsor Signer, feeToken common.Address, now, expires uint64) error {
	if err := v.CheckTime(now, expires); err != nil {
		return err
	}
	if v.terms.Sponsor == nil || !v.terms.Sponsor.takes(feeToken, v.terms.Token) {
		return reject(RuleFeeToken, "fee token was not offered", nil)
	}
	return v.Tx.CoSign(sponsor, feeToken)
}

// Bounds of a sponsored transaction's window, in seconds.
const (
	maxSponsoredValidity = 15 * 60
	sponsoredGrace       = 60
)

// SponsorPolicy bounds what a sponsor pays for one transaction. Fees are in
// attodollars (10^-18 USD).
type SponsorPolicy struct {
	MaxGas                              uint64
	MaxFeePerGas, MaxPriorityFee, Total uint256.Int
	// FeeToken is the token advertised for fees; zero means the currency alone.
	FeeToken common.Address
	// AllowKeyAuthorization lets a transaction authorise an access key as well.
	AllowKeyAuthorization bool
}

// gwei is 10^9.
const gwei = 1_000_000_000

// DefaultSponsorPolicy has the limits that mppx uses; testnets see higher
// priority fees.
func DefaultSponsorPolicy(testnet bool) *SponsorPolicy {
	priority := uint64(10 * gwei)
	if testnet {
		priority = 50 * gwei
	}
	return &SponsorPolicy{
		MaxGas: 2_000_000, MaxFeePerGas: *uint256.NewInt(100 * gwei), MaxPriorityFee: *uint256.NewInt(priority),
		Total: *uint256.NewInt(50_000_000 * gwei), AllowKeyAuthorization: true,
	}
}

func (p *SponsorPolicy) takes(feeToken, currency common.Address) bool {
	return feeToken == currency || feeToken == p.FeeToken && feeToken != (common.Address{})
}

func (p *SponsorPolicy) check(tx *Transaction, currency common.Address) *Rejection {
	cost, over := new(uint256.Int).MulOverflow(uint256.NewInt(tx.Gas), &tx.MaxFeePerGas)
	switch {
	case len(tx.AccessList) != 0:
		return reject(RuleAccessList, "sponsored transaction has an access list", nil)
	case tx.AuthorizationList != nil:
		return reject(RuleAuthorized, "sponsored transaction has an authorization list", nil)
	case tx.KeyAuthorization != nil && !p.AllowKeyAuthorization:
		return reject(RuleAuthorized, "sponsored transaction authorises a key", nil)
	case tx.Gas == 0 || tx.Gas > p.MaxGas:
		return reject(RuleGas, "gas is outside the sponsor's limits", nil)
	case tx.MaxFeePerGas.IsZero() || tx.MaxFeePerGas.Gt(&p.MaxFeePerGas):
		return reject(RuleFee, "fee per gas is outside the sponsor's limits", nil)
	case tx.MaxPriorityFeePerGas.Gt(&tx.MaxFeePerGas) || tx.MaxPriorityFeePerGas.Gt(&p.MaxPriorityFee):
		return reject(RulePriority, "priority fee is above the sponsor's limits", nil)
	case over || cost.Gt(&p.Total):
		return reject(RuleCost, "fee is above the sponsor's limit", nil)
	case !tx.IsExpiring():
		return reject(RuleExpiring, "sponsored transaction needs the expiring nonce", nil)
	case tx.FeeToken != (common.Address{}) && !p.takes(tx.FeeToken, currency):
		return reject(RuleFeeToken, "fee token was not offered", nil)
	}
	return nil
}
