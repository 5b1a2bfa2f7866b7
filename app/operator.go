package app

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/channel"
	"txlens/engine/api"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/transport/admin"
)

// operatorView shows the channels of a server that sells to its operator.
type operatorView struct {
	store channel.ChannelReader
	sales *Sales
}

var _ admin.ChannelOperator = operatorView{}

// Channels lists the channels as they are stored.
func (v operatorView) Channels(q admin.ChannelQuery) (page admin.ChannelPage, err error) {
	rows, next, err := v.store.Channels(q.Ended, q.From, q.Limit)
	if err != nil {
		return page, err
	}
	page = admin.ChannelPage{Channels: make([]admin.Channel, 0, len(rows)), Next: next}
	for i := range rows {
		page.Channels = append(page.Channels, channelView(&rows[i]))
	}
	return page, nil
}

func channelView(c *session.Channel) admin.Channel {
	d := c.Descriptor
	v := admin.Channel{
		ID: c.ID, State: c.Status.String(), Payer: d.Payer, Payee: d.Payee, Operator: d.Operator, Token: d.Token, Signer: d.Signer(),
		Deposit: c.Deposit, Accepted: c.Highest.Cumulative, Spent: c.Spent, Credit: c.Credit, Charges: c.Units, Settled: c.Settled, Unsettled: c.Unsettled(), Excess: c.Excess(), Lost: c.Lost,
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

// known returns nil for the zero hash.
func known(h common.Hash) *common.Hash {
	if h == (common.Hash{}) {
		return nil
	}
	return &h
}

// Settle pays out the channels named, or the next ones that follow an id.
func (v operatorView) Settle(ctx context.Context, q admin.SettleRequest) (report admin.SettleReport, err error) {
	if !v.sales.settles {
		return report, settle.ErrNoKey
	}
	ids := q.Channels
	if len(ids) == 0 {
		rows, next, err := v.store.Channels(false, q.From, admin.MaxSettle)
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
			list = append(list, v.sales.Settler.Shut(ctx, id))
		}
	} else {
		list = v.sales.Settler.PayOut(ctx, ids...)
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
			out.Error = api.OneLine(p.Err.Error(), 4096)
		}
		report.Payouts = append(report.Payouts, out)
	}
	return report, nil
}
