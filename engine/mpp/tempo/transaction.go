package tempo

import (
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// Type bytes of transactions. The hand-off is what a sender gives to a sponsor,
// who turns it into a transaction of the first type.
const (
	TypeTransaction = 0x76
	TypeHandOff     = 0x78
)

// Limits of what DecodeTransaction reads.
const (
	MaxTransactionSize = 16 << 10
	MaxCalls           = 32
	maxAccessList      = 64 // tuples, and keys of one
)

// Errors of transactions.
var (
	// ErrTransaction means bytes that are not the one encoding of a transaction.
	ErrTransaction = errors.New("transaction is malformed")
	// ErrTransactionSize means more bytes, calls or list items than are read.
	ErrTransactionSize = errors.New("transaction is too large")
	// ErrClaimedSender means a hand-off that names another sender than signed it.
	ErrClaimedSender = errors.New("hand-off names a sender who did not sign it")
	// ErrNotSponsored means a fee payer was asked of a transaction without one.
	ErrNotSponsored = errors.New("transaction has no fee payer")
)

// ExpiringNonceKey is the nonce key of transactions that are valid for at most
// ExpiringWindow and may have any nonce (TIP-1106): 2^256-1.
var ExpiringNonceKey = *new(uint256.Int).SetAllOne()

// ExpiringWindow is how far ahead the end of an expiring transaction may lie
// when the chain takes it (TIP-1093).
const ExpiringWindow = 300 * time.Second

// Sponsorship says who pays a transaction's fee.
type Sponsorship uint8

// The four forms of the fee payer's item.
const (
	// SelfPaid: the sender pays.
	SelfPaid Sponsorship = iota
	// Unsponsored waits for a sponsor, and names no sender; it cannot be sent.
	Unsponsored
	// HandOff waits for a sponsor, and names its sender: an envelope of type 0x78.
	HandOff
	// Sponsored carries the sponsor's signature.
	Sponsored
)

// Call is one call of a transaction. Calls are atomic: all or none.
type Call struct {
	// To is nil for the creation of a contract.
	To *common.Address
	// Value is in units of 10^-18; a chain without native coin refuses others than zero.
	Value uint256.Int
	Data  []byte
}

// AccessTuple is one entry of an EIP-2930 access list.
type AccessTuple struct {
	Address common.Address
	Keys    []common.Hash
}

// Transaction is a transaction of type 0x76 or its hand-off of type 0x78. The
// fields follow the envelope; zero means absent where the chain allows that.
type Transaction struct {
	ChainID uint64
	// Fees per gas are in attodollars (10^-18 USD) and below 2^128.
	MaxPriorityFeePerGas, MaxFeePerGas uint256.Int
	Gas                                uint64
	Calls                              []Call
	AccessList                         []AccessTuple
	NonceKey                           uint256.Int
	Nonce                              uint64
	// The block's time t must satisfy ValidAfter <= t < ValidBefore, in Unix seconds.
	ValidBefore, ValidAfter uint64
	FeeToken                common.Address
	Sponsorship             Sponsorship
	// ClaimedSender is what a hand-off says; believe Sender instead.
	ClaimedSender common.Address
	// FeePayerSignature is the sponsor's, always secp256k1.
	FeePayerSignature Signature
	// AuthorizationList and KeyAuthorization are RLP lists, kept as they came;
	// nil is the empty list, and no authorization.
	AuthorizationList, KeyAuthorization []byte
	Signature                           SenderSignature
}

// IsExpiring reports whether the transaction uses the expiring nonce.
func (tx *Transaction) IsExpiring() bool { return tx.NonceKey == ExpiringNonceKey }

// Encode is the envelope's bytes, canonical whatever was decoded.
func (tx *Transaction) Encode() []byte {
	if tx.Sponsorship == HandOff {
		return tx.encode(TypeHandOff, formEnvelope)
	}
	return tx.encode(TypeTransaction, formEnvelope)
}

// Hash is the transaction's hash on chain. That of a hand-off is of no use: the
// sponsor's signature changes it.
func (tx *Transaction) Hash() common.Hash { return crypto.Keccak256Hash(tx.Encode()) }

// SenderPreimage is what the sender hashes to sign. It leaves the fee token to
// the sponsor where there is to be one.
func (tx *Transaction) SenderPreimage() []byte { return tx.encode(TypeTransaction, formSender) }

// SignHash is the hash that the sender signs.
func (tx *Transaction) SignHash() common.Hash { return crypto.Keccak256Hash(tx.SenderPreimage()) }

// FeePayerHash is what a sponsor signs for sender; it binds FeeToken.
func (tx *Transaction) FeePayerHash(sender common.Address) common.Hash {
	named := *tx
	named.ClaimedSender = sender
	return crypto.Keccak256Hash(named.encode(TypeHandOff, formFeePayer))
}

// ExpiringNonceHash is what a channel that the transaction opens is bound to
// (TIP-1034). It is the same before and after the sponsor's signature.
func (tx *Transaction) ExpiringNonceHash(sender common.Address) common.Hash {
	return crypto.Keccak256Hash(tx.SenderPreimage(), sender[:])
}

// Sender recovers the account that signed. A hand-off whose named sender differs
// is refused with ErrClaimedSender.
func (tx *Transaction) Sender() (common.Address, error) {
	account, _, err := tx.Signature.Signer(tx.SignHash())
	if err != nil {
		return common.Address{}, fmt.Errorf("recover sender: %w", err)
	}
	if tx.Sponsorship == HandOff && tx.ClaimedSender != account {
		return common.Address{}, ErrClaimedSender
	}
	return account, nil
}

// FeePayer recovers the sponsor of a sponsored transaction.
func (tx *Transaction) FeePayer() (common.Address, error) {
	if tx.Sponsorship != Sponsored {
		return common.Address{}, ErrNotSponsored
	}
	sender, err := tx.Sender()
	if err != nil {
		return common.Address{}, err
	}
	payer, err := tx.FeePayerSignature.Signer(tx.FeePayerHash(sender))
	if err != nil {
		return common.Address{}, fmt.Errorf("recover fee payer: %w", err)
	}
	return payer, nil
}

// Sign signs as account, with its own key or with an access key of it. A
// transaction that waits for a sponsor becomes a hand-off, without a fee token.
func (tx *Transaction) Sign(account common.Address, key Signer) error {
	if tx.Sponsorship == Unsponsored || tx.Sponsorship == HandOff {
		tx.Sponsorship, tx.ClaimedSender, tx.FeeToken = HandOff, account, common.Address{}
	}
	hash := tx.SignHash()
	var s SenderSignature
	if key.Address() != account {
		s.Account = account
		hash = accessKeyHash(hash, account)
	}
	var err error
	if s.Key, err = key.SignDigest(hash); err != nil {
		return fmt.Errorf("sign transaction: %w", err)
	}
	tx.Signature = s
	return nil
}

// CoSign makes a hand-off a sponsored transaction that pays its fee in feeToken.
// It checks the sender's signature and nothing else: what is worth sponsoring is
// the caller's to decide before.
func (tx *Transaction) CoSign(sponsor Signer, feeToken common.Address) error {
	sender, err := tx.Sender()
	if err != nil {
		return err
	}
	if tx.Sponsorship != HandOff {
		return fmt.Errorf("co-sign: %w", ErrNotSponsored)
	}
	signed := *tx
	signed.Sponsorship, signed.FeeToken = Sponsored, feeToken
	s, err := sponsor.SignDigest(signed.FeePayerHash(sender))
	if err != nil {
		return fmt.Errorf("sign as fee payer: %w", err)
	}
	if s.Kind() != Secp256k1 {
		return fmt.Errorf("sign as fee payer: %w", ErrSignatureFormat)
	}
	signed.FeePayerSignature, signed.ClaimedSender = s, common.Address{}
	*tx = signed
	return nil
}
