package channel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	actors "txlens/actors/channel"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
)

// disk is what is kept of one household, and what the chain says of it.
type disk struct {
	rows    [channelsEach]*session.Channel // nil: none
	free    [channelsEach]*uint64          // what the product says is left to spend; nil: it says nothing
	tickets [billsEach]*actors.Ticket
	bill    func(id string) (actors.Bill, error)
	chain   []session.State
}

// disk reads what is kept. crashed: what was held in memory is gone.
func (e *episode) disk(h *household, crashed bool) (d *disk, err error) {
	d = &disk{bill: e.w.store.Bill, chain: e.w.truth(h.channel(0), h.channel(1))}
	for at := range d.rows {
		row, err := e.w.store.Channel(h.channel(at))
		switch {
		case err == nil && row.Status != session.Opening:
			d.rows[at] = &row
			if crashed || row.Status != session.Active || row.CloseRequestedAt != 0 || d.chain[at].Deposit.IsZero() {
				break // nothing is left to spend on a channel that the chain does not show
			}
			s, err := e.w.c.Standing(context.Background(), row.ID)
			if err != nil {
				return nil, err
			}
			free := number(s.Available)
			d.free[at] = &free
		case err != nil && !errors.Is(err, actors.ErrNoChannel):
			return nil, err
		}
		if deposit := number(d.chain[at].Deposit); h.purse[at] != nil && deposit > h.purse[at].deposit {
			h.purse[at].deposit = deposit
		}
	}
	for i, debt := range h.books.debts {
		if t, err := e.w.store.Ticket(debt.key); err == nil {
			d.tickets[i] = &t
		} else if !errors.Is(err, actors.ErrNoTicket) {
			return nil, err
		}
	}
	return d, nil
}

// same says how the books differ from the disk, or nothing. What only the disk can
// know it takes over: the row that was made of a channel which was lost, and that a
// channel has ended which the chain has no more.
func (d *disk) same(h *household) func(*books) string {
	return func(b *books) string {
		for at := range b.accounts {
			if why := d.sameAccount(h, at, &b.accounts[at]); why != "" {
				return fmt.Sprintf("channel %d: %s", at, why)
			}
		}
		for i := range b.debts {
			if why := d.sameDebt(i, &b.debts[i]); why != "" {
				return fmt.Sprintf("request %d: %s", i, why)
			}
		}
		return ""
	}
}

func (d *disk) sameAccount(h *household, at int, a *account) string {
	row := d.rows[at]
	a.heard = row != nil && row.CloseRequestedAt != 0
	switch {
	case row == nil && (a.known && !a.lost || a.closed):
		return "the disk has lost it"
	case row == nil:
		a.known = false
		return ""
	case a.lost:
		a.lost, a.adopted, a.known = false, true, true
		a.highest, a.spent, a.credit = number(row.Highest.Cumulative), number(row.Spent), number(row.Credit)
		a.closed = row.Status == session.Closed
		if row.Spent.Cmp(d.chain[at].Settled) < 0 {
			return "adopted with less served than is paid out"
		}
		return ""
	case !a.known:
		// An opening was cut short, and found on chain: its voucher comes with the next try.
		if !row.Highest.Cumulative.IsZero() || !row.Spent.IsZero() || h.purse[at] == nil || h.purse[at].forged && row.Highest != (session.Voucher{}) {
			return "the disk has a channel that was never acknowledged"
		}
		a.known = true
	}
	if row.Highest.Cumulative != amount(a.highest) || row.Spent != amount(a.spent) || row.Credit != amount(a.credit) {
		return fmt.Sprintf("the disk has signed %s, spent %s, credit %s, and not %d, %d, %d", row.Highest.Cumulative, row.Spent, row.Credit, a.highest, a.spent, a.credit)
	}
	if free := d.free[at]; free != nil && *free != a.free() {
		return fmt.Sprintf("it says that %d is left, the books say %d", *free, a.free())
	}
	a.settled = max(number(row.Settled), number(row.Settling))
	a.tried = a.settled
	ended := row.Status == session.Closed
	if a.closed && !ended && !h.murky {
		return "it is not closed on disk but " + row.Status.String()
	}
	a.closed = ended // why is held against the chain
	return ""
}

