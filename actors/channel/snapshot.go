package channel

import (
	"context"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// Snapshot returns what the payer of a credential may learn about its channel: its state, and
// the amount to sign for a request of this price. It is nil if the credential does not prove
// that its sender may sign for the channel, or if the channel accepts no vouchers.
func (c *Channels) Snapshot(ctx context.Context, cr *mpp.Credential, price tempo.Amount) *mpp.Snapshot {
	if c.options.Issuer.Verify(&cr.Challenge) != nil {
		return nil
	}
	p, err := cr.Payload()
	if err != nil {
		return nil
	}
	var signed []byte
	var sum tempo.Amount
	switch p := p.(type) {
	case *mpp.Voucher:
		signed, sum = p.Signature, p.CumulativeAmount
	case *mpp.Open:
		signed, sum = p.Signature, p.CumulativeAmount
	case *mpp.Close:
		signed, sum = p.Signature, p.CumulativeAmount
	default:
		return nil
	}
	sig, err := tempo.ParseSignature(signed)
	if err != nil {
		return nil
	}
	row, err := c.knownRow(ctx, p.Ref().ChannelID)
	if err != nil || c.options.Terms.Domain.Verify(row.ID, sum, sig, row.Descriptor.Signer()) != nil {
		return nil
	}
	return snapshot(&row, price)
}

// SnapshotOf returns the Snapshot of the payer's channel that accepts vouchers and has the
// most left. It is nil if there is none.
func (c *Channels) SnapshotOf(ctx context.Context, payer common.Address) *mpp.Snapshot {
	ids, err := c.options.Store.ChannelsOf(payer)
	if err != nil {
		c.options.Log.Error("list the channels of a payer", "payer", payer, "error", err)
		return nil
	}
	var best *mpp.Snapshot
	var most tempo.Amount
	for _, id := range ids {
		row, err := c.knownRow(ctx, id)
		if err != nil {
			continue
		}
		left, _ := row.Deposit.Sub(row.Served())
		if s := snapshot(&row, tempo.Amount{}); s != nil && (best == nil || left.Cmp(most) > 0) {
			best, most = s, left
		}
	}
	return best
}

// snapshot returns nil if the payer cannot use the channel.
func snapshot(row *session.Channel, price tempo.Amount) *mpp.Snapshot {
	if row.Status != session.Active || row.CloseRequestedAt != 0 || row.Missing || row.Foreign() ||
		row.Highest.Signature.Kind() == tempo.NoSignature {
		return nil
	}
	required, ok := row.Required(price)
	if !ok {
		return nil
	}
	spent := row.Spent
	if spent.Cmp(row.Highest.Cumulative) > 0 { // of a channel whose record was lost
		spent = row.Highest.Cumulative
	}
	return &mpp.Snapshot{
		ChannelID: row.ID, Descriptor: row.Descriptor, ChainID: row.ChainID, Escrow: row.Escrow,
		AcceptedCumulative: row.Highest.Cumulative, Deposit: row.Deposit, Settled: row.Settled, Spent: spent,
		RequiredCumulative: required, Units: row.Units,
		HighestVoucher: &mpp.SignedVoucher{ChannelID: row.ID, CumulativeAmount: row.Highest.Cumulative, Signature: row.Highest.Signature.Bytes()},
	}
}
