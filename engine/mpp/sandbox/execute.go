package sandbox

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Rules of nonces and validity.
const (
	expiringWindow = 300 // seconds that the end of an expiring transaction may lie ahead (TIP-1093)
	poolMargin     = 3   // seconds that a transaction must still have when it arrives
)

// Errors of transactions that no block can take; nothing is charged for them.
var (
	errExpired       = errors.New("transaction expired: validBefore has passed")
	errExpiresSoon   = errors.New("transaction expires too soon: validBefore is within 3 seconds")
	errNotYet        = errors.New("transaction is not valid yet: validAfter lies ahead")
	errExpiryTooFar  = errors.New("expiring nonce: validBefore must lie within 300 seconds")
	errExpiringNonce = errors.New("expiring nonce: validBefore must be set")
	errReplay        = errors.New("expiring nonce: already used")
	errNonceTooLow   = errors.New("nonce too low")
	errNonceTooHigh  = errors.New("nonce too high: the sandbox keeps no queue")
	errUnderpriced   = errors.New("max fee per gas is below the base fee")
	errPriority      = errors.New("max priority fee per gas is above max fee per gas")
	errGasTooLow     = errors.New("intrinsic gas too low")
	errGasTooHigh    = errors.New("exceeds block gas limit")
	errFunds         = errors.New("insufficient funds for gas: fee payer lacks the fee token")
	errFeeToken      = errors.New("fee token is not a token of this chain")
	errHandOff       = errors.New("transaction type 0x78 is a hand-off to a fee payer, not a transaction")
	errAccessKey     = errors.New("access key is not authorized for the account")
	errKeyLimit      = errors.New("access key's spending limit does not cover the fee")
	errOutOfGas      = &revert{name: "out of gas"}
	errInjected      = &revert{name: "injected by the sandbox"}
)

const blockGasLimit = 30_000_000

// feeScale turns attodollars into base units: 10^-18 to 10^-6 dollars.
var feeScale = uint256.NewInt(1_000_000_000_000)

// feeOf is gas × price in base units, rounded up.
func feeOf(gas uint64, price uint256.Int) (fee uint256.Int) {
	product, over := fee.MulOverflow(uint256.NewInt(gas), &price)
	if over { // cannot be: both factors are bounded
		return *new(uint256.Int).SetAllOne()
	}
	return *product.Add(product, new(uint256.Int).SubUint64(feeScale, 1)).Div(product, feeScale)
}

// intrinsicGas is what a transaction costs before its first call runs. The figures
// are near the chain's; only their order of size is meant.
func intrinsicGas(t *Transaction) uint64 {
	gas := uint64(21_000)
	for _, call := range t.Calls {
		zeros := uint64(bytes.Count(call.Data, []byte{0}))
		gas += 4*zeros + 16*(uint64(len(call.Data))-zeros)
	}
	gas += signatureGas(t.keyKind, t.AccessKey != nil)
	if t.newKey != nil {
		gas += keyGas(len(t.newKey.limits))
	}
	if t.sponsored {
		gas += 3_000
	}
	if t.expiring() {
		gas += 13_000
	}
	return gas
}

// keyGas is the cost of storing a new access key.
func keyGas(limits int) uint64 { return 30_000 + 22_000*uint64(limits) }

func signatureGas(kind keyKind, accessKey bool) (gas uint64) {
	switch kind {
	case p256Key:
		gas = 5_000
	case webAuthnKey:
		gas = 20_000
	}
	if accessKey {
		gas += 3_000
	}
	return gas
}

// rules are what a transaction is checked and run against.
type rules struct {
	chainID uint64
	baseFee uint256.Int
	tokens  map[common.Address]*token
}

func (r *rules) machine(d *draft, time uint64) *machine {
	return &machine{draft: d, chainID: r.chainID, time: time, tokens: r.tokens, opened: map[common.Hash]bool{}}
}

// price is what a unit of gas costs this transaction.
func (r *rules) price(t *Transaction) uint256.Int {
	price := *new(uint256.Int).Add(&r.baseFee, &t.PriorityFee)
	if price.Gt(&t.MaxFee) {
		return t.MaxFee
	}
	return price
}

