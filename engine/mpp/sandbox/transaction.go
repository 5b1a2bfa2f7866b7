package sandbox

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// Type bytes of a transaction and of its hand-off to a fee payer.
const (
	TypeTransaction = 0x76
	TypeHandOff     = 0x78
)

// Bounds of a transaction in the pool.
const (
	maxTransaction = 128 << 10
	maxCalls       = 32
	maxAccessList  = 256
)

// ErrTransaction: the bytes are no well-formed, well-signed transaction.
var ErrTransaction = errors.New("transaction is not valid")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTransaction, fmt.Sprintf(format, args...))
}

// Places of the items in the list of a transaction.
const (
	atChainID = iota
	atPriorityFee
	atMaxFee
	atGas
	atCalls
	atAccessList
	atNonceKey
	atNonce
	atValidBefore
	atValidAfter
	atFeeToken
	atFeePayer
	atAuthorizations
	signedItems // what the sender signs comes before; a key authorization may follow
)

// Call is one call of a transaction.
type Call struct {
	To    common.Address
	Value uint256.Int
	Data  []byte
}

// Transaction is a transaction that was read, with all its signatures recovered.
type Transaction struct {
	Type        byte // TypeTransaction or TypeHandOff
	ChainID     uint64
	PriorityFee uint256.Int // attodollars per gas, 10^-18 dollars
	MaxFee      uint256.Int
	Gas         uint64
	Calls       []Call
	NonceKey    uint256.Int
	Nonce       uint64
	ValidBefore uint64          // Unix seconds; 0 means none
	ValidAfter  uint64          // Unix seconds; 0 means none
	FeeToken    *common.Address // nil: the chain chooses

	Sender    common.Address  // the account, also when an access key signed
	AccessKey *common.Address // the key that signed for the account, or nil
	FeePayer  common.Address  // equal to Sender unless another account pays

	Hash              common.Hash // of the canonical bytes with the type byte
	SignHash          common.Hash // what the sender signed
	ExpiringNonceHash common.Hash // keccak256(preimage of SignHash || Sender)

	keyKind   keyKind
	newKey    *keyAuthorization
	sponsored bool
	size      int
	raw       []byte
}

// expiring reports whether the transaction uses the expiring nonce: key 2^256-1.
func (t *Transaction) expiring() bool {
	return t.NonceKey == *new(uint256.Int).SetAllOne()
}

// item is one item of an RLP list: whole with its header, body without.
type item struct {
	whole, body []byte
	list        bool
}

// splitItems walks a list; more than limit items are an error.
func splitItems(list []byte, limit int) ([]item, error) {
	var out []item
	for len(list) > 0 {
		if len(out) == limit {
			return nil, malformed("more than %d items", limit)
		}
		kind, body, rest, err := rlp.Split(list)
		if err != nil {
			return nil, malformed("RLP: %v", err)
		}
		out = append(out, item{list[:len(list)-len(rest)], body, kind == rlp.List})
		list = rest
	}
	return out, nil
}

// listOf puts items, already encoded, into one list.
func listOf(items ...[]byte) []byte {
	size := 0
	for _, it := range items {
		size += len(it)
	}
	var out []byte
	if size < 56 {
		out = append(out, 0xc0+byte(size))
	} else {
		length := uint256.NewInt(uint64(size)).Bytes()
		out = append(append(out, 0xf7+byte(len(length))), length...)
	}
	for _, it := range items {
		out = append(out, it...)
	}
	return out
}

// itemReader reads items of a list in turn; the first fault stays.
type itemReader struct {
	items []item
	err   error
}

func (r *itemReader) fail(at int, want string) {
	if r.err == nil {
		r.err = malformed("item %d is not %s", at, want)
	}
}

func (r *itemReader) integer(at int) (v uint256.Int) {
	it := r.items[at]
	if it.list || len(it.body) > 32 || len(it.body) > 0 && it.body[0] == 0 {
		r.fail(at, "a canonical integer")
		return v
	}
	v.SetBytes(it.body)
	return v
}

func (r *itemReader) integer64(at int) uint64 {
	v := r.integer(at)
	if !v.IsUint64() {
		r.fail(at, "an integer of 64 bits")
	}
	return v.Uint64()
}

