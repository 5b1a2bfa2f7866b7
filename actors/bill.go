package actors

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// Admit charges amount for a request, once: the charge, the bill of what it begins
// and the ticket that knows it again are written together. A key that is known
// charges nothing; its ticket says what the request began. The error is a
// *mpp.Problem, or says that it may or may not have happened: ask again with the
// same key.
func (c *Channels) Admit(ctx context.Context, channel common.Hash, key TicketKey, billID string, amount tempo.Amount) (t Ticket, fresh bool, s Standing, err error) {
	return c.admit(ctx, channel, key, billID, amount, tempo.Amount{})
}

// AdmitHeld is Admit for the request of a payment, with what was held for it; it is
// held no longer, whatever comes of it.
func (c *Channels) AdmitHeld(ctx context.Context, p *Payment, key TicketKey, billID string, amount tempo.Amount) (t Ticket, fresh bool, s Standing, err error) {
	held := p.Held
	p.Held = tempo.Amount{}
	t, fresh, s, err = c.admit(ctx, p.Channel, key, billID, amount, held)
	if err != nil || !fresh {
		c.letGo(ctx, p.Channel, held)
	}
	return t, fresh, s, err
}

func (c *Channels) admit(ctx context.Context, channel common.Hash, key TicketKey, billID string, amount, held tempo.Amount) (t Ticket, fresh bool, s Standing, err error) {
	defer c.turns.lock("ticket " + string(key[:]))()
	t, err = c.o.Ledger.Ticket(key)
	if err == nil {
		s, err = c.Standing(ctx, channel)
		return t, false, s, err
	}
	if !errors.Is(err, ErrNoTicket) {
		return Ticket{}, false, Standing{}, err
	}
	t = Ticket{Key: key, Bill: billID, Charged: amount}
	bill := Bill{ID: billID, Collected: amount}
	a, err := c.see(ctx, channel, edit(func(row *session.Channel, now time.Time) (Entry, error) {
		row.Release(held)
		return Entry{Ticket: &t, Bill: &bill}, orNil(row.Charge(amount, now))
	}))
	if err != nil {
		return Ticket{}, false, Standing{}, err
	}
	return t, true, standing(a.row), nil
}

// see asks, and waits for the outcome even when nobody wants it any more: who holds a
// turn must not give it on while what it did is on its way to the disk. The next in
// turn would not see it there, and charge once more.
func (c *Channels) see(ctx context.Context, id common.Hash, do change) (answer, error) {
	return c.ask(context.WithoutCancel(ctx), id, do)
}

// Void takes an admission back for which nothing was done. Where its money cannot
// be given back any more the ticket stays, and with it the right to ask again.
func (c *Channels) Void(ctx context.Context, channel common.Hash, key TicketKey) error {
	defer c.turns.lock("ticket " + string(key[:]))()
	t, err := c.o.Ledger.Ticket(key)
	if err != nil {
		return err
	}
	defer c.turns.lock("bill " + t.Bill)()
	bill, err := c.o.Ledger.Bill(t.Bill)
	if err != nil {
		return err
	}
	_, err = c.see(ctx, channel, edit(func(row *session.Channel, _ time.Time) (Entry, error) {
		if !row.Refund(t.Charged) {
			return Entry{}, errKept
		}
		bill.Collected, _ = bill.Collected.Sub(t.Charged)
		return Entry{Void: &key, Bill: &bill}, nil
	}))
	return err
}

// errKept: a charge is paid out already, or about to be.
var errKept = errors.New("the charge can no longer be taken back")

// Collect charges what is still owed on a bill, or nothing. price is what the bill
// comes to by now, which a final one knows better; atMost cuts the charge. The error
// is a *mpp.Problem where the channel has too little: its voucher must rise first.
func (c *Channels) Collect(ctx context.Context, channel common.Hash, billID string, price, atMost tempo.Amount) (Bill, Standing, error) {
	bill, s, _, err := c.collect(ctx, channel, billID, price, atMost, tempo.Amount{})
	return bill, s, err
}

// CollectHeld is Collect for the request of a payment, of what its challenge named
// and with what was held for it; it is held no longer, whatever comes of it.
func (c *Channels) CollectHeld(ctx context.Context, p *Payment, billID string, price tempo.Amount) (Bill, Standing, error) {
	held := p.Held
	p.Held = tempo.Amount{}
	bill, s, charged, err := c.collect(ctx, p.Channel, billID, price, p.Request.Amount, held)
	if !charged {
		c.letGo(ctx, p.Channel, held)
	}
	return bill, s, err
}

// LetGo gives up what was held for a request that is not charged after all.
func (c *Channels) LetGo(ctx context.Context, p *Payment) {
	c.letGo(ctx, p.Channel, p.Held)
	p.Held = tempo.Amount{}
}

func (c *Channels) letGo(ctx context.Context, channel common.Hash, held tempo.Amount) {
	if !held.IsZero() {
		c.Release(context.WithoutCancel(ctx), channel, held) // an actor that has ended holds nothing
	}
}

func (c *Channels) collect(ctx context.Context, channel common.Hash, billID string, price, atMost, held tempo.Amount) (bill Bill, s Standing, charged bool, err error) {
	// Two who pay one bill take turns, whatever their channels.
	defer c.turns.lock("bill " + billID)()
	bill, err = c.o.Ledger.Bill(billID)
	if err != nil {
		return Bill{}, Standing{}, false, err
	}
	if !bill.Final {
		bill.Price = price
	}
	due := bill.Outstanding()
	if due.Cmp(atMost) > 0 {
		due = atMost
	}
	if due.IsZero() {
		s, err = c.Standing(ctx, channel)
		return bill, s, false, err
	}
	bill.Collected, _ = bill.Collected.Add(due) // at most its price
	a, err := c.see(ctx, channel, edit(func(row *session.Channel, now time.Time) (Entry, error) {
		row.Release(held)
		return Entry{Bill: &bill}, orNil(row.Charge(due, now))
	}))
	if err != nil {
		return Bill{}, Standing{}, false, err
	}
	return bill, standing(a.row), true, nil
}

// Final sets what a bill comes to in all, once; later calls change nothing.
func (c *Channels) Final(billID string, price tempo.Amount) (Bill, error) {
	defer c.turns.lock("bill " + billID)()
	bill, err := c.o.Ledger.Bill(billID)
	if err != nil || bill.Final {
		return bill, err
	}
	bill.Price, bill.Final = price, true
	return bill, c.o.Ledger.Commit(Entry{Bill: &bill})
}

// Bill returns what a run or job has cost its payer, or ErrNoBill.
func (c *Channels) Bill(id string) (Bill, error) { return c.o.Ledger.Bill(id) }

// Standing returns where a channel stands, or ErrNoChannel.
func (c *Channels) Standing(ctx context.Context, channel common.Hash) (Standing, error) {
	row, err := c.look(ctx, channel)
	if err != nil {
		return Standing{}, err
	}
	return standing(&row), nil
}
