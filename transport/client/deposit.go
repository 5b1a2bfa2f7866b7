package client

import (
	"context"
	"fmt"
	"net/http"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// pathDeposit is the path for opening, topping up and closing channels without another
// request.
const pathDeposit = "/session/deposit"

// cover tops the channel up if an amount is above its deposit. offer is any offer of the path
// that the top-up is posted to.
func (p *purchase) cover(ctx context.Context, path string, of *offer, sum tempo.Amount) error {
	r := p.row()
	missing, short := sum.Sub(r.Deposit)
	if !short || missing.IsZero() {
		return nil
	}
	add := p.c.o.Limits.TopUp
	if add.IsZero() {
		add = of.q.SuggestedDeposit
	}
	if add = lower(higher(add, missing), p.c.depositRoom()); add.Cmp(missing) < 0 {
		return &LimitError{Limit: LimitDeposit, Asked: sum, Allowed: p.c.o.Limits.MaxDeposit}
	}
	return p.topUp(ctx, path, of, add)
}

// topUp adds to the deposit. The transaction is stored before it is sent, so that the money is
// counted even without an answer.
func (p *purchase) topUp(ctx context.Context, path string, of *offer, add tempo.Amount) error {
	c, r := p.c, p.row()
	if err := p.checkBalance(ctx, r.Descriptor.Token, add); err != nil {
		return err
	}
	call := tempo.TopUpCall{Descriptor: tempo.Descriptor(r.Descriptor), Additional: add}
	tx, err := c.chain.sign(ctx, call, c.account, c.o.Key, of.q.FeePayer)
	if err != nil {
		return fmt.Errorf("top up: %w", err)
	}
	if err := c.store.edit(r.ID, func(r *row) { r.Pending, r.ValidBefore = add, int64(tx.ValidBefore) }); err != nil {
		return err
	}
	payload := &mpp.TopUp{ChannelRef: r.ref(), Transaction: tx.Encode(), AdditionalDeposit: add}
	if err := p.move(ctx, path, of, payload); err != nil {
		return fmt.Errorf("top up: %w", err)
	}
	err = c.store.edit(r.ID, func(r *row) {
		r.Deposit, _ = r.Deposit.Add(add)
		r.Pending, r.ValidBefore = tempo.Amount{}, 0
	})
	if err == nil {
		c.money(Money{Kind: MoneyToppedUp, Amount: add, Channel: p.publicState()})
	}
	return err
}

// move posts a management request. A challenge that has expired is replaced once.
func (p *purchase) move(ctx context.Context, path string, of *offer, payload mpp.Payload) error {
	for n := 0; ; n++ {
		resp, err := p.answer(ctx, manage(path), of, payload, false)
		if err != nil {
			return err
		}
		if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
			drain(resp)
			return nil
		}
		refusal := readRefusal(resp)
		fresh := refusal.code == string(mpp.PaymentExpired) || refusal.code == string(mpp.InvalidChallenge)
		if resp.StatusCode != http.StatusPaymentRequired || !fresh || n > 0 {
			return refusal.err()
		}
		if of, err = p.terms(ctx, resp.Header.Values(mpp.HeaderChallenge)); err != nil {
			return err
		}
	}
}

// demand gets an offer of a path for a management request.
func (p *purchase) demand(ctx context.Context, path string) (*offer, error) {
	resp, err := p.try(ctx, manage(path), nil, false)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusPaymentRequired {
		if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
			drain(resp)
			return nil, fmt.Errorf("%w: the server sells nothing", ErrTerms)
		}
		return nil, readRefusal(resp).err()
	}
	drain(resp)
	return p.terms(ctx, resp.Header.Values(mpp.HeaderChallenge))
}

// enlarge tops up a channel that the server calls too small, once, within the payer's limits.
func (p *purchase) enlarge(ctx context.Context) error {
	p.toppedUp = true
	of, err := p.demand(ctx, pathDeposit)
	if err != nil {
		return err
	}
	r := p.row()
	if r.State == Opening { // not broadcast: the limits leave too little for it
		return &LimitError{Limit: LimitDeposit, Asked: of.q.SuggestedDeposit, Allowed: p.c.o.Limits.MaxDeposit}
	}
	add := p.c.o.Limits.TopUp
	if add.IsZero() {
		add, _ = of.q.SuggestedDeposit.Sub(r.Deposit)
	}
	if add = lower(add, p.c.depositRoom()); add.IsZero() {
		sum, _ := r.Deposit.Add(tempo.AmountFrom(1))
		return &LimitError{Limit: LimitDeposit, Asked: higher(of.q.SuggestedDeposit, sum), Allowed: p.c.o.Limits.MaxDeposit}
	}
	return p.topUp(ctx, pathDeposit, of, add)
}

// Open opens a channel before the first request, or returns the one that is open. It buys
// nothing, but signs a voucher of one unit.
func (c *Client) Open(ctx context.Context) (Channel, error) {
	if err := c.acquire(ctx); err != nil {
		return Channel{}, err
	}
	defer c.give()
	p := c.newPurchase()
	resp, err := p.send(ctx, manage(pathDeposit))
	if err != nil {
		return Channel{}, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Channel{}, readRefusal(resp).err()
	}
	drain(resp)
	if _, there := c.store.row(p.channel); !there {
		return Channel{}, fmt.Errorf("%w: the server sells nothing", ErrTerms)
	}
	return p.publicState(), nil
}

// TopUp adds to the deposit, within Limits.MaxDeposit. There must be a channel.
func (c *Client) TopUp(ctx context.Context, amount tempo.Amount) (Channel, error) {
	if err := c.acquire(ctx); err != nil {
		return Channel{}, err
	}
	defer c.give()
	p := c.newPurchase()
	r, err := c.oldest(ctx)
	if err != nil {
		return Channel{}, err
	}
	if p.channel = r.ID; r.State == Opening {
		return Channel{}, fmt.Errorf("%w: the opening has not been taken yet", ErrNoChannel)
	}
	if room := c.depositRoom(); amount.Cmp(room) > 0 {
		asked, _ := r.Deposit.Add(amount)
		return Channel{}, &LimitError{Limit: LimitDeposit, Asked: asked, Allowed: c.o.Limits.MaxDeposit, Own: true}
	}
	of, err := p.demand(ctx, pathDeposit)
	if err != nil {
		return Channel{}, err
	}
	if !c.matches(&r, of.q) {
		return Channel{}, fmt.Errorf("%w: the channel is not one of its present terms; close it", ErrTerms)
	}
	if err := p.topUp(ctx, pathDeposit, of, amount); err != nil {
		return Channel{}, err
	}
	return p.publicState(), nil
}

// oldest returns the first channel of the file that still exists.
func (c *Client) oldest(ctx context.Context) (row, error) {
	for _, r := range c.store.book.Channels {
		r, there, err := c.settled(ctx, r.ID)
		if err != nil {
			return row{}, err
		}
		if there {
			return r, nil
		}
	}
	return row{}, ErrNoChannel
}