func (r *itemReader) integer128(at int) uint256.Int {
	v := r.integer(at)
	if v.BitLen() > 128 {
		r.fail(at, "an integer of 128 bits")
	}
	return v
}

// address reads 20 bytes, or nil where the item is empty.
func (r *itemReader) address(at int) *common.Address {
	it := r.items[at]
	switch {
	case !it.list && len(it.body) == 0:
		return nil
	case !it.list && len(it.body) == common.AddressLength:
		a := common.BytesToAddress(it.body)
		return &a
	}
	r.fail(at, "an address")
	return nil
}

func (r *itemReader) list(at, limit int) []item {
	if !r.items[at].list {
		r.fail(at, "a list")
		return nil
	}
	items, err := splitItems(r.items[at].body, limit)
	if err != nil && r.err == nil {
		r.err = err
	}
	return items
}

// ReadTransaction decodes a transaction (0x76) or a hand-off (0x78) strictly and
// recovers who signed it. Whether it can be executed now is not its question. Every
// error is an ErrTransaction.
func ReadTransaction(raw []byte) (*Transaction, error) {
	if len(raw) < 2 || len(raw) > maxTransaction {
		return nil, malformed("%d bytes", len(raw))
	}
	if raw[0] != TypeTransaction && raw[0] != TypeHandOff {
		return nil, malformed("type %#02x is not supported", raw[0])
	}
	body, rest, err := rlp.SplitList(raw[1:])
	if err != nil || len(rest) != 0 {
		return nil, malformed("no single RLP list")
	}
	items, err := splitItems(body, signedItems+2)
	if err != nil {
		return nil, err
	}
	if len(items) < signedItems+1 {
		return nil, malformed("%d items", len(items))
	}
	t := &Transaction{Type: raw[0], size: len(raw), raw: raw}
	if err := t.readFields(items); err != nil {
		return nil, err
	}
	if err := t.recoverSender(items); err != nil {
		return nil, err
	}
	if err := t.recoverFeePayer(items); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Transaction) readFields(items []item) error {
	r := &itemReader{items: items}
	t.ChainID, t.Gas = r.integer64(atChainID), r.integer64(atGas)
	t.PriorityFee, t.MaxFee = r.integer128(atPriorityFee), r.integer128(atMaxFee)
	t.NonceKey, t.Nonce = r.integer(atNonceKey), r.integer64(atNonce)
	t.ValidBefore, t.ValidAfter = r.integer64(atValidBefore), r.integer64(atValidAfter)
	t.FeeToken = r.address(atFeeToken)
	calls := r.list(atCalls, maxCalls)
	r.list(atAccessList, maxAccessList)
	authorizations := r.list(atAuthorizations, 1)
	if r.err != nil {
		return r.err
	}
	if len(calls) == 0 {
		return malformed("no calls")
	}
	if len(authorizations) != 0 {
		return malformed("authorization lists are not simulated")
	}
	if t.ValidBefore != 0 && t.ValidAfter >= t.ValidBefore {
		return malformed("validAfter is not before validBefore")
	}
	for _, it := range calls {
		call, err := readCall(it)
		if err != nil {
			return err
		}
		t.Calls = append(t.Calls, call)
	}
	return nil
}

func readCall(it item) (call Call, err error) {
	if !it.list {
		return call, malformed("a call is no list")
	}
	fields, err := splitItems(it.body, 3)
	if err != nil {
		return call, err
	}
	if len(fields) != 3 || fields[2].list {
		return call, malformed("a call is not [to, value, data]")
	}
	r := &itemReader{items: fields}
	to := r.address(0)
	call.Value, call.Data = r.integer(1), fields[2].body
	if r.err != nil {
		return call, r.err
	}
	if to == nil {
		return call, malformed("creation of contracts is not simulated")
	}
	if !call.Value.IsZero() {
		return call, malformed("there is no native coin to send")
	}
	call.To = *to
	return call, nil
}

