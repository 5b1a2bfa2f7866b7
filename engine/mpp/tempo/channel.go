package tempo

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"
)

// Descriptor is all that a channel is made of. The chain stores none of it: the
// caller supplies it with each call and its hash, the channel id, finds the
// balance. A descriptor whose id has a deposit on chain is therefore genuine.
type Descriptor struct {
	Payer, Payee, Operator, Token common.Address
	Salt                          common.Hash
	// AuthorizedSigner signs vouchers; the zero address means Payer.
	AuthorizedSigner common.Address
	// ExpiringNonceHash binds the channel to the transaction that opened it.
	ExpiringNonceHash common.Hash
}

// ID is the channel id of TIP-1034: the hash of nine ABI words.
func (d Descriptor) ID(chainID uint64, escrow common.Address) common.Hash {
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	b := w.words[:]
	clear(b)
	d.put(b[:7*32])
	copy(b[7*32+12:], escrow[:])
	binary.BigEndian.PutUint64(b[9*32-8:], chainID)
	return w.sum(b)
}

// put writes the seven words of the descriptor's ABI tuple into b, which must be
// zero where no field lies.
func (d Descriptor) put(b []byte) {
	copy(b[0*32+12:1*32], d.Payer[:])
	copy(b[1*32+12:2*32], d.Payee[:])
	copy(b[2*32+12:3*32], d.Operator[:])
	copy(b[3*32+12:4*32], d.Token[:])
	copy(b[4*32:5*32], d.Salt[:])
	copy(b[5*32+12:6*32], d.AuthorizedSigner[:])
	copy(b[6*32:7*32], d.ExpiringNonceHash[:])
}

// Signer is who must have signed the channel's vouchers. It follows from the
// descriptor alone, which the id binds, and never from what a request claims.
func (d Descriptor) Signer() common.Address {
	if d.AuthorizedSigner == (common.Address{}) {
		return d.Payer
	}
	return d.AuthorizedSigner
}
