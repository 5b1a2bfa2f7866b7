package tempo

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// form is one of the three things that a transaction's items are encoded for.
type form uint8

const (
	formEnvelope form = iota // to be sent
	formSender               // to be hashed by the sender
	formFeePayer             // to be hashed by the sponsor
)

// maxNesting bounds the lists within lists of what is kept undecoded.
const maxNesting = 16

func (tx *Transaction) encode(typ byte, f form) []byte {
	w := rlp.NewEncoderBuffer(nil)
	list := w.List()
	w.WriteUint64(tx.ChainID)
	w.WriteUint256(&tx.MaxPriorityFeePerGas)
	w.WriteUint256(&tx.MaxFeePerGas)
	w.WriteUint64(tx.Gas)
	tx.writeCalls(w)
	tx.writeAccessList(w)
	w.WriteUint256(&tx.NonceKey)
	w.WriteUint64(tx.Nonce)
	w.WriteUint64(tx.ValidBefore)
	w.WriteUint64(tx.ValidAfter)
	if tx.FeeToken == (common.Address{}) || f == formSender && tx.Sponsorship != SelfPaid {
		w.WriteBytes(nil)
	} else {
		w.WriteBytes(tx.FeeToken[:])
	}
	tx.writeFeePayer(w, f)
	writeRaw(w, tx.AuthorizationList, []byte{0xc0})
	writeRaw(w, tx.KeyAuthorization, nil)
	if f == formEnvelope {
		w.WriteBytes(tx.Signature.Bytes())
	}
	w.ListEnd(list)
	return w.AppendToBytes([]byte{typ})
}

func (tx *Transaction) writeCalls(w rlp.EncoderBuffer) {
	list := w.List()
	for i := range tx.Calls {
		c := &tx.Calls[i]
		call := w.List()
		if c.To == nil {
			w.WriteBytes(nil)
		} else {
			w.WriteBytes(c.To[:])
		}
		w.WriteUint256(&c.Value)
		w.WriteBytes(c.Data)
		w.ListEnd(call)
	}
	w.ListEnd(list)
}

func (tx *Transaction) writeAccessList(w rlp.EncoderBuffer) {
	list := w.List()
	for _, t := range tx.AccessList {
		tuple := w.List()
		w.WriteBytes(t.Address[:])
		keys := w.List()
		for _, k := range t.Keys {
			w.WriteBytes(k[:])
		}
		w.ListEnd(keys)
		w.ListEnd(tuple)
	}
	w.ListEnd(list)
}

// writeFeePayer writes item 11, which has a form for each reader: the sender
// signs only whether there is a sponsor, the sponsor signs for whom.
func (tx *Transaction) writeFeePayer(w rlp.EncoderBuffer, f form) {
	switch {
	case f == formFeePayer || f == formEnvelope && tx.Sponsorship == HandOff:
		w.WriteBytes(tx.ClaimedSender[:])
	case tx.Sponsorship == SelfPaid:
		w.WriteBytes(nil)
	case f == formSender || tx.FeePayerSignature.Kind() != Secp256k1:
		w.WriteBytes([]byte{0})
	default:
		s := tx.FeePayerSignature.Bytes()
		list := w.List()
		w.WriteBool(s[64] == 28)
		w.WriteBytes(bytes.TrimLeft(s[:32], "\x00"))
		w.WriteBytes(bytes.TrimLeft(s[32:64], "\x00"))
		w.ListEnd(list)
	}
}

func writeRaw(w rlp.EncoderBuffer, raw, absent []byte) {
	if raw == nil {
		raw = absent
	}
	w.Write(raw) // of a buffer in memory: cannot fail
}