// recoverSender computes what the sender signed and who that was. The sender of a
// sponsored transaction signs neither the fee token nor the fee payer.
func (t *Transaction) recoverSender(items []item) error {
	last := len(items) - 1
	signature := items[last]
	if signature.list {
		return malformed("the signature is a list")
	}
	t.sponsored = items[atFeePayer].list || len(items[atFeePayer].body) != 0
	signed := wholes(items[:last])
	if t.sponsored {
		signed[atFeeToken], signed[atFeePayer] = []byte{0x80}, []byte{0x00}
	}
	preimage := append([]byte{TypeTransaction}, listOf(signed...)...)
	t.SignHash = crypto.Keccak256Hash(preimage)
	canonical, err := t.readSignature(signature.body)
	if err != nil {
		return err
	}
	t.ExpiringNonceHash = crypto.Keccak256Hash(preimage, t.Sender[:])
	if last > signedItems {
		if t.newKey, err = readKeyAuthorization(items[signedItems], t.Sender); err != nil {
			return err
		}
	}
	encoded, err := rlp.EncodeToBytes(canonical)
	if err != nil {
		return malformed("encode the signature: %v", err)
	}
	t.Hash = crypto.Keccak256Hash([]byte{t.Type}, listOf(append(wholes(items[:last]), encoded)...))
	return nil
}

func wholes(items []item) [][]byte {
	out := make([][]byte, len(items))
	for i, it := range items {
		out[i] = it.whole
	}
	return out
}

// Marks of access-key envelopes: mark, account, primitive signature.
const (
	keychainLegacyMark = 0x03
	keychainMark       = 0x04
)

// readSignature finds sender and access key, and gives the canonical encoding.
func (t *Transaction) readSignature(sig []byte) (canonical []byte, err error) {
	if len(sig) != secp256k1Size && len(sig) > 0 && sig[0] == keychainLegacyMark {
		return nil, malformed("access-key envelopes of type 0x03 are no longer valid")
	}
	const prefix = 1 + common.AddressLength
	if len(sig) != secp256k1Size && len(sig) > prefix && sig[0] == keychainMark {
		t.Sender = common.BytesToAddress(sig[1:prefix])
		bound := crypto.Keccak256Hash([]byte{keychainMark}, t.SignHash[:], t.Sender[:])
		p, err := readPrimitive(bound, sig[prefix:])
		if err != nil {
			return nil, malformed("access key: %v", err)
		}
		t.AccessKey, t.keyKind = &p.signer, p.kind
		return append(append([]byte(nil), sig[:prefix]...), p.canonical...), nil
	}
	p, err := readPrimitive(t.SignHash, sig)
	if err != nil {
		return nil, malformed("sender: %v", err)
	}
	t.Sender, t.keyKind = p.signer, p.kind
	return p.canonical, nil
}

// recoverFeePayer reads item 11: empty, a signature, or in a hand-off the sender.
func (t *Transaction) recoverFeePayer(items []item) error {
	t.FeePayer = t.Sender
	it := items[atFeePayer]
	if t.Type == TypeHandOff {
		if it.list || len(it.body) != common.AddressLength || common.BytesToAddress(it.body) != t.Sender {
			return malformed("a hand-off names another sender than the one who signed")
		}
		if t.FeeToken != nil {
			return malformed("a hand-off has no fee token yet")
		}
		return nil
	}
	if !t.sponsored {
		return nil
	}
	if !it.list {
		return malformed("the fee payer has not signed")
	}
	parts, err := splitItems(it.body, 3)
	if err != nil {
		return err
	}
	if len(parts) != 3 {
		return malformed("the fee payer's signature is not [yParity, r, s]")
	}
	r := &itemReader{items: parts}
	parity, rr, ss := r.integer64(0), r.integer(1), r.integer(2)
	if r.err != nil || parity > 1 {
		return malformed("the fee payer's signature is not [yParity, r, s]")
	}
	signed := wholes(items[:len(items)-1])
	signed[atFeePayer] = append([]byte{0x80 + common.AddressLength}, t.Sender[:]...)
	digest := crypto.Keccak256Hash([]byte{TypeHandOff}, listOf(signed...))
	rb, sb := rr.Bytes32(), ss.Bytes32()
	p, err := recoverSecp256k1(digest, append(append(rb[:], sb[:]...), byte(parity)))
	if err != nil {
		return malformed("fee payer: %v", err)
	}
	t.FeePayer = p.signer
	return nil
}