func (d *disk) sameDebt(i int, want *debt) string {
	t := d.tickets[i]
	bill, err := d.bill(want.id)
	if err != nil && !errors.Is(err, actors.ErrNoBill) {
		return err.Error()
	}
	switch {
	case want.ticket != (t != nil):
		return fmt.Sprintf("ticket on disk: %v, want %v", t != nil, want.ticket)
	case t != nil && (t.Bill != want.id || t.Charged != amount(want.charged)):
		return fmt.Sprintf("the ticket says bill %s for %s, want %s for %d", t.Bill, t.Charged, want.id, want.charged)
	case want.id == "":
	case err != nil:
		return "the disk has lost the bill"
	case bill.Collected != amount(want.paid):
		return fmt.Sprintf("the bill has collected %s, want %d", bill.Collected, want.paid)
	case bill.Final != want.final || want.final && bill.Price != amount(want.price):
		return fmt.Sprintf("the bill's price is %s, final %v; want %d, %v", bill.Price, bill.Final, want.price, want.final)
	}
	return ""
}

// audit checks what must hold of each channel at any time.
func (d *disk) audit(h *household) error {
	for at, row := range d.rows {
		if row == nil {
			continue
		}
		a, chain := h.books.accounts[at], d.chain[at]
		fault := ""
		switch {
		case row.Served().Cmp(row.Highest.Cumulative) > 0 && !a.adopted:
			fault = "more is served than signed"
		case chain.Settled.Cmp(row.Served()) > 0:
			fault = fmt.Sprintf("the chain has paid out %s", chain.Settled)
		case row.Highest.Cumulative.Cmp(amount(h.purse[at].deposit)) > 0:
			fault = fmt.Sprintf("more is signed than the deposit of %d", h.purse[at].deposit)
		case row.Status == session.Closed && !chain.Deposit.IsZero() && !h.murky:
			fault = "closed, and the chain has it still"
		case row.Status == session.Closing && !h.murky:
			fault = "closing, and nobody is at it"
		default:
			continue
		}
		return fmt.Errorf("channel %d/%d: %s: signed %s, spent %s, %s", h.n, at, fault, row.Highest.Cumulative, row.Spent, row.Status)
	}
	return nil
}

// balance ends an episode: all is decided, every channel is closed, and the chain's
// books are held against what was served.
func (e *episode) balance() error {
	e.note("-- the end")
	e.w.pass(time.Hour) // whatever was sent has landed or expired
	if err := e.decide(); err != nil {
		return err
	}
	if err := e.w.rounds.WatchRound(context.Background()); err != nil {
		return fmt.Errorf("watch round: %w", err)
	}
	for _, h := range e.houses {
		for at, p := range h.purse {
			if p == nil {
				continue
			}
			if err := e.finish(h, at); err != nil {
				return err
			}
		}
		for _, d := range append(h.retired, h.books.debts[:]...) {
			if d.id == "" {
				continue
			}
			if b, err := e.w.store.Bill(d.id); err != nil || b.Collected != amount(d.paid) {
				return fmt.Errorf("bill %s of household %d: collected %s, %w; want %d", d.id, h.n, b.Collected, err, d.paid)
			}
			if t, err := e.w.store.Ticket(d.key); (err == nil) != d.ticket || d.ticket && t.Bill != d.id {
				return fmt.Errorf("request %x: ticket %+v, %v; want %v", d.key[8:16], t, err, d.ticket)
			}
		}
	}
	// An opening whose answer was lost, and that its payer gave up, is the payee's to close.
	var ids []common.Hash
	err := e.w.store.OpenChannels(func(row session.Channel) error { ids = append(ids, row.ID); return nil })
	for _, id := range ids {
		if !e.w.truth(id)[0].Deposit.IsZero() {
			err = errors.Join(err, e.close(id))
		}
	}
	if err != nil {
		return fmt.Errorf("close what was given up: %w", err)
	}
	return e.holdBooks()
}