// DecodeTransaction reads an envelope of either type. It accepts one encoding of
// each transaction, but for the signature's, whose recovery id and prehash flag
// are normalised: where raw differs from Encode, the chain knows Encode's hash.
// The error is ErrTransaction, ErrTransactionSize, or one of signatures.
func DecodeTransaction(raw []byte) (*Transaction, error) {
	if len(raw) > MaxTransactionSize {
		return nil, ErrTransactionSize
	}
	if len(raw) == 0 || raw[0] != TypeTransaction && raw[0] != TypeHandOff {
		return nil, fmt.Errorf("%w: type is neither 0x76 nor 0x78", ErrTransaction)
	}
	content, rest, err := rlp.SplitList(raw[1:])
	if err != nil || len(rest) != 0 {
		return nil, fmt.Errorf("%w: not one list", ErrTransaction)
	}
	r := &itemReader{rest: content}
	tx := &Transaction{}
	tx.ChainID = r.uint64("chain id")
	tx.MaxPriorityFeePerGas = r.uint256("priority fee", 16)
	tx.MaxFeePerGas = r.uint256("fee", 16)
	tx.Gas = r.uint64("gas")
	tx.Calls = r.calls()
	tx.AccessList = r.accessList()
	tx.NonceKey = r.uint256("nonce key", 32)
	tx.Nonce = r.uint64("nonce")
	tx.ValidBefore = r.uint64("valid before")
	tx.ValidAfter = r.uint64("valid after")
	tx.FeeToken = r.optionalAddress("fee token")
	r.feePayer(tx, raw[0])
	if tx.AuthorizationList = r.rawList("authorization list"); len(tx.AuthorizationList) == 1 {
		tx.AuthorizationList = nil
	}
	if len(r.rest) > 0 && r.rest[0] >= 0xc0 {
		tx.KeyAuthorization = r.rawList("key authorization")
	}
	tx.Signature = r.signature()
	r.end("transaction")
	if r.err == nil {
		r.err = tx.checkShape()
	}
	if r.err != nil {
		return nil, r.err
	}
	return tx, nil
}

// checkShape holds the rules that the chain applies to any transaction.
func (tx *Transaction) checkShape() error {
	fault := ""
	switch {
	case len(tx.Calls) == 0:
		fault = "no call"
	case tx.ValidBefore != 0 && tx.ValidAfter >= tx.ValidBefore:
		fault = "never valid"
	}
	for i, c := range tx.Calls {
		if c.To == nil && (i > 0 || tx.AuthorizationList != nil) {
			fault = "creation out of place"
		}
	}
	if fault != "" {
		return fmt.Errorf("%w: %s", ErrTransaction, fault)
	}
	return nil
}

// itemReader takes RLP items off the front of a list's content. After the first
// error it returns zeros, so that a caller checks once.
type itemReader struct {
	rest []byte
	err  error
}

func (r *itemReader) fail(what string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s: %w", ErrTransaction, what, err)
	}
}

func (r *itemReader) end(what string) {
	if len(r.rest) != 0 {
		r.fail(what, errors.New("more items than defined"))
	}
}

// next takes one item. Its content aliases the input.
func (r *itemReader) next(what string) (kind rlp.Kind, content []byte) {
	if r.err != nil {
		return rlp.String, nil
	}
	kind, content, rest, err := rlp.Split(r.rest)
	if err != nil {
		r.fail(what, err)
		return rlp.String, nil
	}
	r.rest = rest
	return kind, content
}

func (r *itemReader) bytes(what string) []byte {
	kind, content := r.next(what)
	if kind == rlp.List {
		r.fail(what, rlp.ErrExpectedString)
		return nil
	}
	return content
}

func (r *itemReader) list(what string) *itemReader {
	kind, content := r.next(what)
	if kind != rlp.List && r.err == nil {
		r.fail(what, rlp.ErrExpectedList)
	}
	if r.err != nil {
		return &itemReader{err: r.err}
	}
	return &itemReader{rest: content}
}

// integer takes a big-endian number without leading zeros.
func (r *itemReader) integer(what string, width int) []byte {
	b := r.bytes(what)
	if len(b) > width {
		r.fail(what, errors.New("number is too wide"))
		return nil
	}
	if len(b) > 0 && b[0] == 0 {
		r.fail(what, rlp.ErrCanonInt)
		return nil
	}
	return b
}

func (r *itemReader) uint64(what string) uint64 {
	v := r.uint256(what, 8)
	return v.Uint64()
}

func (r *itemReader) uint256(what string, width int) (v uint256.Int) {
	v.SetBytes(r.integer(what, width))
	return v
}

func (r *itemReader) fixed(what string, into []byte) {
	b := r.bytes(what)
	if len(b) != len(into) {
		r.fail(what, errors.New("wrong length"))
		return
	}
	copy(into, b)
}

// optionalAddress is zero for an empty item. Twenty zero bytes are refused: they
// would be the second encoding of the same.
func (r *itemReader) optionalAddress(what string) (a common.Address) {
	b := r.bytes(what)
	if len(b) == 0 {
		return a
	}
	if a.SetBytes(b); len(b) != len(a) || a == (common.Address{}) {
		r.fail(what, errors.New("not an address"))
	}
	return a
}