// feeToken is the token that pays: named by the transaction, else chosen by the fee
// payer, else the default.
func (r *rules) feeToken(under reader, t *Transaction) common.Address {
	if t.FeeToken != nil {
		return *t.FeeToken
	}
	if chosen := under.get(cell{space: feeTokenSpace, owner: t.FeePayer}); !chosen.IsZero() {
		return common.Address(chosen.Bytes20())
	}
	return PathUSD
}

// check says why a block at this time could not take the transaction. pending is how
// many earlier ones of the same account and nonce key wait.
func (r *rules) check(under reader, t *Transaction, now uint64, pending uint64) error {
	if t.Type == TypeHandOff {
		return errHandOff
	}
	if t.ChainID != r.chainID {
		return fmt.Errorf("chain id %d: this is %d", t.ChainID, r.chainID)
	}
	if err := checkTime(under, t, now, pending); err != nil {
		return err
	}
	if err := r.checkKey(under, t, now); err != nil {
		return err
	}
	switch {
	case t.PriorityFee.Gt(&t.MaxFee):
		return errPriority
	case t.MaxFee.Lt(&r.baseFee):
		return errUnderpriced
	case t.Gas > blockGasLimit:
		return errGasTooHigh
	case t.Gas < intrinsicGas(t):
		return errGasTooLow
	}
	token := r.feeToken(under, t)
	if r.tokens[token] == nil {
		return errFeeToken
	}
	most, have := feeOf(t.Gas, r.price(t)), under.get(balanceCell(token, t.FeePayer))
	if have.Lt(&most) {
		return errFunds
	}
	if !keyAffords(under, t, token, most) {
		return errKeyLimit
	}
	return nil
}

// keyAffords: the fee of a transaction that an access key signed counts against the
// key's limit, unless another account pays it.
func keyAffords(under reader, t *Transaction, token common.Address, fee uint256.Int) bool {
	if t.AccessKey == nil || t.FeePayer != t.Sender {
		return true
	}
	if auth := t.newKey; auth != nil && auth.key == *t.AccessKey {
		limit := auth.limits[token]
		return auth.limits == nil || !limit.Lt(&fee)
	}
	limit := under.get(limitCell(t.Sender, *t.AccessKey, token))
	return !unpackKey(under.get(keyCell(t.Sender, *t.AccessKey))).limited || !limit.Lt(&fee)
}

func checkTime(under reader, t *Transaction, now, pending uint64) error {
	if t.ValidBefore != 0 && t.ValidBefore <= now {
		return errExpired
	}
	if t.ValidAfter > now {
		return errNotYet
	}
	if t.expiring() {
		seen := under.get(cell{space: seenSpace, key: t.ExpiringNonceHash})
		switch {
		case t.ValidBefore == 0: // the nonce may be any (TIP-1106)
			return errExpiringNonce
		case t.ValidBefore > now+expiringWindow:
			return errExpiryTooFar
		case seen.GtUint64(now):
			return errReplay
		}
		return nil
	}
	nonce := under.get(nonceCell(t))
	switch next := nonce.Uint64() + pending; {
	case t.Nonce < next:
		return errNonceTooLow
	case t.Nonce > next:
		return errNonceTooHigh
	}
	return nil
}

func nonceCell(t *Transaction) cell { return cell{nonceSpace, t.Sender, t.NonceKey.Bytes32()} }

// checkKey: an access key must be known, alive and of the kind it was authorized as,
// or be authorized by this very transaction.
func (r *rules) checkKey(under reader, t *Transaction, now uint64) error {
	if t.newKey != nil {
		if id := t.newKey.chainID; id != 0 && id != r.chainID {
			return fmt.Errorf("key authorization is for chain %d", id)
		}
		if t.newKey.expiry <= now || unpackKey(under.get(keyCell(t.Sender, t.newKey.key))).known {
			return errors.New("key authorization is expired or repeats a key")
		}
	}
	if t.AccessKey == nil {
		return nil
	}
	if t.newKey != nil && t.newKey.key == *t.AccessKey && t.newKey.kind == t.keyKind {
		return nil
	}
	k := unpackKey(under.get(keyCell(t.Sender, *t.AccessKey)))
	if !k.known || k.revoked || k.expiry <= now || k.kind != t.keyKind {
		return errAccessKey
	}
	return nil
}

