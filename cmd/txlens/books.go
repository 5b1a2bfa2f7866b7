package main

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/channel"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/storage"
	"txlens/transport/admin"
)

// totals is what the channels come to, as the metrics tell it.
func (t *till) totals() admin.Till {
	sum := t.treasury.Totals()
	out := admin.Till{
		Open: sum.Open, Owing: sum.Owing, Unsettled: sum.Unsettled, Settled: sum.Settled, Lost: sum.Lost,
		Payouts: sum.Payouts, Losses: sum.Losses, Faults: sum.Failed,
	}
	for _, f := range t.channels.Faults() {
		out.PayeeFaults = append(out.PayeeFaults, admin.PayeeFault{Kind: string(f.Kind), Count: f.Count, Active: f.Active})
	}
	if h := t.channels.Health(); h != nil {
		out.Health = &admin.Health{Gas: h.Gas, HasKey: h.Key != common.Address{}, ClockAhead: h.Drift}
	}
	return out
}

// blocking are the faults of the payee with which a server is not ready.
var blocking = map[channel.PayeeFault]bool{channel.FaultForeign: true, channel.FaultChain: true}

// ready is nil unless the payee has a blocking fault.
func (t *till) ready() error { return t.faulty(true) }

// warnings tells of the other faults, with which the server goes on.
func (t *till) warnings() error { return t.faulty(false) }

func (t *till) faulty(blocks bool) error {
	var list []error
	for _, f := range t.channels.Faults() {
		if f.Active && blocking[f.Kind] == blocks {
			list = append(list, errors.New(f.String()))
		}
	}
	return errors.Join(list...)
}

// books are the channels of a server that sells, for its operator.
type books struct {
	store *storage.Store
	till  *till
}

var _ admin.Books = books{}

// Channels lists rows as they are on disk.
func (b books) Channels(q admin.ChannelQuery) (page admin.ChannelPage, err error) {
	rows, next, err := b.store.Channels(q.Ended, q.From, q.Limit)
	if err != nil {
		return page, err
	}
	page = admin.ChannelPage{Channels: make([]admin.Channel, 0, len(rows)), Next: next}
	for i := range rows {
		page.Channels = append(page.Channels, operatorsView(&rows[i]))
	}
	return page, nil
}

func operatorsView(c *session.Channel) admin.Channel {
	d := c.Descriptor
	v := admin.Channel{
		ID: c.ID, State: c.Status.String(), Payer: d.Payer, Payee: d.Payee, Operator: d.Operator, Token: d.Token, Signer: d.Signer(),
		Deposit: c.Deposit, Accepted: c.Highest.Cumulative, Spent: c.Spent, Charges: c.Units, Settled: c.Settled, Unsettled: c.Unsettled(), Lost: c.Lost,
		OpenTx: known(c.OpenTx), CloseTx: known(c.CloseTx),
		CreatedAt: time.UnixMilli(c.CreatedAt).UTC(), ActiveAt: time.UnixMilli(c.ActiveAt).UTC(),
	}
	payable, obstacle := c.Payable()
	v.Payable, v.Obstacle = payable, string(obstacle)
	if c.CloseRequestedAt != 0 {
		v.CloseRequestedAt = new(time.Unix(c.CloseRequestedAt, 0).UTC())
	}
	return v
}

// known is nil for a hash that is none.
func known(h common.Hash) *common.Hash {
	if h == (common.Hash{}) {
		return nil
	}
	return &h
}

// Settle pays out the channels named, or the next ones from an id on.
func (b books) Settle(ctx context.Context, q admin.SettleRequest) (report admin.SettleReport, err error) {
	if !b.till.settles {
		return report, settle.ErrNoKey
	}
	ids := q.Channels
	if len(ids) == 0 {
		rows, next, err := b.store.Channels(false, q.From, admin.MaxSettle)
		if err != nil {
			return report, err
		}
		report.Next = next
		for _, row := range rows {
			ids = append(ids, row.ID)
		}
	}
	var list []channel.Payout
	if q.Close {
		for _, id := range ids {
			list = append(list, b.till.treasury.Shut(ctx, id))
		}
	} else {
		list = b.till.treasury.PayOut(ctx, ids...)
	}
	report.Payouts = make([]admin.Payout, 0, len(list))
	for _, p := range list {
		out := admin.Payout{
			ID:       p.ID,
			Paid:     p.Paid,
			Tx:       known(p.Tx),
			Left:     p.Left,
			Obstacle: string(p.Obstacle),
			Pending:  errors.Is(p.Err, settle.ErrUnknownOutcome),
		}
		if p.Err != nil {
			out.Error = oneLine(p.Err.Error())
		}
		report.Payouts = append(report.Payouts, out)
	}
	return report, nil
}