func (r *itemReader) calls() (calls []Call) {
	in := r.list("calls")
	for in.err == nil && len(in.rest) > 0 {
		if len(calls) == MaxCalls {
			in.err = ErrTransactionSize
			break
		}
		item, c := in.list("call"), Call{}
		if to := item.bytes("call target"); len(to) == 20 {
			c.To = (*common.Address)(bytes.Clone(to))
		} else if len(to) != 0 {
			item.fail("call target", errors.New("wrong length"))
		}
		c.Value = item.uint256("call value", 32)
		c.Data = bytes.Clone(item.bytes("call data"))
		item.end("call")
		in.err = item.err
		calls = append(calls, c)
	}
	r.join(in)
	return calls
}

func (r *itemReader) accessList() (list []AccessTuple) {
	in := r.list("access list")
	for in.err == nil && len(in.rest) > 0 {
		item, t := in.list("access tuple"), AccessTuple{}
		item.fixed("access address", t.Address[:])
		keys := item.list("access keys")
		for keys.err == nil && len(keys.rest) > 0 && len(t.Keys) <= maxAccessList {
			var k common.Hash
			keys.fixed("access key", k[:])
			t.Keys = append(t.Keys, k)
		}
		item.join(keys)
		item.end("access tuple")
		in.err = item.err
		if list = append(list, t); in.err == nil && (len(list) > maxAccessList || len(t.Keys) > maxAccessList) {
			in.err = ErrTransactionSize
		}
	}
	r.join(in)
	return list
}

func (r *itemReader) join(inner *itemReader) {
	if r.err == nil {
		r.err = inner.err
	}
}

// feePayer takes item 11, whose form depends on the envelope's type.
func (r *itemReader) feePayer(tx *Transaction, typ byte) {
	if typ == TypeHandOff {
		tx.Sponsorship = HandOff
		r.fixed("sender", tx.ClaimedSender[:])
		return
	}
	kind, content := r.next("fee payer")
	switch {
	case kind == rlp.List:
		tx.Sponsorship = Sponsored
		tx.FeePayerSignature = r.feePayerSignature(content)
	case kind == rlp.Byte && content[0] == 0:
		tx.Sponsorship = Unsponsored
	case len(content) != 0:
		r.fail("fee payer", errors.New("unknown form"))
	}
}

func (r *itemReader) feePayerSignature(content []byte) Signature {
	in := &itemReader{rest: content}
	parity := in.uint256("parity", 1)
	rr, s := in.uint256("r", 32), in.uint256("s", 32)
	in.end("fee payer")
	if r.join(in); r.err != nil {
		return Signature{}
	}
	var raw [secp256k1Length]byte
	rr.PutUint256(raw[:32])
	s.PutUint256(raw[32:64])
	raw[64] = byte(min(parity.Uint64(), math.MaxUint8))
	sig, err := ParseSignature(raw[:])
	if err == nil && parity.Uint64() > 1 {
		err = ErrSignatureFormat
	}
	if err != nil {
		r.fail("fee payer", err)
	}
	return sig
}

// rawList takes a list as it is, once everything within is known to be canonical.
func (r *itemReader) rawList(what string) []byte {
	before := r.rest
	kind, content := r.next(what)
	if r.err != nil {
		return nil
	}
	if kind != rlp.List {
		r.fail(what, rlp.ErrExpectedList)
		return nil
	}
	if err := checkNested(content, maxNesting); err != nil {
		r.fail(what, err)
		return nil
	}
	return bytes.Clone(before[:len(before)-len(r.rest)])
}

func checkNested(content []byte, depth int) error {
	if depth == 0 {
		return ErrTransactionSize
	}
	for len(content) > 0 {
		kind, inner, rest, err := rlp.Split(content)
		if err != nil {
			return err
		}
		if kind == rlp.List {
			if err := checkNested(inner, depth-1); err != nil {
				return err
			}
		}
		content = rest
	}
	return nil
}

func (r *itemReader) signature() SenderSignature {
	raw := r.bytes("signature")
	if r.err != nil {
		return SenderSignature{}
	}
	if len(raw) > maxSenderSignatureLength {
		r.fail("signature", ErrSignatureFormat)
		return SenderSignature{}
	}
	s, err := ParseSenderSignature(raw)
	if err != nil {
		r.fail("signature", err)
	}
	return s
}
