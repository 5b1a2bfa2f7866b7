package tempo

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Parts of the EIP-712 hash of a voucher that never change.
var (
	domainType    = crypto.Keccak256Hash([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"))
	domainName    = crypto.Keccak256Hash([]byte("TIP20 Channel Reserve"))
	domainVersion = crypto.Keccak256Hash([]byte("1"))
	voucherType   = crypto.Keccak256Hash([]byte("Voucher(bytes32 channelId,uint96 cumulativeAmount)"))
)

// Domain is the EIP-712 domain of the vouchers of one chain and escrow. Make it
// once; its methods are safe for concurrent use.
type Domain struct {
	chainID   uint64
	escrow    common.Address
	separator common.Hash
}

// NewDomain hashes the domain of TIP-1034.
func NewDomain(chainID uint64, escrow common.Address) *Domain {
	var b [5 * 32]byte
	copy(b[0:], domainType[:])
	copy(b[32:], domainName[:])
	copy(b[64:], domainVersion[:])
	binary.BigEndian.PutUint64(b[4*32-8:], chainID)
	copy(b[4*32+12:], escrow[:])
	return &Domain{chainID: chainID, escrow: escrow, separator: crypto.Keccak256Hash(b[:])}
}

// ChainID is the chain of the domain.
func (d *Domain) ChainID() uint64 { return d.chainID }

// Escrow is the channel reserve of the domain.
func (d *Domain) Escrow() common.Address { return d.escrow }

// Separator is the domain separator.
func (d *Domain) Separator() common.Hash { return d.separator }

// ChannelID is the id of a channel of this domain.
func (d *Domain) ChannelID(c Descriptor) common.Hash { return c.ID(d.chainID, d.escrow) }

// Digest is what the signer of a voucher signs: up to cumulative base units may
// be taken from the channel in all.
func (d *Domain) Digest(channelID common.Hash, cumulative Amount) common.Hash {
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	amount := cumulative.Bytes()
	copy(w.buf[0:], voucherType[:])
	copy(w.buf[32:], channelID[:])
	clear(w.buf[64:84])
	copy(w.buf[84:], amount[:])
	inner := w.sum(w.buf[:96])
	w.buf[0], w.buf[1] = 0x19, 0x01
	copy(w.buf[2:], d.separator[:])
	copy(w.buf[34:], inner[:])
	return w.sum(w.buf[:66])
}

// Sign makes a voucher. For an access key, key is that key itself: envelopes are
// for transactions only.
func (d *Domain) Sign(key Signer, channelID common.Hash, cumulative Amount) (Signature, error) {
	s, err := key.SignDigest(d.Digest(channelID, cumulative))
	if err != nil {
		return Signature{}, fmt.Errorf("sign voucher: %w", err)
	}
	return s, nil
}

// Verify checks that s is signer's voucher. The error is ErrSigner, or one of
// Signature.Signer.
func (d *Domain) Verify(channelID common.Hash, cumulative Amount, s Signature, signer common.Address) error {
	got, err := s.Signer(d.Digest(channelID, cumulative))
	if err != nil {
		return err
	}
	if got != signer {
		return ErrSigner
	}
	return nil
}

// workspace holds what hashing and recovery would otherwise allocate per voucher.
type workspace struct {
	keccak crypto.KeccakState
	buf    [96]byte
	words  [9 * 32]byte // what a channel id hashes
	hash   common.Hash
	sig    [secp256k1Length]byte
}

var workspaces = sync.Pool{New: func() any { return &workspace{keccak: crypto.NewKeccakState()} }}

// sum is the Keccak-256 of b.
func (w *workspace) sum(b []byte) common.Hash {
	w.keccak.Reset()
	w.keccak.Write(b)
	w.keccak.Read(w.hash[:])
	return w.hash
}
