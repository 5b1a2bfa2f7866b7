package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// CloseChannel asks the server to close the channel: the server takes what it served and the
// rest is refunded. If there are several channels it closes the oldest. It may be repeated.
// The error is ErrNoChannel if none is open.
func (c *Client) CloseChannel(ctx context.Context) (Refund, error) {
	if err := c.acquire(ctx); err != nil {
		return Refund{}, err
	}
	defer c.give()
	if len(c.store.book.Channels) == 0 {
		return Refund{}, ErrNoChannel
	}
	r := c.store.book.Channels[0]
	if r.State == Opening {
		var there bool
		var err error
		if r, there, err = c.decided(ctx, r.ID); err != nil {
			return Refund{}, err
		} else if !there {
			return Refund{}, fmt.Errorf("%w: the last one was never opened", ErrNoChannel)
		}
	}
	p := c.newPurchase()
	p.channel = r.ID
	of, err := p.demand(ctx, pathDeposit)
	if err != nil {
		return Refund{}, err
	}
	return p.close(ctx, of)
}

// decided waits until an opening is included or can no longer be.
func (c *Client) decided(ctx context.Context, id common.Hash) (row, bool, error) {
	for {
		r, there, err := c.settled(ctx, id)
		if err != nil || !there || r.State != Opening {
			return r, there, err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return r, false, err
		}
	}
}

// close signs for the amount that is signed already: the server takes only what it served.
func (p *purchase) close(ctx context.Context, of *offer) (Refund, error) {
	c, r := p.c, p.row()
	before := p.publicState()
	if err := c.store.edit(r.ID, func(r *row) { r.State = Closing }); err != nil {
		return Refund{}, err
	}
	v, err := p.voucher()
	if err != nil {
		return Refund{}, err
	}
	payload := &mpp.Close{ChannelRef: v.ChannelRef, CumulativeAmount: v.CumulativeAmount, Signature: v.Signature}
	end, err := p.shut(ctx, of, payload)
	if err != nil {
		// The next use reads from the chain whether the channel was closed nevertheless.
		return Refund{}, fmt.Errorf("close the channel %s: %w", r.ID, err)
	}
	end.Channel = before
	if !end.Confirmed {
		end.Captured = p.row().Spent
		end.Refunded, _ = r.Deposit.Sub(end.Captured)
	}
	if err := c.store.drop(r.ID); err != nil {
		return end, err
	}
	c.money(Money{Kind: MoneyClosed, Amount: end.Refunded, Channel: before})
	if end.Confirmed && end.Captured.Cmp(p.lastSpent) > 0 {
		c.money(Money{Kind: MoneyNotice, Channel: before, Text: fmt.Sprintf("the server took $%s, and its receipts say $%s",
			mpp.FormatTokens(end.Captured), mpp.FormatTokens(p.lastSpent))})
	}
	return end, nil
}

// shut sends the close and reads the outcome from the chain.
func (p *purchase) shut(ctx context.Context, of *offer, payload *mpp.Close) (end Refund, err error) {
	r := p.row()
	err = p.move(ctx, pathDeposit, of, payload)
	var status *StatusError
	gone := errors.As(err, &status) && status.Status == http.StatusGone
	if err != nil && !gone {
		return end, err
	}
	p.lastSpent = p.row().Spent
	for n := range 5 {
		captured, tx, found, lookErr := p.c.chain.closed(ctx, r.ID)
		if found && lookErr == nil {
			refunded, ok := r.Deposit.Sub(captured)
			if !ok { // a top-up that is not in the file
				refunded = tempo.Amount{}
			}
			return Refund{Captured: captured, Refunded: refunded, Confirmed: true, TxHash: tx}, nil
		}
		if lookErr != nil {
			break
		}
		if err := sleep(ctx, backoff(n+1)); err != nil {
			break
		}
	}
	if gone {
		return end, status // the server reports the close, the chain does not show it
	}
	return end, nil
}

// closed looks for the end of a channel.
func (l *settlementChain) closed(ctx context.Context, id common.Hash) (captured tempo.Amount, tx common.Hash, found bool, err error) {
	if err := l.ready(ctx); err != nil {
		return captured, tx, false, err
	}
	return l.rpc.Closed(ctx, id)
}

// RequestClose requests the close on chain, for a server that does not answer. Withdraw works
// from the time that it returns; until then the server may still take what was signed. The
// account pays the fee of both.
func (c *Client) RequestClose(ctx context.Context) (withdrawable time.Time, err error) {
	if err := c.acquire(ctx); err != nil {
		return time.Time{}, err
	}
	defer c.give()
	r, err := c.oldest(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if r.WithdrawableAt == 0 {
		tx, err := c.chain.sign(ctx, tempo.RequestCloseCall{Descriptor: tempo.Descriptor(r.Descriptor)}, c.account, c.o.Key, false)
		if err == nil {
			_, err = c.chain.rpc.Send(ctx, tx)
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("ask the chain to close %s: %w", r.ID, err)
		}
	}
	s, err := c.chain.state(ctx, r.ID)
	if err != nil {
		return time.Time{}, err
	}
	if r, _, err = c.adopt(r, s); err == nil && r.WithdrawableAt == 0 {
		err = fmt.Errorf("the chain does not show that the close of %s was asked for yet", r.ID)
	}
	return time.Unix(r.WithdrawableAt, 0), err
}

// Withdraw withdraws the rest of a channel after RequestClose and its grace period.
func (c *Client) Withdraw(ctx context.Context) (Refund, error) {
	if err := c.acquire(ctx); err != nil {
		return Refund{}, err
	}
	defer c.give()
	r, err := c.oldest(ctx)
	if err != nil {
		return Refund{}, err
	}
	before := c.store.book.public(&r)
	s, err := c.chain.state(ctx, r.ID)
	if err != nil {
		return Refund{}, err
	}
	tx, err := c.chain.sign(ctx, tempo.WithdrawCall{Descriptor: tempo.Descriptor(r.Descriptor)}, c.account, c.o.Key, false)
	if err == nil {
		_, err = c.chain.rpc.Send(ctx, tx)
	}
	if err != nil {
		return Refund{}, fmt.Errorf("withdraw from %s: %w", r.ID, err)
	}
	refunded, _ := s.Deposit.Sub(s.Settled)
	end := Refund{Channel: before, Captured: s.Settled, Refunded: refunded, Confirmed: true, TxHash: tx.Hash()}
	if err := c.store.drop(r.ID); err != nil {
		return end, err
	}
	c.money(Money{Kind: MoneyClosed, Amount: refunded, Channel: before})
	return end, nil
}