// outcome is what a transaction did.
type outcome struct {
	tx       *Transaction
	ok       bool
	failure  string // why it reverted
	gasUsed  uint64
	price    uint256.Int
	fee      uint256.Int // base units of feeToken
	feeToken common.Address
	logs     []*types.Log
}

// run executes a checked transaction over the draft of its block. The fee is paid
// and the nonce used whether the calls succeed or not.
func (r *rules) run(block *draft, t *Transaction, now uint64, sabotage bool) (*outcome, error) {
	out := &outcome{tx: t, price: r.price(t), feeToken: r.feeToken(block, t)}
	most := feeOf(t.Gas, out.price)
	whole := r.machine(draftOver(block), now)
	if t.newKey != nil {
		if err := whole.authorize(t.Sender, t.newKey); err != nil {
			return nil, err
		}
	}
	if t.AccessKey != nil {
		whole.signer = &signerKey{t.Sender, *t.AccessKey}
	}
	r.useNonce(whole, t)
	// All gas is taken before the calls run and what is left given back after, so that
	// no call can spend the fee.
	if err := whole.move(out.feeToken, t.FeePayer, FeeManager, most); err != nil {
		return nil, errFunds
	}
	if err := whole.spend(t.FeePayer, out.feeToken, most); err != nil {
		return nil, errKeyLimit
	}
	calls := r.machine(draftOver(whole.draft), now)
	calls.signer, calls.openHash = whole.signer, t.ExpiringNonceHash
	err := calls.runAll(t.Sender, t.Calls)
	out.gasUsed = intrinsicGas(t) + calls.gas
	switch {
	case sabotage: // after the calls, so that the gas is that of the honest run
		err = errInjected
	case err == nil && out.gasUsed > t.Gas:
		err = errOutOfGas
	}
	out.gasUsed = min(out.gasUsed, t.Gas)
	if err == nil {
		calls.into(whole.draft)
		out.ok, out.logs = true, append(whole.logs, calls.logs...)
	} else {
		out.failure = err.Error()
	}
	if err := r.settleFee(whole, out, most); err != nil {
		return nil, err
	}
	whole.into(block)
	return out, nil
}

// settleFee gives back what was taken for gas that was not used.
func (r *rules) settleFee(m *machine, out *outcome, most uint256.Int) error {
	payer := out.tx.FeePayer
	out.fee = feeOf(out.gasUsed, out.price)
	back := *new(uint256.Int).Sub(&most, &out.fee)
	if err := m.move(out.feeToken, FeeManager, payer, back); err != nil {
		return err
	}
	m.unspend(payer, out.feeToken, back)
	m.logs = out.logs
	if !out.fee.IsZero() {
		m.emit(out.feeToken, transferEvent, []common.Hash{addressKey(payer), addressKey(FeeManager)}, wordOf(out.fee))
	}
	out.logs = m.logs
	return nil
}

// useNonce marks the transaction as done. For an expiring nonce its hash is kept
// until validBefore, after which the transaction is refused as expired anyway.
func (r *rules) useNonce(m *machine, t *Transaction) {
	if t.expiring() {
		m.set(cell{space: seenSpace, key: t.ExpiringNonceHash}, *uint256.NewInt(t.ValidBefore))
		return
	}
	m.set(nonceCell(t), *uint256.NewInt(t.Nonce + 1))
}

// runAll runs the calls of a batch; the first failure fails all.
func (m *machine) runAll(from common.Address, calls []Call) error {
	for i, call := range calls {
		if _, err := m.call(from, call.To, call.Data); err != nil {
			if len(calls) > 1 {
				return fmt.Errorf("call %d: %w", i, err)
			}
			return err
		}
	}
	return nil
}
