package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// Versions of the encoding of a channel, its first byte. The second appends Credit, the
// third Authorised.
const (
	rowLayoutFirst  = 1
	rowLayoutCredit = 2
	rowLayout       = 3
)

// errRow means that a stored row is truncated, too long, or has an unknown version.
var errRow = fmt.Errorf("%w: a row of the ledger", ErrDamaged)

// EncodeChannel encodes a row: fixed fields in their order, then the three vouchers, each
// preceded by the length of its signature, then the fields of later versions. Reserved is
// not stored.
func EncodeChannel(c session.Channel) []byte {
	b := make([]byte, 0, 640)
	b = append(b, rowLayout, byte(c.Status))
	b = append(b, c.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, c.ChainID)
	b = append(b, c.Escrow[:]...)
	d := &c.Descriptor
	for _, a := range []common.Address{d.Payer, d.Payee, d.Operator, d.Token, d.AuthorizedSigner} {
		b = append(b, a[:]...)
	}
	for _, h := range []common.Hash{d.Salt, d.ExpiringNonceHash, c.OpenTx, c.CloseTx} {
		b = append(b, h[:]...)
	}
	for _, n := range []int64{c.CloseRequestedAt, c.SeenAt, int64(c.Units), c.CreatedAt, c.ActiveAt, c.OwedSince} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, a := range []tempo.Amount{c.Deposit, c.Settled, c.Spent, c.Settling, c.Capture, c.Lost} {
		b = appendAmount(b, a)
	}
	for _, v := range []session.Voucher{c.Highest, c.Settleable, c.Close} {
		b = appendAmount(b, v.Cumulative)
		var sig []byte
		if v.Signature.Kind() != tempo.NoSignature {
			sig = v.Signature.Bytes()
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(sig)))
		b = append(b, sig...)
	}
	return appendAmount(appendAmount(b, c.Credit), c.Authorised)
}

func appendAmount(b []byte, a tempo.Amount) []byte {
	raw := a.Bytes()
	return append(b, raw[:]...)
}

// rowReader reads fields from the front of a row. After the first error it returns zeros.
type rowReader struct {
	b      []byte
	failed bool
}

func (r *rowReader) take(n int) []byte {
	if r.failed || len(r.b) < n {
		r.failed = true
		return make([]byte, n)
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *rowReader) number() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *rowReader) amount() tempo.Amount { return tempo.AmountFromBytes([12]byte(r.take(12))) }

func (r *rowReader) voucher() (v session.Voucher) {
	v.Cumulative = r.amount()
	n := int(binary.BigEndian.Uint16(r.take(2)))
	if raw := r.take(n); n > 0 && !r.failed {
		sig, err := tempo.ParseSignature(raw)
		v.Signature, r.failed = sig, err != nil
	}
	return v
}

// decodeChannel decodes the bytes that EncodeChannel wrote. It does not keep them.
func decodeChannel(b []byte) (c session.Channel, err error) {
	r := rowReader{b: b}
	head := r.take(2)
	if head[0] < rowLayoutFirst || head[0] > rowLayout {
		return c, errRow
	}
	c.Status = session.Status(head[1])
	c.ID = common.Hash(r.take(32))
	c.ChainID = uint64(r.number())
	c.Escrow = common.Address(r.take(20))
	d := &c.Descriptor
	for _, a := range []*common.Address{&d.Payer, &d.Payee, &d.Operator, &d.Token, &d.AuthorizedSigner} {
		*a = common.Address(r.take(20))
	}
	for _, h := range []*common.Hash{&d.Salt, &d.ExpiringNonceHash, &c.OpenTx, &c.CloseTx} {
		*h = common.Hash(r.take(32))
	}
	c.CloseRequestedAt, c.SeenAt, c.Units = r.number(), r.number(), uint64(r.number())
	c.CreatedAt, c.ActiveAt, c.OwedSince = r.number(), r.number(), r.number()
	for _, a := range []*tempo.Amount{&c.Deposit, &c.Settled, &c.Spent, &c.Settling, &c.Capture, &c.Lost} {
		*a = r.amount()
	}
	for _, v := range []*session.Voucher{&c.Highest, &c.Settleable, &c.Close} {
		*v = r.voucher()
	}
	if head[0] >= rowLayoutCredit {
		c.Credit = r.amount()
	}
	if head[0] == rowLayout {
		c.Authorised = r.amount()
	} else {
		c.Authorised = authorisedBound(&c)
	}
	if r.failed || len(r.b) > 0 || c.Status < session.Opening || c.Status > session.Closed {
		return session.Channel{}, errRow
	}
	return c, nil
}

// authorisedBound returns an upper bound of Authorised for rows of earlier versions: a
// settlement or close never exceeded the amount that was served or paid out at that time.
func authorisedBound(c *session.Channel) (most tempo.Amount) {
	for _, a := range []tempo.Amount{c.Spent, c.Settled, c.Settling, c.Capture} {
		if a.Cmp(most) > 0 {
			most = a
		}
	}
	return most
}