// finish closes a channel that is still open: by the payee, or by the payer where the
// payee has lost it.
func (e *episode) finish(h *household, at int) error {
	ctx, id, a := context.Background(), h.channel(at), h.books.accounts[at]
	chain := e.w.truth(id)[0]
	if chain.Deposit.IsZero() {
		return nil
	}
	if !a.known {
		n := number(chain.Settled)
		payload := &mpp.Close{ChannelRef: h.purse[at].ref, CumulativeAmount: amount(n), Signature: h.sign(h.key, id, n)}
		if _, err := e.w.pay(ctx, payload, false); err != nil {
			return fmt.Errorf("payer closes %d/%d: %w", h.n, at, err)
		}
	} else if err := e.close(id); err != nil {
		return fmt.Errorf("payee closes %d/%d: %w", h.n, at, err)
	}
	return nil
}

// close has the payee close a channel, which may take two attempts: that a top-up was
// undone is learnt from the refusal of the first.
func (e *episode) close(id common.Hash) error {
	_, err := e.w.c.CloseChannel(context.Background(), id)
	if err != nil && allReverted(err) {
		_, err = e.w.c.CloseChannel(context.Background(), id)
	}
	return err
}

// holdBooks compares the sandbox's books with the rows: each deposit was captured or
// refunded, and the payee has exactly what it captured, which is what was served.
func (e *episode) holdBooks() error {
	books := e.w.chain.Books()
	var captured uint64
	for _, row := range books.Channels {
		got, back, in := row.Captured.Uint64(), row.Refunded.Uint64(), row.Deposited.Uint64()
		captured += got
		mine, err := e.w.store.Channel(row.ID)
		if errors.Is(err, actors.ErrNoChannel) && !row.Open && e.begun[row.ID].lost && got+back == in {
			continue // its row was lost, and its payer withdrew before anybody asked for it
		}
		if err != nil {
			return fmt.Errorf("%w: channel %s: %w", errBooks, row.ID, err)
		}
		switch {
		case row.Open || mine.Status != session.Closed:
			return fmt.Errorf("%w: channel %s is not closed: on chain %v, on disk %s", errBooks, row.ID, row.Open, mine.Status)
		case got+back != in:
			return fmt.Errorf("%w: channel %s: %d captured and %d refunded of %d", errBooks, row.ID, got, back, in)
		case !mine.Lost.IsZero() && !e.begun[row.ID].withdrawn && !e.begun[row.ID].shaken:
			return fmt.Errorf("%w: channel %s: %s are lost", errBooks, row.ID, mine.Lost)
		case mine.Settled == amount(got) && number(mine.Served()) < got && e.begun[row.ID].shaken:
			// A close that the chain had refused came to pass when its block was replaced,
			// and a charge of it was taken back in between.
		case mine.Settled != amount(got), number(mine.Served()) != got+number(mine.Lost):
			return fmt.Errorf("%w: channel %s of %s: %d captured; the row says spent %s, settled %s, lost %s", errBooks, row.ID, e.whose(row.ID), got, mine.Spent, mine.Settled, mine.Lost)
		}
	}
	var fees uint64 // the payers offer none
	for _, f := range books.Fees {
		fees += f.Amount.Uint64()
	}
	if has := e.w.chain.Balance(sandbox.PathUSD, e.w.payee.Address()).Uint64(); has != funds+captured-fees {
		return fmt.Errorf("%w: the payee has %d, had %d, captured %d and paid fees of %d", errBooks, has, uint64(funds), captured, fees)
	}
	for id, p := range e.begun {
		if p.shaken && e.w.truth(id)[0].Deposit.IsZero() {
			continue // its opening was undone: there is nothing to be had or lost
		}
		if row, err := e.w.store.Channel(id); err == nil && row.Status != session.Closed && row.Status != session.Opening {
			return fmt.Errorf("%w: channel %s of deposit %d is %s", errBooks, id, p.deposit, row.Status)
		}
	}
	return nil
}

// whose names a channel as the log does.
func (e *episode) whose(id common.Hash) string {
	for _, h := range e.houses {
		for at := range h.purse {
			if h.channel(at) == id {
				return fmt.Sprintf("%d/%d", h.n, at)
			}
		}
	}
	return "an earlier purse"
}
